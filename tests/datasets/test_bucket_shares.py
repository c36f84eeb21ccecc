"""What a scan reads of the buckets of a row group: measured with numpy, and without for a few."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from pymosaic.datasets import plan
from pymosaic.datasets.plan import BucketShares


@dataclass(frozen=True, slots=True)
class _Counts:
    num_columns: int
    num_buckets: int


@dataclass(frozen=True, slots=True)
class _Index:
    """Compressed and raw sizes by bucket."""

    sizes: dict[int, tuple[int, int]]

    def entry(self, _: int, bucket: int) -> tuple[int, int, int] | None:
        compressed, raw = self.sizes.get(bucket, (0, 0))
        return (0, compressed, raw) if compressed else None

    def bucket_sizes(self, _: int, buckets: npt.NDArray[np.int64]) -> Any:
        found = [self.sizes.get(bucket, (0, 0)) for bucket in buckets.tolist()]
        return tuple(np.array(found, np.int64).reshape(-1, 2).T)


@given(st.data(), st.integers(1, 200), st.integers(1, 60))
def test_few_buckets_are_measured_as_many_are(
    data: st.DataObject, num_columns: int, num_buckets: int
) -> None:
    columns: Any = _Counts(num_columns, min(num_buckets, num_columns))
    chosen = data.draw(st.sets(st.integers(0, num_columns - 1), min_size=1, max_size=40))
    positions = np.array(sorted(chosen), np.int64)
    size = st.tuples(st.integers(0, 1 << 40), st.sampled_from([0, 1, 7]))
    index = _Index(data.draw(st.dictionaries(st.integers(0, num_buckets - 1), size)))
    head: Any = SimpleNamespace(index=index)
    most = plan._FEW
    try:
        plan._FEW = 1_000
        few = BucketShares(columns, [positions])
        plan._FEW = 0
        many = BucketShares(columns, [positions])
    finally:
        plan._FEW = most
    assert few.measure(head, 0) == many.measure(head, 0)
