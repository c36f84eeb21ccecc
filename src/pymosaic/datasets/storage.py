"""The directory that a dataset lives in: the few operations that all file systems share.

Paths are relative to the base and use ``/``. A listing of an object store is one request (for each
thousand names); a directory that does not exist lists as empty.
"""

from __future__ import annotations

import abc
import os
import secrets
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from pymosaic.errors import DatasetError
from pymosaic.io import Location, open_sink, open_source, resolve_location
from pymosaic.io.local import sync_directory
from pymosaic.threads import request_map

__all__ = ["Entry", "Storage", "open_storage"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_PARALLEL_REQUESTS = 16
# What pyarrow and fsspec call file systems where a listing is one request, whatever the depth.
_OBJECT_STORES = frozenset({"s3", "s3a", "gcs", "gs", "abfs", "abfss", "az"})
_OBJECT_STORE_PAGE = 1000
_ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class Entry:
    """A file.

    Parameters
    ----------
    path : str
        Below the base.
    size : int
    modified : float or None
        When it was last changed, in Unix time, by the clock of the file system.
    outside : bool
        Whether a directory above it is a link that leaves the base: nothing is changed there.
    """

    path: str
    size: int
    modified: float | None
    outside: bool = False


class Storage(abc.ABC):
    """A base directory in a file system. Picklable, and safe to share between threads.

    Attributes
    ----------
    name : str
        The base as the user gave it, for messages.
    base : str
        The base as its file system knows it.
    filesystem : object
        What the functions of this package take as ``filesystem``; None for the local one.
    moves : bool
        Whether a file can be moved at no cost; object stores would copy it.
    one_listing : bool
        Whether one listing of everything is cheaper than one of a directory within.
    names_at_once : int
        How many names, at least, a listing gives as of one moment.
    """

    moves: bool = False
    one_listing: bool = True
    names_at_once: int = 0

    def __init__(self, location: Location) -> None:
        self.name = location.name
        self.base = location.path.rstrip("/") or location.path
        self.filesystem = location.filesystem

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def absolute(self) -> Storage:
        """The same directory, by a name that means it wherever this is unpickled."""
        return self

    def within(self, directory: str) -> Storage:
        """A directory below the base."""
        return open_storage(self.full_path(directory), self.filesystem)

    def full_path(self, path: str) -> str:
        """A path below the base, for functions that take ``filesystem`` too."""
        return f"{self.base.rstrip('/')}/{path}" if path else self.base

    def relative_path(self, full_path: str) -> str:
        """The opposite of :meth:`full_path`."""
        return full_path[len(self.base.rstrip("/")) + 1 :]

    @abc.abstractmethod
    def list_files(
        self, directory: str = "", recursive: bool = True, skip: Callable[[str], bool] | None = None
    ) -> list[Entry]:
        """All files below a directory, or in it, in no order, but for paths to skip."""

    def exists(self) -> bool:
        """Whether the base is a directory; on an object store, whether there is a file in it."""
        return bool(self.list_files())

    def size(self, path: str) -> int:
        """The size of a file."""
        source = open_source(self.full_path(path), self.filesystem)
        try:
            return source.size
        finally:
            source.close()

    @abc.abstractmethod
    def _delete(self, path: str) -> None:
        """Delete a file; FileNotFoundError where there is none."""

    @abc.abstractmethod
    def _move(self, source: str, target: str) -> None:
        """Move a file, over what is at the target, into a directory that may not exist."""

    def sync(self, directories: Iterable[str]) -> None:  # noqa: B027  (object stores need none)
        """Make moves into these directories durable."""

    @abc.abstractmethod
    def remove_tree(self, directory: str) -> None:
        """Delete a directory and all in it, if it exists."""

    @abc.abstractmethod
    def remove_empty(self, directory: str) -> None:
        """Delete a directory if it exists and is empty."""

    def make_directory(self, directory: str) -> None:  # noqa: B027  (object stores need none)
        """Make a directory and its parents, where a file cannot be written without."""

    def read(self, path: str) -> bytes:
        """The content of a small file."""
        source = open_source(self.full_path(path), self.filesystem)
        try:
            return bytes(source.read(0, source.size))
        finally:
            source.close()

    def write(self, path: str, data: bytes) -> None:
        """Create a small file, which appears whole or not at all."""
        sink = open_sink(self.full_path(path), self.filesystem)
        try:
            sink.write(data)
            sink.commit()
        except BaseException:
            sink.abort()
            raise

    def delete(self, path: str) -> None:
        """Delete a file if it exists."""
        with suppress(FileNotFoundError):
            self._delete(path)

    def delete_many(self, paths: Iterable[str]) -> None:
        """Delete files, those that exist."""
        self.each(self.delete, paths)

    def move_many(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Move files to their targets."""
        self.each(lambda pair: self._move(*pair), pairs)

    def read_many(self, paths: Iterable[str]) -> list[bytes]:
        """The contents of small files."""
        return self.each(self.read, paths)

    def each(self, function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
        """Call a function for each item; on other file systems than the local one, many at once."""
        items = list(items)
        if self.filesystem is None or len(items) < 2:
            return list(map(function, items))
        return request_map(function, items, _PARALLEL_REQUESTS)


class _LocalStorage(Storage):
    """Local directories.

    Links are followed where files are listed and read. Nothing is written, moved or deleted where a
    link leads out of the base.
    """

    moves = True
    one_listing = False

    def absolute(self) -> Storage:
        return _LocalStorage(Location(self.name, os.path.abspath(self.base)))

    def exists(self) -> bool:
        return os.path.isdir(self.base)

    def list_files(
        self, directory: str = "", recursive: bool = True, skip: Callable[[str], bool] | None = None
    ) -> list[Entry]:
        entries: list[Entry] = []
        base = os.path.realpath(self.base)
        pending: list[tuple[str, bool, tuple[str, ...]]] = [(directory, False, (base,))]
        while pending:
            below, outside, links = pending.pop()
            try:
                listing = list(os.scandir(self.full_path(below)))
            except FileNotFoundError:
                continue
            for item in listing:
                path = f"{below}/{item.name}" if below else item.name
                if skip is not None and skip(path):
                    continue
                if item.is_dir():
                    if not recursive:
                        continue
                    if not item.is_symlink():
                        pending.append((path, outside, links))
                        continue
                    way = (*links, os.path.realpath(os.path.dirname(item.path)))
                    target = os.path.realpath(item.path)
                    # A link to where the way to it has come through leads on for ever.
                    if not any(_is_within(place, target) for place in way):
                        leaves = outside or not _is_within(target, base)
                        pending.append((path, leaves, (*way, target)))
                    continue
                with suppress(FileNotFoundError):
                    status = item.stat()
                    entries.append(Entry(path, status.st_size, status.st_mtime, outside))
        return entries

    def write(self, path: str, data: bytes) -> None:
        self._in_directory(path, lambda: super(_LocalStorage, self).write(path, data))

    def _check_inside(self, directory: str) -> None:
        """Refuse to change anything behind a link that leaves the base."""
        if not _is_within(os.path.realpath(self.full_path(directory)), os.path.realpath(self.base)):
            raise DatasetError(
                f"{self.full_path(directory)} leads out of {self.name} by a link: nothing is "
                "written or deleted there"
            )

    def _delete(self, path: str) -> None:
        self._check_inside(path.rpartition("/")[0])
        os.unlink(self.full_path(path))

    def _move(self, source: str, target: str) -> None:
        old, new = self.full_path(source), self.full_path(target)
        self._in_directory(target, lambda: os.replace(old, new))

    def _in_directory(self, path: str, action: Callable[[], None]) -> None:
        """Do something in a directory that other jobs may remove as long as it is empty."""
        for attempt in range(_ATTEMPTS):
            try:
                self.make_directory(path.rpartition("/")[0])
                action()
                return
            except FileNotFoundError:
                if attempt == _ATTEMPTS - 1:
                    raise

    def sync(self, directories: Iterable[str]) -> None:
        for directory in directories:
            sync_directory(self.full_path(directory))

    def remove_tree(self, directory: str) -> None:
        self._check_inside(directory.rpartition("/")[0])
        shutil.rmtree(self.full_path(directory), ignore_errors=True)

    def remove_empty(self, directory: str) -> None:
        with suppress(OSError):  # it is not there, or not empty
            os.rmdir(self.full_path(directory))

    def make_directory(self, directory: str) -> None:
        self._check_inside(directory)
        for attempt in range(_ATTEMPTS):
            try:
                os.makedirs(self.full_path(directory), exist_ok=True)
                return
            except FileNotFoundError:
                # A parent that was just made was empty, and another job has removed it.
                if attempt == _ATTEMPTS - 1:
                    raise


def _is_within(path: str, directory: str) -> bool:
    return os.path.join(path, "").startswith(os.path.join(directory, ""))


class _ArrowStorage(Storage):
    """A pyarrow file system; HDFS is the one that moves files."""

    def __init__(self, location: Location) -> None:
        super().__init__(location)
        self.moves = self.filesystem.type_name == "hdfs"
        if self.filesystem.type_name in _OBJECT_STORES:
            self.names_at_once = _OBJECT_STORE_PAGE

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
        temporary = f"{directory}/.{name}.tmp-{secrets.token_hex(8)}"
        super().write(temporary, data)
        self._move(temporary, path)

    def _move(self, source: str, target: str) -> None:
        self.make_directory(target.rpartition("/")[0])
        self.filesystem.move(self.full_path(source), self.full_path(target))

    def remove_tree(self, directory: str) -> None:
        with suppress(FileNotFoundError):
            self.filesystem.delete_dir(self.full_path(directory))

    def remove_empty(self, directory: str) -> None:
        if self.moves and not self.list_files(directory):
            self.remove_tree(directory)

    def make_directory(self, directory: str) -> None:
        # An object store needs none, and would keep an empty object for it.
        if self.moves:
            self.filesystem.create_dir(self.full_path(directory), recursive=True)


class _FsspecStorage(Storage):
    """An fsspec file system, used as an object store whatever it is."""

    def __init__(self, location: Location) -> None:
        super().__init__(location)
        protocols = self.filesystem.protocol
        if not _OBJECT_STORES.isdisjoint([protocols] if isinstance(protocols, str) else protocols):
            self.names_at_once = _OBJECT_STORE_PAGE

    def list_files(
        self, directory: str = "", recursive: bool = True, skip: Callable[[str], bool] | None = None
    ) -> list[Entry]:
        root = self.full_path(directory)
        self.filesystem.invalidate_cache()
        found = self.filesystem.find(root, maxdepth=None if recursive else 1, detail=True)
        start = len(self.filesystem._strip_protocol(self.base).rstrip("/")) + 1
        return [
            Entry(path[start:], information["size"] or 0, _modified(information))
            for path, information in found.items()
            # Stores mark directories by empty objects.
            if information.get("type") == "file"
            and not path.endswith("/")
            and len(path) > start
            and not (skip and skip(path[start:]))
        ]

    def _delete(self, path: str) -> None:
        self.filesystem.rm_file(self.full_path(path))

    def _move(self, source: str, target: str) -> None:
        self.filesystem.mv(self.full_path(source), self.full_path(target))

    def remove_tree(self, directory: str) -> None:
        self.delete_many(entry.path for entry in self.list_files(directory))

    def remove_empty(self, directory: str) -> None:
        """Nothing: object stores have no directories."""


def _modified(information: dict[str, Any]) -> float | None:
    # Each fsspec file system has its own name for it.
    for key in ("LastModified", "mtime", "last_modified", "updated", "created"):
        value = information.get(key)
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, int | float):
            return float(value)
    return None


def open_storage(base: str | os.PathLike[str], filesystem: object = None) -> Storage:
    """Find the directory that a path or URI means; nothing is read.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> pymosaic.write_table(pa.table({"n": [1]}), "n.mosaic")
    >>> [entry.path for entry in open_storage(".").list_files() if entry.path == "n.mosaic"]
    ['n.mosaic']
    """
    location = resolve_location(base, filesystem)
    if location.filesystem is None:
        return _LocalStorage(location)
    from pyarrow.fs import FileSystem

    is_arrow = isinstance(location.filesystem, FileSystem)
    return (_ArrowStorage if is_arrow else _FsspecStorage)(location)
