"""Mosaic through the reference implementation, a Rust core behind ctypes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import mosaic
import pyarrow as pa

from benchmarks.peers.base import OpenFile, Peer, Source

__all__ = ["PEER"]


def _pread(descriptor: int, offset: int, length: int) -> bytes:
    return os.pread(descriptor, length, offset)


class _OpenFile(OpenFile):
    def __init__(self, source: Source) -> None:
        self._descriptor: int | None = None
        read_at: Callable[[int, int], bytes]
        if isinstance(source, Path):
            self._descriptor = os.open(source, os.O_RDONLY)
            size = os.fstat(self._descriptor).st_size
            read_at = partial(_pread, self._descriptor)
        else:
            size, read_at = source.size(), source.read_at
        self._reader = mosaic.MosaicReader.from_input_file(read_at, size)

    @property
    def schema(self) -> pa.Schema:
        return self._reader.schema

    def read(self, columns: Sequence[str] | None) -> pa.Table:
        if columns is not None:
            self._reader.project(columns)
        return self._reader.read_all()

    def look_up(self, names: Sequence[str]) -> None:
        self._reader.project(names)

    def close(self) -> None:
        self._reader.close()
        if self._descriptor is not None:
            os.close(self._descriptor)


class _PaimonMosaic(Peer):
    title = "paimon-mosaic"
    distribution = "paimon-mosaic"
    suffix = "reference.mosaic"
    looks_up_names = True

    def write(self, table: pa.Table, path: Path, level: int) -> None:
        with path.open("wb") as stream:
            mosaic.write_table(table, stream, mosaic.WriterOptions(zstd_level=level))

    def open(self, source: Source) -> OpenFile:
        return _OpenFile(source)


PEER = _PaimonMosaic()
