"""A filter bound to a file: row groups that it rules out, and rows that it keeps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.arrow.statistics import ColumnStatistics
from pymosaic.file.open_file import OpenFile
from pymosaic.file.projection import resolve_columns
from pymosaic.file.row_group_reader import RowGroupReader, Selection
from pymosaic.file.statistics import row_group_statistics
from pymosaic.filters.given import Filters, given_filter
from pymosaic.filters.row_filter import Filter

__all__ = ["FileFilter", "bind_filters"]


def bind_filters(file: OpenFile, filters: Filters, trust_statistics: bool) -> FileFilter | None:
    """Check filters against the columns of a file; None if they keep all rows."""

    def select(names: tuple[str, ...] | None) -> pa.Schema:
        positions = resolve_columns(names, file.catalog, "filters")
        return Selection(file.catalog, positions).import_schema()

    row_filter, schema = given_filter(filters, select)
    return None if row_filter is None else FileFilter(file, row_filter, schema, trust_statistics)


class FileFilter:
    """A filter bound to a file: prunes row groups, then selects rows."""

    def __init__(
        self, file: OpenFile, row_filter: Filter, schema: pa.Schema, trust_statistics: bool
    ) -> None:
        self._file = file
        self._trusted = trust_statistics
        self._filter = row_filter
        positions = resolve_columns(row_filter.columns, file.catalog, "filters")
        self._tested = Selection(file.catalog, positions)
        self._types = {field.name: field.type for field in schema}

    def read(
        self, reader: RowGroupReader, row_group: int, selection: Selection
    ) -> pa.RecordBatch | None:
        """The matching rows of a row group, or None."""
        if self.excludes(reader, row_group):
            return None
        return reader.read_matching(selection, self._filter, self._tested)

    def excludes(self, reader: RowGroupReader, row_group: int) -> bool:
        """Whether statistics show that no row of a row group matches."""

        def statistics(name: str) -> ColumnStatistics | None:
            return row_group_statistics(
                self._file, row_group, name, self._types[name], self._trusted
            )

        return self._filter.excludes(statistics, reader.num_rows)

    def rows(self, reader: RowGroupReader) -> npt.NDArray[np.int64] | None:
        """The numbers of the matching rows of a row group; None for all."""
        return reader.matching_rows(self._filter, self._tested)
