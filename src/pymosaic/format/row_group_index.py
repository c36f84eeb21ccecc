"""The row group index: where every bucket is, and statistics.

Per row group:

======================= =====================================================================
field                   encoding
======================= =====================================================================
number of rows          varint
number of buckets       varint: how many are listed
per bucket              varint bucket id, 8 bytes big-endian offset, varint compressed size,
                        varint raw size
number of statistics    varint
per statistic           varint column position (in name order), varint null count, and if
                        that is below the number of rows min and max as serialised values
======================= =====================================================================

A bucket that is not listed is missing, as one that is listed with sizes 0 and 0; see
:mod:`pymosaic.format.bucket`.
"""

from __future__ import annotations

from collections.abc import Sequence

from pymosaic.format.bucket import BucketPlace
from pymosaic.format.varint import encode_varint
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.row_group_index import RowGroupIndex
from pymosaic.kernels.row_group_index import parse as _parse

__all__ = ["RowGroupIndex", "bucket_place", "emit_row_group", "parse"]


def parse(
    data: bytes | memoryview, catalog: Catalog, num_row_groups: int, data_end: int
) -> RowGroupIndex:
    """Read the whole index; ``data_end`` is where the schema block starts.

    Checked: every count against the bytes left, bucket ids, that buckets lie before the schema
    block and do not overlap, column positions, null counts, and that no byte is left over.
    Not checked: the values of statistics, which are decoded when they are asked for.
    """
    return _parse(data, catalog, num_row_groups, data_end)


def bucket_place(index: RowGroupIndex, row_group: int, bucket: int) -> BucketPlace:
    """Where a bucket is, stored or not."""
    entry = index.entry(row_group, bucket)
    return BucketPlace(bucket) if entry is None else BucketPlace(bucket, *entry)


def emit_row_group(
    num_rows: int, places: Sequence[BucketPlace], statistics: Sequence[tuple[int, bytes]]
) -> bytes:
    """One row group's part of the index.

    ``statistics`` holds column positions and what follows them: null count, min and max.
    """
    parts = [encode_varint(num_rows), encode_varint(len(places))]
    for place in places:
        parts.append(encode_varint(place.bucket))
        parts.append(place.offset.to_bytes(8, "big"))
        parts.append(encode_varint(place.compressed_size))
        parts.append(encode_varint(place.raw_size))
    parts.append(encode_varint(len(statistics)))
    for position, body in statistics:
        parts.append(encode_varint(position))
        parts.append(body)
    return b"".join(parts)
