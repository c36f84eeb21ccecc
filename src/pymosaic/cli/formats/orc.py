"""ORC, through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc

from pymosaic.cli.formats import FileKind
from pymosaic.cli.formats.base import ArrowFileWriter, TableReader, open_binary, take_option
from pymosaic.errors import UnsupportedFeatureError

__all__ = ["read", "write"]


class _OrcReader(TableReader):
    def __init__(self, path: str) -> None:
        self._source = open_binary(path)
        try:
            self._file = orc.ORCFile(self._source)
        except BaseException:
            self._source.close()
            raise
        self.schema = self._file.schema
        self.num_rows = self._file.nrows

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        for stripe in range(self._file.nstripes):
            batch = self._file.read_stripe(stripe, columns)
            yield batch if columns is None else batch.select(columns)

    def close(self) -> None:
        self._source.close()


class _OrcWriter(ArrowFileWriter):
    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write(pa.Table.from_batches([batch]))


def read(path: str, kind: FileKind) -> TableReader:
    """Open an ORC file."""
    return _OrcReader(path)


def write(path: str, kind: FileKind, schema: pa.Schema, options: dict[str, Any]) -> ArrowFileWriter:
    """Create an ORC file."""
    take_option(options, ("compression",), "ORC")
    for field in schema:
        if pa.types.is_time(field.type):
            raise UnsupportedFeatureError(
                f"column {field.name!r} of type {field.type} cannot be stored in ORC, which has no "
                "time-of-day type: select other columns with --columns"
            )
    compression = options.get("compression", "zstd")
    return _OrcWriter(
        path,
        lambda file: orc.ORCWriter(
            file, compression="uncompressed" if compression == "none" else compression
        ),
    )
