"""Arrow IPC files (including Feather) and streams, through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pymosaic.cli.formats import FileKind
from pymosaic.cli.formats.base import (
    ArrowFileWriter,
    TableReader,
    batch_rows,
    open_binary,
    take_option,
)
from pymosaic.errors import InvalidOptionError

__all__ = ["read", "write"]

_FILE_MAGIC = b"ARROW1"


class _ArrowReader(TableReader):
    def __init__(self, path: str) -> None:
        self._source = open_binary(path)
        try:
            is_file = self._source.read(len(_FILE_MAGIC)) == _FILE_MAGIC
            self._source.seek(0)
            self._file = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(self._source)
        except BaseException:
            self._source.close()
            raise
        self.schema = self._file.schema

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        rows = batch_rows(len(self.schema))
        for batch in self._raw_batches():
            wanted = batch if columns is None else batch.select(columns)
            for start in range(0, wanted.num_rows, rows):
                yield wanted.slice(start, rows)

    def _raw_batches(self) -> Iterator[pa.RecordBatch]:
        if not isinstance(self._file, pa.RecordBatchFileReader):
            yield from self._file
            return
        for index in range(self._file.num_record_batches):
            yield self._file.get_batch(index)

    def close(self) -> None:
        self._source.close()


def read(path: str, kind: FileKind) -> TableReader:
    """Open an Arrow file or stream."""
    return _ArrowReader(path)


def write(path: str, kind: FileKind, schema: pa.Schema, options: dict[str, Any]) -> ArrowFileWriter:
    """Create an Arrow file, or a Feather file, which is compressed by default."""
    take_option(options, ("compression",), "Arrow")
    compression = options.get("compression", "lz4" if kind.extension == ".feather" else "none")
    if compression not in ("lz4", "zstd", "none"):
        raise InvalidOptionError(
            f"--compression of Arrow files must be lz4, zstd or none, got {compression}"
        )
    ipc_options = pa.ipc.IpcWriteOptions(compression=None if compression == "none" else compression)
    return ArrowFileWriter(path, lambda file: pa.ipc.new_file(file, schema, options=ipc_options))
