"""Parquet, through pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pymosaic.cli.formats import FileKind
from pymosaic.cli.formats.base import (
    ArrowFileWriter,
    SinkFile,
    TableReader,
    batch_rows,
    open_binary,
    take_option,
)

__all__ = ["read", "write"]

_BUFFER_BYTES = 64 << 10
_ROW_GROUP_BYTES = 128 << 20
_ROW_GROUP_ROWS = 1 << 20


class _ParquetReader(TableReader):
    def __init__(self, path: str) -> None:
        self._source = open_binary(path)
        try:
            # By default pyarrow loads all row groups of the file, or whole column chunks.
            self._file = pq.ParquetFile(self._source, pre_buffer=False, buffer_size=_BUFFER_BYTES)
        except BaseException:
            self._source.close()
            raise
        self.schema = self._file.schema_arrow
        self.num_rows = self._file.metadata.num_rows

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        names = self.schema.names if columns is None else columns
        for batch in self._file.iter_batches(batch_rows(len(names)), columns=names):
            # Parquet returns columns in file order.
            yield batch if batch.schema.names == names else batch.select(names)

    def close(self) -> None:
        self._file.close()
        self._source.close()


class _ParquetWriter(ArrowFileWriter):
    """Collects batches, because each call of Arrow's writer makes a row group."""

    def __init__(self, path: str, make: Callable[[SinkFile], Any]) -> None:
        super().__init__(path, make)
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = self._waiting_rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        self._waiting_bytes += batch.nbytes
        self._waiting_rows += batch.num_rows
        if self._waiting_bytes >= _ROW_GROUP_BYTES or self._waiting_rows >= _ROW_GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            table = pa.Table.from_batches(self._waiting)
            self._waiting = []
            self._waiting_bytes = self._waiting_rows = 0
            self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    def close(self) -> None:
        self._flush()
        super().close()


def read(path: str, kind: FileKind) -> TableReader:
    """Open a Parquet file."""
    return _ParquetReader(path)


def write(path: str, kind: FileKind, schema: pa.Schema, options: dict[str, Any]) -> ArrowFileWriter:
    """Create a Parquet file."""
    take_option(options, ("compression", "compression_level"), "Parquet")
    compression = options.get("compression", "zstd")
    return _ParquetWriter(
        path,
        lambda file: pq.ParquetWriter(
            file,
            schema,
            compression=compression,
            compression_level=options.get("compression_level"),
        ),
    )
