"""Hypothesis strategies: schemas, tables, writer options and layouts of Mosaic v1 files.

``cases()`` draws a complete input for a writer, ``forged_files()`` a file that no writer made. Data
is biased towards what decides encodings: one value, few values, many values, extremes, runs of
nulls. Hypothesis draws a handful of values per column and a seed; rows pick among those values with
the seed, so that large tables stay cheap. Strategies are built once per type (``cache``), because
building them is expensive.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from pymosaic.format.types import Encoding
from pymosaic.testing.layout import Layout, forge_table, stored_order
from pymosaic.testing.legal import LegalFile
from pymosaic.testing.stored import can_have_statistics

__all__ = [
    "Case",
    "batches",
    "cases",
    "column_names",
    "forged_files",
    "layouts",
    "name_lists",
    "record_batches",
    "scalar_types",
    "schemas",
    "tables",
    "types",
    "values",
    "writer_options",
]

Value = Any
"""``None``, ``int`` (also for the bits of a float and the unscaled decimal), ``bool``, ``str``,
``bytes``, or a list of values or of key-value pairs."""

_MAX_DEPTH = 3
_BATCH_ROWS = (0, 1, 3, 8, 9, 40, 300, 700)
_TABLE_ROWS = (0, 1, 2, 7, 8, 9, 40)
_ZONES = ("UTC", "+08:00", "-03:30", "Asia/Shanghai", "America/New_York")


@dataclass(frozen=True)
class Case:
    """The input of a writer."""

    schema: pa.Schema
    batches: list[pa.RecordBatch]
    options: dict[str, Any]

    @property
    def table(self) -> pa.Table:
        """All batches as one table."""
        return pa.Table.from_batches(self.batches, self.schema)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A schema, batches of it and options for it."""
    schema = draw(schemas())
    return Case(schema, draw(batches(schema)), draw(writer_options(schema)))


# Types


@cache
def scalar_types() -> st.SearchStrategy[pa.DataType]:
    """Every scalar type that the format stores without conversion."""
    plain = [
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.float32(),
        pa.float64(),
        pa.date32(),
        pa.string(),
        pa.binary(),
        pa.time32("ms"),
    ]
    return st.one_of(st.sampled_from(plain), _decimal_types(), _timestamp_types())


@cache
def _decimal_types() -> st.SearchStrategy[pa.DataType]:
    # 18 and 19 digits are the last compact and the first large decimal.  The reference writes a
    # scale above the precision but cannot read it.
    precisions = st.one_of(st.integers(1, 38), st.sampled_from([18, 19]))
    return precisions.flatmap(
        lambda precision: st.builds(pa.decimal128, st.just(precision), st.integers(-5, precision))
    )


@cache
def _timestamp_types() -> st.SearchStrategy[pa.DataType]:
    zones = st.one_of(st.none(), st.sampled_from(_ZONES))
    return st.builds(pa.timestamp, st.sampled_from(["ms", "us", "ns"]), zones)


@cache
def types(depth: int = _MAX_DEPTH) -> st.SearchStrategy[pa.DataType]:
    """Scalars, and lists and maps of them down to ``depth``."""
    if depth == 0:
        return scalar_types()
    inner = types(depth - 1)
    names = st.sampled_from(["item", "element", "é"])
    return st.one_of(
        scalar_types(),
        scalar_types(),
        st.builds(pa.list_, st.builds(pa.field, names, inner, st.booleans())),
        st.builds(
            pa.map_, scalar_types(), st.builds(pa.field, st.just("value"), inner, st.booleans())
        ),
    )


# Schemas


@cache
def column_names() -> st.SearchStrategy[str]:
    """Single names: Arrow's C interface ends a name at NUL, and the format has no empty names."""
    characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    return st.text(characters, min_size=1, max_size=10)


@cache
def name_lists(min_size: int = 1, max_size: int = 12) -> st.SearchStrategy[list[str]]:
    """Unique names: unrelated, with a common prefix, or compressible only by BPE."""
    numbers = st.integers(0, 150)
    families = [
        column_names(),
        st.builds("sensor_temp_{}".format, numbers),
        st.builds("{:03d}_measured_pressure_mean".format, numbers),
        st.builds("{}aaaaaaaaaaaaaaaaaaaaaaaaaaaa".format, numbers),
    ]
    of_one_family = st.sampled_from(families).flatmap(
        lambda names: st.lists(names, min_size=min_size, max_size=max_size, unique=True)
    )
    mixed = st.lists(st.one_of(families), min_size=min_size, max_size=max_size, unique=True)
    return st.one_of(of_one_family, mixed)


@cache
@st.composite
def schemas(draw: st.DrawFn, max_columns: int = 12) -> pa.Schema:
    """Up to ``max_columns`` columns of any type, nullable or not."""
    names = draw(name_lists(max_size=max_columns))
    return pa.schema([pa.field(name, draw(types()), draw(st.booleans())) for name in names])


# Values


@cache
def _integers(bits: int) -> st.SearchStrategy[int]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return st.one_of(st.integers(low, high), st.sampled_from([low, -1, 0, 1, high]))


def _float_bits(pattern: str, specials: list[float], nan_bits: list[int]) -> st.SearchStrategy[int]:
    integer = {"<f": "<i", "<d": "<q"}[pattern]
    width = 32 if pattern == "<f" else 64
    known = [struct.unpack(integer, struct.pack(pattern, special))[0] for special in specials]
    small = st.integers(-8, 8).map(lambda i: struct.unpack(integer, struct.pack(pattern, i / 2))[0])
    return st.one_of(small, st.sampled_from(known + nan_bits), _integers(width))


_SPECIAL_FLOATS = [0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 1e-45]
_FLOAT_NANS = [0x7FC00001, 0x7F800001, -0x400000, -1]
_DOUBLE_NANS = [0x7FF8000000000001, 0x7FF0000000000001, -0x8000000000000, -1]


@cache
def values(of: pa.DataType) -> st.SearchStrategy[Value]:
    """Values of a scalar type, never null."""
    if pa.types.is_boolean(of):
        return st.booleans()
    if pa.types.is_float32(of):
        return _float_bits("<f", _SPECIAL_FLOATS, _FLOAT_NANS)
    if pa.types.is_float64(of):
        return _float_bits("<d", _SPECIAL_FLOATS, _DOUBLE_NANS)
    if pa.types.is_string(of):
        characters = st.characters(exclude_categories=["Cs"])
        return st.one_of(st.text(characters, max_size=12), st.sampled_from(["", "x" * 130]))
    if pa.types.is_binary(of):
        return st.one_of(st.binary(max_size=12), st.sampled_from([b"", b"\xff" * 130]))
    if pa.types.is_decimal(of):
        bound = 10**of.precision - 1
        return st.one_of(st.integers(-bound, bound), st.sampled_from([-bound, -1, 0, 1, bound]))
    if pa.types.is_time(of):
        return st.one_of(st.integers(0, 86_399_999), st.sampled_from([0, 86_399_999]))
    return _integers(of.bit_width)


@dataclass(frozen=True)
class _Pool:
    """The values that the rows of a column pick from."""

    choices: list[Value]
    null_share: float
    child_pools: tuple[_Pool, ...] = ()

    def pick(self, rows: int, random: Random) -> list[Value]:
        picked = random.choices(self.choices, k=rows)
        if self.child_pools:
            picked = [self._nested(length, random) for length in picked]
        if self.null_share == 0:
            return picked
        return [None if random.random() < self.null_share else value for value in picked]

    def _nested(self, length: int, random: Random) -> list[Value]:
        parts = [pool.pick(length, random) for pool in self.child_pools]
        return parts[0] if len(parts) == 1 else list(zip(*parts, strict=True))


@cache
@st.composite
def _pools(draw: st.DrawFn, field: pa.Field) -> _Pool:
    null_share = draw(st.sampled_from([0, 0.1, 0.5, 1])) if field.nullable else 0
    if pa.types.is_map(field.type):
        children = [field.type.key_field, field.type.item_field]
    elif pa.types.is_list(field.type):
        children = [field.type.value_field]
    else:
        return _Pool(draw(_scalar_pools(field.type)), null_share)
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    return _Pool(lengths, null_share, tuple(draw(_pools(child)) for child in children))


@cache
@st.composite
def _scalar_pools(draw: st.DrawFn, of: pa.DataType) -> list[Value]:
    size = draw(st.sampled_from(["one", "few", "many"]))
    if size == "many" and not pa.types.is_boolean(of):
        return draw(_many_values(of))
    most = 1 if size == "one" else 6
    return draw(st.lists(values(of), min_size=1, max_size=most))


@cache
@st.composite
def _many_values(draw: st.DrawFn, of: pa.DataType) -> list[Value]:
    """More distinct values than a dictionary holds by default, from one seed."""
    random = Random(draw(st.integers(0, 1 << 32)))
    count = draw(st.sampled_from([20, 254, 255, 256, 257, 400]))
    if pa.types.is_string(of):
        return [f"{random.getrandbits(24):x}" for _ in range(count)]
    if pa.types.is_binary(of):
        return [random.randbytes(random.randrange(6)) for _ in range(count)]
    if pa.types.is_time(of):
        return [random.randrange(86_400_000) for _ in range(count)]
    if pa.types.is_decimal(of):
        return [random.randrange(10**of.precision) * random.choice([1, -1]) for _ in range(count)]
    half = 1 << (of.bit_width - 1)
    return [random.randrange(-half, half) for _ in range(count)]


# Arrow


def _to_arrow(of: pa.DataType, column: list[Value]) -> pa.Array:
    """An array of these values; floats and decimals are built from their bits."""
    if pa.types.is_nested(of):
        return _nested_to_arrow(of, column)
    if pa.types.is_float32(of):
        return pa.array(column, pa.int32()).view(of)
    if pa.types.is_float64(of):
        return pa.array(column, pa.int64()).view(of)
    if pa.types.is_decimal(of):
        data = b"".join((value or 0).to_bytes(16, "little", signed=True) for value in column)
        return pa.Array.from_buffers(of, len(column), [_validity(column), pa.py_buffer(data)])
    return pa.array(column, of)


def _nested_to_arrow(of: pa.DataType, column: list[Value]) -> pa.Array:
    offsets = [0]
    for value in column:
        offsets.append(offsets[-1] + len(value or ()))
    elements = [element for value in column for element in value or ()]
    if pa.types.is_map(of):
        parts = [
            _to_arrow(of.key_type, [key for key, _ in elements]),
            _to_arrow(of.item_type, [item for _, item in elements]),
        ]
        child = pa.StructArray.from_arrays(parts, fields=[of.key_field, of.item_field])
    else:
        child = _to_arrow(of.value_type, elements)
    buffers = [_validity(column), pa.py_buffer(struct.pack(f"<{len(offsets)}i", *offsets))]
    return pa.Array.from_buffers(of, len(column), buffers, children=[child])


def _validity(column: list[Value]) -> pa.Buffer | None:
    if None not in column:
        return None
    return pa.array([value is not None for value in column]).buffers()[1]


@st.composite
def record_batches(draw: st.DrawFn, schema: pa.Schema, rows: int) -> pa.RecordBatch:
    """A batch of a schema."""
    random = Random(draw(st.integers(0, 1 << 32)))
    columns = [_to_arrow(field.type, draw(_pools(field)).pick(rows, random)) for field in schema]
    return pa.record_batch(columns, schema)


@st.composite
def batches(draw: st.DrawFn, schema: pa.Schema) -> list[pa.RecordBatch]:
    """Batches with data of their own, or slices of one batch; some may be empty."""
    sizes = draw(
        st.lists(st.sampled_from(_BATCH_ROWS), min_size=draw(st.integers(0, 3)), max_size=4)
    )
    if draw(st.booleans()):
        return [draw(record_batches(schema, rows)) for rows in sizes]
    whole = draw(record_batches(schema, sum(sizes)))
    return [whole.slice(sum(sizes[:i]), rows) for i, rows in enumerate(sizes)]


@st.composite
def tables(draw: st.DrawFn, max_columns: int = 12) -> pa.Table:
    """A table of one chunk, with any schema."""
    schema = draw(schemas(max_columns))
    batch = draw(record_batches(schema, draw(st.sampled_from(_TABLE_ROWS))))
    return pa.Table.from_batches([batch], schema)


# Options


@st.composite
def writer_options(draw: st.DrawFn, schema: pa.Schema) -> dict[str, Any]:
    """Options for ``write_table`` and ``MosaicWriter``, most of them at their defaults."""
    allowed = [field.name for field in schema if can_have_statistics(field.type)]
    strategies: dict[str, st.SearchStrategy[Any]] = {
        "compression": st.sampled_from(["none", "zstd"]),
        "compression_level": st.sampled_from([-3, 1, 3, 9]),
        "num_buckets": st.one_of(st.none(), st.integers(1, 15)),
        "row_group_bytes": st.sampled_from([1, 50, 300, 5000]),
        "max_dict_entries": st.sampled_from([0, 1, 2, 4, 254, 256, 1000]),
        "max_dict_bytes": st.one_of(st.integers(0, 40), st.sampled_from([1000])),
        "page_size_threshold": st.sampled_from([0, 1, 64, 32 << 10]),
    }
    if allowed:
        strategies["statistics"] = st.lists(st.sampled_from(allowed), unique=True)
    return draw(st.fixed_dictionaries({}, optional=strategies))


@st.composite
def layouts(draw: st.DrawFn, table: pa.Table) -> Layout:
    """A legal layout for a table, mostly at defaults."""
    allowed = [field.name for field in table.schema if can_have_statistics(field.type)]
    rows = table.num_rows
    cuts = st.lists(st.integers(0, rows), max_size=3).map(sorted)
    strategies: dict[str, st.SearchStrategy[Any]] = {
        "compression": st.sampled_from(["none", "zstd"]),
        "checksum": st.booleans(),
        "content_size": st.booleans(),
        "num_buckets": st.integers(1, 15),
        "row_groups": cuts.map(lambda ends: tuple(b - a for a, b in pairwise([0, *ends]))),
        "encodings": st.lists(st.sampled_from(Encoding), min_size=1, max_size=3).map(tuple),
        "paged": st.lists(st.booleans(), min_size=1, max_size=2).map(tuple),
        "null_flags": st.booleans(),
        "null_slots": st.booleans(),
        "spare_entries": st.sampled_from([0, 1, 300]),
        "null_buckets": st.sampled_from(["stored", "missing", "empty"]),
        "reverse_index": st.booleans(),
        "reverse_data": st.booleans(),
        "gap": st.integers(0, 3),
        "original_order": st.booleans(),
        "sorted_names": st.booleans(),
        "names": st.sampled_from(["front", "whole", "bpe"]),
        "spare_rules": st.sampled_from([0, 1, 200]),
        "foreign_types": st.integers(0, 5),
        "name_encoding": st.sampled_from([0, 2, 255]),
        "long_varints": st.booleans(),
        "schema_slack": st.integers(0, 3),
        "spare_bits": st.booleans(),
        "statistics": st.lists(st.sampled_from(allowed), unique=True).map(tuple)
        if allowed
        else st.just(()),
        "reserved": st.binary(min_size=2, max_size=2),
    }
    chosen = draw(st.fixed_dictionaries({}, optional=strategies))
    if not chosen.get("checksum", True) or chosen.get("compression") == "none":
        chosen["slack"] = draw(st.integers(0, 3))
    return Layout(**chosen)


@st.composite
def forged_files(draw: st.DrawFn, max_columns: int = 6) -> LegalFile:
    """A legal file of any layout, with its contents."""
    table = draw(tables(max_columns))
    layout = draw(layouts(table))
    order = table.column_names if layout.original_order else stored_order(table, layout)
    return LegalFile(str(layout), forge_table(table, layout), table.select(order))
