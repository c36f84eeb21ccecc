"""The interface of a format in the benchmarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

import pyarrow as pa

from benchmarks.recording import RecordedFile

__all__ = ["OpenFile", "Peer", "Source"]

Source: TypeAlias = Path | RecordedFile


class OpenFile(AbstractContextManager["OpenFile"]):
    """An open file of some format."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The Arrow schema of the whole file."""

    @abstractmethod
    def read(self, columns: Sequence[str] | None) -> pa.Table:
        """Read some columns, or all."""

    def read_prefix(self, prefix: str) -> pa.Table:
        """Read the columns whose names begin with ``prefix``."""
        return self.read([name for name in self.schema.names if name.startswith(prefix)])

    def take(self, rows: Sequence[int]) -> pa.Table:
        """Read some rows, all columns."""
        return self.read(None).take(pa.array(rows))

    def look_up(self, names: Sequence[str]) -> None:
        """Find columns by name without reading them, if the interface allows it."""
        raise NotImplementedError

    def close(self) -> None:
        """Close what needs closing."""
        return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class Peer(ABC):
    """A format: how to write a table and open a file.

    Attributes
    ----------
    title : str
        Name of the format in reports.
    distribution : str
        The package whose version the report names.
    suffix : str
        Extension of its files.
    has_levels : bool
        Whether the zstd level can be chosen.
    reads_file_objects : bool
        Whether ``open`` takes a :class:`RecordedFile`.
    looks_up_names : bool
        Whether ``OpenFile.look_up`` works.
    writes_apart_above : int or None
        Width above which its writer, which does not release memory, runs in a separate process.
    max_columns : int or None
        Maximum width for its writer.
    """

    title: str
    distribution: str
    suffix: str
    has_levels: bool = True
    reads_file_objects: bool = True
    looks_up_names: bool = False
    writes_apart_above: int | None = None
    max_columns: int | None = None

    @abstractmethod
    def write(self, table: pa.Table, path: Path, level: int) -> None:
        """Write a table as one file, compressed with zstd if the format supports it."""

    @abstractmethod
    def open(self, source: Source) -> OpenFile:
        """Open a file; nothing is kept from one opening to the next."""

    def read(self, source: Source, columns: Sequence[str] | None) -> pa.Table:
        """Open a file and read columns."""
        with self.open(source) as file:
            return file.read(columns)

    def read_prefix(self, source: Source, prefix: str) -> pa.Table:
        """Open a file and read the columns with a prefix."""
        with self.open(source) as file:
            return file.read_prefix(prefix)

    def take(self, source: Source, rows: Sequence[int]) -> pa.Table:
        """Open a file and read some rows."""
        with self.open(source) as file:
            return file.take(rows)

    def open_schema(self, source: Source) -> pa.Schema:
        """Open a file and build its Arrow schema."""
        with self.open(source) as file:
            return file.schema

    def size(self, path: Path) -> int:
        """Bytes on disk."""
        return path.stat().st_size
