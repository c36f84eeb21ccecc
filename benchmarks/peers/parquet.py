"""Parquet through pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.peers.base import OpenFile, Peer, Source

__all__ = ["PEER"]


class _OpenFile(OpenFile):
    def __init__(self, source: Source) -> None:
        # For one file faster than pyarrow.parquet.read_table, which goes through a dataset.
        self._file = pq.ParquetFile(
            source if isinstance(source, Path) else pa.PythonFile(source, "r")
        )

    @property
    def schema(self) -> pa.Schema:
        return self._file.schema_arrow

    def read(self, columns: Sequence[str] | None) -> pa.Table:
        return self._file.read(columns)

    def close(self) -> None:
        self._file.close()


class _Parquet(Peer):
    title = "Parquet"
    distribution = "pyarrow"
    suffix = "parquet"

    def write(self, table: pa.Table, path: Path, level: int) -> None:
        pq.write_table(table, path, compression="zstd", compression_level=level)

    def open(self, source: Source) -> OpenFile:
        return _OpenFile(source)


PEER = _Parquet()
