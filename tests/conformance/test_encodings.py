"""What the writer chooses: encodings, layouts, row groups, names, buckets; at the very edges.

A writer that always chose PLAIN would pass any round trip, so the choice itself is asserted here,
through the oracle.  The rules are in docs/format.md.
"""

from __future__ import annotations

import datetime
import struct
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
import zstandard

from tests.equality import assert_identical
from tests.oracle import MosaicContent, decode, label
from tests.writing import write


def written(*batches: pa.RecordBatch, **options: Any) -> MosaicContent:
    return decode(write(batches, batches[0].schema, **options))


def column(values: Sequence[Any], of: pa.DataType, **options: Any) -> str:
    """How a column of these values is encoded: ``DICT``, ``CONST+nulls`` …"""
    batch = pa.record_batch([pa.array(values, of)], ["a"])
    return written(batch, **options).encodings()["a"]


def integers(count: int, of: pa.DataType | None = None) -> pa.Array:
    """Distinct integers, in no order that a codec would like."""
    return pa.array([i * 7919 % count for i in range(count)], of or pa.int32())


def doubles(*bits: int) -> pa.Array:
    return pa.array([struct.unpack("<q", struct.pack("<Q", each))[0] for each in bits]).view(
        pa.float64()
    )


# Two values of every type, with the bytes that each takes in a file.
TWO_VALUES: list[tuple[pa.DataType, Any, Any, int]] = [
    (pa.bool_(), True, False, 1),
    (pa.int8(), 1, -1, 1),
    (pa.int16(), 1, -1, 2),
    (pa.int32(), 1, -1, 4),
    (pa.int64(), 1, -1, 8),
    (pa.float32(), 1.0, -1.0, 4),
    (pa.float64(), 1.0, -1.0, 8),
    (pa.date32(), 1, -1, 4),
    (pa.time32("ms"), 1, 2, 4),
    (pa.string(), "abc", "é", 0),
    (pa.binary(), b"abc", b"\xff", 0),
    (pa.decimal128(18, 2), Decimal("1.28"), Decimal("-1.28"), 8),
    (pa.decimal128(19, 2), Decimal("1.28"), Decimal("-1.28"), 0),
    (pa.timestamp("ms"), 1, -1, 8),
    (pa.timestamp("us", "UTC"), 1, -1, 8),
    (pa.timestamp("ns"), 1, -1, 12),
    (pa.timestamp("ns", "UTC"), 1, -1, 12),
]
every_type = pytest.mark.parametrize(
    ("of", "one", "other", "width"), TWO_VALUES, ids=[str(case[0]) for case in TWO_VALUES]
)
fixed_types = pytest.mark.parametrize(
    ("of", "one", "other", "width"),
    [case for case in TWO_VALUES if case[3]],
    ids=[str(case[0]) for case in TWO_VALUES if case[3]],
)


class TestEncodingOfEachType:
    @every_type
    def test_no_value_is_all_null(self, of: pa.DataType, one: Any, other: Any, width: int) -> None:
        assert column([None] * 9, of) == "ALL_NULL"

    @every_type
    def test_one_value_is_const(self, of: pa.DataType, one: Any, other: Any, width: int) -> None:
        assert column([one], of) == "CONST"
        assert column([one] * 9, of) == "CONST"

    @every_type
    def test_nulls_do_not_break_const(
        self, of: pa.DataType, one: Any, other: Any, width: int
    ) -> None:
        assert column([None, one, one, None], of) == "CONST+nulls"

    @every_type
    def test_two_values_repeated_are_dict(
        self, of: pa.DataType, one: Any, other: Any, width: int
    ) -> None:
        assert column([one, other] * 9, of) == "DICT"
        assert column([one, other, None] * 9, of) == "DICT+nulls"

    @every_type
    def test_two_values_once_are_plain(
        self, of: pa.DataType, one: Any, other: Any, width: int
    ) -> None:
        assert column([one, other], of) == "PLAIN"
        assert column([None, one, other], of) == "PLAIN+nulls"

    @fixed_types
    def test_dict_must_be_strictly_smaller(
        self, of: pa.DataType, one: Any, other: Any, width: int
    ) -> None:
        for rows in range(2, 8):
            cost = 1 + 2 * width + (rows + 7) // 8
            expected = "DICT" if cost < rows * width else "PLAIN"
            values = [one, other] + [one] * (rows - 2)
            assert column(values, of) == expected
            # Nulls are on neither side of the comparison.
            assert column([None, *values, None, None], of) == f"{expected}+nulls"


class TestDictionaryCost:
    @pytest.mark.parametrize(
        ("of", "values", "expected"),
        [
            # count + entries + indices against the values themselves
            (pa.int16(), [1, 2, 1], "PLAIN"),  # 1 + 4 + 1 = 6
            (pa.int16(), [1, 2, 1, 2], "DICT"),  # 1 + 4 + 1 < 8
            (pa.string(), ["a", "b", "a"], "PLAIN"),  # 1 + 4 + 1 = 6
            (pa.string(), ["a", "b", "a", "b"], "DICT"),  # 1 + 4 + 1 < 8
            (pa.string(), ["", "a", "", ""], "PLAIN"),  # 1 + 3 + 1 = 5
            (pa.string(), ["", "a", "", "a"], "DICT"),  # 1 + 3 + 1 < 6
            (pa.int8(), [1, 2, 1, 2], "PLAIN"),  # 1 + 2 + 1 = 4
            (pa.int8(), [1, 2, 1, 2, 1], "DICT"),  # 1 + 2 + 1 < 5
            (pa.int64(), [1, 2, 1], "DICT"),  # 1 + 16 + 1 < 24
            (pa.int64(), [1, 2, 3, 1], "DICT"),  # 1 + 24 + 1 < 32
        ],
    )
    def test_equal_cost_is_plain(self, of: pa.DataType, values: list[Any], expected: str) -> None:
        assert column(values, of) == expected

    def test_the_entry_count_may_take_two_bytes(self) -> None:
        # 128 entries of one byte, indices of 7 bits: 2 + 128 + 917 against 1047, then 1048 bytes.
        values = [i % 128 - 64 for i in range(1048)]
        assert column(values[:-1], pa.int8()) == "PLAIN"
        assert column(values, pa.int8()) == "DICT"


class TestDictionarySize:
    @pytest.mark.parametrize(
        ("entries", "options", "expected"),
        [
            (255, {}, "DICT"),
            (256, {}, "PLAIN"),
            (256, {"max_dict_entries": 256}, "DICT"),
            (257, {"max_dict_entries": 256}, "PLAIN"),
            (700, {"max_dict_entries": 700}, "DICT"),
            (3, {"max_dict_entries": 3}, "DICT"),
            (3, {"max_dict_entries": 2}, "PLAIN"),
            (2, {"max_dict_entries": 1}, "PLAIN"),
            (2, {"max_dict_entries": 0}, "PLAIN"),
            (1, {"max_dict_entries": 0}, "CONST"),
        ],
    )
    @pytest.mark.parametrize("of", [pa.int32(), pa.string(), pa.timestamp("ns")], ids=str)
    def test_entries_up_to_the_limit_are_dict(
        self, of: pa.DataType, entries: int, options: dict[str, int], expected: str
    ) -> None:
        values = integers(entries, pa.int64()).cast(of)
        repeated = pa.concat_arrays([values] * 4)
        content = written(pa.record_batch([repeated], ["a"]), **options)
        assert content.encodings() == {"a": expected}
        assert content.columns()["a"].dict_entries == (entries if expected == "DICT" else None)

    @pytest.mark.parametrize(
        ("entries", "width"),
        [
            *[(2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4), (16, 4), (17, 5), (32, 5), (33, 6)],
            *[(64, 6), (65, 7), (128, 7), (129, 8), (256, 8), (257, 9), (512, 9), (513, 10)],
        ],
    )
    def test_indices_take_the_bits_of_the_last_entry(self, entries: int, width: int) -> None:
        values = pa.concat_arrays([integers(entries)] * 3)
        batch = pa.record_batch([values], ["a"])
        content = written(batch, compression="none", max_dict_entries=1000)
        flags, count_bytes = 2, 1 if entries < 128 else 2
        indices = (3 * entries * width + 7) // 8
        raw_size = content.row_groups[0].buckets[0].raw_size
        assert raw_size == flags + count_bytes + 4 * entries + indices

    def test_entries_stand_in_the_order_of_first_appearance(self) -> None:
        batch = pa.record_batch({"a": ["m", None, "z", "a", "z", "m", "a", "a"]})
        assert written(batch).columns()["a"].raw_entries == (b"m", b"z", b"a")

    def test_the_dictionary_spans_the_batches_of_a_row_group(self) -> None:
        batches = [pa.record_batch({"a": [i % 3] * 4}) for i in range(6)]
        column = written(*batches).columns()["a"]
        assert (column.encoding, column.dict_entries, column.rows) == ("DICT", 3, 24)


class TestDictionaryBytes:
    @pytest.mark.parametrize(
        ("of", "values", "entry_bytes"),
        [
            (pa.string(), ["aaaa", "bbbb"], 10),
            (pa.binary(), [b"aaaa", b"bb", b""], 9),
            (pa.string(), ["x" * 200, "y"], 204),
            (pa.decimal128(19, 0), [Decimal(1), Decimal(300)], 5),
            (pa.timestamp("ns"), [1, 2], 24),
            (pa.timestamp("ns", "UTC"), [1, 2, 3], 36),
        ],
        ids=str,
    )
    def test_entries_of_variable_and_12_byte_types_fit_the_budget_exactly(
        self, of: pa.DataType, values: list[Any], entry_bytes: int
    ) -> None:
        assert column(values * 9, of, max_dict_bytes=entry_bytes) == "DICT"
        assert column(values * 9, of, max_dict_bytes=entry_bytes - 1) == "PLAIN"

    def test_the_default_budget_is_32_kib(self) -> None:
        # 64 entries of 2 + 510 bytes.
        entries = [f"{i:02d}".ljust(510, "x") for i in range(64)]
        assert column(entries * 2, pa.string()) == "DICT"
        assert column([*entries[:-1], entries[-1] + "x"] * 2, pa.string()) == "PLAIN"

    @pytest.mark.parametrize(
        "of",
        [pa.int8(), pa.int64(), pa.float64(), pa.decimal128(18, 0), pa.timestamp("us")],
        ids=str,
    )
    def test_types_up_to_8_bytes_have_no_budget(self, of: pa.DataType) -> None:
        assert column([1, 2] * 9, of, max_dict_bytes=0) == "DICT"

    def test_list_lengths_have_no_budget(self) -> None:
        batch = pa.record_batch({"a": [["x"], ["y", "x"]] * 9})
        found = written(batch, max_dict_bytes=1).encodings()
        assert found == {"a": "DICT", "a[]": "PLAIN"}

    @pytest.mark.parametrize("value", ["x" * 100_000, b"\xff" * 100_000, Decimal(10) ** 30])
    def test_const_has_no_budget(self, value: Any) -> None:
        of = pa.decimal128(38, 0) if isinstance(value, Decimal) else None
        batch = pa.record_batch([pa.array([None, value, value], of)], ["a"])
        assert written(batch, max_dict_bytes=0).encodings() == {"a": "CONST+nulls"}


class TestDictionaryTracking:
    def test_a_limit_once_exceeded_holds_for_the_rest_of_the_row_group(self) -> None:
        batches = [
            pa.record_batch([pa.concat_arrays([integers(256)] * 2)], ["a"]),
            pa.record_batch([pa.array([0] * 5000, pa.int32())], ["a"]),
        ]
        assert written(*batches).encodings() == {"a": "PLAIN"}

    def test_each_row_group_starts_afresh(self) -> None:
        many = pa.array([f"{i}" * 3 for i in range(300)])
        batches = [
            pa.record_batch([many], ["a"]),
            pa.record_batch({"a": ["x", "y"] * 9}),
            pa.record_batch({"a": ["x"] * 9}),
            pa.record_batch([pa.nulls(9, pa.string())], ["a"]),
            pa.record_batch([many], ["a"]),
        ]
        content = written(*batches, row_group_bytes=1)
        found = [content.encodings(i)["a"] for i in range(5)]
        assert found == ["PLAIN", "DICT", "CONST", "ALL_NULL", "PLAIN"]


class TestFloatsAreTheirBits:
    QUIET, PAYLOAD = 0x7FF8000000000000, 0x7FF8000000000001

    @pytest.mark.parametrize(
        ("bits", "expected"),
        [
            ([QUIET] * 9, ["CONST", 1]),
            ([QUIET, PAYLOAD] * 9, ["DICT", 2]),
            ([QUIET, QUIET | 1 << 63, PAYLOAD] * 9, ["DICT", 3]),
            ([0, 1 << 63] * 9, ["DICT", 2]),
            ([1 << 63] * 9, ["CONST", 1]),
        ],
    )
    def test_nan_payloads_and_signed_zeros_are_values_of_their_own(
        self, bits: list[int], expected: list[Any]
    ) -> None:
        batch = pa.record_batch([doubles(*bits)], ["a"])
        content = written(batch)
        column = content.columns()["a"]
        assert [column.encoding, len(column.raw_entries)] == expected
        assert_identical(content.row_groups[0].batch, batch)


# Without dictionaries, so that a page is as long as its values.
PLAIN_ONLY = {"max_dict_entries": 1, "num_buckets": 1}


class TestLayout:
    def layout(self, columns: dict[str, Any], threshold: int, **options: Any) -> str:
        batch = pa.record_batch(columns)
        content = written(batch, page_size_threshold=threshold, **(PLAIN_ONLY | options))
        (layout,) = content.layouts()
        return layout

    def test_an_average_page_of_exactly_the_threshold_is_paged(self) -> None:
        columns = {"a": integers(200)}
        assert self.layout(columns, 800) == "paged"
        assert self.layout(columns, 801) == "monolithic"

    def test_the_average_is_over_the_pages_and_rounded_down(self) -> None:
        columns = {"a": integers(200), "b": integers(200, pa.int16())}
        assert self.layout(columns, 600) == "paged"
        assert self.layout(columns, 601) == "monolithic"
        columns = {"a": integers(201), "b": integers(201, pa.int16()), "c": integers(201)}
        assert (804 + 402 + 804) / 3 == 670
        assert self.layout(columns, 670) == "paged"
        columns["d"] = pa.array(["x" * (i == 0) + "y" * (i == 1) for i in range(201)])
        assert (804 + 402 + 804 + 203) / 4 == 553.25
        assert self.layout(columns, 553) == "paged"
        assert self.layout(columns, 554) == "monolithic"

    def test_a_page_includes_its_bitmap(self) -> None:
        columns = {"a": pa.array([None, *integers(199).to_pylist()], pa.int32())}
        assert self.layout(columns, 796 + 25) == "paged"
        assert self.layout(columns, 796 + 25 + 1) == "monolithic"

    def test_a_dict_page_is_its_table_and_indices(self) -> None:
        columns = {"a": pa.array([1, 2, 3, None] * 50, pa.int32())}
        length = 1 + 12 + 25 + (150 * 2 + 7) // 8
        assert self.layout(columns, length, max_dict_entries=255) == "paged"
        assert self.layout(columns, length + 1, max_dict_entries=255) == "monolithic"

    def test_a_const_page_with_nulls_is_its_bitmap_alone(self) -> None:
        columns = {"a": pa.array(["a long constant", None] * 100)}
        assert self.layout(columns, 25) == "paged"
        assert self.layout(columns, 26) == "monolithic"

    def test_const_with_nulls_lowers_the_average(self) -> None:
        columns = {"a": integers(200), "b": pa.array([5, None] * 100)}
        assert self.layout(columns, (800 + 25) // 2) == "paged"
        assert self.layout(columns, (800 + 25) // 2 + 1) == "monolithic"

    @pytest.mark.parametrize(
        "silent", [pa.array([5] * 200), pa.nulls(200, pa.int64())], ids=["const", "all null"]
    )
    def test_const_without_nulls_and_all_null_are_not_counted(self, silent: pa.Array) -> None:
        columns = {"a": integers(200), "b": silent}
        assert self.layout(columns, 800) == "paged"
        assert self.layout(columns, 801) == "monolithic"
        assert self.layout({"b": silent}, 0) == "monolithic"

    def test_threshold_0_makes_any_countable_page_paged(self) -> None:
        assert self.layout({"a": pa.array([1, 2])}, 0) == "paged"
        assert self.layout({"a": pa.array([1, None])}, 0) == "paged"

    def test_children_are_pages_too(self) -> None:
        # Lengths of 200 lists are CONST and silent; 400 elements of 4 bytes are the only page.
        lists = pa.ListArray.from_arrays(list(range(0, 401, 2)), integers(400))
        assert self.layout({"a": lists}, 1600) == "paged"
        assert self.layout({"a": lists}, 1601) == "monolithic"

    def test_without_compression_nothing_is_paged(self) -> None:
        columns = {"a": integers(200)}
        assert self.layout(columns, 0, compression="none") == "monolithic"

    def test_each_bucket_and_row_group_chooses_for_itself(self) -> None:
        wide, narrow = integers(200), pa.array([1] * 200, pa.int32())
        batches = [
            pa.record_batch([wide, narrow], ["a", "b"]),
            pa.record_batch([narrow, wide], ["a", "b"]),
        ]
        content = written(*batches, row_group_bytes=1, page_size_threshold=800, max_dict_entries=1)
        found = [content.layouts(i) for i in range(2)]
        assert found == [["paged", "monolithic"], ["monolithic", "paged"]]

    def test_a_paged_bucket_holds_every_encoding(self) -> None:
        batch = pa.record_batch(
            {
                "const": pa.array([1] * 200),
                "const_nulls": pa.array([1, None] * 100),
                "dict": pa.array(["x", "y"] * 100),
                "null": pa.nulls(200, pa.int8()),
                "plain": integers(200),
            }
        )
        content = written(batch, num_buckets=1, page_size_threshold=0)
        (bucket,) = content.row_groups[0].buckets
        assert bucket.layout == "paged"
        assert [label(column) for column in bucket.columns] == [
            *["CONST", "CONST+nulls", "DICT", "ALL_NULL", "PLAIN"]
        ]
        # An ALL_NULL column has no slot, hence no frame.
        assert len(bucket.frames) == 4


class TestRowGroups:
    @staticmethod
    def rows(batches: Sequence[pa.RecordBatch], limit: int, **options: Any) -> list[int]:
        content = written(*batches, row_group_bytes=limit, **options)
        return [group.num_rows for group in content.row_groups]

    def test_five_row_bigint_batches_and_a_limit_of_100(self) -> None:
        batches = [pa.record_batch({"a": [1, 2, 3, 4, 5]})] * 7
        assert self.rows(batches, 100) == [15, 15, 5]

    @pytest.mark.parametrize(
        ("limit", "expected"), [(1, [5] * 4), (45, [5] * 4), (46, [10, 10]), (91, [15, 5])]
    )
    def test_a_row_group_ends_with_the_batch_that_reaches_the_limit(
        self, limit: int, expected: list[int]
    ) -> None:
        batches = [pa.record_batch({"a": [1, 2, 3, 4, 5]})] * 4
        assert self.rows(batches, limit) == expected

    def test_a_batch_is_never_split(self) -> None:
        batch = pa.record_batch({"a": list(range(10_000))})
        assert self.rows([batch, batch], 1) == [10_000, 10_000]

    @pytest.mark.parametrize(
        ("values", "of", "size"),
        [
            ([1, None], pa.int64(), 8),
            ([None, None], pa.int64(), 0),
            (["abc", ""], pa.string(), 4 + 1),
            (["x" * 127, "x" * 128], pa.string(), 128 + 130),
            ([True, False], pa.bool_(), 2),
            ([1, 2], pa.timestamp("ns"), 24),
            ([Decimal(1), Decimal(128)], pa.decimal128(38, 0), 2 + 3),
            ([Decimal(1), Decimal(128)], pa.decimal128(18, 0), 16),
            ([[1, 2, None], None], pa.list_(pa.int16()), 4 + 4),
            ([[("k", 1)], []], pa.map_(pa.string(), pa.int64()), 8 + 2 + 8),
            ([[["a"], None], []], pa.list_(pa.list_(pa.string())), 8 + 4 + 2),
        ],
        ids=str,
    )
    def test_size_is_that_of_plain_values_and_one_null_bit_per_column(
        self, values: list[Any], of: pa.DataType, size: int
    ) -> None:
        # Two rows in a bucket of one column: one byte each.
        batches = [pa.record_batch([pa.array(values, of)], ["a"])] * 2
        assert self.rows(batches, size + 2) == [2, 2]
        assert self.rows(batches, size + 3) == [4]

    @pytest.mark.parametrize(
        ("columns", "buckets", "null_bytes"), [(8, 1, 1), (9, 1, 2), (9, 9, 9), (17, 2, 3)]
    )
    def test_null_bits_are_rounded_up_per_bucket_and_row(
        self, columns: int, buckets: int, null_bytes: int
    ) -> None:
        batches = [pa.record_batch({f"c{i}": [1] for i in range(columns)})] * 2
        size = 8 * columns + null_bytes
        assert self.rows(batches, size, num_buckets=buckets) == [1, 1]
        assert self.rows(batches, size + 1, num_buckets=buckets) == [2]

    def test_empty_batches_do_nothing(self) -> None:
        empty, full = pa.record_batch({"a": [0]}).slice(1), pa.record_batch({"a": [1]})
        assert self.rows([empty, full, empty, full, empty], 1) == [1, 1]
        assert self.rows([empty, empty], 1) == []

    def test_no_row_group_loses_a_bucket(self) -> None:
        batch = pa.record_batch({f"c{i}": pa.nulls(3, pa.int32()) for i in range(5)})
        content = written(batch)
        assert content.layouts() == ["monolithic"] * 5


class TestNested:
    def test_children_follow_all_primaries_depth_first(self) -> None:
        inner = pa.map_(pa.int32(), pa.list_(pa.string()))
        batch = pa.record_batch(
            {
                "b": pa.array([[[(1, ["x"])]], None], pa.list_(inner)),
                "a": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int8())),
                "c": pa.array([1, 2]),
            }
        )
        content = written(batch, num_buckets=1)
        paths = [column.path for column in content.row_groups[0].buckets[0].columns]
        assert paths == [
            *["a", "b", "c"],
            *["a{key}", "a{value}"],
            *["b[]", "b[]{key}", "b[]{value}", "b[]{value}[]"],
        ]

    def test_null_and_empty_lists_differ_in_the_lengths(self) -> None:
        batch = pa.record_batch({"a": pa.array([[], None, [], None], pa.list_(pa.int8()))})
        content = written(batch)
        assert content.encodings() == {"a": "CONST+nulls", "a[]": "ALL_NULL"}
        assert content.columns()["a"].raw_entries == (bytes(4),)
        assert content.columns()["a[]"].rows == 0

    @pytest.mark.parametrize("kind", ["list", "map"])
    def test_elements_hidden_under_null_rows_are_dropped(self, kind: str) -> None:
        offsets = pa.array([0, 2, 4, 6], pa.int32()).buffers()[1]
        validity = pa.array([True, False, True]).buffers()[1]
        elements = pa.array([1, 2, 99, 98, 5, 6], pa.int8())
        if kind == "list":
            of, child = pa.list_(pa.int8()), elements
        else:
            of = pa.map_(pa.int8(), pa.int8())
            child = pa.StructArray.from_arrays(
                [elements, elements], fields=[of.key_field, of.item_field]
            )
        array = pa.Array.from_buffers(of, 3, [validity, offsets], children=[child])
        content = written(pa.record_batch([array], ["a"]))
        assert content.columns()["a"].rows == 3
        for path in ["a[]"] if kind == "list" else ["a{key}", "a{value}"]:
            assert content.columns()[path].rows == 4
        assert content.table["a"].to_pylist() == array.to_pylist()

    def test_children_are_encoded_on_their_own(self) -> None:
        lists = [[1, None], [1], None, [1, 1, 1]] * 5
        content = written(pa.record_batch({"a": pa.array(lists, pa.list_(pa.int64()))}))
        assert content.encodings() == {"a": "DICT+nulls", "a[]": "CONST+nulls"}


class TestNames:
    @staticmethod
    def content(names: Sequence[str], **options: Any) -> MosaicContent:
        return written(pa.record_batch([pa.array([1])] * len(names), list(names)), **options)

    def test_repetition_that_prefixes_do_not_share_is_bpe(self) -> None:
        content = self.content([f"{i:02d}_measured_pressure" for i in range(20)])
        assert content.name_encoding == 1
        assert content.bpe_rules

    def test_shared_prefixes_alone_are_front_coded(self) -> None:
        content = self.content([f"measured_pressure_{letter}" for letter in "abcdefgh"])
        assert (content.name_encoding, content.bpe_rules) == (0, ())

    def test_one_name_beyond_ascii_rules_bpe_out(self) -> None:
        names = [f"{i:02d}_measured_pressure" for i in range(20)]
        assert self.content([*names, "é"]).name_encoding == 0

    @pytest.mark.parametrize(
        ("names", "first_rules"),
        [
            # Every pair of 'abxcdy' is equally frequent: the largest left symbol goes first.
            ([f"{i}abxcdy" for i in range(10, 40)], [(0x78, 0x63)]),
            # Overlapping pairs count: 'aaa' holds 'aa' twice.
            ([f"{i}aaaaaaaa" for i in range(10, 40)], [(0x61, 0x61), (0x80, 0x80)]),
        ],
    )
    def test_rules_are_those_of_the_literal_trainer(
        self, names: list[str], first_rules: list[tuple[int, int]]
    ) -> None:
        rules, size = train(names)
        assert size < front_coded_size([name.encode() for name in sorted(names)])
        content = self.content(names)
        assert content.name_encoding == 1
        assert list(content.bpe_rules) == rules
        assert rules[: len(first_rules)] == first_rules

    @pytest.mark.parametrize(
        ("names", "saving"),
        [(["aab", "bab"], -1), (["aab", "bab", "xab"], 0), (["aab", "bab", "xab", "zab"], 1)],
    )
    def test_bpe_is_taken_only_if_strictly_smaller(self, names: list[str], saving: int) -> None:
        rules, size = train(names)
        assert front_coded_size([name.encode() for name in names]) - size == saving
        content = self.content(names)
        assert content.name_encoding == int(saving > 0)
        assert list(content.bpe_rules) == (rules if saving > 0 else [])

    def test_at_most_128_rules_are_made(self) -> None:
        words = [f"{a}{b}{c}" for a in "abcde" for b in "fghij" for c in "klmno"]
        names = [f"{i:03d}{word}{word[::-1]}" for i, word in enumerate(words * 3)]
        assert len(self.content(names).bpe_rules) == 128

    def test_names_are_sorted_by_their_utf8_bytes(self) -> None:
        names = ["\U0001f600", "a", "\uffff", "Z", "é", "_", "ab"]
        content = self.content(names)
        assert content.sorted_names == ("Z", "_", "a", "ab", "é", "\uffff", "\U0001f600")

    def test_columns_keep_their_order(self) -> None:
        names = ["name", "age", "pad", "big"]
        content = self.content(names, compression="none")
        assert content.schema.names == names
        assert content.schema_bytes.endswith(bytes([4, 3, 6, 3]))


def train(names: list[str]) -> tuple[list[tuple[int, int]], int]:
    """Byte pair encoding as the format describes it, and the size it leads to."""
    sequences = [list(name.encode()) for name in sorted(names, key=str.encode)]
    rules: list[tuple[int, int]] = []
    while len(rules) < 128:
        counts: dict[tuple[int, int], int] = {}
        for sequence in sequences:
            for pair in pairwise(sequence):
                counts[pair] = counts.get(pair, 0) + 1
        if not counts:
            break
        best = max(counts, key=lambda pair: (counts[pair], pair))
        if counts[best] == 1:
            break
        token = 0x80 + len(rules)
        rules.append(best)
        sequences = [merge(sequence, best, token) for sequence in sequences]
    return rules, 1 + 2 * len(rules) + front_coded_size([bytes(each) for each in sequences])


def merge(sequence: list[int], pair: tuple[int, int], token: int) -> list[int]:
    merged: list[int] = []
    position = 0
    while position < len(sequence):
        if tuple(sequence[position : position + 2]) == pair:
            merged.append(token)
            position += 2
        else:
            merged.append(sequence[position])
            position += 1
    return merged


def front_coded_size(names: list[bytes]) -> int:
    size = 0
    previous = b""
    for name in names:
        shared = 0
        while shared < min(len(name), len(previous)) and name[shared] == previous[shared]:
            shared += 1
        suffix = len(name) - shared
        size += varint_size(shared) + varint_size(suffix) + suffix
        previous = name
    return size


def varint_size(value: int) -> int:
    return max(1, (value.bit_length() + 6) // 7)


class TestBuckets:
    @pytest.mark.parametrize(
        ("columns", "requested", "sizes"),
        [
            (23, 7, [4, 3, 3, 4, 3, 3, 3]),
            (8, 3, [3, 3, 2]),
            (5, 5, [1] * 5),
            (5, 100, [1] * 5),
            (5, None, [1] * 5),
            (150, None, [2, 1] * 50),
            (3, 1, [3]),
        ],
    )
    def test_sorted_columns_are_spread_by_floor_division(
        self, columns: int, requested: int | None, sizes: list[int]
    ) -> None:
        names = [f"c{i:03d}" for i in range(columns)]
        batch = pa.record_batch([pa.array([1])] * columns, names)
        content = written(batch, num_buckets=requested)
        assert [len(bucket) for bucket in content.bucket_names] == sizes
        assert [name for bucket in content.bucket_names for name in bucket] == names

    def test_a_file_without_columns_has_one_bucket_and_its_rows(self) -> None:
        batch = pa.RecordBatch.from_struct_array(pa.array([{}] * 5, pa.struct([])))
        content = written(batch)
        assert (content.num_buckets, content.row_groups[0].num_rows) == (1, 5)
        assert content.layouts() == ["missing"]

    def test_blocks_are_contiguous_and_in_order(self) -> None:
        batches = [pa.record_batch({f"c{i}": [i, None] for i in range(9)})] * 3
        content = written(*batches, num_buckets=4, row_group_bytes=1, page_size_threshold=0)
        position = 0
        for group in content.row_groups:
            for bucket in group.buckets:
                assert bucket.offset == position
                position += bucket.compressed_size


class TestFrames:
    @pytest.mark.parametrize("checksum", [True, False])
    @pytest.mark.parametrize("level", [-3, 1, 19])
    def test_every_frame_has_its_size_and_its_checksum_if_asked_for(
        self, checksum: bool, level: int
    ) -> None:
        batch = pa.record_batch({"a": integers(300), "b": pa.array([1] * 300)})
        content = written(
            batch, page_size_threshold=800, checksum=checksum, compression_level=level
        )
        assert content.layouts() == ["paged", "monolithic"]
        assert len(content.frames) == 3
        for frame in content.frames:
            parameters = zstandard.get_frame_parameters(frame)
            assert parameters.content_size not in (0, zstandard.CONTENTSIZE_UNKNOWN)
            assert parameters.has_checksum is checksum
            assert parameters.dict_id == 0

    def test_checksums_are_the_default(self) -> None:
        content = written(pa.record_batch({"a": [1, 2]}))
        assert all(zstandard.get_frame_parameters(frame).has_checksum for frame in content.frames)

    def test_without_compression_there_are_no_frames(self) -> None:
        assert written(pa.record_batch({"a": [1, 2]}), compression="none").frames == []


class TestStatistics:
    @staticmethod
    def stored(values: pa.Array, **options: Any) -> tuple[int, bytes | None, bytes | None]:
        batch = pa.record_batch([values], ["a"])
        content = written(batch, statistics=["a"], **options)
        (found,) = content.row_groups[0].statistics
        return found.null_count, found.min, found.max

    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            (pa.array([3, None, -1], pa.int16()), (1, b"\xff\xff", b"\x00\x03")),
            (pa.array(["b", "", "é", "z"]), (0, b"", "é".encode())),
            (pa.array([True, None]), (1, b"\x01", b"\x01")),
            (pa.array([None, None], pa.int8()), (2, None, None)),
            (
                pa.array([-1, 0], pa.timestamp("ns")),
                (0, bytes.fromhex("ffffffffffffffff000f423f"), bytes(12)),
            ),
            (
                pa.array([datetime.time(0, 0, 1)], pa.time32("ms")),
                (0, b"\x00\x00\x03\xe8", b"\x00\x00\x03\xe8"),
            ),
        ],
        ids=str,
    )
    def test_bounds_are_values_as_the_data_holds_them(
        self, values: pa.Array, expected: tuple[int, bytes | None, bytes | None]
    ) -> None:
        assert self.stored(values) == expected

    def test_columns_are_named_by_their_sorted_position(self) -> None:
        batch = pa.record_batch({name: [1, 2] for name in "zamb"})
        content = written(batch, statistics=["z", "a"])
        found = [(stat.column, stat.column_index) for stat in content.row_groups[0].statistics]
        assert found == [("a", 0), ("z", 3)]

    def test_strings_are_not_cut(self) -> None:
        long = "x" * 140_000
        assert self.stored(pa.array([long, "a"])) == (0, b"a", long.encode())

    @pytest.mark.parametrize("zeros", [[0.0, -0.0], [-0.0, 0.0]])
    def test_the_first_zero_stays(self, zeros: list[float]) -> None:
        first = struct.pack(">d", zeros[0])
        assert self.stored(pa.array(zeros)) == (0, first, first)

    def test_nan_is_left_out(self) -> None:
        nan = float("nan")
        expected = (0, struct.pack(">d", 1.0), struct.pack(">d", 2.0))
        for values in ([nan, 1.0, 2.0], [1.0, nan, 2.0], [2.0, 1.0, nan]):
            assert self.stored(pa.array(values)) == expected

    def test_without_checksums_nan_first_is_kept_as_the_reference_has_it(self) -> None:
        nan = doubles(0x7FF8000000000000)[0].as_py()
        bits = bytes.fromhex("7ff8000000000000")
        assert self.stored(pa.array([nan, 1.0]), checksum=False) == (0, bits, bits)
