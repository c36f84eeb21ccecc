"""A file system that dies: from its n-th change on, nothing that is asked of it happens."""

from __future__ import annotations

from typing import Any

from pyarrow import fs


class Dying(fs.FileSystemHandler):  # type: ignore[misc]
    """Hands everything on until it dies, which it does before its ``kill_at``-th change."""

    def __init__(self, inner: Any, kill_at: int) -> None:
        self.inner = inner
        self.changes_left = kill_at
        self.dead = False

    def _read(self) -> Any:
        if self.dead:
            raise OSError("this process is dead")
        return self.inner

    def _change(self) -> Any:
        if self.changes_left == 0:
            self.dead = True
        self.changes_left -= 1
        return self._read()

    def get_type_name(self) -> str:
        return "dying"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> Any:
        return self._read().get_file_info(paths)

    def get_file_info_selector(self, selector: Any) -> Any:
        return self._read().get_file_info(selector)

    def open_input_stream(self, path: str) -> Any:
        return self._read().open_input_stream(path)

    def open_input_file(self, path: str) -> Any:
        return self._read().open_input_file(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        return self._change().open_output_stream(path, compression=None)

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        raise NotImplementedError

    def delete_file(self, path: str) -> None:
        self._change().delete_file(path)

    def delete_dir(self, path: str) -> None:
        self._change().delete_dir(path)

    def create_dir(self, path: str, recursive: bool) -> None:
        raise NotImplementedError

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        raise NotImplementedError

    def delete_root_dir_contents(self) -> None:
        raise NotImplementedError

    def move(self, source: str, target: str) -> None:
        raise NotImplementedError

    def copy_file(self, source: str, target: str) -> None:
        raise NotImplementedError
