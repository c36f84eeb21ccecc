"""Arrow data made from any bytes, for the writer: legal, odd and illegal values alike.

Arrays are laid over the bytes as buffers, so that every bit pattern turns up: strings that are not
UTF-8, decimals beyond their precision, times after midnight, NaN payloads, slices with an offset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

_TYPES: tuple[pa.DataType, ...] = (
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
    pa.timestamp("ms"),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns"),
    pa.decimal128(9, 2),
    pa.decimal128(18, 0),
    pa.decimal128(19, 4),
    pa.decimal128(38, 10),
)
_NESTED = 22  # type codes from here up to 31 are lists and maps
_MAX_DEPTH = 3
_NAMES = ("a", "b", "temp_1", "temp_2", "temp_10", "é", "\U0001f600", "x" * 40, "aaaaaaaaaa", "n\n")


class Bytes:
    """Choices taken from bytes, one after the other; zeros when they run out."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def byte(self) -> int:
        taken = self.take(1)
        return taken[0] if taken else 0

    def below(self, bound: int) -> int:
        return self.byte() % bound

    def take(self, count: int) -> bytes:
        taken = self._data[self._position : self._position + count]
        self._position += count
        return taken

    def padded(self, count: int) -> bytes:
        return self.take(count).ljust(count, b"\0")


@dataclass(frozen=True)
class Job:
    """What a writer is given."""

    schema: pa.Schema
    batches: list[pa.RecordBatch]
    options: dict[str, Any]


def make_job(data: bytes) -> Job:
    """A schema, batches of it and options, whatever the bytes."""
    choices = Bytes(data)
    fields = []
    for i in range(1 + choices.below(6)):
        kind = choices.byte()
        name = _NAMES[kind // 2 % len(_NAMES)] if kind & 1 else f"column_{i}"
        fields.append(pa.field(name, _make_type(choices, 0), nullable=choices.below(4) != 0))
    names = {field.name: field for field in fields}
    schema = pa.schema(list(names.values()))
    options = _make_options(choices)
    batches = []
    for _ in range(choices.below(4)):
        rows, start = choices.below(20), choices.below(3)
        columns = [
            _make_array(choices, field.type, field.nullable, rows + start).slice(start)
            for field in schema
        ]
        batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    return Job(schema, batches, options)


def _make_options(choices: Bytes) -> dict[str, Any]:
    return {
        "compression": ("zstd", "none")[choices.below(2)],
        "num_buckets": 1 + choices.below(4),
        "row_group_bytes": (1, 64, 1 << 20)[choices.below(3)],
        "max_dict_entries": (0, 2, 255)[choices.below(3)],
        "max_dict_bytes": (0, 40, 32 << 10)[choices.below(3)],
        "page_size_threshold": (0, 1, 32 << 10)[choices.below(3)],
        "statistics": bool(choices.below(2)),
        "checksum": bool(choices.below(2)),
        "use_threads": False,
    }


def _make_type(choices: Bytes, depth: int) -> pa.DataType:
    code = choices.below(32)
    if code < _NESTED or depth == _MAX_DEPTH:
        return _TYPES[code % len(_TYPES)]
    if code % 2:
        value = pa.field("value", _make_type(choices, depth + 1), choices.below(2) == 0)
        return pa.map_(_TYPES[choices.below(len(_TYPES))], value)
    return pa.list_(pa.field("item", _make_type(choices, depth + 1), choices.below(2) == 0))


def _make_array(
    choices: Bytes, of: pa.DataType, nullable: bool, rows: int, is_key: bool = False
) -> pa.Array:
    validity = None
    # Now and then nulls where there may be none, which a writer must refuse; but in the keys of a
    # map pyarrow itself takes the process down.
    if not is_key and choices.below(3 if nullable else 64) == 1:
        validity = pa.py_buffer(choices.padded((rows + 7) // 8))
    repeat = choices.below(4)
    if pa.types.is_list(of) or pa.types.is_map(of):
        offsets = _make_offsets(choices, rows, 3)
        if pa.types.is_map(of):
            children = [of.key_field, of.item_field]
        else:
            children = [of.value_field]
        arrays = [
            _make_array(
                choices,
                child.type,
                child.nullable,
                offsets[-1],
                is_key=pa.types.is_map(of) and child is children[0],
            )
            for child in children
        ]
        if pa.types.is_map(of):
            arrays = [pa.StructArray.from_arrays(arrays, fields=children)]
        return pa.Array.from_buffers(of, rows, [validity, _pack(offsets)], children=arrays)
    if pa.types.is_string(of) or pa.types.is_binary(of):
        offsets = _make_offsets(choices, rows, 6)
        values = _make_values(choices, offsets[-1], repeat)
        return pa.Array.from_buffers(of, rows, [validity, _pack(offsets), pa.py_buffer(values)])
    size = (rows + 7) // 8 if pa.types.is_boolean(of) else rows * of.bit_width // 8
    width = max(1, of.bit_width // 8)
    values = _make_values(choices, size, repeat, width)
    if pa.types.is_decimal(of) and choices.below(8):
        # Mostly within the precision.
        bound = 10**of.precision
        starts = range(0, size, 16)
        numbers = (int.from_bytes(values[i : i + 16], "little", signed=True) for i in starts)
        values = b"".join((n % bound).to_bytes(16, "little") for n in numbers)
    elif pa.types.is_time(of) and choices.below(8):
        starts = range(0, size, 4)
        times = (int.from_bytes(values[i : i + 4], "little") % 86_400_000 for i in starts)
        values = b"".join(time.to_bytes(4, "little") for time in times)
    return pa.Array.from_buffers(of, rows, [validity, pa.py_buffer(values)])


def _make_values(choices: Bytes, size: int, repeat: int, width: int = 1) -> bytes:
    """Bytes of their own, or a few values over and over, which dictionaries are made of."""
    if repeat == 0:
        return choices.padded(size)
    values = choices.padded(min(size, repeat * repeat * width))
    if width == 1:
        values = bytes(byte & 0x7F for byte in values)  # as text it is ASCII
    return (values * (size // max(1, len(values)) + 1))[:size]


def _make_offsets(choices: Bytes, rows: int, longest: int) -> list[int]:
    offsets = [choices.below(2)]
    for byte in choices.padded(rows):
        offsets.append(offsets[-1] + byte % longest)
    return offsets


def _pack(offsets: list[int]) -> pa.Buffer:
    return pa.py_buffer(b"".join(offset.to_bytes(4, "little") for offset in offsets))
