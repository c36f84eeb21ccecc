"""From columns and the index to the buckets that must be read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymosaic.file.plan import (
    BucketPlan,
    Slot,
    first_range,
    group_few,
    group_many,
    plan_row_group,
    wanted_slots,
)
from pymosaic.format.bucket import BucketPlace
from pymosaic.kernels import row_group_index, schema_content
from pymosaic.kernels.bucket_decoder import BucketDecoder
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.row_group_index import RowGroupIndex
from pymosaic.limits import Limits
from pymosaic.testing.pieces import INTEGER, entry, row_group, schema

DATA_END = 1000


def parsed(num_columns: int, num_buckets: int, *groups: bytes) -> tuple[Catalog, RowGroupIndex]:
    columns = [(f"c{i:02}", INTEGER) for i in range(num_columns)]
    catalog = schema_content.parse(schema(*columns, num_buckets=num_buckets), Limits())
    index = row_group_index.parse(b"".join(groups), catalog, len(groups), DATA_END)
    return catalog, index


# Seven columns in three buckets are 0 1 2, 3 4, 5 6.
CATALOG, INDEX = parsed(
    7,
    3,
    row_group(10, entry(0, 0, 20, 30), entry(1, 20, 25, 0), entry(2, 45, 5, 9)),
    row_group(4, entry(0, 50, 6, 8), entry(2, 0, 0, 0)),
)


def plan(positions: list[int], of_row_group: int = 0) -> list[BucketPlan]:
    return plan_row_group(CATALOG, INDEX, of_row_group, np.array(positions, np.int64))


@pytest.mark.parametrize(
    ("positions", "buckets"),
    [
        ([], []),
        ([0], [0]),
        ([2], [0]),
        ([3], [1]),
        ([6], [2]),
        ([6, 0], [0, 2]),
        ([5, 4, 3, 1], [0, 1, 2]),
        (list(range(7)), [0, 1, 2]),
    ],
)
def test_each_bucket_of_a_wanted_column_once_in_ascending_order(
    positions: list[int], buckets: list[int]
) -> None:
    assert [part.place.bucket for part in plan(positions)] == buckets


def test_a_bucket_has_its_columns_ascending_and_their_places_in_the_result() -> None:
    first, second = plan([4, 2, 0, 3])
    assert (first.positions.tolist(), first.slots.tolist()) == ([0, 2], [2, 1])
    assert (second.positions.tolist(), second.slots.tolist()) == ([3, 4], [3, 0])


def test_where_the_buckets_are_and_how() -> None:
    monolithic, paged, _ = plan([0, 3, 5])
    assert monolithic.place == BucketPlace(0, 0, 20, 30)
    assert monolithic.place.layout == "monolithic"
    assert paged.place == BucketPlace(1, 20, 25, 0)
    assert paged.place.layout == "paged"


@pytest.mark.parametrize(
    ("positions", "of_row_group", "wanted"),
    [
        ([0], 0, (0, 20)),
        ([3], 0, (20, 8)),
        ([3, 4], 0, (20, 25)),
        ([6], 1, None),
    ],
    ids=["all of a monolithic bucket", "a directory", "all of a paged bucket", "nothing"],
)
def test_what_is_read_of_a_bucket_at_first(
    positions: list[int], of_row_group: int, wanted: tuple[int, int] | None
) -> None:
    (part,) = plan(positions, of_row_group)
    decoder = BucketDecoder(CATALOG, part.place.bucket, 10)
    assert first_range(part, CATALOG, decoder) == wanted


def test_slots_of_wanted_columns_that_hold_something() -> None:
    decoder = BucketDecoder(CATALOG, 1, 10)
    offsets = np.array([8, 18, 25])
    assert wanted_slots(plan([4])[0], decoder, offsets) == [Slot(1, 18, 25)]
    assert wanted_slots(plan([3, 4])[0], decoder, offsets) == [Slot(0, 8, 18), Slot(1, 18, 25)]
    assert wanted_slots(plan([3])[0], decoder, np.array([8, 8, 25])) == []


def test_each_row_group_has_its_own_places() -> None:
    (stored,) = plan([1], of_row_group=1)
    assert stored.place == BucketPlace(0, 50, 6, 8)


@pytest.mark.parametrize("position", [3, 6], ids=["not listed", "listed without bytes"])
def test_a_bucket_that_is_not_stored_is_missing(position: int) -> None:
    (part,) = plan([position], of_row_group=1)
    assert part.place.layout == "missing"
    assert part.positions.tolist() == [position]


@pytest.mark.parametrize(("num_columns", "num_buckets"), [(1, 1), (23, 7), (7, 7), (2, 5), (50, 3)])
def test_columns_are_spread_as_the_format_says(num_columns: int, num_buckets: int) -> None:
    catalog, index = parsed(num_columns, num_buckets, row_group(1))
    everything = plan_row_group(catalog, index, 0, np.arange(num_columns))
    assert {
        position: part.place.bucket for part in everything for position in part.positions.tolist()
    } == {position: position * num_buckets // num_columns for position in range(num_columns)}
    for part in everything:
        first, last = catalog.bucket_range(part.place.bucket)
        assert part.positions.tolist() == list(range(first, last))


def test_the_most_buckets_there_can_be_cost_nothing() -> None:
    catalog, index = parsed(3, (1 << 32) - 1, row_group(1))
    parts = plan_row_group(catalog, index, 0, np.array([2, 0]))
    assert [part.place.bucket for part in parts] == [0, ((1 << 32) - 1) * 2 // 3]


def test_a_row_group_that_is_not_there() -> None:
    with pytest.raises(IndexError, match="row group 2"):
        plan([0], of_row_group=2)


@dataclass(frozen=True, slots=True)
class _Counts:
    num_columns: int
    num_buckets: int


@given(
    st.data(),
    st.integers(1, 1 << 20),
    st.one_of(st.integers(1, 300), st.integers(1, (1 << 32) - 1)),
)
def test_few_columns_are_grouped_as_many_are(
    data: st.DataObject, num_columns: int, num_buckets: int
) -> None:
    columns = _Counts(num_columns, num_buckets)
    chosen = data.draw(
        st.lists(st.integers(0, num_columns - 1), min_size=1, max_size=60, unique=True)
    )
    positions = np.array(chosen, np.int64)
    few, many = group_few(columns, positions), group_many(columns, positions)
    assert few[0].tolist() == many[0].tolist()
    assert few[1].tolist() == many[1].tolist()
    assert few[2:] == many[2:]
