"""Arrow types that the format does not have, stored as the type that holds their values exactly.

Each is written and compared with its values in the type that they are stored as: what is read back
is that array, and the file is the one that the reference writes from that array.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.errors import InvalidDataError, UnsupportedFeatureError
from tests.equality import assert_identical
from tests.property.reference import reference_write
from tests.writing import write

INDEX_TYPES = [
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint8(),
    pa.uint16(),
    pa.uint32(),
    pa.uint64(),
]
TIMESTAMP_STRUCT = pa.struct([("millis", pa.int64()), ("nanos_of_milli", pa.int32())])


def column_of(array: pa.Array, nullable: bool = True) -> pa.RecordBatch:
    return pa.record_batch([array], pa.schema([pa.field("a", array.type, nullable)]))


def assert_written_as(array: pa.Array, expected: pa.Array, nullable: bool = True) -> None:
    """The file of ``array`` is the reference's file of ``expected``, and reads as that."""
    batch, expected_batch = column_of(array, nullable), column_of(expected, nullable)
    data = write([batch], batch.schema, checksum=False)
    assert_identical(
        pymosaic.read_table(data, types="mosaic"), pa.Table.from_batches([expected_batch])
    )
    assert data == reference_write([expected_batch], expected_batch.schema, {})


# One array of each kind, and the array that it is stored as.

TEXTS = ["a", "", None, "é", "a string that no view holds inline", "twelve bytes"]
BINARIES = [b"\xff", b"", None, b"\x00\x01", b"bytes that no view holds inline", b"twelve bytes"]
LISTS = [[1, None], [], None, [2, 3, 4], [1]]
PAIRS = [[1, 2], [3, None], None, [5, 6], [1, 2]]
MAPS = [[("a", 1), ("b", None)], [], None, [("a", 2)]]


def half_floats(*bits: int) -> pa.Array:
    return pa.array(np.array(bits, np.uint16).view(np.float16))


def floats(*bits: int) -> pa.Array:
    return pa.array(np.array(bits, np.uint32).view(np.float32))


def decimals(precision: int, scale: int) -> list[Decimal | None]:
    with decimal.localcontext(prec=80):
        nines, one = Decimal(10**precision - 1), Decimal(1)
        values = [nines, -nines, one, -one, Decimal(0)]
        return [value.scaleb(-scale) for value in values] + [None]


def decimal_kinds() -> Iterator[tuple[str, pa.Array, pa.Array]]:
    for make, precision, scale in (
        (pa.decimal32, 9, 2),
        (pa.decimal32, 1, 0),
        (pa.decimal64, 18, 18),
        (pa.decimal128, 38, 37),
        (pa.decimal256, 18, 3),
        (pa.decimal256, 19, -3),
        (pa.decimal256, 38, 0),
    ):
        values = decimals(precision, scale)
        source = make(precision, scale)
        yield (
            str(source),
            pa.array(values, source),
            pa.array(values, pa.decimal128(precision, scale)),
        )


def dictionary_kinds() -> Iterator[tuple[str, pa.Array, pa.Array]]:
    entries = pa.array(["x", None, "unused", "y"])
    for index_type in INDEX_TYPES:
        indices = pa.array([0, 3, None, 1, 3], index_type)
        yield (
            f"dictionary[{index_type}]",
            pa.DictionaryArray.from_arrays(indices, entries),
            pa.array(["x", "y", None, None, "y"]),
        )
    indices = pa.array([1, 0, None, 1])
    for name, entries, expected in (
        ("int16", pa.array([5, -5], pa.int16()), pa.array([-5, 5, None, -5], pa.int16())),
        ("uint8", pa.array([5, 255], pa.uint8()), pa.array([255, 5, None, 255], pa.int16())),
        ("string_view", pa.array(["a", "b"], pa.string_view()), pa.array(["b", "a", None, "b"])),
        ("list", pa.array([[1, 2], [3]]), pa.array([[3], [1, 2], None, [3]])),
        ("dictionary", pa.array(["a", "b"]).dictionary_encode(), pa.array(["b", "a", None, "b"])),
        (
            "timestamp[s, UTC]",
            pa.array([1, -1], pa.timestamp("s", "UTC")),
            pa.array([-1000, 1000, None, -1000], pa.timestamp("ms", "UTC")),
        ),
        ("null", pa.nulls(2), pa.nulls(4, pa.string())),
    ):
        yield f"dictionary of {name}", pa.DictionaryArray.from_arrays(indices, entries), expected


def run_end_kinds() -> Iterator[tuple[str, pa.Array, pa.Array]]:
    for end_type in (pa.int16(), pa.int32(), pa.int64()):
        yield (
            f"run_end_encoded[{end_type}]",
            pa.RunEndEncodedArray.from_arrays(
                pa.array([3, 5, 6], end_type), pa.array(["x", None, "y"])
            ),
            pa.array(["x", "x", "x", None, None, "y"]),
        )
    ends = pa.array([1, 3], pa.int32())
    for name, values, expected in (
        ("uint64", pa.array([1, 2], pa.uint64()), pa.array([1, 2, 2], pa.decimal128(20, 0))),
        ("dictionary", pa.array(["a", "b"]).dictionary_encode(), pa.array(["a", "b", "b"])),
        (
            "time64[us]",
            pa.array([1000, 2000], pa.time64("us")),
            pa.array([1, 2, 2], pa.time32("ms")),
        ),
        (
            "timestamp[s, UTC]",
            pa.array([1, 2], pa.timestamp("s", "UTC")),
            pa.array([1000, 2000, 2000], pa.timestamp("ms", "UTC")),
        ),
    ):
        yield f"run_end_encoded {name}", pa.RunEndEncodedArray.from_arrays(ends, values), expected


def kinds() -> Iterator[tuple[str, pa.Array, pa.Array]]:
    def same(values: list[Any], source: pa.DataType, stored: pa.DataType) -> Any:
        return str(source), pa.array(values, source), pa.array(values, stored)

    for source in (pa.string(), pa.large_string(), pa.string_view()):
        yield same(TEXTS, source, pa.string())
    for source in (pa.binary(), pa.large_binary(), pa.binary_view()):
        yield same(BINARIES, source, pa.binary())
    yield same([b"ab", b"\xff\x00", None], pa.binary(2), pa.binary())
    yield same([b"", None, b""], pa.binary(0), pa.binary())
    yield same([True, False, None, True], pa.bool_(), pa.bool_())
    yield same([0, 255, None, 128], pa.uint8(), pa.int16())
    yield same([0, 65535, None, 32768], pa.uint16(), pa.int32())
    yield same([0, 2**32 - 1, None, 2**31], pa.uint32(), pa.int64())
    yield same([0, 2**64 - 1, None, 2**63, 255], pa.uint64(), pa.decimal128(20, 0))
    yield (
        "float16",
        # Zeros, the smallest and the largest subnormal, one, the largest, infinities, NaNs.
        half_floats(0, 0x8000, 1, 0x83FF, 0x400, 0x3C00, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0xFE01),
        floats(
            0,
            0x80000000,
            0x33800000,
            0xB87FC000,
            0x38800000,
            0x3F800000,
            0x477FE000,
            0x7F800000,
            0xFF800000,
            0x7FC00000,
            0xFFC02000,
        ),
    )
    yield same([np.float16(1.5), None, np.float16(-2.0)], pa.float16(), pa.float32())
    yield same(
        [datetime.date(1, 1, 1), datetime.date(1969, 12, 31), None, datetime.date(9999, 12, 31)],
        pa.date64(),
        pa.date32(),
    )
    for zone in (None, "UTC", "+05:30", "America/New_York"):
        yield (
            f"timestamp[s, {zone}]",
            pa.array([0, -1, None, 9223372036854775, -9223372036854775], pa.timestamp("s", zone)),
            pa.array(
                [0, -1000, None, 9223372036854775000, -9223372036854775000],
                pa.timestamp("ms", zone),
            ),
        )
    for source, factor in (
        (pa.time32("s"), 1),
        (pa.time64("us"), 1_000_000),
        (pa.time64("ns"), 1_000_000_000),
    ):
        seconds = [0, 86399, None, 3600]
        yield (
            str(source),
            pa.array([s if s is None else s * factor for s in seconds], source),
            pa.array([s if s is None else s * 1000 for s in seconds], pa.time32("ms")),
        )
    yield (
        "time64[ns] of milliseconds",
        pa.array([1_000_000, 86_399_999_000_000], pa.time64("ns")),
        pa.array([1, 86_399_999], pa.time32("ms")),
    )
    yield from decimal_kinds()
    yield "null", pa.nulls(3), pa.nulls(3, pa.string())
    yield from dictionary_kinds()
    yield from run_end_kinds()
    for source in (
        pa.list_(pa.int8()),
        pa.large_list(pa.int8()),
        pa.list_view(pa.int8()),
        pa.large_list_view(pa.int8()),
    ):
        yield same(LISTS, source, pa.list_(pa.int8()))
    yield same(PAIRS, pa.list_(pa.int8(), 2), pa.list_(pa.int8()))
    yield same([[], None, []], pa.list_(pa.int8(), 0), pa.list_(pa.int8()))
    yield same([[None], [], None, [None, None]], pa.list_(pa.null()), pa.list_(pa.string()))
    yield same(MAPS, pa.map_(pa.string(), pa.int8()), pa.map_(pa.string(), pa.int8()))
    yield same(
        MAPS,
        pa.map_(pa.dictionary(pa.int8(), pa.string()), pa.uint8()),
        pa.map_(pa.string(), pa.int16()),
    )
    yield same(
        [[["a", None], []], None, [None, ["a", "b"]]],
        pa.large_list(pa.list_view(pa.dictionary(pa.int8(), pa.string()))),
        pa.list_(pa.list_(pa.string())),
    )
    yield same(["{}", None, "1"], pa.json_(), pa.string())
    yield same([b"0123456789abcdef", None], pa.uuid(), pa.binary())
    yield (
        "fixed_shape_tensor",
        pa.ExtensionArray.from_storage(
            pa.fixed_shape_tensor(pa.int8(), [2]), pa.array(PAIRS, pa.list_(pa.int8(), 2))
        ),
        pa.array(PAIRS, pa.list_(pa.int8())),
    )


SCALARS_AND_LISTS = {name: (array, expected) for name, array, expected in kinds()}
TIMESTAMP_STRUCTS = (
    pa.array([(-1, 999_999), None, (0, 0), (9223372036854, 775807)], TIMESTAMP_STRUCT),
    pa.array([-1, None, 0, 2**63 - 1], pa.timestamp("ns")),
)
EVERY_KIND = {**SCALARS_AND_LISTS, "timestamp struct": TIMESTAMP_STRUCTS}

every_kind = pytest.mark.parametrize(
    ("array", "expected"), EVERY_KIND.values(), ids=EVERY_KIND.keys()
)
every_kind_with_values = pytest.mark.parametrize(
    ("array", "expected"),
    [pair for pair in EVERY_KIND.values() if pair[1][0].is_valid],
    ids=[name for name, pair in EVERY_KIND.items() if pair[1][0].is_valid],
)
every_nestable_kind = pytest.mark.parametrize(
    ("array", "expected"), SCALARS_AND_LISTS.values(), ids=SCALARS_AND_LISTS.keys()
)


def in_lists(array: pa.Array) -> Iterator[pa.Array]:
    """The array, and lists and maps of its values; parts of them, and none."""
    offsets = pa.array([0, 1, 1, len(array)], pa.int32())
    keys = pa.array([str(number) for number in range(len(array))])
    for made in (
        array,
        pa.ListArray.from_arrays(offsets, array),
        pa.LargeListArray.from_arrays(offsets.cast(pa.int64()), array),
        pa.MapArray.from_arrays(offsets, keys, array),
    ):
        yield made
        yield made.slice(1)
        yield made.slice(0, 0)


# What pyarrow 26 cannot make from its values.
UNMADE = ("dictionary of list", "dictionary of dictionary", "run_end_encoded dictionary")


@pytest.mark.parametrize(("name", "array"), [x[:2] for x in kinds()], ids=[x[0] for x in kinds()])
def test_every_kind_is_read_as_it_was_written(name: str, array: pa.Array) -> None:
    for made in in_lists(array):
        with suppress(pa.ArrowInvalid):  # run ends with nulls cannot be put into lists
            batch = column_of(made)
            found = pymosaic.read_table(write([batch], batch.schema))
            found.validate(full=True)
            assert found.schema.equals(batch.schema, check_metadata=True) or name in UNMADE
            # Dictionaries inside of lists have what is used, and NaN differs from itself.
            expected = pa.Table.from_batches([batch])
            assert found.equals(expected) or str(found.to_pylist()) == str(expected.to_pylist())


def repeated(array: pa.Array) -> pa.Array:
    """Enough rows for a slice to begin in any bit of a byte."""
    return pa.concat_arrays([array] * (2 + 20 // len(array)))


class TestEveryKind:
    @every_kind
    def test_is_stored_as_the_type_that_holds_its_values(
        self, array: pa.Array, expected: pa.Array
    ) -> None:
        assert_written_as(array, expected)

    @pytest.mark.parametrize("offset", [1, 7, 8, 13])
    @every_kind
    def test_may_be_sliced(self, array: pa.Array, expected: pa.Array, offset: int) -> None:
        array, expected = repeated(array), repeated(expected)
        for length in (0, 1, len(array) - offset - 1):
            assert_written_as(array.slice(offset, length), expected.slice(offset, length))

    @every_kind
    def test_may_be_chunked(self, array: pa.Array, expected: pa.Array) -> None:
        chunks = [array, array.slice(1), array.slice(0, 0), array.slice(1, 2)]
        stored = [expected, expected.slice(1), expected.slice(0, 0), expected.slice(1, 2)]
        table = pa.table({"a": pa.chunked_array(chunks)})
        data = write([table], table.schema, row_group_bytes=1)
        assert_identical(
            pymosaic.read_table(data, types="mosaic"), pa.table({"a": pa.chunked_array(stored)})
        )

    @every_kind
    def test_may_be_all_null(self, array: pa.Array, expected: pa.Array) -> None:
        assert_written_as(pa.nulls(9, array.type), pa.nulls(9, expected.type))

    @every_kind
    def test_may_have_no_rows(self, array: pa.Array, expected: pa.Array) -> None:
        assert_written_as(array.slice(0, 0), expected.slice(0, 0))

    @every_kind_with_values
    def test_may_be_not_null(self, array: pa.Array, expected: pa.Array) -> None:
        assert_written_as(array.slice(0, 1), expected.slice(0, 1), nullable=False)


Range = tuple[int, int] | None
"""Start and length of a list among the values, None for a null list."""


def lists_of(values: pa.Array, ranges: list[Range]) -> pa.Array:
    """The lists that the ranges mean, as an ordinary list array."""
    lengths = [0 if each is None else each[1] for each in ranges]
    offsets = np.cumsum([0, *lengths])[:-1].tolist()
    starts = [None if each is None else start for each, start in zip(ranges, offsets, strict=True)]
    parts = [values.slice(*each) for each in ranges if each is not None]
    return pa.ListArray.from_arrays(
        pa.array([*starts, sum(lengths)], pa.int32()), pa.concat_arrays(parts)
    )


# A list that is empty, a null one with a value under it, and the rest.
IN_ORDER: list[Range] = [(1, 2), (3, 0), None, (4, 1), (5, 4), (9, 9)]
OFFSETS = [1, 3, 3, 4, 5, 9, 18]
MASK = pa.array([each is None for each in IN_ORDER])


def as_list(values: pa.Array) -> tuple[pa.Array, list[Range]]:
    return pa.ListArray.from_arrays(pa.array(OFFSETS, pa.int32()), values, mask=MASK), IN_ORDER


def as_large_list(values: pa.Array) -> tuple[pa.Array, list[Range]]:
    return pa.LargeListArray.from_arrays(pa.array(OFFSETS, pa.int64()), values, mask=MASK), IN_ORDER


def as_list_view(values: pa.Array) -> tuple[pa.Array, list[Range]]:
    """Backwards, overlapping, repeated, and an empty list at the very end."""
    ranges: list[Range] = [(9, 9), (8, 2), None, (0, 1), (len(values), 0), (0, 9), (0, 9)]
    views = [each or (17, 1) for each in ranges]
    return pa.ListViewArray.from_arrays(
        pa.array([start for start, _ in views], pa.int32()),
        pa.array([length for _, length in views], pa.int32()),
        values,
        mask=pa.array([each is None for each in ranges]),
    ), ranges


def as_fixed_size_list(values: pa.Array) -> tuple[pa.Array, list[Range]]:
    ranges: list[Range] = [None if row == 2 else (3 * row, 3) for row in range(6)]
    mask = pa.array([each is None for each in ranges])
    return pa.FixedSizeListArray.from_arrays(values.slice(0, 18), 3, mask=mask), ranges


def as_map(values: pa.Array) -> pa.Array:
    keys = pa.array([f"key {i}" for i in range(len(values))])
    return pa.MapArray.from_arrays(pa.array(OFFSETS, pa.int32()), keys, values, mask=MASK)


class TestEveryKindInside:
    @pytest.mark.parametrize("make", [as_list, as_large_list, as_list_view, as_fixed_size_list])
    @every_nestable_kind
    def test_lists(self, array: pa.Array, expected: pa.Array, make: Any) -> None:
        lists, ranges = make(repeated(array).slice(3))
        stored = lists_of(repeated(expected).slice(3), ranges)
        assert_written_as(lists, stored)
        assert_written_as(lists.slice(1, 4), stored.slice(1, 4))

    @every_nestable_kind
    def test_maps(self, array: pa.Array, expected: pa.Array) -> None:
        maps, stored = as_map(repeated(array).slice(3)), as_map(repeated(expected).slice(3))
        assert_written_as(maps, stored)
        assert_written_as(maps.slice(1, 4), stored.slice(1, 4))

    @every_nestable_kind
    def test_lists_of_lists_that_are_sliced_at_each_level(
        self, array: pa.Array, expected: pa.Array
    ) -> None:
        def build(values: pa.Array) -> pa.Array:
            inner = as_list(repeated(values).slice(1))[0].slice(1)
            return pa.ListArray.from_arrays(pa.array([0, 1, 1, 4], pa.int32()), inner).slice(1)

        assert_written_as(build(array), build(expected))

    def test_maps_whose_keys_and_items_are_sliced_on_their_own(self) -> None:
        def build(keys: pa.Array, items: pa.Array) -> pa.Array:
            offsets = pa.array([1, 3, None, 4, 6], pa.int32())
            return pa.MapArray.from_arrays(offsets, keys.slice(3), items.slice(9)).slice(1)

        keys, items = [f"k{i}" for i in range(9)], [None, *range(14)]
        assert_written_as(
            build(pa.array(keys, pa.large_string()), pa.array(items, pa.uint16())),
            build(pa.array(keys), pa.array(items, pa.int32())),
        )

    def test_maps_whose_entries_are_sliced(self) -> None:
        map_type = pa.map_(pa.int8(), pa.string())
        entries = pa.StructArray.from_arrays(
            [pa.array(range(9), pa.int8()), pa.array(list("abcdefghi"))],
            fields=[map_type.key_field, map_type.item_field],
        ).slice(2)
        buffers = [None, pa.array([1, 3, 4], pa.int32()).buffers()[1]]
        assert_written_as(
            pa.Array.from_buffers(map_type, 2, buffers, children=[entries]),
            pa.array([[(3, "d"), (4, "e")], [(5, "f")]], map_type),
        )

    def test_timestamp_structs_whose_fields_are_sliced_on_their_own(self) -> None:
        millis, nanos = pa.array([9, 9, 1, 2, 3]), pa.array([9, 4, 5, 6], pa.int32())
        array = pa.StructArray.from_arrays(
            [millis.slice(2), nanos.slice(1)], fields=list(TIMESTAMP_STRUCT)
        )
        expected = pa.array([1_000_004, 2_000_005, 3_000_006], pa.timestamp("ns"))
        assert_written_as(array, expected)
        assert_written_as(array.slice(1), expected.slice(1))


class TestNamesAndNullability:
    @pytest.mark.parametrize(
        "make", [pa.large_list, pa.list_view, pa.large_list_view, lambda field: pa.list_(field, 1)]
    )
    @pytest.mark.parametrize("nullable", [True, False])
    def test_of_elements_are_kept(self, make: Any, nullable: bool) -> None:
        element = pa.field("element", pa.uint8(), nullable)
        schema = pa.schema([("a", make(element))])
        stored = pa.list_(pa.field("element", pa.int16(), nullable))
        field = pymosaic.read_schema(write([], schema), types="mosaic").field("a").type.value_field
        assert field == stored.value_field

    @pytest.mark.parametrize(
        "wrapped",
        [pa.dictionary(pa.int8(), pa.string()), pa.run_end_encoded(pa.int32(), pa.string())],
    )
    def test_of_an_encoded_column_are_those_of_the_column(self, wrapped: pa.DataType) -> None:
        schema = pa.schema([pa.field("a", wrapped, nullable=False), pa.field("b", wrapped)])
        stored = pa.schema([pa.field("a", pa.string(), nullable=False), pa.field("b", pa.string())])
        assert pymosaic.read_schema(write([], schema), types="mosaic").equals(stored)

    def test_metadata_is_for_the_annex_alone(self) -> None:
        field = pa.field("a", pa.int8(), metadata={"unit": "m"})
        schema = pa.schema([field], metadata={"pandas": "{}"})
        plain = write([], schema.remove_metadata(), checksum=False)
        assert write([], schema, checksum=False) == plain


def nested_lists(depth: int) -> pa.Array:
    value: Any = 1
    of: pa.DataType = pa.int8()
    for _ in range(depth):
        value, of = [value], pa.list_(of)
    return pa.array([value, None], of)


def nested_maps(depth: int) -> pa.Array:
    value: Any = 1
    of: pa.DataType = pa.int8()
    for _ in range(depth):
        value, of = [(1, value)], pa.map_(pa.int8(), of)
    return pa.array([value, None], of)


class TestDepth:
    @pytest.mark.parametrize(
        "array", [nested_lists(30), nested_maps(30)], ids=["30 lists", "30 maps"]
    )
    def test_of_any_sane_column_is_kept(self, array: pa.Array) -> None:
        assert_written_as(array, array)

    @pytest.mark.parametrize("make", [nested_lists, nested_maps])
    @pytest.mark.parametrize("depth", [30, 31, 32, 33, 59, 60, 61, 62, 63, 64, 65, 100])
    def test_of_what_is_written_can_be_read(self, make: Any, depth: int) -> None:
        batch = column_of(make(depth))
        with suppress(UnsupportedFeatureError):
            data = write([batch], batch.schema)
            assert_identical(
                pymosaic.read_table(data, types="mosaic"), pa.Table.from_batches([batch])
            )


class TestValidityBitmaps:
    """Arrays as other libraries make them."""

    @pytest.mark.parametrize("null_count", [-1, 2])
    def test_null_counts_may_be_unknown(self, null_count: int) -> None:
        array = pa.array([1, None, 3, None], pa.int32())
        made = pa.Array.from_buffers(pa.int32(), 4, array.buffers(), null_count)
        assert_written_as(made, array)

    def test_a_bitmap_may_say_that_nothing_is_null(self) -> None:
        array = pa.array([1, 2, 3], pa.int32())
        bitmap = pa.py_buffer(b"\xff")
        made = pa.Array.from_buffers(pa.int32(), 3, [bitmap, array.buffers()[1]], -1)
        assert_written_as(made, array)
        assert_written_as(made, array, nullable=False)

    def test_bits_beyond_the_last_row_mean_nothing(self) -> None:
        values = pa.array(range(8), pa.int8()).buffers()[1]
        bitmap = pa.py_buffer(b"\x0f")
        made = pa.Array.from_buffers(pa.int8(), 4, [bitmap, values], -1)
        assert_written_as(made, pa.array([0, 1, 2, 3], pa.int8()), nullable=False)

    def test_a_null_list_count_may_be_unknown(self) -> None:
        array = pa.array([[1], None, [2, 3]])
        made = pa.Array.from_buffers(array.type, 3, array.buffers()[:2], -1, 0, [array.values])
        assert_written_as(made, array)


def under_null(
    of: pa.DataType, *buffers: bytes, children: list[pa.Array] | None = None
) -> pa.Array:
    """One null row, with these buffers under it."""
    parts = [pa.py_buffer(b"\x00"), *(pa.py_buffer(data) for data in buffers)]
    return pa.Array.from_buffers(of, 1, parts, -1, 0, children)


def int32(*values: int) -> bytes:
    return np.array(values, np.int32).tobytes()


class TestWhatLiesUnderANull:
    """A null row's value is arbitrary, and may be one that could not be stored."""

    @pytest.mark.parametrize(
        ("array", "stored"),
        [
            (under_null(pa.string(), int32(0, 1), b"\xff"), pa.string()),
            (under_null(pa.time32("ms"), int32(-1)), pa.time32("ms")),
            (under_null(pa.time64("us"), b"\x01" + bytes(7)), pa.time32("ms")),
            (under_null(pa.date64(), b"\x01" + bytes(7)), pa.date32()),
            (under_null(pa.timestamp("s"), b"\xff" * 7 + b"\x7f"), pa.timestamp("ms")),
            (under_null(pa.decimal128(3, 0), b"\x7f" * 16), pa.decimal128(3, 0)),
            (under_null(pa.decimal256(38, 0), b"\x7f" * 32), pa.decimal128(38, 0)),
            (
                pa.DictionaryArray.from_arrays(
                    under_null(pa.int8(), b"\x7f"), pa.array(["x"]), safe=False
                ),
                pa.string(),
            ),
            (
                under_null(
                    TIMESTAMP_STRUCT, children=[pa.array([2**63 - 1]), pa.nulls(1, pa.int32())]
                ),
                pa.timestamp("ns"),
            ),
        ],
        ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
    )
    def test_is_not_looked_at(self, array: pa.Array, stored: pa.DataType) -> None:
        assert_written_as(array, pa.nulls(1, stored))

    @pytest.mark.parametrize("make", [pa.list_, pa.large_list, lambda of: pa.list_(of, 2)])
    def test_may_be_a_null_that_a_list_element_may_not_be(self, make: Any) -> None:
        element = pa.field("item", pa.int8(), nullable=False)
        rows = [[1, 2], [None, None], [3, 4]]
        array = pa.array(rows, make(pa.int8()))
        masked = pa.array([False, True, False])
        if pa.types.is_fixed_size_list(array.type):
            array = pa.FixedSizeListArray.from_arrays(array.values, type=make(element), mask=masked)
        else:
            array = type(array).from_arrays(
                array.offsets, array.values, type=make(element), mask=masked
            )
        assert_written_as(array, pa.array([[1, 2], None, [3, 4]], pa.list_(element)))

    def test_unused_dictionary_entries_are_not_looked_at(self) -> None:
        entries = pa.array([1000, 1], pa.time64("us"))
        array = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), entries)
        assert_written_as(array, pa.array([1, 1], pa.time32("ms")))

    def test_runs_that_a_slice_leaves_out_are_not_looked_at(self) -> None:
        values = pa.array([1, 1000, 1], pa.time64("us"))
        array = pa.RunEndEncodedArray.from_arrays(pa.array([2, 4, 6], pa.int32()), values)
        assert_written_as(array.slice(2, 2), pa.array([1, 1], pa.time32("ms")))


INEXACT = [
    (pa.array([1], pa.time64("us")), "below a millisecond.*time32.*int64"),
    (pa.array([1001], pa.time64("ns")), "below a millisecond"),
    (pa.array([999_999], pa.time64("ns")), "below a millisecond"),
    (pa.array([86_400], pa.time32("s")), "within a day"),
    (pa.array([86_400_000], pa.time32("ms")), "within a day"),
    (pa.array([-1], pa.time32("ms")), "within a day"),
    (pa.array([86_400_000_000], pa.time64("us")), "within a day"),
    (pa.array([-1_000_000], pa.time64("ns")), "within a day"),
    (pa.array([9223372036854776], pa.timestamp("s")), "range of milliseconds"),
    (pa.array([-9223372036854776], pa.timestamp("s")), "range of milliseconds"),
    (pa.array([2**63 - 1], pa.timestamp("s", "UTC")), "range of milliseconds"),
    (pa.array([-(2**63)], pa.timestamp("s", "UTC")), "range of milliseconds"),
    (pa.array([1]).view(pa.date64()), "whole day"),
    (pa.array([-1]).view(pa.date64()), "whole day"),
    (pa.array([2**31 * 86_400_000]).view(pa.date64()), "range of DATE"),
    (pa.array([(-(2**31) - 1) * 86_400_000]).view(pa.date64()), "range of DATE"),
]
inexact = pytest.mark.parametrize(
    ("array", "reason"), INEXACT, ids=[f"{array.type} {array[0].value}" for array, _ in INEXACT]
)


class TestWhatCannotBeHeldExactly:
    """Refused with the column's name; also inside dictionaries and lists."""

    @inexact
    def test_is_refused(self, array: pa.Array, reason: str) -> None:
        with pytest.raises(InvalidDataError, match=f"'a'.*{reason}"):
            write([column_of(array)], column_of(array).schema)

    @inexact
    def test_is_refused_inside_what_is_stored_without_it(
        self, array: pa.Array, reason: str
    ) -> None:
        index, offsets = pa.array([0], pa.int8()), pa.array([0, 1], pa.int32())
        for wrapped in (
            pa.DictionaryArray.from_arrays(index, array),
            pa.ListArray.from_arrays(offsets, array),
            pa.MapArray.from_arrays(offsets, index, array),
        ):
            with pytest.raises(InvalidDataError, match=f"'a'.*{reason}"):
                write([column_of(wrapped)], column_of(wrapped).schema)

    @pytest.mark.parametrize(
        ("millis", "nanos"),
        [
            (0, 1_000_000),
            (0, -1),
            (9223372036854, 775808),
            (-9223372036855, 224191),
            (2**63 - 1, 0),
        ],
    )
    def test_timestamp_structs_beyond_nanoseconds_are_refused(
        self, millis: int, nanos: int
    ) -> None:
        batch = column_of(pa.array([(millis, nanos)], TIMESTAMP_STRUCT))
        with pytest.raises(InvalidDataError, match=r"'a'.*range"):
            write([batch], batch.schema)

    @pytest.mark.parametrize("value", [(None, 0), (0, None)])
    def test_timestamp_structs_with_half_a_value_are_refused(self, value: tuple) -> None:
        batch = column_of(pa.array([value], TIMESTAMP_STRUCT))
        with pytest.raises(InvalidDataError, match=r"'a'.*null field"):
            write([batch], batch.schema)
