"""Mosaic, as one format among others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pymosaic.cli.formats import FileKind
from pymosaic.cli.formats.base import TableReader, TableWriter, batch_rows
from pymosaic.file.reader import MosaicFile
from pymosaic.file.writer import MosaicWriter

__all__ = ["read", "write"]


class _MosaicReader(TableReader):
    def __init__(self, path: str) -> None:
        self._file = MosaicFile(path)
        self.schema = self._file.schema
        self.num_rows = self._file.num_rows

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        width = len(self.schema) if columns is None else len(columns)
        return self._file.iter_batches(batch_rows(width), columns)

    def close(self) -> None:
        self._file.close()


class _MosaicTableWriter(TableWriter):
    def __init__(self, path: str, schema: pa.Schema, options: dict[str, Any]) -> None:
        self._writer = MosaicWriter(path, schema, **options)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write(batch)

    def close(self) -> None:
        self._writer.close()

    def abort(self) -> None:
        self._writer.abort()


def read(path: str, kind: FileKind) -> TableReader:
    """Open a Mosaic file."""
    return _MosaicReader(path)


def write(path: str, kind: FileKind, schema: pa.Schema, options: dict[str, Any]) -> TableWriter:
    """Create a Mosaic file."""
    return _MosaicTableWriter(path, schema, options)
