"""Mosaic, as one format among others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pymosaic.cli.formats import FileKind
from pymosaic.cli.formats.base import OpenFileReader, TableReader, TableWriter
from pymosaic.file.reader import MosaicFile
from pymosaic.file.writer import MosaicWriter

__all__ = ["read", "write"]


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
    return OpenFileReader(MosaicFile(path, types="mosaic"))


def write(path: str, kind: FileKind, schema: pa.Schema, options: dict[str, Any]) -> TableWriter:
    """Create a Mosaic file."""
    return _MosaicTableWriter(path, schema, options)
