"""Filter literals: the place of a Python value among the values of a column.

Every comparable column type is a grid of raw values: integers (also for dates, times, timestamps,
and the unscaled values of decimals), floats, booleans, or bytes. A literal has a place on that
grid, which need not be a grid point: 2.5 is between two integers, 1000 is above all int8. So a
comparison is decided exactly, without casting the column and without rounding the literal.
"""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

__all__ = [
    "Key",
    "Place",
    "WrittenNumber",
    "exact_key",
    "floor_key",
    "is_null",
    "key_range",
    "key_type",
    "locate",
    "plain",
    "wanted_literal",
]

# A point on the grid of a type, as pymosaic.arrow.statistics.order_key returns it for a scalar.
Key: TypeAlias = bool | int | float | bytes
# The place of a literal: a Key, a fraction between two of them, an infinity, or NaN.
Place: TypeAlias = Key | Fraction

_DAY = 86_400
_TIME_UNITS = {
    "W": Fraction(7 * _DAY),
    "D": Fraction(_DAY),
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
    "ps": Fraction(1, 10**12),
    "fs": Fraction(1, 10**15),
    "as": Fraction(1, 10**18),
}
_EPOCH = datetime.datetime(1970, 1, 1)
# An optional date of ten characters, a time with seconds, a fraction, and the rest (the offset).
_FRACTION_OF_SECOND = re.compile(r"((?:.{10}.)?\d\d:\d\d:\d\d)[.,](\d+)([^.,]*)")


class WrittenNumber(Decimal):
    """A number as written in a text: compared with floats, it means the nearest float.

    So ``0.1`` in a text equals 0.1 in float, double and decimal columns alike, although the double
    0.1 equals neither the decimal nor the float. For any other column it is the decimal number.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.filters.tuples import parse_filters
    >>> from pymosaic.filters.literals import WrittenNumber
    >>> batch = pa.record_batch({"x": pa.array([0.1, 0.2], pa.float32())})
    >>> parse_filters([("x", "==", WrittenNumber("0.1"))]).mask(batch).to_pylist()
    [True, False]
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def is_null(value: Any) -> bool:
    """Whether a literal is a null of Python, Arrow, numpy or pandas; a NaN is a number.

    Examples
    --------
    >>> from pymosaic.filters.literals import is_null
    >>> is_null(None), is_null(float("nan"))
    (True, False)
    """
    if value is None:
        return True
    if isinstance(value, pa.Scalar):
        return not value.is_valid
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    # pandas may not be installed, so its two nulls are recognised by type name.
    return type(value).__name__ in ("NAType", "NaTType")


def plain(value: Any) -> Any:
    """Return a literal as messages show it: of an Arrow scalar its value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.filters.literals import plain
    >>> plain(pa.scalar(5)), plain(pa.scalar(-5_000_000, pa.date32()))
    (5, '-11720-06-19')
    """
    if not isinstance(value, pa.Scalar):
        return value
    try:
        return value.as_py()
    except (OverflowError, ValueError):  # dates and times that Python's own cannot hold
        return value.cast(pa.string()).as_py()


def key_type(arrow_type: pa.DataType) -> pa.DataType | None:
    """Return the Arrow type whose plain values are the keys, or None if the type has no order.

    A column's array can be viewed as this type without a copy.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.filters.literals import key_type
    >>> key_type(pa.timestamp("us", "UTC")), key_type(pa.string())
    (DataType(int64), DataType(binary))
    """
    types = pa.types
    if types.is_decimal128(arrow_type):
        # Arrow cannot compare decimals with a negative scale, but can compare unscaled ones.
        return pa.decimal128(38, 0)
    if types.is_string(arrow_type):
        return pa.binary()
    if types.is_date32(arrow_type) or types.is_time32(arrow_type):
        return pa.int32()
    if types.is_timestamp(arrow_type) or types.is_time64(arrow_type):
        return pa.int64()
    if (
        types.is_boolean(arrow_type)
        or types.is_integer(arrow_type)
        or types.is_float32(arrow_type)
        or types.is_float64(arrow_type)
        or types.is_binary(arrow_type)
    ):
        return arrow_type
    return None


def wanted_literal(arrow_type: pa.DataType) -> str:
    """Describe what a column of this type can be compared with, for error messages.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.filters.literals import wanted_literal
    >>> wanted_literal(pa.int8())
    'a number'
    """
    types = pa.types
    if types.is_boolean(arrow_type):
        return "True or False"
    if types.is_string(arrow_type):
        return "a str"
    if types.is_binary(arrow_type):
        return "bytes"
    if types.is_date(arrow_type):
        return "a datetime.date, or ISO text such as '2024-05-31'"
    if types.is_time(arrow_type):
        return "a datetime.time without time zone, or ISO text such as '23:59:00'"
    if types.is_timestamp(arrow_type) and arrow_type.tz is None:
        return "a datetime without time zone, or ISO text such as '2024-05-31T23:59:00'"
    if types.is_timestamp(arrow_type):
        return "a datetime with a time zone, or ISO text such as '2024-05-31T23:59:00+00:00'"
    return "a number"


def locate(value: Any, arrow_type: pa.DataType) -> Place | None:
    """Place a literal that is not null on the grid of a comparable type.

    Returns
    -------
    bool, int, float, bytes, Fraction or None
        The exact place; a float only if it is infinite or NaN. None if a value of this type cannot
        be compared with the literal.

    Examples
    --------
    >>> import datetime
    >>> import pyarrow as pa
    >>> from pymosaic.filters.literals import locate
    >>> locate(2.5, pa.int8())
    Fraction(5, 2)
    >>> locate("1970-01-02", pa.timestamp("ms"))
    Fraction(86400000, 1)
    >>> locate(datetime.datetime(1970, 1, 2), pa.timestamp("ms", "UTC")) is None
    True
    """
    types = pa.types
    if types.is_time(arrow_type):
        seconds = _time_of_day(value)
        return None if seconds is None else seconds / _TIME_UNITS[arrow_type.unit]
    if types.is_temporal(arrow_type):
        unit, zone = "D", None
        if types.is_timestamp(arrow_type):
            unit, zone = arrow_type.unit, arrow_type.tz
        instant = _instant(value)
        if instant is None or instant[1] != (zone is not None):
            return None
        return instant[0] / _TIME_UNITS[unit]
    if isinstance(value, pa.Scalar):
        # as_py() fails on some dates and timestamps, which the code below could not use anyway.
        value = None if types.is_temporal(value.type) else value.as_py()
    if types.is_boolean(arrow_type):
        return bool(value) if isinstance(value, bool | np.bool_) else None
    if types.is_string(arrow_type):
        # A lone surrogate occurs in no UTF-8 text, but has a place in the order.
        return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None
    if types.is_binary(arrow_type):
        return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else None
    number = _number(value)
    if number is not None and types.is_decimal(arrow_type):
        number = number * Fraction(10) ** int(arrow_type.scale)
    elif isinstance(value, WrittenNumber) and types.is_floating(arrow_type):
        number = _nearest_float(Fraction(value), arrow_type)
    return number


def key_range(arrow_type: pa.DataType) -> tuple[float, float]:
    """Return the lowest and the highest key of a numeric type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.filters.literals import key_range
    >>> key_range(pa.int8())
    (-128, 127)
    """
    raw: Any = key_type(arrow_type)
    if pa.types.is_floating(raw):
        return -math.inf, math.inf
    if pa.types.is_decimal(raw):
        return 1 - 10**raw.precision, 10**raw.precision - 1
    if pa.types.is_unsigned_integer(raw):
        return 0, (1 << raw.bit_width) - 1
    return -(1 << (raw.bit_width - 1)), (1 << (raw.bit_width - 1)) - 1


def exact_key(place: Place, arrow_type: pa.DataType) -> Key | None:
    """Return the key at a place, or None if no value of the type equals the literal.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import pyarrow as pa
    >>> from pymosaic.filters.literals import exact_key
    >>> exact_key(Fraction(4, 2), pa.int8()), exact_key(1000, pa.int8())
    (2, None)
    """
    if isinstance(place, bytes | bool):
        return place
    key = floor_key(place, arrow_type)
    low, high = key_range(arrow_type)
    return key if key == place and low <= key <= high else None


def floor_key(place: Fraction | float, arrow_type: pa.DataType) -> float:
    """Return the largest key at or below a numeric place; NaN gives NaN.

    For a place outside :func:`key_range`, the result is outside too.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import pyarrow as pa
    >>> from pymosaic.filters.literals import floor_key
    >>> floor_key(Fraction(-5, 2), pa.int8())
    -3
    >>> floor_key(Fraction(1, 10), pa.float32())
    0.09999999403953552
    """
    if isinstance(place, float) and not math.isfinite(place):
        return place
    if not pa.types.is_floating(arrow_type):
        return math.floor(place)
    narrow = np.float32 if pa.types.is_float32(arrow_type) else np.float64
    try:
        nearest = float(place)
    except OverflowError:
        nearest = math.inf if place > 0 else -math.inf
    with np.errstate(over="ignore"):
        key = narrow(nearest)
    # Python compares float and Fraction exactly.
    if float(key) > place:
        key = np.nextafter(key, narrow(-math.inf))
    return float(key)


def _nearest_float(number: Fraction, arrow_type: pa.DataType) -> Fraction:
    """The nearest float of this type, ties to even; the number itself if it is out of range."""
    narrow = np.float32 if pa.types.is_float32(arrow_type) else np.float64
    below = narrow(floor_key(number, arrow_type))
    with np.errstate(over="ignore"):
        above = np.nextafter(below, narrow(math.inf))
    if not (np.isfinite(below) and np.isfinite(above)):
        return number
    low, high = Fraction(float(below)), Fraction(float(above))
    excess = 2 * number - low - high
    is_odd = int(below.view(f"i{below.itemsize}")) % 2 == 1
    return high if excess > 0 or (excess == 0 and is_odd) else low


def _number(value: object) -> int | Fraction | float | None:
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Rational):
        return Fraction(value)
    if isinstance(value, Decimal):
        if value.is_nan():
            return math.nan
        return Fraction(value) if value.is_finite() else float(value)
    if isinstance(value, float | np.floating):
        return Fraction(*value.as_integer_ratio()) if math.isfinite(value) else float(value)
    return None


def _instant(value: Any) -> tuple[Fraction, bool] | None:
    """Seconds since the epoch, and whether the literal has a time zone."""
    if isinstance(value, str):
        return _parse_iso(value)
    if isinstance(value, pa.TimestampScalar):
        return value.value * _TIME_UNITS[value.type.unit], value.type.tz is not None
    if isinstance(value, pa.Date32Scalar):
        return value.value * _TIME_UNITS["D"], False
    if isinstance(value, np.datetime64):
        return _numpy_seconds(value), False
    if isinstance(value, datetime.datetime):
        offset = value.utcoffset()
        to_numpy = getattr(value, "to_datetime64", None)
        if to_numpy is not None:  # a pandas.Timestamp, whose nanoseconds count
            return _numpy_seconds(to_numpy()), offset is not None
        since = _seconds(value.replace(tzinfo=None) - _EPOCH)
        return (since, False) if offset is None else (since - _seconds(offset), True)
    if isinstance(value, datetime.date):
        return Fraction((value - _EPOCH.date()).days * _DAY), False
    return None


def _parse_iso(text: str) -> tuple[Fraction, bool] | None:
    try:
        whole, fraction = _split_fraction(text)
        instant = _instant(datetime.datetime.fromisoformat(whole))
    except ValueError:
        return None
    return None if instant is None else (instant[0] + fraction, instant[1])


def _time_of_day(value: Any) -> Fraction | None:
    fraction = Fraction(0)
    if isinstance(value, pa.Time32Scalar | pa.Time64Scalar):
        return Fraction(value.value * _TIME_UNITS[value.type.unit])
    if isinstance(value, str):
        try:
            whole, fraction = _split_fraction(value)
            value = datetime.time.fromisoformat(whole)
        except ValueError:
            return None
    if not isinstance(value, datetime.time) or value.tzinfo is not None:
        return None
    since_midnight = datetime.timedelta(
        hours=value.hour,
        minutes=value.minute,
        seconds=value.second,
        microseconds=value.microsecond,
    )
    return _seconds(since_midnight) + fraction


def _split_fraction(text: str) -> tuple[str, Fraction]:
    """Split the fraction of a second from ISO text: Python truncates it to six digits."""
    match = _FRACTION_OF_SECOND.fullmatch(text)
    if match is None:
        if "." in text or "," in text:
            raise ValueError("only seconds can have a fraction, after hh:mm:ss")
        return text, Fraction(0)
    before, digits, after = match.groups()
    return before + after, Fraction(int(digits), 10 ** len(digits))


def _numpy_seconds(value: np.datetime64) -> Fraction:
    unit, step = np.datetime_data(value.dtype)
    if unit in ("Y", "M"):
        value, unit, step = value.astype("datetime64[D]"), "D", 1
    return int(value.astype(np.int64)) * step * _TIME_UNITS[unit]


def _seconds(span: datetime.timedelta) -> Fraction:
    return span.days * _DAY + span.seconds + Fraction(span.microseconds, 10**6)
