"""Statistics of a column in the row group being written: null count, minimum and maximum."""

from pymosaic.kernels.row_group_buffer import RowGroupBuffer

def statistics(rows: RowGroupBuffer, position: int, nan_first: bool) -> bytes:
    """A column's statistics entry: null count, and min and max if a value is there."""
