"""Columns that are written many at once, by several threads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from pymosaic.pages.small_pages import MAX_ROWS, SmallPages, encode_batch
from pymosaic.threads import ordered_map

__all__ = ["encode_columns"]

# What one thread encodes at a time: about so many bytes, of at most so many columns.
_RANGE_BYTES = 4 << 20
_RANGE_COLUMNS = 256


def encode_columns(table: pa.Table, version: str, page_bytes: int) -> Iterator[SmallPages]:
    """Encode all columns, a range of them at a time, in order; see :mod:`pages.small_pages`."""
    width = max(1, min(_RANGE_COLUMNS, _RANGE_BYTES // (8 * max(1, table.num_rows))))
    num_columns = table.num_columns
    ranges = [
        range(first, min(first + width, num_columns)) for first in range(0, num_columns, width)
    ]

    def encode(numbers: range) -> SmallPages:
        batch = _one_batch(table, numbers)
        if batch is None:
            empty = np.zeros((len(numbers), 5), np.int64)
            return SmallPages(b"", np.full((len(numbers), 3), -1, np.int64), empty)
        return encode_batch(batch, version, page_bytes)

    return ordered_map(encode, ranges, len(ranges) > 1)


def _one_batch(table: pa.Table, numbers: range) -> pa.RecordBatch | None:
    """Columns as one batch; None if they have too many rows, or pieces that are not joined."""
    if not 0 < table.num_rows <= MAX_ROWS:
        return None
    part = table.select(list(numbers))
    batches = part.to_batches()
    if len(batches) == 1:
        return batches[0]
    if any(field.type.num_fields or pa.types.is_dictionary(field.type) for field in part.schema):
        # Not every such type can be joined.
        return None
    batches = part.combine_chunks().to_batches()
    return batches[0] if len(batches) == 1 else None
