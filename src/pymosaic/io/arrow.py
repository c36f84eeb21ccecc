"""File systems of :mod:`pyarrow.fs`, and open files of pyarrow."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyarrow as pa

from pymosaic.errors import InvalidOptionError
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
        # compression: by default pyarrow goes by the extension of the file name.
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
    def locate(self, path: str, filesystem: object) -> Place | None:
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

    def stream(self, location: Location) -> pa.NativeFile:
        return location.filesystem.open_input_file(location.path)

    def status(self, location: Location) -> Status | None:
        information = location.filesystem.get_file_info(location.path)
        if not information.type:
            return None
        modified = None if information.mtime_ns is None else information.mtime_ns / 1e9
        return Status(information.is_file, information.size or 0, modified)


ARROW = _ArrowFileSystem()
