"""(catalog, index, columns, row group) -> which buckets to read, for which columns. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.row_group_index import RowGroupIndex

__all__ = ["BucketPlan", "plan_row_group"]


@dataclass(frozen=True, slots=True)
class BucketPlan:
    """What to take from one bucket of one row group.

    ``positions`` are the wanted columns in ascending order, ``slots`` their places in the result.
    A ``compressed_size`` of 0 means that the bucket is not stored (all null), a ``raw_size`` of 0
    that it is paged.
    """

    bucket: int
    offset: int
    compressed_size: int
    raw_size: int
    positions: npt.NDArray[np.int64]
    slots: npt.NDArray[np.int64]

    @property
    def missing(self) -> bool:
        """Not stored: every value is null."""
        return self.compressed_size == 0

    @property
    def paged(self) -> bool:
        """Columns are compressed one by one."""
        return self.compressed_size > 0 and self.raw_size == 0


def plan_row_group(
    catalog: Catalog, index: RowGroupIndex, row_group: int, positions: npt.NDArray[np.int64]
) -> list[BucketPlan]:
    """The buckets that hold the columns at ``positions``, each once, in ascending order."""
    if len(positions) == 0:
        return []
    slots = np.argsort(positions, kind="stable")
    ordered = positions[slots]
    buckets = ordered * catalog.num_buckets // catalog.num_columns
    starts = np.flatnonzero(np.diff(buckets, prepend=-1))
    stops = [*starts[1:].tolist(), len(ordered)]
    plans = []
    for bucket, start, stop in zip(buckets[starts].tolist(), starts.tolist(), stops, strict=True):
        entry = index.entry(row_group, bucket) or (0, 0, 0)
        plans.append(BucketPlan(bucket, *entry, ordered[start:stop], slots[start:stop]))
    return plans
