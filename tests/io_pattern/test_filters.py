"""What filters spare: pruned row groups, and the columns of row groups without a matching row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.equality import assert_identical
from tests.io_pattern.recording import (
    Range,
    bucket_ranges,
    file_of,
    joined,
    opened,
    slot_ranges,
)
from tests.writing import write

# One bucket per column, in this order: "key" is bucket 0, "left" 1, "right" 2.
GROUPS = [
    pa.record_batch({"key": [1, 2], "left": ["a", "b"], "right": [1.5, None]}),
    pa.record_batch({"key": [3, 5], "left": ["c", "d"], "right": [2.5, 3.5]}),
    pa.record_batch({"key": [None, 7], "left": ["e", "f"], "right": [4.5, 5.5]}),
]
SCHEMA = GROUPS[0].schema
PLAIN = write(GROUPS, SCHEMA, row_group_bytes=1)
WITH_STATISTICS = write(GROUPS, SCHEMA, row_group_bytes=1, statistics=["key"])


def buckets(data: bytes, row_group: int) -> list[Range]:
    key, left, right = bucket_ranges(data, row_group)
    return [key, left, right]


def filtered(data: bytes, filters: Any, **options: Any) -> tuple[pa.Table, list[Range]]:
    file, source = opened(data)
    return file.read(filters=filters, **options), source.reads


class TestPruning:
    @pytest.mark.parametrize(
        ("filters", "row_groups"),
        [
            ([("key", ">", 6)], [2]),
            ([("key", "==", 3)], [1]),
            ([("key", "in", [1, 3])], [0, 1]),
            ([("key", "is null")], [2]),
            ([[("key", "<", 2)], [("key", ">", 6)]], [0, 2]),
            ([("key", ">", 7)], []),
            ([("key", "in", [])], []),
        ],
    )
    def test_row_groups_that_statistics_exclude_are_not_read(
        self, filters: object, row_groups: list[int]
    ) -> None:
        _, reads = filtered(WITH_STATISTICS, filters, columns=["left"])
        keys_and_values = [joined(*buckets(WITH_STATISTICS, group)[:2]) for group in row_groups]
        assert covered(reads) == covered(keys_and_values)

    def test_a_value_between_minimum_and_maximum_costs_the_filter_column_only(self) -> None:
        table, reads = filtered(WITH_STATISTICS, [("key", "==", 4)])
        assert table.num_rows == 0
        assert reads == [buckets(WITH_STATISTICS, 1)[0]]

    def test_row_groups_are_pruned_among_those_asked_for(self) -> None:
        file, source = opened(WITH_STATISTICS)
        batches = file.iter_batches(columns=["key"], filters=[("key", ">", 2)], row_groups=[0, 2])
        assert [batch["key"].to_pylist() for batch in batches] == [[7]]
        assert covered(source.reads) == covered([buckets(WITH_STATISTICS, 2)[0]])


class TestFilterColumnsFirst:
    def test_without_a_matching_row_nothing_else_is_read(self) -> None:
        table, reads = filtered(PLAIN, [("key", ">", 100)])
        assert table.num_rows == 0
        assert table.schema.equals(SCHEMA)
        assert reads == [buckets(PLAIN, group)[0] for group in range(3)]

    def test_other_columns_are_read_for_row_groups_with_matches_only(self) -> None:
        table, reads = filtered(PLAIN, [("key", "==", 5)], columns=["right"])
        assert table.to_pydict() == {"right": [3.5]}
        assert reads == [
            buckets(PLAIN, 0)[0],
            buckets(PLAIN, 1)[0],
            buckets(PLAIN, 1)[2],
            buckets(PLAIN, 2)[0],
        ]

    def test_columns_of_the_filter_are_read_together(self) -> None:
        _, reads = filtered(PLAIN, [("left", "==", "x"), ("key", ">", 100)], columns=["right"])
        assert reads == [joined(*buckets(PLAIN, group)[:2]) for group in range(3)]

    def test_counting_rows_reads_the_filter_column_only(self) -> None:
        table, reads = filtered(PLAIN, [("key", ">", 2)], columns=[])
        assert table.shape == (3, 0)
        assert reads == [buckets(PLAIN, group)[0] for group in range(3)]

    def test_a_filter_column_that_is_wanted_too_is_read_once(self) -> None:
        table, reads = filtered(PLAIN, [("key", ">", 0)], columns=["key"])
        assert table.to_pydict() == {"key": [1, 2, 3, 5, 7]}
        assert reads == [buckets(PLAIN, group)[0] for group in range(3)]

    def test_a_bucket_that_filter_and_projection_share_is_read_once(self) -> None:
        data = write(GROUPS[:1], SCHEMA, num_buckets=1)
        table, reads = filtered(data, [("key", "==", 2)], columns=["left"])
        assert table.to_pydict() == {"left": ["b"]}
        assert reads == bucket_ranges(data)

    def test_the_rest_is_read_once_after_the_filter_columns(self) -> None:
        table, reads = filtered(PLAIN, [("left", "==", "d")])
        assert_identical(table, pa.Table.from_batches([GROUPS[1].slice(1)]))
        key, left, right = buckets(PLAIN, 1)
        assert reads == [buckets(PLAIN, 0)[1], left, key, right, buckets(PLAIN, 2)[1]]


class TestPaged:
    """Filter and projection in one paged bucket: its directory and every slot are read once."""

    TABLE = pa.table(
        {
            "a": [1, 2, 3],
            "b": [4, None, 6],
            "c": pa.array([[1], None, [2, 3]], pa.list_(pa.int64())),
            "d": pa.nulls(3, pa.int64()),
            "e": ["x", "y", "z"],
        }
    )
    DATA = file_of(TABLE, num_buckets=1, page_size_threshold=0)
    DIRECTORY, A, B, C, D, E, ELEMENTS = slot_ranges(
        DATA, bucket_ranges(DATA)[0], 6, num_children=1
    )

    @pytest.mark.parametrize(
        ("filters", "columns", "rows", "expected"),
        [
            ([("a", ">", 9)], None, [], [DIRECTORY, A]),
            ([("a", ">", 1)], ["a"], [1, 2], [DIRECTORY, A]),
            ([("a", ">", 1)], ["e"], [1, 2], [DIRECTORY, A, E]),
            ([("a", ">", 1)], ["e", "a"], [1, 2], [DIRECTORY, A, E]),
            ([("a", ">", 1)], ["c"], [1, 2], [DIRECTORY, A, C, ELEMENTS]),
            ([("c", "is null")], ["c", "b"], [1], [DIRECTORY, C, ELEMENTS, B]),
            ([("d", "is null")], ["d", "a"], [0, 1, 2], [DIRECTORY, A]),
            ([("d", "is null"), ("e", "!=", "y")], ["b"], [0, 2], [DIRECTORY, E, B]),
            ([("a", "<", 3)], None, [0, 1], [DIRECTORY, A, joined(B, C, D, E, ELEMENTS)]),
            ([("b", ">", 4)], [], [2], [DIRECTORY, B]),
        ],
    )
    def test_each_slot_is_read_once(
        self,
        filters: object,
        columns: list[str] | None,
        rows: list[int],
        expected: list[Range],
    ) -> None:
        table, reads = filtered(self.DATA, filters, columns=columns)
        matching = self.TABLE.take(pa.array(rows, pa.int64()))
        names = self.TABLE.column_names if columns is None else columns
        assert_identical(table, matching.select(names))
        assert reads == expected

    def test_a_bucket_read_whole_for_the_filter_serves_the_projection(self) -> None:
        filters = [(name, "is null") for name in "abcde"]
        groups: Any = [[condition] for condition in filters]
        table, reads = filtered(self.DATA, groups, columns=["e", "c"])
        assert_identical(table, self.TABLE.select(["e", "c"]))
        assert reads == bucket_ranges(self.DATA)


def covered(ranges: list[Range]) -> set[int]:
    """The bytes read, however often."""
    return {byte for offset, length in ranges for byte in range(offset, offset + length)}
