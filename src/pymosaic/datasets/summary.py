"""Counts, minima and maxima of columns, as far as metadata alone tells them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.datasets.binding import BoundFile
from pymosaic.datasets.discovery import DataFile
from pymosaic.errors import located
from pymosaic.file.open_file import FileHead
from pymosaic.file.statistics import row_group_statistics

__all__ = ["ColumnSummary", "ScanSummary", "summarize"]


@dataclass(slots=True)
class ColumnSummary:
    """What metadata tells about a column.

    Parameters
    ----------
    num_values : int
        Values that are not null.
    min_scalar, max_scalar : pyarrow.Scalar or None
        None if there are no values. They do not cover NaN values.
    """

    num_values: int = 0
    min_scalar: pa.Scalar | None = None
    max_scalar: pa.Scalar | None = None

    def add(self, num_values: int, low: pa.Scalar, high: pa.Scalar) -> None:
        """Take values into account."""
        self.num_values += num_values
        if self.min_scalar is None or pc.less(low, self.min_scalar).as_py():
            self.min_scalar = low
        if self.max_scalar is None or pc.greater(high, self.max_scalar).as_py():
            self.max_scalar = high


@dataclass(frozen=True, slots=True)
class ScanSummary:
    """What metadata tells about the rows of a scan.

    Parameters
    ----------
    num_rows : int
    columns : dict
        By name; None for a column that a file has no statistics of.
    """

    num_rows: int
    columns: dict[str, ColumnSummary | None]


def summarize(
    schema: pa.Schema, files: Iterable[tuple[DataFile, FileHead, BoundFile]]
) -> ScanSummary | None:
    """Summarise columns of files, of which no data is read.

    Parameters
    ----------
    schema : pyarrow.Schema
        The columns.
    files : iterable
        The files of a scan, with their heads, bound to its columns and filter.

    Returns
    -------
    ScanSummary or None
        None if metadata does not tell which rows pass the filter.
    """
    num_rows = 0
    found: dict[str, ColumnSummary | None] = {name: ColumnSummary() for name in schema.names}
    for file, head, bound in files:
        trusted = bound.trust_statistics
        constants = dict(file.partition)
        types = bound.columns.ordered_types
        for row_group in range(head.index.num_row_groups):
            rows = head.index.row_count(row_group)
            if not rows or bound.excludes(head, row_group):
                continue
            if not bound.covers(head, row_group):
                return None
            num_rows += rows
            for field in schema:
                summary = found[field.name]
                if summary is None:
                    continue
                if field.name in constants:
                    if constants[field.name] is not None:
                        value = pa.scalar(constants[field.name], field.type)
                        summary.add(rows, value, value)
                elif head.catalog.find(field.name) >= 0 and not _add(
                    summary, head, row_group, field, types.get(field.name), trusted
                ):
                    found[field.name] = None
    return ScanSummary(num_rows, found)


def _add(
    summary: ColumnSummary,
    head: FileHead,
    row_group: int,
    field: pa.Field,
    own_type: pa.DataType | None,
    trusted: bool,
) -> bool:
    """Take a column of a row group into account; False if its statistics do not suffice."""
    if own_type is None:
        return False
    with located(head.name):
        statistics = row_group_statistics(head, row_group, field.name, own_type, trusted)
    if statistics is None:
        return False
    num_values = statistics.num_rows - statistics.null_count
    if num_values == 0:
        return True
    low, high = statistics.min_scalar, statistics.max_scalar
    if low is None or high is None:
        return False
    summary.add(num_values, low.cast(field.type), high.cast(field.type))
    return True
