"""Vortex, with its own choice of encodings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import vortex

from benchmarks.peers.base import OpenFile, Peer, Source

__all__ = ["PEER"]


class _OpenFile(OpenFile):
    def __init__(self, source: Source) -> None:
        self._file = (
            vortex.open(str(source), memory_map=True)
            if isinstance(source, Path)
            else vortex.open_readable(source)
        )

    @property
    def schema(self) -> pa.Schema:
        return self._file.dtype.to_arrow_schema()

    def read(self, columns: Sequence[str] | None) -> pa.Table:
        return self._file.to_arrow(None if columns is None else list(columns)).read_all()

    def take(self, rows: Sequence[int]) -> pa.Table:
        return self._file.to_arrow(indices=vortex.array(sorted(rows))).read_all()


class _Vortex(Peer):
    title = "Vortex"
    distribution = "vortex-data"
    suffix = "vortex"
    has_levels = False

    def write(self, table: pa.Table, path: Path, level: int) -> None:
        vortex.io.write(table, str(path))

    def open(self, source: Source) -> OpenFile:
        return _OpenFile(source)


PEER = _Vortex()
