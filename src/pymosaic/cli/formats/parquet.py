"""Parquet, by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pymosaic.cli.formats import FileKind
from pymosaic.cli.formats.base import (
    ArrowFileWriter,
    TableReader,
    batch_rows,
    open_binary,
    take_option,
)

__all__ = ["read", "write"]


class _ParquetReader(TableReader):
    def __init__(self, path: str) -> None:
        self._source = open_binary(path)
        try:
            self._file = pq.ParquetFile(self._source)
        except BaseException:
            self._source.close()
            raise
        self.schema = self._file.schema_arrow
        self.num_rows = self._file.metadata.num_rows

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        names = self.schema.names if columns is None else columns
        for batch in self._file.iter_batches(batch_rows(len(names)), columns=names):
            # Parquet gives columns in the order of the file.
            yield batch if batch.schema.names == names else batch.select(names)

    def close(self) -> None:
        self._file.close()
        self._source.close()


def read(path: str, kind: FileKind) -> TableReader:
    """Open a Parquet file."""
    return _ParquetReader(path)


def write(path: str, kind: FileKind, schema: pa.Schema, options: dict[str, Any]) -> ArrowFileWriter:
    """Create a Parquet file."""
    take_option(options, ("compression", "compression_level"), "Parquet")
    compression = options.get("compression", "zstd")
    return ArrowFileWriter(
        path,
        lambda file: pq.ParquetWriter(
            file,
            schema,
            compression=compression,
            compression_level=options.get("compression_level"),
        ),
    )
