"""ORC through pyarrow, which offers no level for zstd."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import orc

from benchmarks.peers.base import OpenFile, Peer, Source

__all__ = ["PEER"]


class _OpenFile(OpenFile):
    def __init__(self, source: Source) -> None:
        self._file = orc.ORCFile(
            str(source) if isinstance(source, Path) else pa.PythonFile(source, "r")
        )

    @property
    def schema(self) -> pa.Schema:
        return self._file.schema

    def read(self, columns: Sequence[str] | None) -> pa.Table:
        return self._file.read(columns)


class _Orc(Peer):
    title = "ORC"
    distribution = "pyarrow"
    suffix = "orc"
    has_levels = False
    # The writer takes about half a megabyte for each column and does not give it back.
    writes_apart_above = 1_000
    max_columns = 20_000

    def write(self, table: pa.Table, path: Path, level: int) -> None:
        orc.write_table(table, str(path), compression="zstd")

    def open(self, source: Source) -> OpenFile:
        return _OpenFile(source)


PEER = _Orc()
