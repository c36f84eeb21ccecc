"""Lance: files directly, datasets through pylance or, without it, as their data files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pymosaic.cli.formats import FileKind
from pymosaic.cli.formats.base import (
    OpenFileReader,
    TableReader,
    TableWriter,
    batch_rows,
    take_option,
)
from pymosaic.cli.inputs import data_files
from pymosaic.cli.notices import tell
from pymosaic.errors import UnsupportedFeatureError, printable
from pymosaic.lance import LanceFile, write_table

__all__ = ["read", "write"]

_ADVICE = "pip install 'pymosaic-format[lance]'"


class _LanceDatasetReader(TableReader):
    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.schema = dataset.schema
        self.num_rows = dataset.count_rows()

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        names = self.schema.names if columns is None else columns
        if not names:
            # pylance cannot scan zero columns.
            empty = pa.RecordBatch.from_struct_array(
                pa.array([{}] * int(self.num_rows or 0), pa.struct([]))
            )
            return iter([empty])
        batches: Iterator[pa.RecordBatch] = self._dataset.to_batches(
            columns=names, batch_size=batch_rows(len(names))
        )
        return batches


class _DataFilesReader(TableReader):
    """The data files of a dataset, one after another; each is open only while it is read."""

    def __init__(self, path: str) -> None:
        self._paths = data_files(path)
        self.num_rows = 0
        for number, file_path in enumerate(self._paths):
            with LanceFile(file_path) as file:
                if number == 0:
                    self.schema = file.schema
                elif not file.schema.equals(self.schema):
                    raise UnsupportedFeatureError(
                        f"{path} has data files with different columns, which only pylance can "
                        f"combine: {_ADVICE}; or name its data files one by one"
                    )
                self.num_rows += file.num_rows

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        for path in self._paths:
            with LanceFile(path) as file:
                width = len(self.schema) if columns is None else len(columns)
                yield from file.iter_batches(batch_rows(width), columns)


def read(path: str, kind: FileKind) -> TableReader:
    """Open a Lance file, or a dataset."""
    if not os.path.isdir(path):
        return OpenFileReader(LanceFile(path))
    try:
        import lance
    except ImportError:
        reader = _DataFilesReader(path)
        tell(
            f"{printable(path)} is a Lance dataset and pylance is not installed ({_ADVICE}): "
            "reading all its data files in name order, including rows that were deleted"
        )
        return reader
    return _LanceDatasetReader(lance.dataset(path))


class _LanceWriter(TableWriter):
    """Keeps the rows in an unnamed file until all have arrived: Lance stores whole columns."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._path = path
        self._rows = tempfile.TemporaryFile()  # noqa: SIM115
        self._writer = pa.ipc.new_file(pa.PythonFile(self._rows, "w"), schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write(batch)

    def close(self) -> None:
        self._writer.close()
        self._rows.flush()
        # Mapped, not read: memory stays bounded.
        with pa.memory_map(f"/proc/self/fd/{self._rows.fileno()}") as mapped:
            write_table(pa.ipc.open_file(mapped).read_all(), self._path)
        self._rows.close()

    def abort(self) -> None:
        self._rows.close()


def write(path: str, kind: FileKind, schema: pa.Schema, options: dict[str, Any]) -> TableWriter:
    """Create a Lance file."""
    take_option(options, (), "Lance")
    return _LanceWriter(path, schema)
