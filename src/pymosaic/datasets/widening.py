"""Type widening: the smallest type that holds every value of two types, if there is one.

============================== =============================================================
types                          common type
============================== =============================================================
int8, int16, int32, int64      the wider
float, double                  double
int8 to int32 and a float      double (float, if the integer has at most 16 bits)
decimals                       the larger number of digits before and after the point, up to
                               38 in total
an integer and a decimal       a decimal with room for every value of the integer type
timestamps of one time zone    the finer unit
date and timestamp             none: a date is not a moment
lists, maps                    with widened elements; names of children as in the first
============================== =============================================================

A timestamp outside the range of the finer unit (nanoseconds end in 2262) is an error when read.
"""

from __future__ import annotations

import pyarrow as pa

__all__ = ["widened"]

_INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
_MAX_DIGITS = 38
_UNITS = ("s", "ms", "us", "ns")


def widened(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type that holds the values of both without loss, or None.

    Examples
    --------
    >>> import pyarrow as pa
    >>> widened(pa.int32(), pa.int64())
    DataType(int64)
    >>> widened(pa.decimal128(5, 2), pa.decimal128(6, 4))
    Decimal128Type(decimal128(7, 4))
    >>> widened(pa.int64(), pa.string()) is None
    True
    """
    if left.equals(right):
        return left
    types = pa.types
    if types.is_signed_integer(left) and types.is_signed_integer(right):
        return left if left.bit_width > right.bit_width else right
    for one, other in ((left, right), (right, left)):
        if types.is_float64(one) and types.is_float32(other):
            return one
        if types.is_signed_integer(other):
            if types.is_float32(one) and other.bit_width <= 32:
                return one if other.bit_width <= 16 else pa.float64()
            if types.is_float64(one) and other.bit_width <= 32:
                return one
            if types.is_decimal128(one):
                return _decimal(one, pa.decimal128(_INTEGER_DIGITS[other.bit_width], 0))
    if types.is_decimal128(left) and types.is_decimal128(right):
        return _decimal(left, right)
    if types.is_timestamp(left) and types.is_timestamp(right) and left.tz == right.tz:
        return max(left, right, key=lambda item: _UNITS.index(item.unit))
    if types.is_list(left) and types.is_list(right):
        element = _field(left.value_field, right.value_field)
        return None if element is None else pa.list_(element)
    if types.is_map(left) and types.is_map(right):
        key, item = (
            _field(left.key_field, right.key_field),
            _field(left.item_field, right.item_field),
        )
        return None if key is None or item is None else pa.map_(key, item)
    return None


def _decimal(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    scale = max(left.scale, right.scale)
    digits = max(left.precision - left.scale, right.precision - right.scale) + scale
    return pa.decimal128(digits, scale) if digits <= _MAX_DIGITS else None


def _field(left: pa.Field, right: pa.Field) -> pa.Field | None:
    united = widened(left.type, right.type)
    if united is None:
        return None
    return pa.field(left.name, united, left.nullable or right.nullable)
