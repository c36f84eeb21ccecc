"""The interface of a kind of file system."""

from __future__ import annotations

import abc
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from pymosaic.io.directory import Directory
from pymosaic.io.location import Location
from pymosaic.io.sink import Sink
from pymosaic.io.source import Source

__all__ = ["FileSystemKind", "Place", "Status", "time_of"]

Place: TypeAlias = tuple[str, Any]
"""A path and its file system; None means the local file system."""


class Status(NamedTuple):
    """Whether a path is a file, its size, and a version that changes when it is replaced, if known.

    A version equals that of a :class:`~pymosaic.io.Source` of the same file, if both are known.
    """

    is_file: bool
    size: int
    version: object = None

    @property
    def modified(self) -> float | None:
        """When it was changed, in Unix time, as a listing tells it."""
        time = time_of(self.version)
        if isinstance(time, int | float):
            return time / 1e9 if isinstance(self.version, tuple) else float(time)
        return None


def time_of(version: object) -> object:
    """The part of a version that is the same on every machine: when the file was changed.

    Examples
    --------
    >>> time_of((1_700_000_000_000_000_000, 42)), time_of(1_700_000_000.5), time_of(None)
    (1700000000000000000, 1700000000.5, None)
    """
    # A local version is a time and the number of an inode, which may differ between mounts.
    return version[0] if isinstance(version, tuple) else version


class FileSystemKind(abc.ABC):
    """A kind of file system: local, pyarrow or fsspec. Stateless."""

    def locate(self, path: str, filesystem: Any) -> Place | None:
        """The actual place of a path in a file system of this kind; None for other kinds.

        A wrapper returns the file system that it wraps, which is then resolved in turn.
        """
        return None

    @abc.abstractmethod
    def source(self, location: Location, size: int | None) -> Source:
        """Open a file for reading by ranges."""

    @abc.abstractmethod
    def sink(self, location: Location) -> Sink:
        """Open a file for writing; it appears whole or not at all."""

    @abc.abstractmethod
    def directory(self, location: Location) -> Directory:
        """The directory of this path, which need not exist; nothing is read."""

    @abc.abstractmethod
    def stream(self, location: Location) -> pa.NativeFile:
        """Open a file for pyarrow's own readers."""

    @abc.abstractmethod
    def status(self, location: Location) -> Status | None:
        """What is at the path; None if nothing is."""
