"""The row group index: where every bucket is, and statistics.

Per row group:

======================= =====================================================================
field                   encoding
======================= =====================================================================
number of rows          varint
number of buckets       varint: how many are listed
per bucket              varint bucket id, 8 bytes big-endian offset, varint compressed size,
                        varint raw size (0: the bucket is paged)
number of statistics    varint
per statistic           varint column position (in name order), varint null count, and if
                        that is below the number of rows min and max as serialised values
======================= =====================================================================

A bucket that is not listed, or listed with sizes 0 and 0, is all null.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pymosaic.format.varint import encode_varint
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.row_group_index import RowGroupIndex
from pymosaic.kernels.row_group_index import parse as _parse

__all__ = ["BucketEntry", "RowGroupIndex", "emit_row_group", "parse"]


@dataclass(frozen=True, slots=True)
class BucketEntry:
    """Where a bucket is; ``raw_size`` 0 means paged."""

    bucket: int
    offset: int
    compressed_size: int
    raw_size: int


def parse(
    data: bytes | memoryview, catalog: Catalog, num_row_groups: int, data_end: int
) -> RowGroupIndex:
    """Read the whole index; ``data_end`` is where the schema block starts.

    Checked: every count against the bytes left, bucket ids, that buckets lie before the schema
    block and do not overlap, column positions, null counts, and that no byte is left over.
    Not checked: the values of statistics, which are decoded when they are asked for.
    """
    return _parse(data, catalog, num_row_groups, data_end)


def emit_row_group(
    num_rows: int, entries: Sequence[BucketEntry], statistics: Sequence[tuple[int, bytes]]
) -> bytes:
    """One row group's part of the index.

    ``statistics`` holds column positions and what follows them: null count, min and max.
    """
    parts = [encode_varint(num_rows), encode_varint(len(entries))]
    for entry in entries:
        parts.append(encode_varint(entry.bucket))
        parts.append(entry.offset.to_bytes(8, "big"))
        parts.append(encode_varint(entry.compressed_size))
        parts.append(encode_varint(entry.raw_size))
    parts.append(encode_varint(len(statistics)))
    for position, body in statistics:
        parts.append(encode_varint(position))
        parts.append(body)
    return b"".join(parts)
