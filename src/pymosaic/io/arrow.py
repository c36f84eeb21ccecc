"""File systems of :mod:`pyarrow.fs`, and open files of pyarrow."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pyarrow as pa

from pymosaic.errors import InvalidOptionError
from pymosaic.io.directory import OBJECT_STORE_PAGE, OBJECT_STORES, Directory, Entry
from pymosaic.io.file_object import check_ability
from pymosaic.io.kind import FileSystemKind, Place, Status
from pymosaic.io.location import Location
from pymosaic.io.sink import Sink
from pymosaic.io.source import Source, tune_for_latency
from pymosaic.io.spool import SpooledSink

__all__ = ["ARROW", "ArrowFileSource", "place_of_uri"]


class ArrowFileSource(Source):
    """A pyarrow file; its ``read_at`` is thread-safe and leaves the position alone."""

    def __init__(self, file: Any, name: str | None, owned: bool) -> None:
        check_ability(file, "readable")
        check_ability(file, "seekable")
        self._file = file
        self._owned = owned
        if type(file) is pa.NativeFile:  # a file system's file, probably remote
            tune_for_latency(self)
        super().__init__(name, file.size())

    def _read_once(self, offset: int, length: int) -> bytes:
        data: bytes = self._file.read_at(length, offset)
        return data

    def _release(self) -> None:
        if self._owned:
            self._file.close()


class _ArrowSink(SpooledSink):
    """A path in a pyarrow file system.

    pyarrow cannot abandon a stream: dropping one completes it. So there is a single write, which
    Ctrl-C cannot interrupt, and object stores do not complete a stream with a failed part.
    """

    def _upload(self, contents: memoryview) -> None:
        # compression: by default pyarrow chooses it by the extension of the file name.
        stream = self._filesystem.open_output_stream(self._path, compression=None)
        try:
            stream.write(contents)
        except BaseException:
            with suppress(Exception):  # the first failure is what the caller must see
                stream.close()
            raise
        stream.close()

    def _look(self) -> tuple[int | None, object]:
        information = self._filesystem.get_file_info(self._path)
        return information.size, information.mtime_ns

    def _delete(self) -> None:
        self._filesystem.delete_file(self._path)


class _ArrowDirectory(Directory):
    """A directory in a pyarrow file system; only HDFS moves files."""

    def __init__(self, location: Location) -> None:
        super().__init__(location)
        self.moves = self.filesystem.type_name == "hdfs"
        if self.filesystem.type_name in OBJECT_STORES:
            self.names_at_once = OBJECT_STORE_PAGE

    def _source(self, path: str) -> Source:
        full_path = self.full_path(path)
        return ArrowFileSource(self.filesystem.open_input_file(full_path), full_path, owned=True)

    def _sink(self, path: str) -> Sink:
        return _ArrowSink(self.full_path(path), self.full_path(path), self.filesystem)

    def list_files(
        self, directory: str = "", recursive: bool = True, skip: Callable[[str], bool] | None = None
    ) -> list[Entry]:
        from pyarrow.fs import FileSelector, FileType

        root = self.full_path(directory)
        selector = FileSelector(root, allow_not_found=True, recursive=recursive)
        start = len(self.base.rstrip("/")) + 1
        return [
            Entry(
                found.path[start:],
                found.size,
                None if found.mtime_ns is None else found.mtime_ns / 1e9,
            )
            for found in self.filesystem.get_file_info(selector)
            if found.type == FileType.File and not (skip and skip(found.path[start:]))
        ]

    def _delete(self, path: str) -> None:
        self.filesystem.delete_file(self.full_path(path))

    def write(self, path: str, data: bytes) -> None:
        if not self.moves:
            super().write(path, data)
            return
        directory, _, name = path.rpartition("/")
        temporary = f"{directory}/.{name}.tmp-{os.urandom(8).hex()}"
        super().write(temporary, data)
        self._move(temporary, path)

    def _move(self, source: str, target: str) -> None:
        self.make_directory(target.rpartition("/")[0])
        self.filesystem.move(self.full_path(source), self.full_path(target))

    def remove_tree(self, directory: str) -> None:
        with suppress(FileNotFoundError):
            self.filesystem.delete_dir(self.full_path(directory))

    def remove_empty(self, directory: str) -> None:
        """Nothing: HDFS cannot delete a directory only if it is empty, others have none."""

    def make_directory(self, directory: str) -> None:
        # An object store needs no directories, and would keep an empty object for one.
        if self.moves:
            self.filesystem.create_dir(self.full_path(directory), recursive=True)


def place_of_uri(uri: str) -> Place | None:
    """The file system of a URI, and the path in it; None if pyarrow does not support the scheme."""
    from pyarrow.fs import FileSystem

    try:
        filesystem, path = FileSystem.from_uri(uri)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        if uri.startswith("file:"):
            raise InvalidOptionError(f"not a valid file URI: {uri}") from error
        return None
    return path, filesystem


class _ArrowFileSystem(FileSystemKind):
    def locate(self, path: str, filesystem: Any) -> Place | None:
        from pyarrow import fs

        if isinstance(filesystem, fs.SubTreeFileSystem):
            return filesystem.base_path + path.lstrip("/"), filesystem.base_fs
        if isinstance(filesystem, fs.PyFileSystem):
            handler = filesystem.handler
            if isinstance(handler, fs.FSSpecHandler):
                return path, handler.fs
        if isinstance(filesystem, fs.LocalFileSystem):
            place = place_of_uri(path) if path.startswith("file://") else None
            return path if place is None else place[0], None
        return (path, filesystem) if isinstance(filesystem, fs.FileSystem) else None

    def source(self, location: Location, size: int | None) -> Source:
        file = location.filesystem.open_input_file(location.path)
        return ArrowFileSource(file, location.name, owned=True)

    def sink(self, location: Location) -> Sink:
        return _ArrowSink(location.name, location.path, location.filesystem)

    def directory(self, location: Location) -> Directory:
        return _ArrowDirectory(location)

    def stream(self, location: Location) -> pa.NativeFile:
        return location.filesystem.open_input_file(location.path)

    def status(self, location: Location) -> Status | None:
        information = location.filesystem.get_file_info(location.path)
        if not information.type:
            return None
        modified = None if information.mtime_ns is None else information.mtime_ns / 1e9
        return Status(information.is_file, information.size or 0, modified)


ARROW = _ArrowFileSystem()
