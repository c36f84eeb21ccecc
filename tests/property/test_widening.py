"""Arrow data of any type and any legal layout: stored as its values in the types the format has.

An Arrow array may be a slice, its children may be slices, lists may leave gaps and views may go
backwards, a bitmap may be there or not, dictionaries hold what no row uses.  ``lay_out`` makes
arrays with all of that; the same values, laid out plainly in the stored type, are what is compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import pymosaic
from tests.equality import assert_identical
from tests.property.reference import reference_write
from tests.writing import write

TIMESTAMP_STRUCT = pa.struct([("millis", pa.int64()), ("nanos_of_milli", pa.int32())])
INDEX_TYPES = [
    pa.int8(),
    pa.uint8(),
    pa.int16(),
    pa.uint16(),
    pa.int32(),
    pa.uint32(),
    pa.int64(),
    pa.uint64(),
]
END_TYPES = [pa.int16(), pa.int32(), pa.int64()]
ZONES = [None, "UTC", "+05:30", "Asia/Tokyo"]
MAX_DEPTH = 3


# Types

WIDENED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.time32("s"): pa.time32("ms"),
    pa.time64("us"): pa.time32("ms"),
    pa.time64("ns"): pa.time32("ms"),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.null(): pa.string(),
}
AS_THEY_ARE = [
    pa.bool_(),
    pa.int8(),
    pa.int32(),
    pa.float64(),
    pa.date32(),
    pa.time32("ms"),
    pa.string(),
    pa.binary(),
    pa.timestamp("ns"),
]


def stored_type(of: pa.DataType) -> pa.DataType:
    """The Arrow type that a column of this type is read back as."""
    types = pa.types
    if of in WIDENED:
        return WIDENED[of]
    if types.is_fixed_size_binary(of):
        return pa.binary()
    if types.is_decimal(of):
        return pa.decimal128(of.precision, of.scale)
    if types.is_timestamp(of):
        return pa.timestamp("ms" if of.unit == "s" else of.unit, of.tz)
    if types.is_dictionary(of) or types.is_run_end_encoded(of):
        return stored_type(of.value_type)
    if types.is_map(of):
        key, item = of.key_field, of.item_field
        return pa.map_(key.with_type(stored_type(key.type)), item.with_type(stored_type(item.type)))
    if is_list(of):
        element = of.value_field
        return pa.list_(element.with_type(stored_type(element.type)))
    return pa.timestamp("ns") if of == TIMESTAMP_STRUCT else of


def is_list(of: pa.DataType) -> bool:
    return is_view(of) or any(
        test(of) for test in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    )


def is_view(of: pa.DataType) -> bool:
    return pa.types.is_list_view(of) or pa.types.is_large_list_view(of)


SCALARS = [
    *WIDENED,
    *AS_THEY_ARE,
    *(pa.timestamp("s", zone) for zone in ZONES),
    *(pa.binary(width) for width in (0, 1, 20)),
    pa.decimal32(9, 2),
    pa.decimal64(18, 0),
    pa.decimal128(19, -2),
    pa.decimal256(18, 5),
    pa.decimal256(38, 38),
]
KEYS = [of for of in SCALARS if of != pa.null()]


@st.composite
def types(draw: st.DrawFn, depth: int = MAX_DEPTH) -> pa.DataType:
    """Everything that the format can hold, dictionaries and lists of it down to ``depth``."""
    kind = draw(st.integers(0, 8)) if depth else 0
    if kind == 0:
        return draw(st.sampled_from(SCALARS))
    inner = draw(types(depth - 1))
    if kind == 1:
        # Only scalars have so few different values that 8 bits are always enough.
        index_types = INDEX_TYPES if depth == 1 else INDEX_TYPES[2:]
        return pa.dictionary(draw(st.sampled_from(index_types)), inner)
    if kind == 2:
        return pa.run_end_encoded(draw(st.sampled_from(END_TYPES)), inner)
    if kind == 3:
        return pa.map_(draw(st.sampled_from(KEYS)), inner)
    element = pa.field(draw(st.sampled_from(["item", "element"])), inner)
    if kind == 4:
        return pa.list_(element, draw(st.integers(0, 3)))
    return [pa.list_, pa.large_list, pa.list_view, pa.large_list_view][kind - 5](element)


# Values: what a row means, whatever array holds it.  Temporal values are in the unit of their
# source; ``stored_value`` turns a value into the one that the stored type holds.


def random_value(of: pa.DataType, random: Random, nulls: bool = True) -> Any:
    """A value of the type; few different ones, so that dictionaries are chosen too."""
    types = pa.types
    if types.is_dictionary(of) or types.is_run_end_encoded(of):
        return random_value(of.value_type, random, nulls)
    if of == pa.null() or (nulls and random.random() < 0.2):
        return None
    if types.is_map(of):
        return [
            (random_value(of.key_type, random, nulls=False), random_value(of.item_type, random))
            for _ in range(random.randrange(3))
        ]
    if is_list(of):
        fixed = types.is_fixed_size_list(of)
        count = of.list_size if fixed else random.randrange(4)
        return [random_value(of.value_type, random) for _ in range(count)]
    return random_scalar(of, random)


def random_scalar(of: pa.DataType, random: Random) -> Any:
    types = pa.types
    if types.is_boolean(of):
        return random.random() < 0.5
    if types.is_floating(of):
        finite = {16: 65504.0, 32: 3.4028234663852886e38, 64: 1.7976931348623157e308}[of.bit_width]
        return random.choice(
            [0.0, -0.0, 1.5, -(2.0**-14), 2.0**-24, finite, np.inf, -np.inf, np.nan]
        )
    if types.is_fixed_size_binary(of):
        return random.choice([b"\x00", b"a", b"\xff"]) * of.byte_width
    if of in (pa.string(), pa.large_string(), pa.string_view()):
        return random.choice(["", "a", "é", "exactly 12 B", "more than 12 bytes", "x" * 130])
    if of in (pa.binary(), pa.large_binary(), pa.binary_view()):
        return random.choice([b"", b"\xff", b"exactly 12 B", b"more than 12 bytes", b"x" * 130])
    if types.is_decimal(of):
        with localcontext(prec=80):
            unscaled = random.choice([0, 1, -1, 127, -129, 10**of.precision - 1])
            return Decimal(unscaled).scaleb(-of.scale)
    if types.is_time(of):
        factor = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[of.unit]
        return random.choice([0, 1, 3600, 86_399]) * factor
    if of == pa.date64():
        return random.choice([0, -1, 19_000, 2**31 - 1, -(2**31)]) * 86_400_000
    if types.is_timestamp(of) and of.unit == "s":
        return random.choice([0, -1, 1_700_000_000, 9223372036854775, -9223372036854775])
    if of == TIMESTAMP_STRUCT:
        return random.choice([(0, 0), (-1, 999_999), (9223372036854, 775_807), (5, 1)])
    half = 2 ** (of.bit_width - 1)
    low, high = (0, 2 * half - 1) if types.is_unsigned_integer(of) else (-half, half - 1)
    return random.choice([0, 1, low, high])


def stored_value(of: pa.DataType, value: Any) -> Any:
    """The value in the unit and shape of the stored type."""
    types = pa.types
    if value is None:
        return None
    if types.is_dictionary(of) or types.is_run_end_encoded(of):
        return stored_value(of.value_type, value)
    if types.is_map(of):
        return [
            (stored_value(of.key_type, key), stored_value(of.item_type, item))
            for key, item in value
        ]
    if is_list(of):
        return [stored_value(of.value_type, element) for element in value]
    if types.is_time(of):
        return value * 1000 // {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}[of.unit]
    if of == pa.date64():
        return value // 86_400_000
    if types.is_timestamp(of) and of.unit == "s":
        return value * 1000
    if of == TIMESTAMP_STRUCT:
        return value[0] * 1_000_000 + value[1]
    return value


# Layouts


def lay_out(of: pa.DataType, values: list[Any], random: Random) -> pa.Array:
    """An array of the values that is a slice of one with more rows, at every level."""
    before = random.choice([0, 0, 1, 3, 8, 11])
    after = random.choice([0, 0, 2])
    junk = [random_value(of, random, nulls=not _has_no_null(values)) for _ in range(before + after)]
    array = _lay_out_whole(of, junk[:before] + values + junk[before:], random)
    return array.slice(before, len(values))


def _has_no_null(values: list[Any]) -> bool:
    return all(value is not None for value in values)


def _lay_out_whole(of: pa.DataType, values: list[Any], random: Random) -> pa.Array:
    types = pa.types
    if types.is_dictionary(of):
        return _dictionary(of, values, random)
    if types.is_run_end_encoded(of):
        return _runs(of, values, random)
    if types.is_map(of) or is_list(of):
        return _lists(of, values, random)
    return pa.array(values, of)


def _validity(values: list[Any]) -> pa.Buffer | None:
    return pa.array([value is not None for value in values], pa.bool_()).buffers()[1]


def _dictionary(of: pa.DataType, values: list[Any], random: Random) -> pa.Array:
    """Entries in any order, some twice, some unused, some null; nulls as index or as entry."""
    entries: list[Any] = [random_value(of.value_type, random) for _ in range(random.randrange(3))]
    indices: list[int | None] = []
    for value in values:
        if value is None and random.random() < 0.5:
            indices.append(None)
            continue
        found = next((i for i, entry in enumerate(entries) if _same(entry, value)), None)
        if found is None or (len(entries) < 100 and random.random() < 0.3):
            found = len(entries)
            entries.append(value)
        indices.append(found)
    dictionary = lay_out(of.value_type, entries, random)
    return pa.DictionaryArray.from_arrays(lay_out(of.index_type, indices, random), dictionary)


def _same(left: Any, right: Any) -> bool:
    """Same type and same representation: NaN is itself, -0.0 is not 0.0."""
    return repr(left) == repr(right)


def _runs(of: pa.DataType, values: list[Any], random: Random) -> pa.Array:
    """Runs that are not always as long as they could be."""
    ends: list[int] = []
    run_values: list[Any] = []
    for row, value in enumerate(values):
        if not ends or not _same(run_values[-1], value) or random.random() < 0.2:
            ends.append(row + 1)
            run_values.append(value)
        ends[-1] = row + 1
    return pa.RunEndEncodedArray.from_buffers(
        of,
        len(values),
        [None],
        0,
        0,
        [pa.array(ends, of.run_end_type), lay_out(of.value_type, run_values, random)],
    )


def _lists(of: pa.DataType, values: list[Any], random: Random) -> pa.Array:
    """Lists over elements with gaps, with elements under null rows, views in any order."""
    is_map, fixed = pa.types.is_map(of), pa.types.is_fixed_size_list(of)
    elements: list[Any] = []
    ranges: dict[int, tuple[int, int]] = {}
    rows = list(range(len(values)))
    if is_view(of):
        random.shuffle(rows)
    elif not fixed:
        elements += _junk_elements(of, random.randrange(3), random)
    for row in rows:
        value = values[row]
        if value is None:
            value = _junk_elements(of, of.list_size if fixed else random.randrange(2), random)
        if is_view(of) and random.random() < 0.3:
            elements += _junk_elements(of, 1, random)
        ranges[row] = len(elements), len(value)
        elements += value
    if is_map:
        child = _map_entries(of, elements, random)
    else:
        child = lay_out(of.value_type, elements, random)
    starts = [ranges[row][0] for row in range(len(values))]
    sizes = [ranges[row][1] for row in range(len(values))]
    large = pa.types.is_large_list(of) or pa.types.is_large_list_view(of)
    integers = np.int64 if large else np.int32
    buffers = [_validity(values) if None in values or random.random() < 0.5 else None]
    if is_view(of):
        buffers += [pa.py_buffer(np.array(part, integers)) for part in (starts, sizes)]
    elif not fixed:
        ends = [*starts, len(elements)] if values else [0]
        buffers.append(pa.py_buffer(np.array(ends, integers)))
    return pa.Array.from_buffers(of, len(values), buffers, -1, 0, [child])


def _junk_elements(of: pa.DataType, count: int, random: Random) -> list[Any]:
    if pa.types.is_map(of):
        return [
            (random_value(of.key_type, random, nulls=False), random_value(of.item_type, random))
            for _ in range(count)
        ]
    return [random_value(of.value_type, random) for _ in range(count)]


def _map_entries(of: pa.DataType, entries: list[Any], random: Random) -> pa.Array:
    """The entries of a map: a slice of a struct whose fields are slices too."""
    junk = _junk_elements(of, random.randrange(3), random)
    fields = [of.key_field, of.item_field]
    parts = [
        lay_out(field.type, [entry[i] for entry in junk + entries], random)
        for i, field in enumerate(fields)
    ]
    return pa.StructArray.from_arrays(parts, fields=fields).slice(len(junk))


# Tables


@dataclass(frozen=True)
class Column:
    """Chunks of an array in some layout, and the same chunks in the stored type."""

    of: pa.DataType
    chunks: list[pa.Array]
    stored: list[pa.Array]


@st.composite
def columns(draw: st.DrawFn) -> Column:
    of = draw(st.one_of(types(), st.just(TIMESTAMP_STRUCT)))
    random = Random(draw(st.integers(0, 1 << 32)))
    chunks, stored = [], []
    for rows in draw(st.lists(st.sampled_from([0, 1, 5, 9, 30]), min_size=1, max_size=3)):
        values = [random_value(of, random) for _ in range(rows)]
        chunks.append(lay_out(of, values, random))
        stored.append(pa.array([stored_value(of, value) for value in values], stored_type(of)))
    return Column(of, chunks, stored)


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "row_group_bytes": st.sampled_from([1, 100, 1000]),
        "page_size_threshold": st.sampled_from([0, 40]),
        "compression": st.just("none"),
    },
)


@given(columns(), OPTIONS)
def test_any_layout_of_any_type_is_written_as_its_values(
    column: Column, options: dict[str, Any]
) -> None:
    schema, stored_schema = (pa.schema([("a", of)]) for of in (column.of, stored_type(column.of)))
    batches = [pa.record_batch([chunk], schema) for chunk in column.chunks]
    stored = [pa.record_batch([chunk], stored_schema) for chunk in column.stored]
    data = write(batches, schema, checksum=False, **options)
    assert_identical(
        pymosaic.read_table(data, types="mosaic"), pa.Table.from_batches(stored, stored_schema)
    )
    assert data == reference_write(stored, stored_schema, options)


@given(columns(), st.integers(0, 40), st.integers(0, 40))
def test_any_slice_of_a_chunked_column_is_written_as_its_values(
    column: Column, offset: int, length: int
) -> None:
    table = pa.table({"a": pa.chunked_array(column.chunks, column.of)}).slice(offset, length)
    stored_column = pa.chunked_array(column.stored, stored_type(column.of))
    stored = pa.table({"a": stored_column}).slice(offset, length)
    data = write([table], table.schema)
    assert_identical(pymosaic.read_table(data, types="mosaic"), stored)
