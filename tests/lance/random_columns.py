"""Random columns: any type that both implementations store, with values hidden under nulls.

The same seed gives the same column. What a null hides (values, lists, nulls) must change nothing.
"""

from __future__ import annotations

import decimal
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

_SCALARS: list[pa.DataType] = [
    pa.bool_(),
    pa.int8(),
    pa.uint8(),
    pa.int16(),
    pa.uint16(),
    pa.int32(),
    pa.uint32(),
    pa.int64(),
    pa.uint64(),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.date32(),
    pa.date64(),
    pa.time32("ms"),
    pa.time64("ns"),
    pa.timestamp("us"),
    pa.timestamp("ns", "UTC"),
    pa.duration("s"),
    pa.decimal128(20, 3),
    pa.decimal256(50, 2),
    pa.string(),
    pa.large_string(),
    pa.binary(),
    pa.large_binary(),
    pa.binary(5),
]
# What fixed-size lists hold.
_ITEMS = _SCALARS[:19]
_PREFIX = "lance-encoding:"
_METADATA = [
    {},
    {},
    {f"{_PREFIX}structural-encoding": "fullzip"},
    {f"{_PREFIX}compression": "zstd"},
    {f"{_PREFIX}compression": "lz4", f"{_PREFIX}bss": "on"},
]
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class RandomCase:
    """One column, sliced or in chunks, and how either implementation is to write it."""

    column: pa.ChunkedArray
    page_bytes: int
    peer_version: str
    peer_metadata: dict[str, str]

    @property
    def table(self) -> pa.Table:
        return pa.table({"c": self.column})


def random_case(seed: int) -> RandomCase:
    """The column of a seed."""
    chance = random.Random(seed)
    data_type = random_type(chance, chance.choice([0, 1, 1, 2, 3]))
    num_rows = chance.choice([0, 1, 2, 7, 60, 60, 500, 500, 3000])
    if pa.types.is_nested(data_type):
        num_rows = min(num_rows, 500)
    chunks = []
    for _ in range(chance.choice([1, 1, 1, 3])):
        before = chance.choice([0, 0, 1, 13])
        after = chance.choice([0, 0, 5])
        array = _Maker(chance).make(data_type, before + num_rows + after)
        chunks.append(array.slice(before, num_rows))
    page_bytes = chance.choice([8 << 20, 8 << 20, 2000, 300])
    return RandomCase(
        pa.chunked_array(chunks, data_type),
        page_bytes,
        chance.choice(["2.1", "2.2"]),
        chance.choice(_METADATA),
    )


def random_type(chance: random.Random, depth: int) -> pa.DataType:
    """A type with at most so many levels of lists and structs."""
    if depth == 0:
        kind = chance.randrange(10)
        if kind == 0:
            return _fixed_size_list(chance)
        if kind == 1:
            values = chance.choice([pa.string(), pa.int64(), pa.large_binary(), pa.float32()])
            return pa.dictionary(chance.choice([pa.int8(), pa.uint16(), pa.int32()]), values)
        return chance.choice(_SCALARS)
    if chance.random() < 0.5:
        make = chance.choice([pa.list_, pa.list_, pa.large_list])
        return make(random_type(chance, depth - 1))
    fields = range(chance.choice([1, 2, 3]))
    return pa.struct([(f"f{i}", random_type(chance, depth - 1 if i == 0 else 0)) for i in fields])


def _fixed_size_list(chance: random.Random) -> pa.DataType:
    items = chance.choice(_ITEMS)
    if chance.random() < 0.3:
        items = pa.list_(items, chance.choice([1, 2]))
    return pa.list_(items, chance.choice([1, 2, 3, 70]))


class _Maker:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def make(self, data_type: pa.DataType, count: int) -> pa.Array:
        """An array in which nulls hide whatever comes."""
        types = pa.types
        validity = self._validity(count)
        if types.is_dictionary(data_type):
            return self._dictionary(data_type, count, validity)
        if types.is_struct(data_type):
            children = [self.make(field.type, count) for field in data_type]
            return pa.Array.from_buffers(data_type, count, [validity], children=children)
        if types.is_fixed_size_list(data_type):
            items = self.make(data_type.value_type, count * data_type.list_size)
            return pa.Array.from_buffers(data_type, count, [validity], children=[items])
        if types.is_list(data_type) or types.is_large_list(data_type):
            most = self._chance.choice([0, 1, 3, 9])
            lengths = [self._chance.randint(0, most) for _ in range(count)]
            start = self._chance.choice([0, 0, 2])
            offsets = np.cumsum([start, *lengths])
            values = self.make(data_type.value_type, int(offsets[-1]))
            kind = np.int32 if types.is_list(data_type) else np.int64
            buffers = [validity, pa.py_buffer(offsets.astype(kind))]
            return pa.Array.from_buffers(data_type, count, buffers, children=[values])
        values = pa.array(self._values(data_type, count), data_type)
        buffers = [validity, *values.buffers()[1:]]
        return pa.Array.from_buffers(data_type, count, buffers)

    def _validity(self, count: int) -> pa.Buffer | None:
        share = self._chance.choice([None, None, 0.0, 0.1, 0.6, 1.0])
        if share is None:
            return None
        bits = [self._chance.random() >= share for _ in range(count)]
        return pa.py_buffer(np.packbits(np.array(bits, np.bool_), bitorder="little"))

    def _dictionary(
        self, data_type: pa.DataType, count: int, validity: pa.Buffer | None
    ) -> pa.Array:
        num_items = self._chance.choice([1, 2, 20])
        items = pa.array(self._values(data_type.value_type, num_items), data_type.value_type)
        numbers = [self._chance.randrange(num_items) for _ in range(count)]
        index_type = data_type.index_type
        buffers = [validity, pa.array(numbers, index_type).buffers()[1]]
        indices = pa.Array.from_buffers(index_type, count, buffers)
        return pa.DictionaryArray.from_arrays(indices, items)

    def _values(self, data_type: pa.DataType, count: int) -> list[Any]:
        make = self._source(data_type)
        shape = self._chance.choice(["any", "any", "few", "one", "runs"])
        if shape == "any":
            return [make() for _ in range(count)]
        if shape == "runs":
            values: list[Any] = []
            while len(values) < count:
                values += [make()] * self._chance.randint(1, 40)
            return values[:count]
        pool = [make() for _ in range(1 if shape == "one" else 5)]
        return [self._chance.choice(pool) for _ in range(count)]

    def _source(self, data_type: pa.DataType) -> Callable[[], Any]:
        chance, types = self._chance, pa.types
        if types.is_boolean(data_type):
            return lambda: chance.random() < 0.5
        if types.is_decimal(data_type):
            digits = 10**data_type.precision - 1
            return lambda: decimal.Decimal(chance.randint(-digits, digits)).scaleb(
                -data_type.scale, decimal.Context(prec=80)
            )
        if types.is_string(data_type) or types.is_large_string(data_type):
            longest = chance.choice([0, 3, 12, 400])
            return lambda: "".join(chance.choices("abc é€", k=chance.randint(0, longest)))
        if types.is_binary(data_type) or types.is_large_binary(data_type):
            longest = chance.choice([0, 3, 12, 400])
            return lambda: chance.randbytes(chance.randint(0, longest))
        if types.is_fixed_size_binary(data_type):
            return lambda: chance.randbytes(data_type.byte_width)
        if types.is_floating(data_type):
            if types.is_float16(data_type):
                return lambda: np.float16(chance.randint(-2000, 2000) / 4)
            return lambda: chance.choice([0.0, -0.0, 1.5, float("inf"), chance.gauss(0, 1e6)])
        if types.is_date64(data_type):
            return lambda: chance.randint(-20000, 20000) * _DAY_MS
        if types.is_time(data_type):
            return lambda: chance.randrange(_DAY_MS)
        bits = min(data_type.bit_width, chance.choice([4, 8, 16, 32, 64]))
        if types.is_temporal(data_type):
            # What Python has dates for.
            bits = min(bits, 20 if types.is_date(data_type) else 40)
        if types.is_unsigned_integer(data_type):
            return lambda: chance.getrandbits(bits)
        return lambda: chance.getrandbits(bits) - (1 << (bits - 1))
