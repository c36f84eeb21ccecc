"""Stored statistics: of a column in a row group, its null count, minimum and maximum.

They are in the row group index, after the position of the column:

=================== ==========================================================
field               encoding
=================== ==========================================================
null count          varint
minimum, maximum    serialised values; absent if every value is null
=================== ==========================================================

A serialised value, big-endian:

========================= ====================================================
type                      bytes
========================= ====================================================
BOOLEAN                   1; nonzero is true
TINYINT, SMALLINT         1, 2; two's complement
INTEGER, BIGINT           4, 8; two's complement
FLOAT, DOUBLE             4, 8; IEEE bits
DATE                      4; days since 1970
TIME                      4; milliseconds of the day
DECIMAL, up to 18 digits  8; the unscaled value
TIMESTAMP, up to          8; milliseconds or microseconds since 1970
microseconds
TIMESTAMP, finer          8 + 4; milliseconds, then nanoseconds 0 to 999,999
CHAR, VARCHAR, STRING     varint length, then UTF-8
========================= ====================================================

Other types have no statistics. Dictionaries store entries of all types in the same way; there,
binary values and larger decimals (0 to 16 bytes, sign-extended) have a varint length too. The
functions below take the bytes of one value, without that length, and check them.
"""

from __future__ import annotations

import struct

from pymosaic.errors import CorruptFileError
from pymosaic.format.types import TypeId

__all__ = [
    "corrupt",
    "parse_decimal",
    "parse_float",
    "parse_integer",
    "parse_nanoseconds",
    "parse_text",
    "parse_time",
    "value_width",
]

# Size of a value, for types with statistics; 0 if each value has its own length.
_WIDTHS = {
    TypeId.BOOLEAN: 1,
    TypeId.TINYINT: 1,
    TypeId.SMALLINT: 2,
    TypeId.INTEGER: 4,
    TypeId.BIGINT: 8,
    TypeId.FLOAT: 4,
    TypeId.DOUBLE: 8,
    TypeId.DATE: 4,
    TypeId.CHAR: 0,
    TypeId.VARCHAR: 0,
    TypeId.STRING: 0,
    TypeId.DECIMAL: 8,
    TypeId.TIME: 4,
    TypeId.TIMESTAMP: 8,
    TypeId.TIMESTAMP_LTZ: 8,
}
# Above this precision a timestamp has nanoseconds in addition to milliseconds.
_MICROS = 6
_NANOS_WIDTH = 12
_MILLIS_PER_DAY = 86_400_000
_NANOS_PER_MILLI = 1_000_000
_INT64_MIN = -(1 << 63)
_INT64_MAX = (1 << 63) - 1
_COMPACT_PRECISION = 18
_MAX_DECIMAL_BYTES = 16


def value_width(type_id: int, precision: int) -> int:
    """Size of a minimum or maximum; 0 if each value has its own length."""
    if type_id in (TypeId.TIMESTAMP, TypeId.TIMESTAMP_LTZ) and precision > _MICROS:
        return _NANOS_WIDTH
    return _WIDTHS[TypeId(type_id)]


def corrupt(reason: str, offset: int | None = None) -> CorruptFileError:
    """The error for a value that is not valid for its type."""
    return CorruptFileError(reason, structure="statistics", offset=offset)


def _check_length(data: bytes, width: int, name: object) -> None:
    if len(data) != width:
        raise corrupt(f"a value of type {name} takes {width} bytes, got {len(data)}")


def parse_integer(data: bytes, width: int, name: object) -> int:
    """An integer, or anything stored as one; ``name`` is the type name, for messages."""
    _check_length(data, width, name)
    return int.from_bytes(data, "big", signed=True)


def parse_float(data: bytes, width: int, name: object) -> float:
    """A FLOAT or DOUBLE."""
    _check_length(data, width, name)
    number: float
    (number,) = struct.unpack(">f" if width == 4 else ">d", data)
    return number


def parse_time(data: bytes, name: object) -> int:
    """Milliseconds of a day."""
    millis = parse_integer(data, 4, name)
    if not 0 <= millis < _MILLIS_PER_DAY:
        raise corrupt(f"a time of {millis} milliseconds is not within a day")
    return millis


def parse_nanoseconds(data: bytes, name: object) -> int:
    """Nanoseconds since 1970, for a timestamp finer than microseconds."""
    _check_length(data, _NANOS_WIDTH, name)
    millis, nanos = struct.unpack(">qi", data)
    if not 0 <= nanos < _NANOS_PER_MILLI:
        raise corrupt(f"nanoseconds of the millisecond must be 0 to 999999, got {nanos}", 8)
    value: int = millis * _NANOS_PER_MILLI + nanos
    if not _INT64_MIN <= value <= _INT64_MAX:
        raise corrupt("a nanosecond timestamp is beyond 64 bits")
    return value


def parse_decimal(data: bytes, precision: int, name: object) -> int:
    """The unscaled value of a DECIMAL."""
    if precision <= _COMPACT_PRECISION:
        _check_length(data, 8, name)
    elif len(data) > _MAX_DECIMAL_BYTES:
        raise corrupt(f"a value of type {name} takes up to 16 bytes, got {len(data)}")
    unscaled = int.from_bytes(data, "big", signed=True)
    if abs(unscaled) >= 10**precision:
        raise corrupt(f"a value of type {name} has more than {precision} digits")
    return unscaled


def parse_text(data: bytes) -> str:
    """A CHAR, VARCHAR or STRING."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise corrupt(f"a string is not UTF-8: {error.reason}", error.start) from None
