"""A Lance file (without the table format around it) through pylance."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

from benchmarks.peers.base import OpenFile, Peer, Source

__all__ = ["PEER"]


class _OpenFile(OpenFile):
    def __init__(self, source: Source) -> None:
        # A projection is fixed when a file is opened, so opening waits for it.
        self._path = str(source)

    @property
    def schema(self) -> pa.Schema:
        return LanceFileReader(self._path).metadata().schema

    def read(self, columns: Sequence[str] | None) -> pa.Table:
        wanted = None if columns is None else list(columns)
        return LanceFileReader(self._path, columns=wanted).read_all().to_table()

    def take(self, rows: Sequence[int]) -> pa.Table:
        return LanceFileReader(self._path).take_rows(rows).to_table()


class _Lance(Peer):
    title = "Lance"
    distribution = "pylance"
    suffix = "lance"
    reads_file_objects = False

    def write(self, table: pa.Table, path: Path, level: int) -> None:
        # Without this Lance would compress lightly and not with zstd.
        zstd = {
            "lance-encoding:compression": "zstd",
            "lance-encoding:compression-level": str(level),
        }
        schema = pa.schema([field.with_metadata(zstd) for field in table.schema])
        with LanceFileWriter(str(path), schema) as writer:
            for batch in table.to_batches():
                writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))

    def open(self, source: Source) -> OpenFile:
        return _OpenFile(source)


PEER = _Lance()
