"""Read planning: which bytes of which buckets a projection of a row group needs. Pure.

A paged bucket takes two steps: its directory says where the slots are.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from pymosaic.format.bucket import BucketPlace, buckets_of
from pymosaic.format.row_group_index import bucket_place
from pymosaic.kernels.bucket_decoder import BucketDecoder
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.row_group_index import RowGroupIndex

__all__ = [
    "BucketPlan",
    "ByteRange",
    "Slot",
    "first_range",
    "group_few",
    "group_many",
    "plan_row_group",
    "wanted_slots",
]

# Up to this many columns are grouped without numpy.
_FEW = 32

ByteRange: TypeAlias = tuple[int, int]
"""Offset in the file, and length."""


class BucketPlan(NamedTuple):
    """The columns to read from one bucket of one row group.

    ``positions`` are the wanted columns in ascending order, ``slots`` their indices in the result.
    """

    place: BucketPlace
    positions: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int64]


class Slot(NamedTuple):
    """A slot of a paged bucket: its physical column, and its byte range within the bucket."""

    column: int
    start: int
    stop: int


def plan_row_group(
    catalog: Catalog, index: RowGroupIndex, row_group: int, positions: npt.NDArray[np.int64]
) -> list[BucketPlan]:
    """The buckets that hold the columns at ``positions``, each once, in ascending order."""
    if len(positions) == 0:
        return []
    group = group_few if len(positions) <= _FEW else group_many
    ordered, slots, buckets, starts = group(catalog, positions)
    stops = [*starts[1:], len(ordered)]
    return [
        BucketPlan(bucket_place(index, row_group, bucket), ordered[start:stop], slots[start:stop])
        for bucket, start, stop in zip(buckets, starts, stops, strict=True)
    ]


class Columns(Protocol):
    """How many columns there are in how many buckets."""

    @property
    def num_columns(self) -> int:
        """Number of columns."""
        ...

    @property
    def num_buckets(self) -> int:
        """Number of buckets."""
        ...


Groups: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], list[int], list[int]]
"""Positions in ascending order, their indices, their buckets, and where each bucket begins."""


def group_many(columns: Columns, positions: npt.NDArray[np.int64]) -> Groups:
    """Group positions by bucket."""
    slots = np.argsort(positions, kind="stable")
    ordered = positions[slots]
    buckets = buckets_of(columns, ordered)
    starts = np.flatnonzero(np.diff(buckets, prepend=-1))
    return ordered, slots, buckets[starts].tolist(), starts.tolist()


def group_few(columns: Columns, positions: npt.NDArray[np.int64]) -> Groups:
    """The same without numpy, which takes longer to start than a few positions take."""
    values = positions.tolist()
    slots = sorted(range(len(values)), key=values.__getitem__)
    ordered = [values[slot] for slot in slots]
    buckets: list[int] = []
    starts: list[int] = []
    for place, position in enumerate(ordered):
        bucket = position * columns.num_buckets // max(1, columns.num_columns)
        if not buckets or bucket != buckets[-1]:
            buckets.append(bucket)
            starts.append(place)
    return np.array(ordered, np.int64), np.array(slots, np.int64), buckets, starts


def first_range(plan: BucketPlan, catalog: Catalog, decoder: BucketDecoder) -> ByteRange | None:
    """The first range to read of a bucket; None if it is not stored.

    That is the whole bucket, or the directory of a paged bucket if only some columns are wanted.
    """
    place = plan.place
    if place.missing:
        return None
    first, last = catalog.bucket_range(place.bucket)
    size = place.compressed_size
    if place.paged and len(plan.positions) < last - first:
        size = min(size, decoder.directory_size())
    return place.offset, size


def wanted_slots(
    plan: BucketPlan, decoder: BucketDecoder, offsets: npt.NDArray[np.int64]
) -> list[Slot]:
    """The slots that hold the wanted columns and their children, without the empty ones.

    ``offsets`` is the result of :func:`pymosaic.format.bucket.parse_directory`.
    """
    slots = []
    for position in plan.positions:
        primary, first_child, last_child = decoder.physical_range(position)
        for column in (primary, *range(first_child, last_child)):
            start, stop = int(offsets[column]), int(offsets[column + 1])
            if stop > start:
                slots.append(Slot(column, start, stop))
    return slots
