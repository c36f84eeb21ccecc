"""Columns for the matrix tests: every type, pattern of nulls and kind of nesting."""

from __future__ import annotations

import datetime
import decimal
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

DAY = datetime.date(1970, 1, 1)


def number(modulus: int, first: int = 0) -> Callable[[int], int]:
    return lambda i: first + i * 7919 % modulus


def text(i: int) -> str:
    return f"https://example.org/{i % 7}/item-{i * 7919 % 10007}"


SCALARS: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "bool": (pa.bool_(), lambda i: i * 7919 % 3 == 0),
    "int8": (pa.int8(), number(256, -128)),
    "uint8": (pa.uint8(), number(17)),
    "int16": (pa.int16(), number(60000, -30000)),
    "uint16": (pa.uint16(), number(1000)),
    "int32": (pa.int32(), number(100_003, -5)),
    "uint32": (pa.uint32(), number(1 << 20)),
    "int64": (pa.int64(), number(1 << 40)),
    "uint64": (pa.uint64(), number(1 << 63)),
    "float16": (pa.float16(), lambda i: np.float16(i % 100 / 4)),
    "float32": (pa.float32(), lambda i: i * 0.5 - 3),
    "float64": (pa.float64(), lambda i: i * 7919 % 10007 / 7),
    "date32": (pa.date32(), lambda i: DAY + datetime.timedelta(i % 20000)),
    "date64": (pa.date64(), lambda i: DAY + datetime.timedelta(i % 20000)),
    "time32[s]": (pa.time32("s"), number(86400)),
    "time64[us]": (pa.time64("us"), number(86_400_000_000)),
    "timestamp[s]": (pa.timestamp("s"), number(1 << 31)),
    "timestamp[ns, UTC]": (pa.timestamp("ns", "UTC"), number(1 << 55)),
    "duration[ms]": (pa.duration("ms"), number(1 << 30)),
    "decimal128": (
        pa.decimal128(20, 3),
        lambda i: decimal.Decimal(i * 7919 % 99991).scaleb(-3),
    ),
    "decimal256": (pa.decimal256(50, 2), lambda i: decimal.Decimal(i * 7919 % 99991).scaleb(-2)),
    "string": (pa.string(), text),
    "large_string": (pa.large_string(), text),
    "binary": (pa.binary(), lambda i: text(i).encode()[: i % 40]),
    "large_binary": (pa.large_binary(), lambda i: bytes([i % 256]) * (i % 9)),
    "fixed_size_binary": (pa.binary(5), lambda i: i.to_bytes(5, "big")),
    "fixed_size_list": (pa.list_(pa.float32(), 3), lambda i: [i, i / 2, i / 4]),
    "fixed_size_list[bool]": (pa.list_(pa.bool_(), 5), lambda i: [i % 2 == 0] * 5),
    "fixed_size_list[list]": (
        pa.list_(pa.list_(pa.int16(), 2), 2),
        lambda i: [[i % 99, 1], [2, i % 7]],
    ),
    "dictionary": (pa.dictionary(pa.int16(), pa.string()), lambda i: f"category {i % 11}"),
    "dictionary[int]": (pa.dictionary(pa.int32(), pa.int64()), lambda i: i % 11 << 40),
}

NULLS: dict[str, Callable[[int], bool]] = {
    "valid": lambda i: False,
    "some null": lambda i: i % 3 == 1,
    "all null": lambda i: True,
}


def scalar_column(kind: str, nulls: str, rows: int) -> pa.Array:
    """``rows`` values of a type with a pattern of nulls."""
    data_type, value = SCALARS[kind]
    is_null = NULLS[nulls]
    values = [None if is_null(i) else value(i) for i in range(rows)]
    if pa.types.is_dictionary(data_type):
        return pa.array(values, data_type.value_type).dictionary_encode().cast(data_type)
    return pa.array(values, data_type)


INT, STRING = pa.int32(), pa.string()


def struct(**fields: pa.DataType) -> pa.DataType:
    return pa.struct(list(fields.items()))


NESTED: dict[str, pa.DataType] = {
    "list": pa.list_(INT),
    "large_list of string": pa.large_list(STRING),
    "list of list": pa.list_(pa.list_(INT)),
    "list of list of list": pa.list_(pa.list_(pa.list_(STRING))),
    "struct": struct(a=INT, b=STRING),
    "struct of struct": struct(a=struct(b=struct(c=INT), d=STRING)),
    "list of struct": pa.list_(struct(a=INT, b=STRING)),
    "struct of lists": struct(a=pa.list_(INT), b=struct(c=INT, d=pa.list_(STRING))),
    "list of struct of list": pa.list_(struct(a=pa.list_(INT), b=STRING)),
    "list of fixed_size_list": pa.list_(pa.list_(pa.float32(), 2)),
    "empty struct": pa.struct([]),
}


def nested_column(kind: str, null_share: float, rows: int) -> pa.Array:
    """Lists and structs with nulls and empty lists at every level."""
    chance = random.Random(f"{kind} {null_share}")

    def value(data_type: pa.DataType) -> Any:
        if chance.random() < null_share:
            return None
        types = pa.types
        if types.is_fixed_size_list(data_type):
            return [value(data_type.value_type) for _ in range(data_type.list_size)]
        if types.is_list(data_type) or types.is_large_list(data_type):
            return [value(data_type.value_type) for _ in range(chance.choice([0, 1, 2, 5]))]
        if types.is_struct(data_type):
            return {field.name: value(field.type) for field in data_type}
        if types.is_string(data_type):
            return "text" * chance.randrange(4)
        return chance.randrange(1000)

    return pa.array([value(NESTED[kind]) for _ in range(rows)], NESTED[kind])


def some_rows(rows: int) -> list[int]:
    """A few rows in ascending order, both ends among them."""
    if rows == 0:
        return []
    chance = random.Random(rows)
    return sorted({0, rows - 1, *(chance.randrange(rows) for _ in range(20))})
