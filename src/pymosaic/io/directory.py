"""The interface of a directory: the few operations that all file systems share.

Paths are relative to the base and use ``/``. A listing of an object store is one request (for each
thousand names); a directory that does not exist lists as empty.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from pymosaic.io.location import Location
from pymosaic.io.sink import Sink
from pymosaic.io.source import Source
from pymosaic.threads import request_map

__all__ = ["OBJECT_STORES", "OBJECT_STORE_PAGE", "Directory", "Entry"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_PARALLEL_REQUESTS = 16
# pyarrow's and fsspec's names of file systems where a listing is one request, whatever the depth,
# and the number of names that such a request returns.
OBJECT_STORES = frozenset({"s3", "s3a", "gcs", "gs", "abfs", "abfss", "az"})
OBJECT_STORE_PAGE = 1000


class Entry(NamedTuple):
    """A file.

    Parameters
    ----------
    path : str
        Relative to the base.
    size : int
    modified : float or None
        When it was last changed, in Unix time, by the file system's clock.
    outside : bool
        Whether a directory above it is a link: nothing is changed there.
    """

    path: str
    size: int
    modified: float | None
    outside: bool = False


class Directory(abc.ABC):
    """A base directory in a file system. Picklable, and safe to share between threads.

    Attributes
    ----------
    name : str
        The base as the user gave it, for messages.
    base : str
        The base as a path in its file system.
    filesystem : object
        The ``filesystem`` argument for the functions of this package; None for the local one.
    moves : bool
        Whether a file can be moved at no cost; object stores would copy it.
    one_listing : bool
        Whether one listing of everything is cheaper than a listing of a subdirectory.
    names_at_once : int
        A listing of at most this many names shows one moment.
    """

    moves: bool = False
    one_listing: bool = True
    names_at_once: int = 0

    def __init__(self, location: Location) -> None:
        self.name: str = location.name
        self.base: str = location.path.rstrip("/") or location.path
        self.filesystem: Any = location.filesystem

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def absolute(self) -> Directory:
        """The same directory, under a name that is valid wherever this is unpickled."""
        return self

    def within(self, directory: str) -> Directory:
        """A directory below the base."""
        path = self.full_path(directory)
        return type(self)(Location(path, path, self.filesystem))

    def full_path(self, path: str) -> str:
        """The full path of one below the base, for functions that also take ``filesystem``."""
        return f"{self.base.rstrip('/')}/{path}" if path else self.base

    def relative_path(self, full_path: str) -> str:
        """The opposite of :meth:`full_path`."""
        return full_path[len(self.base.rstrip("/")) + 1 :]

    @abc.abstractmethod
    def list_files(
        self, directory: str = "", recursive: bool = True, skip: Callable[[str], bool] | None = None
    ) -> list[Entry]:
        """All files below or in a directory, in no particular order, except paths to skip."""

    def exists(self) -> bool:
        """Whether the base is a directory; on an object store, whether there is a file in it."""
        return bool(self.list_files())

    def size(self, path: str) -> int:
        """The size of a file."""
        source = self._source(path)
        try:
            return source.size
        finally:
            source.close()

    @abc.abstractmethod
    def _source(self, path: str) -> Source:
        """Open a file for reading."""

    @abc.abstractmethod
    def _sink(self, path: str) -> Sink:
        """Open a file for writing."""

    @abc.abstractmethod
    def _delete(self, path: str) -> None:
        """Delete a file; raise FileNotFoundError if it does not exist."""

    @abc.abstractmethod
    def _move(self, source: str, target: str) -> None:
        """Move a file, replacing what is at the target, to a directory that may not exist."""

    def sync(self, directories: Iterable[str]) -> None:  # noqa: B027  (object stores need none)
        """Make moves into these directories durable."""

    @abc.abstractmethod
    def remove_tree(self, directory: str) -> None:
        """Delete a directory and everything in it, if it exists."""

    @abc.abstractmethod
    def remove_empty(self, directory: str) -> None:
        """Delete a directory if it exists and is empty."""

    def make_directory(self, directory: str) -> None:  # noqa: B027  (object stores need none)
        """Make a directory and its parents, if files cannot be written without them."""

    def read(self, path: str) -> bytes:
        """The content of a small file."""
        source = self._source(path)
        try:
            return bytes(source.read(0, source.size))
        finally:
            source.close()

    def write(self, path: str, data: bytes) -> None:
        """Create a small file, which appears whole or not at all."""
        sink = self._sink(path)
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
        """Delete those of the files that exist."""
        self.each(self.delete, paths)

    def move(self, source: str, target: str) -> None:
        """Move a file; raise an OSError if it does not exist."""
        self._move(source, target)

    def move_many(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Move files to their targets."""
        self.each(lambda pair: self._move(*pair), pairs)

    def read_many(self, paths: Iterable[str]) -> list[bytes]:
        """The contents of small files."""
        return self.each(self.read, paths)

    def each(self, function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
        """Call a function for each item; many at once unless the file system is local."""
        items = list(items)
        if self.filesystem is None or len(items) < 2:
            return list(map(function, items))
        return request_map(function, items, _PARALLEL_REQUESTS)
