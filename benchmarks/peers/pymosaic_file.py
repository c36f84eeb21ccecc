"""Mosaic through this package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from benchmarks.peers.base import OpenFile, Peer, Source
from pymosaic import MosaicFile
from pymosaic.file.catalogs import catalogs
from pymosaic.file.projection import resolve_columns
from pymosaic.file.reader import opened

__all__ = ["PEER"]


class _OpenFile(OpenFile):
    def __init__(self, source: Source) -> None:
        self._file = MosaicFile(source)

    @property
    def schema(self) -> pa.Schema:
        return self._file.schema

    def read(self, columns: Sequence[str] | None) -> pa.Table:
        return self._file.read(columns)

    def read_prefix(self, prefix: str) -> pa.Table:
        return self._file.read([prefix + "*"])

    def look_up(self, names: Sequence[str]) -> None:
        # The step of read(columns=names) before any data is read; it has no public name.
        resolve_columns(names, opened(self._file).catalog)

    def close(self) -> None:
        self._file.close()


class _Pymosaic(Peer):
    title = "pymosaic"
    distribution = "pymosaic-format"
    suffix = "mosaic"
    looks_up_names = True

    def write(self, table: pa.Table, path: Path, level: int) -> None:
        # Not at the top: a cold start to the first value needs no writer.
        from pymosaic import write_table

        write_table(table, path, compression_level=level)

    def open(self, source: Source) -> OpenFile:
        # Schemas of the last files are kept: what is measured is a schema never seen before.
        catalogs.forget()
        return _OpenFile(source)


PEER = _Pymosaic()
