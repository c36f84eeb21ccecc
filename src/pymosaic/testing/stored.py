"""Arrow arrays as a file stores them: type descriptors and physical columns of value bytes.

Plain Python, value by value, sharing nothing with the writer. No float is converted on the way, so
NaN payloads and signed zeros are preserved.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from pymosaic.testing.pieces import text, varint

__all__ = ["Physical", "can_have_statistics", "descriptor", "shred", "statistic"]

Values = list[bytes | None]

_PLAIN_IDS = {
    pa.bool_(): 0,
    pa.int8(): 1,
    pa.int16(): 2,
    pa.int32(): 3,
    pa.int64(): 4,
    pa.float32(): 5,
    pa.float64(): 6,
    pa.date32(): 7,
}
# Descriptors, or precisions, that other writers may use; ours uses the first.
_STRINGS = [b"\x0a", b"\x08" + varint(7), b"\x09" + varint(0)]
_BINARIES = [b"\x0d", b"\x0b" + varint(5), b"\x0c" + varint(1 << 31)]
_TIME_PRECISIONS = [3, 0, 9, 200]
_TIMESTAMP_PRECISIONS = {"ms": [3, 0, 1, 2], "us": [6, 4, 5], "ns": [9, 7, 8, 10, 200]}
_NULLABLE = [1, 2, 255]


@dataclass(frozen=True, slots=True)
class Physical:
    """One encoded column of a bucket: its values as stored (None: null), and the empty value."""

    values: Values
    filler: bytes
    is_child: bool


def descriptor(of: pa.DataType, nullable: bool, variant: int = 0) -> bytes:
    """The type descriptor of a field.

    A ``variant`` other than 0 has parameters that our writer does not use, for the same Arrow type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> descriptor(pa.timestamp("us", "UTC"), True).hex()
    '11010603555443'
    >>> descriptor(pa.string(), False, variant=1).hex()
    '080007'
    """

    def pick(choices: list[int]) -> int:
        return choices[variant % len(choices)]

    null = bytes([pick(_NULLABLE) if nullable else 0])
    if of in _PLAIN_IDS:
        return bytes([_PLAIN_IDS[of]]) + null
    if pa.types.is_string(of):
        head = _STRINGS[variant % len(_STRINGS)]
        return head[:1] + null + head[1:]
    if pa.types.is_binary(of):
        head = _BINARIES[variant % len(_BINARIES)]
        return head[:1] + null + head[1:]
    if pa.types.is_decimal128(of):
        return b"\x0e" + null + varint(of.precision) + varint(of.scale & 0xFFFFFFFF)
    if pa.types.is_time32(of):
        return b"\x0f" + null + varint(pick(_TIME_PRECISIONS))
    if pa.types.is_timestamp(of):
        precision = varint(pick(_TIMESTAMP_PRECISIONS[of.unit]))
        if of.tz is None:
            return b"\x10" + null + precision
        return b"\x11" + null + precision + text(of.tz)
    if pa.types.is_map(of):
        key, item = of.key_field, of.item_field
        return (
            (b"\x13" + null + text("entries"))
            + (text(key.name) + descriptor(key.type, False, variant))
            + (text(item.name) + descriptor(item.type, item.nullable, variant))
        )
    element = of.value_field
    inner = descriptor(element.type, element.nullable, variant)
    return b"\x12" + null + text(element.name) + inner


def shred(column: pa.Array) -> list[Physical]:
    """The physical columns of a column: its own values (or lengths), then its children's."""
    return list(_shred(column, False))


def _shred(column: pa.Array, is_child: bool) -> Iterator[Physical]:
    if not pa.types.is_nested(column.type):
        yield Physical(_scalars(column), _filler(column.type), is_child)
        return
    offsets = column.offsets.to_pylist()
    valid = column.is_valid().to_pylist()
    lengths: Values = []
    rows: list[int] = []
    for i, is_valid in enumerate(valid):
        elements = range(offsets[i], offsets[i + 1]) if is_valid else range(0)
        lengths.append(struct.pack(">i", len(elements)) if is_valid else None)
        # Elements under a null list are dropped.
        rows += elements
    yield Physical(lengths, bytes(4), is_child)
    is_map = pa.types.is_map(column.type)
    for child in [column.keys, column.items] if is_map else [column.values]:
        yield from _shred(child.take(pa.array(rows, pa.int32())), True)


def _width(of: pa.DataType) -> int:
    """The size of a stored value; 0 if each value has its own length."""
    if pa.types.is_string(of) or pa.types.is_binary(of):
        return 0
    if pa.types.is_decimal(of):
        return 8 if of.precision <= 18 else 0
    if pa.types.is_boolean(of):
        return 1
    if pa.types.is_timestamp(of) and of.unit == "ns":
        return 12
    return int(of.bit_width) // 8


def _filler(of: pa.DataType) -> bytes:
    return bytes(_width(of) or 1)


def _scalars(column: pa.Array) -> Values:
    of = column.type
    width = _width(of)
    if pa.types.is_string(of) or pa.types.is_binary(of):
        return [None if v is None else text(v) for v in column.cast(pa.binary()).to_pylist()]
    if pa.types.is_boolean(of):
        return [None if v is None else bytes([v]) for v in column.to_pylist()]
    if pa.types.is_decimal(of):
        unscaled = _unscaled(column)
        if width:
            return [None if v is None else v.to_bytes(8, "big", signed=True) for v in unscaled]
        return [None if v is None else text(_minimal(v)) for v in unscaled]
    integers = column.view(pa.int64() if of.bit_width == 64 else _integer_of(of)).to_pylist()
    if width == 12:
        return [None if v is None else _split_nanos(v) for v in integers]
    return [None if v is None else v.to_bytes(width, "big", signed=True) for v in integers]


def _integer_of(of: pa.DataType) -> pa.DataType:
    return {8: pa.int8(), 16: pa.int16(), 32: pa.int32()}[of.bit_width]


def _unscaled(column: pa.Array) -> list[int | None]:
    data = column.buffers()[1]
    return [
        int.from_bytes(data[16 * i : 16 * i + 16], "little", signed=True) if is_valid else None
        for i, is_valid in enumerate(column.is_valid().to_pylist(), column.offset)
    ]


def _minimal(value: int) -> bytes:
    magnitude = value if value >= 0 else ~value
    return value.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def _split_nanos(value: int) -> bytes:
    millis, nanos = divmod(value, 1_000_000)
    return struct.pack(">qi", millis, nanos)


def can_have_statistics(of: pa.DataType) -> bool:
    """Whether the format stores minimum and maximum for columns of this type."""
    if pa.types.is_decimal(of):
        return bool(of.precision <= 18)
    return not (pa.types.is_nested(of) or pa.types.is_binary(of))


def statistic(of: pa.DataType, values: Values) -> bytes:
    """The part of a statistic after the column's position: null count, minimum and maximum."""
    present = [value for value in values if value is not None]
    head = varint(len(values) - len(present))
    if not present:
        return head
    keys = [(_sort_key(of, value), value) for value in present]
    # A NaN bound says nothing; it is stored only if there is nothing else.
    known = [item for item in keys if item[0] == item[0]] or keys[:1]
    return head + min(known, key=_first)[1] + max(known, key=_first)[1]


def _first(item: tuple[int | float | bytes, bytes]) -> int | float | bytes:
    return item[0]


def _sort_key(of: pa.DataType, value: bytes) -> int | float | bytes:
    if pa.types.is_string(of):
        return value[len(value) - _text_length(value) :]
    if pa.types.is_floating(of):
        (number,) = struct.unpack(">f" if len(value) == 4 else ">d", value)
        return float(number)
    if len(value) == 12:
        millis, nanos = struct.unpack(">qi", value)
        return int(millis) * 1_000_000 + int(nanos)
    return int.from_bytes(value, "big", signed=True)


def _text_length(value: bytes) -> int:
    length = shift = 0
    for byte in value:
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return length
