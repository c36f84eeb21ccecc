"""Which ranges a projection reads: the buckets that hold its columns, of paged ones the slots."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.equality import assert_identical
from tests.io_pattern.recording import (
    Range,
    bucket_ranges,
    end_structures,
    file_of,
    joined,
    opened,
    slot_ranges,
)
from tests.oracle import decode
from tests.writing import write

# Sorted by name two to a bucket; "d" is written first, so that original order differs.
TABLE = pa.table({name: [ord(name), None, 7] for name in "dabcef"})
MONOLITHIC = file_of(TABLE, num_buckets=3)
BUCKETS = bucket_ranges(MONOLITHIC)


def ranges_read(data: bytes, columns: list[str] | None) -> list[Range]:
    file, source = opened(data)
    with file:
        table = file.read(columns=columns)
    assert table.num_rows == file.num_rows
    return source.reads


class TestMonolithic:
    @pytest.mark.parametrize(
        ("columns", "expected"),
        [
            (["a"], [BUCKETS[0]]),
            (["d"], [BUCKETS[1]]),
            (["c", "d"], [BUCKETS[1]]),
            (["d", "c", "d"], [BUCKETS[1]]),
            (["f", "a"], [BUCKETS[0], BUCKETS[2]]),
            (["c", "b"], [joined(BUCKETS[0], BUCKETS[1])]),
            (["f", "a", "c"], [joined(*BUCKETS)]),
            (["*"], [joined(*BUCKETS)]),
            (["e*", "f*"], [BUCKETS[2]]),
            (None, [joined(*BUCKETS)]),
            ([], []),
        ],
    )
    def test_the_buckets_of_the_wanted_columns_are_read_and_no_other(
        self, columns: list[str] | None, expected: list[Range]
    ) -> None:
        assert decode(MONOLITHIC).layouts() == ["monolithic"] * 3
        assert ranges_read(MONOLITHIC, columns) == expected

    def test_buckets_are_read_apart_where_ranges_are_not_merged(self) -> None:
        file, source = opened(MONOLITHIC)
        source.merge_gap = -1
        file.read()
        assert source.reads == BUCKETS

    def test_a_gap_below_the_sources_is_read_with_its_neighbours(self) -> None:
        file, source = opened(MONOLITHIC)
        source.merge_gap = BUCKETS[1][1]
        assert_identical(file.read(columns=["a", "f"]), TABLE.select(["a", "f"]))
        assert source.reads == [joined(*BUCKETS)]

    def test_no_columns_keep_the_rows_and_read_nothing(self) -> None:
        file, source = opened(MONOLITHIC)
        assert file.read(columns=[]).shape == (3, 0)
        assert file.read_row_group(0, columns=[]).shape == (3, 0)
        assert [batch.num_rows for batch in file.iter_batches(2, columns=[])] == [2, 1]
        assert source.reads == []

    def test_what_matches_nothing_reads_nothing(self) -> None:
        file, source = opened(MONOLITHIC)
        with pytest.raises(KeyError):
            file.read(columns=["a", "no such column"])
        with pytest.raises(IndexError):
            file.read_row_group(1)
        with pytest.raises(IndexError):
            file.iter_batches(row_groups=[0, 1])
        assert source.reads == []

    def test_a_prefix_is_one_run_of_neighbouring_buckets(self) -> None:
        names = [f"pressure_{i}" for i in range(4)] + [f"temperature_{i}" for i in range(4)]
        data = file_of(pa.table({name: [1, 2] for name in [*names, "zone", "area"]}))
        buckets = dict(zip(decode(data).sorted_names, bucket_ranges(data), strict=True))
        wanted = [buckets[f"temperature_{i}"] for i in range(4)]
        assert ranges_read(data, ["temperature_*"]) == [joined(*wanted)]

    def test_what_lies_in_the_tail_is_not_read_again(self) -> None:
        _, end = end_structures(MONOLITHIC)
        file, source = opened(MONOLITHIC, tail_bytes=end + BUCKETS[2][1])
        assert_identical(file.read(columns=["e", "f"]), TABLE.select(["e", "f"]))
        assert source.reads == []
        assert_identical(file.read(columns=["f", "a"]), TABLE.select(["f", "a"]))
        assert source.reads == [BUCKETS[0]]

    def test_a_bucket_that_begins_before_the_tail_is_read(self) -> None:
        _, end = end_structures(MONOLITHIC)
        file, source = opened(MONOLITHIC, tail_bytes=end + BUCKETS[2][1] - 1)
        assert_identical(file.read(columns=["e"]), TABLE.select(["e"]))
        assert source.reads == [BUCKETS[2]]

    def test_an_uncompressed_file_is_read_bucket_by_bucket_too(self) -> None:
        data = file_of(TABLE, num_buckets=3, compression="none")
        assert ranges_read(data, ["c"]) == [bucket_ranges(data)[1]]


class TestRowGroups:
    BATCHES = pa.Table.from_batches(TABLE.to_batches() * 2).to_batches(max_chunksize=3)
    DATA = write(BATCHES, TABLE.schema, num_buckets=3, row_group_bytes=1)

    def test_one_row_group_is_read_without_the_other(self) -> None:
        file, source = opened(self.DATA)
        assert_identical(file.read_row_group(1, columns=["c"]), TABLE.select(["c"]))
        assert source.reads == [bucket_ranges(self.DATA, 1)[1]]

    def test_each_row_group_is_read_when_its_turn_comes(self) -> None:
        file, source = opened(self.DATA)
        batches = file.iter_batches(columns=["a", "f"])
        assert source.reads == []
        next(batches)
        first, _, last = bucket_ranges(self.DATA, 0)
        assert source.reads == [first, last]
        source.forget()
        next(batches)
        first, _, last = bucket_ranges(self.DATA, 1)
        assert source.reads == [first, last]

    def test_only_the_row_groups_asked_for_are_read(self) -> None:
        file, source = opened(self.DATA)
        list(file.iter_batches(columns=["a"], row_groups=[1]))
        assert source.reads == [bucket_ranges(self.DATA, 1)[0]]

    def test_rows_by_number_read_only_the_row_groups_that_hold_them(self) -> None:
        file, source = opened(self.DATA)
        assert file.take([5, 3, 5], ["c"])["c"].to_pylist() == [7, ord("c"), 7]
        assert source.reads == [bucket_ranges(self.DATA, 1)[1]]

    def test_the_first_rows_read_no_row_groups_after_them(self) -> None:
        file, source = opened(self.DATA)
        assert file.head(3, ["c"]).num_rows == 3
        assert source.reads == [bucket_ranges(self.DATA, 0)[1]]

    def test_slices_of_a_row_group_are_one_read(self) -> None:
        file, source = opened(self.DATA)
        list(file.iter_batches(1, columns=["a"], row_groups=[0]))
        assert source.reads == [bucket_ranges(self.DATA, 0)[0]]

    def test_an_exported_stream_is_read_row_group_by_row_group(self) -> None:
        file, source = opened(self.DATA)
        reader = pa.RecordBatchReader.from_stream(file)
        assert source.reads == []
        reader.read_next_batch()
        assert source.reads == [joined(*bucket_ranges(self.DATA, 0))]


class TestPaged:
    """A threshold of 0 makes buckets paged."""

    TABLE = pa.table(
        {
            "a": [1, 2, 3],
            "b": [4, 5, 6],
            "c": pa.nulls(3, pa.int64()),
            "d": [7, 8, 9],
            "e": [10, 11, 12],
        }
    )
    DATA = file_of(TABLE, num_buckets=1, page_size_threshold=0)
    DIRECTORY, A, B, C, D, E = slot_ranges(DATA, bucket_ranges(DATA)[0], 5)

    @pytest.mark.parametrize(
        ("columns", "expected"),
        [
            (["a"], [DIRECTORY, A]),
            (["d"], [DIRECTORY, D]),
            (["a", "b"], [DIRECTORY, joined(A, B)]),
            (["d", "b"], [DIRECTORY, joined(B, D)]),  # the slot of "c" has no bytes
            (["e", "a"], [DIRECTORY, A, E]),
            (["c"], [DIRECTORY]),
            (["a", "c"], [DIRECTORY, A]),
            ([], []),
            (None, [joined(DIRECTORY, A, B, C, D, E)]),
            (["e", "d", "c", "b", "a"], [joined(DIRECTORY, A, B, C, D, E)]),
        ],
    )
    def test_the_directory_then_the_slots_of_the_wanted_columns(
        self, columns: list[str] | None, expected: list[Range]
    ) -> None:
        assert decode(self.DATA).layouts() == ["paged"]
        assert ranges_read(self.DATA, columns) == expected

    def test_a_column_of_one_bucket_is_read_whole_at_once(self) -> None:
        data = file_of(self.TABLE, num_buckets=5, page_size_threshold=0)
        buckets = bucket_ranges(data)
        assert ranges_read(data, ["b"]) == [buckets[1]]

    def test_several_paged_buckets_take_two_rounds_together(self) -> None:
        data = file_of(self.TABLE.drop(["c"]), num_buckets=2, page_size_threshold=0)
        first, second = (slot_ranges(data, bucket, 2) for bucket in bucket_ranges(data))
        assert decode(data).layouts() == ["paged", "paged"]
        assert ranges_read(data, ["a", "d"]) == [first[0], second[0], first[1], second[1]]

    def test_monolithic_buckets_are_read_in_the_first_round(self) -> None:
        strings = {"x": ["text" * 99, "other" * 99], "y": ["more" * 99, "again" * 99]}
        table = pa.table({"a": [1, 2], "b": [3, 4], **strings})
        data = file_of(table, num_buckets=2, page_size_threshold=64)
        assert decode(data).layouts() == ["monolithic", "paged"]
        monolithic, paged = bucket_ranges(data)
        directory, _, slot = slot_ranges(data, paged, 2)
        assert ranges_read(data, ["a", "y"]) == [joined(monolithic, directory), slot]

    def test_slots_in_the_tail_are_not_read_again(self) -> None:
        _, end = end_structures(self.DATA)
        file, source = opened(self.DATA, tail_bytes=end + self.E[1])
        assert file.read(columns=["e"])["e"].to_pylist() == [10, 11, 12]
        assert source.reads == [self.DIRECTORY]

    def test_a_list_is_read_with_its_elements_and_nothing_between(self) -> None:
        table = pa.table(
            {
                "a": pa.array([[1, 2], None, [3]], pa.list_(pa.int64())),
                "b": [4, 5, 6],
                "m": pa.array([[("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
            }
        )
        data = file_of(table, num_buckets=1, page_size_threshold=0)
        # Primaries a, b, m, then the children of a and m.
        directory, a, b, m, elements, keys, values = slot_ranges(
            data, bucket_ranges(data)[0], 6, num_children=3
        )
        assert decode(data).layouts() == ["paged"]
        assert ranges_read(data, ["a"]) == [directory, a, elements]
        assert ranges_read(data, ["b"]) == [directory, b]
        assert ranges_read(data, ["m"]) == [directory, m, joined(keys, values)]

    def test_metadata_of_a_paged_bucket_is_one_read(self) -> None:
        file, source = opened(self.DATA)
        file.metadata.row_group(0).bucket(0).columns()
        assert source.reads == bucket_ranges(self.DATA)
