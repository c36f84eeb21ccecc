"""File systems of fsspec."""

from __future__ import annotations

import errno
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa

from pymosaic.errors import InvalidOptionError
from pymosaic.io.directory import OBJECT_STORE_PAGE, OBJECT_STORES, Directory, Entry
from pymosaic.io.kind import FileSystemKind, Place, Status
from pymosaic.io.location import Location
from pymosaic.io.sink import Sink, write_all, write_some
from pymosaic.io.source import Source, tune_for_latency
from pymosaic.io.spool import SpooledSink

__all__ = ["FSSPEC", "place_of_uri"]

_UPLOAD_BYTES = 8 << 20


class _FsspecSource(Source):
    """A path in an fsspec file system: one ranged request per read, no read-ahead."""

    def __init__(self, name: str, path: str, filesystem: Any, size: int | None) -> None:
        self._path = path
        self._filesystem = filesystem
        # Only asynchronous file systems are guaranteed to be thread-safe.
        self._lock = nullcontext() if filesystem.async_impl else threading.Lock()
        if size is None:
            information = filesystem.info(path)
            if information.get("type") == "directory":
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
            size = information.get("size")
        if size is None:
            raise io.UnsupportedOperation(
                f"{name}: the file system does not report the file's size"
            )
        tune_for_latency(self)
        super().__init__(name, size)

    def _read_once(self, offset: int, length: int) -> bytes:
        with self._lock:
            data: bytes = self._filesystem.cat_file(self._path, start=offset, end=offset + length)
        return data


class _FsspecSink(SpooledSink):
    """A path in an fsspec file system, committed only when all of it has been sent.

    Inside ``with filesystem.transaction`` it appears when the transaction ends.
    """

    def _upload(self, contents: memoryview) -> None:
        # Without autocommit=False, fsspec completes a file even when it is dropped half-written.
        file = self._filesystem.open(self._path, "wb", autocommit=False)
        try:
            for start in range(0, contents.nbytes, _UPLOAD_BYTES):
                write_all(partial(write_some, file), contents[start : start + _UPLOAD_BYTES])
            file.close()
            if not self._awaits_transaction(file):
                self._forget(file)
                if hasattr(file, "commit"):  # otherwise close() was the commit
                    file.commit()
        except BaseException:
            self._forget(file)
            with suppress(Exception):  # the first failure is what the caller must see
                file.discard()
            raise

    def _transactions(self) -> Iterator[tuple[bool, Any]]:
        """For each file system, wrapper first: whether a transaction is open, its pending files."""
        from fsspec.spec import AbstractFileSystem

        filesystem: Any = self._filesystem
        while isinstance(filesystem, AbstractFileSystem):
            yield filesystem._intrans, getattr(filesystem.transaction, "files", ())
            filesystem = getattr(filesystem, "fs", None)

    def _awaits_transaction(self, file: Any) -> bool:
        return any(begun and file in files for begun, files in self._transactions())

    def _forget(self, file: Any) -> None:
        """Remove the file from fsspec's list, where it is put even if no transaction is open."""
        for _, files in self._transactions():
            if file in files:
                files.remove(file)

    def _look(self) -> tuple[int | None, object]:
        self._filesystem.invalidate_cache(self._path)
        try:
            information = self._filesystem.info(self._path)
        except FileNotFoundError:
            return None, None
        return information["size"], information

    def _delete(self) -> None:
        self._filesystem.rm_file(self._path)


class _FsspecDirectory(Directory):
    """A directory in an fsspec file system, which is always used like an object store."""

    def __init__(self, location: Location) -> None:
        super().__init__(location)
        protocols = self.filesystem.protocol
        if not OBJECT_STORES.isdisjoint([protocols] if isinstance(protocols, str) else protocols):
            self.names_at_once = OBJECT_STORE_PAGE

    def _source(self, path: str) -> Source:
        return _FsspecSource(self.full_path(path), self.full_path(path), self.filesystem, None)

    def _sink(self, path: str) -> Sink:
        return _FsspecSink(self.full_path(path), self.full_path(path), self.filesystem)

    def list_files(
        self, directory: str = "", recursive: bool = True, skip: Callable[[str], bool] | None = None
    ) -> list[Entry]:
        root = self.full_path(directory)
        self.filesystem.invalidate_cache()
        found = self._find(root, recursive)
        start = len(self.filesystem._strip_protocol(self.base).rstrip("/")) + 1
        return [
            Entry(path[start:], information["size"] or 0, _modified_at(information))
            for path, information in found
            # Stores mark directories by empty objects.
            if information.get("type") == "file"
            and not path.endswith("/")
            and len(path) > start
            and not (skip and skip(path[start:]))
        ]

    def _find(self, root: str, recursive: bool) -> Iterator[tuple[str, dict[str, Any]]]:
        """Names and what is known of them.

        A listing that fails raises; fsspec's ``walk`` would take it for an empty one.
        """
        if recursive and self.names_at_once:
            yield from self.filesystem.find(root, detail=True).items()
            return
        pending = [root]
        while pending:
            directory = pending.pop()
            try:
                listing = self.filesystem.ls(directory, detail=True)
            except FileNotFoundError:
                continue
            for information in listing:
                path = information["name"]
                if information.get("type") != "directory":
                    yield path, information
                elif recursive and path.rstrip("/") != directory.rstrip("/"):
                    pending.append(path)

    def _delete(self, path: str) -> None:
        self.filesystem.rm_file(self.full_path(path))

    def _move(self, source: str, target: str) -> None:
        self.filesystem.mv(self.full_path(source), self.full_path(target))

    def remove_tree(self, directory: str) -> None:
        self.delete_many(entry.path for entry in self.list_files(directory))

    def remove_empty(self, directory: str) -> None:
        """Do nothing: object stores have no directories."""


def place_of_uri(uri: str) -> Place:
    """The file system of a URI that pyarrow does not support, and the path in it."""
    scheme = uri.partition("://")[0]
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise InvalidOptionError(
            f"pyarrow does not support the URI scheme {scheme!r}; fsspec may: pip install fsspec"
        ) from None
    try:
        filesystem, path = url_to_fs(uri)
    except ValueError as error:
        raise InvalidOptionError(
            f"neither pyarrow nor fsspec supports the URI scheme {scheme!r}"
        ) from error
    return path, filesystem


class _FsspecFileSystem(FileSystemKind):
    def locate(self, path: str, filesystem: Any) -> Place | None:
        if _is_instance(filesystem, "fsspec.implementations.arrow", "ArrowFSWrapper"):
            return filesystem._strip_protocol(path), filesystem.fs
        if _is_instance(filesystem, "fsspec.implementations.local", "LocalFileSystem"):
            return filesystem._strip_protocol(path), None
        is_ours = _is_instance(filesystem, "fsspec.spec", "AbstractFileSystem")
        return (path, filesystem) if is_ours else None

    def source(self, location: Location, size: int | None) -> Source:
        return _FsspecSource(location.name, location.path, location.filesystem, size)

    def sink(self, location: Location) -> Sink:
        return _FsspecSink(location.name, location.path, location.filesystem)

    def directory(self, location: Location) -> Directory:
        return _FsspecDirectory(location)

    def stream(self, location: Location) -> pa.NativeFile:
        return pa.PythonFile(location.filesystem.open(location.path, "rb"), mode="r")

    def status(self, location: Location) -> Status | None:
        location.filesystem.invalidate_cache(location.path)
        try:
            information = location.filesystem.info(location.path)
        except FileNotFoundError:
            return None
        return Status(
            information.get("type") == "file",
            information.get("size") or 0,
            _modified_at(information),
        )


FSSPEC = _FsspecFileSystem()


def _modified_at(information: dict[str, Any]) -> float | None:
    """When a file was last changed (Unix time); each file system has its own name for it."""
    for key in ("LastModified", "mtime", "last_modified", "updated", "created"):
        value = information.get(key)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, int | float):
            return float(value)
    return None


def _is_instance(value: object, module: str, name: str) -> bool:
    """``isinstance`` without importing: if the module is not loaded, it has no instances."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(value, getattr(loaded, name))
