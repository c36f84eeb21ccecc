"""Feather v2 (an Arrow IPC file) through pyarrow, compressed and mapped into memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import feather

from benchmarks.peers.base import OpenFile, Peer, Source

__all__ = ["PEER"]


class _OpenFile(OpenFile):
    def __init__(self, source: Source) -> None:
        self._file = (
            pa.memory_map(str(source)) if isinstance(source, Path) else pa.PythonFile(source, "r")
        )

    @property
    def schema(self) -> pa.Schema:
        return pa.ipc.open_file(self._file).schema

    def read(self, columns: Sequence[str] | None) -> pa.Table:
        return feather.read_table(self._file, columns)

    def close(self) -> None:
        self._file.close()


class _Feather(Peer):
    title = "Feather"
    distribution = "pyarrow"
    suffix = "feather"

    def write(self, table: pa.Table, path: Path, level: int) -> None:
        feather.write_feather(table, path, compression="zstd", compression_level=level)

    def open(self, source: Source) -> OpenFile:
        return _OpenFile(source)


PEER = _Feather()
