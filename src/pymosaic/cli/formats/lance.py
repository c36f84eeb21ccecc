"""Lance: a file by ourselves, a dataset directory by pylance."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pymosaic.cli.formats import FileKind
from pymosaic.cli.formats.base import TableReader, TableWriter, batch_rows, take_option
from pymosaic.errors import UnsupportedFeatureError
from pymosaic.lance import LanceFile

__all__ = ["read", "write"]


class _LanceFileReader(TableReader):
    def __init__(self, path: str) -> None:
        self._file = LanceFile(path)
        self.schema = self._file.schema
        self.num_rows = self._file.num_rows

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        width = len(self.schema) if columns is None else len(columns)
        return self._file.iter_batches(batch_rows(width), columns)

    def close(self) -> None:
        self._file.close()


class _LanceDatasetReader(TableReader):
    def __init__(self, path: str) -> None:
        try:
            import lance
        except ImportError:
            raise UnsupportedFeatureError(
                f"{path} is a Lance dataset, which pylance reads: pip install 'pymosaic[lance]'; "
                "the files in its directory data can be read one by one"
            ) from None
        self._dataset = lance.dataset(path)
        self.schema = self._dataset.schema
        self.num_rows = self._dataset.count_rows()

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        names = self.schema.names if columns is None else columns
        if not names:
            # pylance does not scan without columns.
            empty = pa.RecordBatch.from_struct_array(
                pa.array([{}] * int(self.num_rows or 0), pa.struct([]))
            )
            return iter([empty])
        batches: Iterator[pa.RecordBatch] = self._dataset.to_batches(
            columns=names, batch_size=batch_rows(len(names))
        )
        return batches


def read(path: str, kind: FileKind) -> TableReader:
    """Open a Lance file, or a dataset."""
    return _LanceDatasetReader(path) if os.path.isdir(path) else _LanceFileReader(path)


def write(path: str, kind: FileKind, schema: pa.Schema, options: dict[str, Any]) -> TableWriter:
    """Create a Lance file."""
    take_option(options, (), "Lance")
    raise UnsupportedFeatureError(f"{path}: Lance files cannot be written")
