"""Statistics of a column in a row group, from the index of a file."""

from __future__ import annotations

import pyarrow as pa

from pymosaic.arrow.statistics import ColumnStatistics, make_statistics
from pymosaic.file.open_file import FileHead

__all__ = ["row_group_statistics"]


def row_group_statistics(
    head: FileHead, row_group: int, name: str, arrow_type: pa.DataType, trusted: bool
) -> ColumnStatistics | None:
    """Statistics of one column to decide by, or None where the file has none.

    A flipped bit in statistics without a checksum would change which rows a filter finds: they
    count only if they are ``trusted``.
    """
    if not (trusted or head.guarded):
        return None
    position = head.catalog.find(name)
    entry = None if position < 0 else head.index.find_statistic(row_group, position)
    if entry is None:
        return None
    num_rows = head.index.row_count(row_group)
    return make_statistics(arrow_type, entry[1], num_rows, *entry[2:])
