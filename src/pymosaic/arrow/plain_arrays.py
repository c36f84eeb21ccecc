"""Arrow arrays of plain values, without pandas.

``pyarrow.array`` and ``pyarrow.scalar`` import pandas, if it is installed, to recognise its nulls.
That takes longer than a small command, and for one value several times as long as this.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

__all__ = ["FALSE", "plain_array", "plain_scalar"]

_DECIMAL_BYTES = 16
_SIGNED = {8: "b", 16: "h", 32: "i", 64: "q"}


def plain_array(values: Sequence[Any], arrow_type: pa.DataType) -> pa.Array:
    """An array of values that are not null, given as the type stores them.

    Parameters
    ----------
    values : sequence of bool, int, float or bytes
        Text as UTF-8; decimals as unscaled integers, of which only the size is checked; dates,
        times and timestamps as integers.
    arrow_type : pyarrow.DataType
        A type of fixed width, ``string`` or ``binary``.

    Raises
    ------
    struct.error, OverflowError
        If a value is beyond the range of the type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.arrow.plain_arrays import plain_array
    >>> plain_array([b"a", b"bc"], pa.string()).to_pylist()
    ['a', 'bc']
    >>> plain_array([12, -5], pa.decimal128(4, 1)).to_pylist()
    [Decimal('1.2'), Decimal('-0.5')]
    """
    types, count = pa.types, len(values)
    buffers: list[bytes]
    if types.is_string(arrow_type) or types.is_binary(arrow_type):
        ends = [0]
        for value in values:
            ends.append(ends[-1] + len(value))
        buffers = [struct.pack(f"={count + 1}i", *ends), b"".join(values)]
    elif types.is_boolean(arrow_type):
        bits = sum(1 << place for place, value in enumerate(values) if value)
        buffers = [bits.to_bytes((count + 7) // 8, "little")]
    elif types.is_decimal128(arrow_type):
        buffers = [b"".join(x.to_bytes(_DECIMAL_BYTES, "little", signed=True) for x in values)]
    else:
        buffers = [struct.pack(f"={count}{_code(arrow_type)}", *values)]
    return pa.Array.from_buffers(arrow_type, count, [None, *map(pa.py_buffer, buffers)])


def plain_scalar(value: Any, arrow_type: pa.DataType) -> pa.Scalar:
    """One value that is not null, given as for :func:`plain_array`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.arrow.plain_arrays import plain_scalar
    >>> plain_scalar(7, pa.timestamp("s"))
    <pyarrow.TimestampScalar: '1970-01-01T00:00:07'>
    """
    return plain_array([value], arrow_type)[0]


def _code(arrow_type: pa.DataType) -> str:
    if pa.types.is_float32(arrow_type):
        return "f"
    if pa.types.is_float64(arrow_type):
        return "d"
    code = _SIGNED[arrow_type.bit_width]
    return code.upper() if pa.types.is_unsigned_integer(arrow_type) else code


FALSE = plain_scalar(False, pa.bool_())
