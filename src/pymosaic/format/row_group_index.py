"""The row group index: positions of buckets, and statistics.

Per row group:

======================= =====================================================================
field                   encoding
======================= =====================================================================
number of rows          varint
number of buckets       varint: the number of listed buckets
per bucket              varint bucket id, 8 bytes big-endian offset, varint compressed size,
                        varint raw size
number of statistics    varint
per statistic           varint column position (in name order), varint null count, and if
                        that is below the number of rows min and max as serialised values
======================= =====================================================================

A bucket that is not listed is missing, like one that is listed with sizes 0 and 0; see
:mod:`pymosaic.format.bucket`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pymosaic.errors import RowNotFoundError
from pymosaic.format.bucket import BucketPlace
from pymosaic.format.varint import encode_varint

__all__ = ["bucket_place", "emit_row_group", "rows_of"]


class _Index(Protocol):
    """What :mod:`pymosaic.kernels.row_group_index` parses."""

    def entry(self, row_group: int, bucket: int, /) -> tuple[int, int, int] | None: ...
    def row_count(self, row_group: int, /) -> int: ...


def rows_of(index: _Index, row_group: int) -> int:
    """The number of rows of a row group that a caller named."""
    try:
        return index.row_count(row_group)
    except IndexError as error:
        raise RowNotFoundError(str(error)) from None


def bucket_place(index: _Index, row_group: int, bucket: int) -> BucketPlace:
    """The position of a bucket, stored or not."""
    entry = index.entry(row_group, bucket)
    return BucketPlace(bucket) if entry is None else BucketPlace(bucket, *entry)


def emit_row_group(
    num_rows: int, places: Sequence[BucketPlace], statistics: Sequence[tuple[int, bytes]]
) -> bytes:
    """The index entry of one row group.

    ``statistics`` has column positions and the bytes that follow: null count, min and max.
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
