"""Conversion of Arrow values to the plain values that JSON, CSV and tables show.

============================ =======================================================
Arrow                        plain
============================ =======================================================
null                         None
bool, integers, string       themselves
float, double                themselves; ``"NaN"``, ``"Infinity"``, ``"-Infinity"``
decimal                      text with all digits: ``"12.50"``
date                         ``"2024-05-31"``
time                         ``"23:59:00.000"``
timestamp                    ``"2024-05-31T23:59:00.000"``, with a time zone in UTC: ``…Z``
binary                       hexadecimal text
list                         list
map                          list of ``{"key": …, "value": …}``
struct                       dict
============================ =======================================================
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from json.encoder import encode_basestring
from typing import Any

import numpy as np
import pyarrow as pa

from pymosaic.errors import printable

__all__ = [
    "MANY_COLUMNS",
    "NULL",
    "cell",
    "json_values",
    "plain_columns",
    "plain_groups",
    "plain_value",
    "plain_values",
    "to_json",
]

# The cell of a null, distinguished from the text "null" by identity.
NULL = "".join(("nu", "ll"))
_CODED = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_DAY_UNITS = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_NOT_A_TIME = -(1 << 63)
MANY_COLUMNS = 50
_PLAIN_TYPES = frozenset(
    kind.id
    for kind in (
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64()),
        *(pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.date32()),
    )
)
_FEW_ROWS = 1000
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def to_json(value: Any) -> str:
    """Compact JSON on one line, without terminal control characters."""
    text = _encode(value)
    if text.isascii() and "\x7f" not in text:
        return text
    # JSON itself escapes only what is below U+0020.
    return _CODED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


# As the JSON encoder writes them, without its work for each call.
_ENCODERS: dict[type, Callable[[Any], str]] = {int: int.__repr__, float: float.__repr__}


def cell(value: Any) -> str:
    """A plain value as the text of a table cell."""
    if isinstance(value, str):
        return printable(value)
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return printable(json.dumps(value, ensure_ascii=False))
    return str(value)


def plain_value(scalar: pa.Scalar | None) -> Any:
    """The plain value of a scalar."""
    if scalar is None:
        return None
    return plain_values(pa.array([scalar], scalar.type))[0]


def plain_values(array: pa.Array) -> list[Any]:
    """The plain values of an array."""
    kind = array.type
    types = pa.types
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_string(kind):
        values: list[Any] = array.to_pylist()
    elif types.is_floating(kind):
        values = _floats(array)
    elif types.is_decimal(kind):
        values = [None if value is None else format(value, "f") for value in array.to_pylist()]
    elif types.is_date32(kind) or types.is_timestamp(kind) or types.is_time(kind):
        values = _moments(array)
    elif types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        values = [None if value is None else value.hex() for value in array.to_pylist()]
    elif types.is_map(kind):
        values = _lists(array, _pairs)
    elif types.is_list(kind) or types.is_large_list(kind):
        values = _lists(array, _elements)
    elif types.is_struct(kind):
        values = _structs(array)
    elif types.is_dictionary(kind):
        values = plain_values(array.dictionary_decode())
    else:
        values = _others(array)
    return values


def plain_columns(batch: pa.RecordBatch) -> list[list[Any]]:
    """The plain values of each column."""
    if batch.num_columns < MANY_COLUMNS or batch.num_rows > _FEW_ROWS:
        return [plain_values(column) for column in batch.columns]
    found: list[list[Any]] = [[]] * batch.num_columns
    rows = batch.num_rows
    for indexes, values in plain_groups(batch, range(batch.num_columns)):
        for place, index in enumerate(indexes):
            found[index] = values[place * rows : (place + 1) * rows]
    return found


def plain_groups(
    batch: pa.RecordBatch, columns: Iterable[int]
) -> Iterator[tuple[list[int], list[Any]]]:
    """Of some columns, those of each type, and their plain values, one column after the other.

    For few rows of many columns, the conversion of an array costs more than that of its values.
    """
    arrays = {index: batch.column(index) for index in columns}
    by_type: dict[Any, list[int]] = {}
    for index, array in arrays.items():
        kind = array.type
        # The hash of a type is that of its text. Most types need no more than their number.
        by_type.setdefault(kind.id if kind.id in _PLAIN_TYPES else kind, []).append(index)
    for indexes in by_type.values():
        yield indexes, plain_values(pa.concat_arrays([arrays[index] for index in indexes]))


def json_values(values: list[Any]) -> list[str]:
    """Each plain value as JSON."""
    kinds = set(map(type, values))
    if kinds == {str}:
        text = "".join(values)
        plain = text.isascii() and "\x7f" not in text
        return list(map(encode_basestring if plain else to_json, values))
    if len(kinds) == 1:
        return list(map(_ENCODERS.get(kinds.pop(), to_json), values))
    encoders = {kind: _ENCODERS.get(kind, to_json) for kind in kinds}
    return [encoders[type(value)](value) for value in values]


def _floats(array: pa.Array) -> list[Any]:
    if not pa.types.is_float64(array.type):
        # The shortest text that denotes the float, not all digits of the double.
        kind = np.float32 if pa.types.is_float32(array.type) else np.float16
        stored = _stored_numbers(array, kind)
        numbers: list[float | None] = [float(text) for text in stored.astype(str).tolist()]
        if array.null_count:
            valid = _validity(array).tolist()
            numbers = [
                number if is_valid else None
                for number, is_valid in zip(numbers, valid, strict=True)
            ]
    else:
        numbers = array.to_pylist()
        if np.isfinite(_stored_numbers(array, np.float64)).all():
            return numbers
    return [
        value if value is None or math.isfinite(value) else _not_finite(value) for value in numbers
    ]


# The two functions below do what `fill_null` and `is_valid` do. Those import pyarrow.compute, and
# with it pandas, which takes longer than all else that shows a few rows.
def _stored_numbers(array: pa.Array, kind: Any) -> np.ndarray[Any, Any]:
    """The numbers of an array, with 0 for null."""
    if len(array) == 0:
        return np.empty(0, kind)
    data = array.buffers()[1]
    numbers: np.ndarray[Any, Any] = np.frombuffer(data, kind, array.offset + len(array))
    numbers = numbers[array.offset :]
    return np.where(_validity(array), numbers, kind(0)) if array.null_count else numbers


def _validity(array: pa.Array) -> np.ndarray[Any, Any]:
    """Whether each value is not null."""
    bitmap = array.buffers()[0]
    if bitmap is None or array.null_count == 0:
        return np.ones(len(array), dtype=bool)
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(bool)


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _moments(array: pa.Array) -> list[Any]:
    """Dates, times and timestamps through numpy, which supports every year."""
    kind = array.type
    unit: Any = "D" if pa.types.is_date32(kind) else kind.unit
    narrow = pa.types.is_date32(kind) or pa.types.is_time32(kind)
    filled = _stored_numbers(array, np.int32 if narrow else np.int64).astype(np.int64)
    moments: Any = filled.view(f"datetime64[{unit}]")
    texts = np.datetime_as_string(moments, unit=unit).tolist()
    suffix = "Z" if pa.types.is_timestamp(kind) and kind.tz is not None else ""
    if pa.types.is_time(kind):
        # A value beyond a day is not a time: the bare number is clearest.
        day = _DAY_UNITS[unit]
        texts = [
            text[11:] if 0 <= number < day else str(number)
            for text, number in zip(texts, filled.tolist(), strict=True)
        ]
    elif (filled == _NOT_A_TIME).any():
        texts = [
            str(number) if number == _NOT_A_TIME else text + suffix
            for text, number in zip(texts, filled.tolist(), strict=True)
        ]
    elif suffix:
        texts = [text + suffix for text in texts]
    if array.null_count == 0:
        return list(texts)
    valid = _validity(array).tolist()
    return [text if is_valid else None for text, is_valid in zip(texts, valid, strict=True)]


def _elements(array: pa.Array, start: int, count: int) -> list[Any]:
    return plain_values(array.values.slice(start, count))


def _pairs(array: pa.MapArray, start: int, count: int) -> list[Any]:
    keys = plain_values(array.keys.slice(start, count))
    items = plain_values(array.items.slice(start, count))
    return [{"key": key, "value": value} for key, value in zip(keys, items, strict=True)]


def _lists(array: pa.Array, children: Callable[[pa.Array, int, int], list[Any]]) -> list[Any]:
    if len(array) == 0:
        return []
    offsets = array.offsets.to_pylist()
    first = offsets[0]
    # For a slice of a large array, only the children of the slice.
    found = children(array, first, offsets[-1] - first)
    valid = _validity(array).tolist()
    return [
        found[offsets[row] - first : offsets[row + 1] - first] if valid[row] else None
        for row in range(len(array))
    ]


def _structs(array: pa.StructArray) -> list[Any]:
    names = [field.name for field in array.type]
    columns = [plain_values(array.field(index)) for index in range(len(names))]
    valid = _validity(array).tolist()
    return [
        {name: column[row] for name, column in zip(names, columns, strict=True)}
        if valid[row]
        else None
        for row in range(len(array))
    ]


def _others(array: pa.Array) -> list[Any]:
    """Values of types that Mosaic does not have."""
    storage = getattr(array, "storage", None)
    if storage is not None:
        return plain_values(storage)
    simple = (str, int, float, bool, list, dict, type(None))
    return [value if isinstance(value, simple) else str(value) for value in array.to_pylist()]
