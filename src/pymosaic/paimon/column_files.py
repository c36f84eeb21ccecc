"""Column files while they are read: Mosaic through pymosaic, Parquet through pyarrow."""

from __future__ import annotations

import threading
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.arrow.statistics import ColumnStatistics
from pymosaic.datasets.file_columns import FileColumns, WantedColumns
from pymosaic.errors import CorruptFileError, located
from pymosaic.file.open_file import OpenFile, read_head
from pymosaic.file.row_group_reader import RowGroupReader
from pymosaic.file.statistics import row_group_statistics
from pymosaic.io import open_source
from pymosaic.kernels.arrow_export import MemoryBudget
from pymosaic.kernels.catalog import Catalog
from pymosaic.limits import Limits
from pymosaic.paimon.row_ranges import ColumnFile

__all__ = ["ColumnBinder", "OpenColumnFile", "open_column_file"]

_REMEMBERED = 64


class ColumnBinder:
    """Finds columns in Mosaic files; what files with the same catalog share is computed once."""

    def __init__(self) -> None:
        self._wanted: dict[int, tuple[pa.Schema, WantedColumns]] = {}
        self._found: dict[tuple[Catalog, int], FileColumns] = {}
        self._lock = threading.Lock()

    def bind(self, catalog: Catalog, schema: pa.Schema, path: str) -> FileColumns:
        """The columns of a schema in a file."""
        with self._lock:
            key = (catalog, id(schema))
            found = self._found.get(key)
            if found is None:
                if len(self._found) >= _REMEMBERED:
                    self._found.clear()
                    self._wanted.clear()
                # The schema is kept, so that its id stays its own.
                if id(schema) not in self._wanted:
                    self._wanted[id(schema)] = schema, WantedColumns(schema)
                found = FileColumns(catalog, self._wanted[id(schema)][1], path)
                self._found[key] = found
            return found


class OpenColumnFile(Protocol):
    """An opened file."""

    @property
    def bounds(self) -> npt.NDArray[np.int64]:
        """The first row of each row group, and the number of rows."""
        ...

    def read(self, row_group: int, schema: pa.Schema) -> pa.RecordBatch:
        """Columns of a row group, by their names in the file."""

    def statistics(
        self, row_group: int, name: str, data_type: pa.DataType
    ) -> ColumnStatistics | None:
        """Statistics of a column in a row group."""

    def close(self) -> None:
        """Close the file."""


def open_column_file(
    file: ColumnFile,
    filesystem: Any,
    limits: Limits,
    binder: ColumnBinder,
    use_threads: bool,
    budget: MemoryBudget | None,
) -> OpenColumnFile:
    """Open a file, and check that it has the rows that the manifest tells."""
    opened: OpenColumnFile
    if file.format == "mosaic":
        opened = _MosaicFile(file, filesystem, limits, binder, use_threads, budget)
    else:
        opened = _ParquetFile(file, filesystem)
    if opened.bounds[-1] != file.num_rows:
        opened.close()
        raise CorruptFileError(
            f"has {opened.bounds[-1]} rows, but the manifest says {file.num_rows}", file.path
        )
    return opened


class _MosaicFile:
    def __init__(
        self,
        file: ColumnFile,
        filesystem: Any,
        limits: Limits,
        binder: ColumnBinder,
        use_threads: bool,
        budget: MemoryBudget | None,
    ) -> None:
        self._path = file.path
        self._binder = binder
        self._use_threads = use_threads
        self._budget = budget
        self._source = open_source(file.path, filesystem, None if filesystem is None else file.size)
        try:
            head = read_head(self._source, limits)
        except BaseException:
            self._source.close()
            raise
        self._file: OpenFile = head.open(self._source, limits)
        counts = [head.index.row_count(number) for number in range(head.index.num_row_groups)]
        self.bounds = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))

    def read(self, row_group: int, schema: pa.Schema) -> pa.RecordBatch:
        columns = self._binder.bind(self._file.catalog, schema, self._path)
        with located(self._path):
            reader = RowGroupReader(self._file, row_group, self._use_threads, self._budget)
            return columns.adapt(reader.read(columns.selection), self._path)

    def statistics(
        self, row_group: int, name: str, data_type: pa.DataType
    ) -> ColumnStatistics | None:
        with located(self._path):
            # The manifest's own statistics have ruled out what they can.
            return row_group_statistics(self._file, row_group, name, data_type, trusted=False)

    def close(self) -> None:
        self._source.close()


class _ParquetFile:
    def __init__(self, file: ColumnFile, filesystem: Any) -> None:
        import pyarrow.parquet as pq

        self._path = file.path
        try:
            self._file = pq.ParquetFile(file.path, filesystem=filesystem)
        except pa.ArrowInvalid as error:
            raise CorruptFileError(str(error), file.path) from error
        metadata = self._file.metadata
        counts = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
        self.bounds = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        self._names = set(self._file.schema_arrow.names)

    def read(self, row_group: int, schema: pa.Schema) -> pa.RecordBatch:
        names = [name for name in schema.names if name in self._names]
        try:
            table = self._file.read_row_group(row_group, columns=names)
        except (pa.ArrowInvalid, OSError) as error:
            raise CorruptFileError(str(error), self._path, f"row group {row_group}") from error
        num_rows = int(self.bounds[row_group + 1] - self.bounds[row_group])
        columns = [
            _one_array(table.column(field.name).cast(field.type))
            if field.name in self._names
            else pa.nulls(num_rows, field.type)
            for field in schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def statistics(
        self, row_group: int, name: str, data_type: pa.DataType
    ) -> ColumnStatistics | None:
        return None

    def close(self) -> None:
        self._file.close()


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)
