"""What a kind of file system provides."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from pymosaic.io.location import Location
from pymosaic.io.sink import Sink
from pymosaic.io.source import Source

__all__ = ["FileSystemKind", "Place", "Status"]

Place: TypeAlias = tuple[str, Any]
"""A path, and the file system that it is in; None stands for the local one."""


@dataclass(frozen=True, slots=True)
class Status:
    """Whether a path is a file, and its size."""

    is_file: bool
    size: int


class FileSystemKind(abc.ABC):
    """A kind of file system: local, pyarrow's, fsspec's. Has no state of its own."""

    def locate(self, path: str, filesystem: object) -> Place | None:
        """Where a path in a file system of this kind really is; None for other kinds.

        A wrapper around another file system gives that one, which is then asked for itself.
        """
        return None

    @abc.abstractmethod
    def source(self, location: Location, size: int | None) -> Source:
        """Open a file for reading by ranges."""

    @abc.abstractmethod
    def sink(self, location: Location) -> Sink:
        """Open a file for writing, whole or not at all."""

    @abc.abstractmethod
    def stream(self, location: Location) -> pa.NativeFile:
        """Open a file for pyarrow's own readers."""

    @abc.abstractmethod
    def status(self, location: Location) -> Status | None:
        """What is there; None where there is nothing."""
