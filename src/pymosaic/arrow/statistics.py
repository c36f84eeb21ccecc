"""Column statistics as typed values: Arrow scalars and plain Python values.

The bytes and their checks are in :mod:`pymosaic.format.statistics`. Whether ``null_count`` fits the
row group is checked where the index is parsed.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias, cast

import numpy as np
import pyarrow as pa

from pymosaic.arrow.plain_arrays import plain_scalar
from pymosaic.format import statistics as stored

__all__ = [
    "ColumnStatistics",
    "PlainValue",
    "decode_value",
    "make_statistics",
    "order_key",
    "plain_value",
]

PlainValue: TypeAlias = (
    bool
    | int
    | float
    | Decimal
    | datetime.date
    | datetime.time
    | datetime.datetime
    | str
    | bytes
    | np.datetime64
)

_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_INT64_MIN = -(1 << 63)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
# Time zones are looked up in system files: text from a file must not lead to any other path.
_ZONE_NAME = re.compile(r"[A-Za-z0-9_+:-]{1,32}(/[A-Za-z0-9_+:-]{1,32}){0,3}", re.ASCII)
# Every 128-bit decimal that the format can hold, as its unscaled integer.
_UNSCALED = pa.decimal128(38, 0)


@dataclass(frozen=True, slots=True, repr=False)
class ColumnStatistics:
    """What the file says about one column in one row group.

    Parameters
    ----------
    null_count : int
        Number of nulls.
    num_rows : int
        Number of rows in the row group.
    min_scalar, max_scalar : pyarrow.Scalar or None
        Smallest and largest value, in the column's Arrow type. Both are None where the file
        stores none (all values are null) or stores doubtful ones (NaN, or minimum > maximum).
        They do not cover NaN values of a float column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.arrow.statistics import ColumnStatistics
    >>> date = pa.date32()
    >>> statistics = ColumnStatistics(1, 10, pa.scalar(0, date), pa.scalar(31, date))
    >>> statistics.max
    datetime.date(1970, 2, 1)
    >>> statistics.has_min_max
    True
    """

    null_count: int
    num_rows: int
    min_scalar: pa.Scalar | None = None
    max_scalar: pa.Scalar | None = None

    def __repr__(self) -> str:
        # Not the scalars' own: Arrow fails to show dates and zones that Python does not support.
        return (
            f"ColumnStatistics(null_count={self.null_count}, num_rows={self.num_rows}, "
            f"min={self.min!r}, max={self.max!r})"
        )

    @property
    def has_min_max(self) -> bool:
        """Whether there is a minimum and a maximum."""
        return self.min_scalar is not None and self.max_scalar is not None

    @property
    def min(self) -> PlainValue | None:
        """The minimum as a plain Python value, or None.

        Dates and timestamps are ``datetime.date`` and ``datetime.datetime`` (never pandas types).
        One that these cannot hold (beyond the years 1 to 9999, or finer than a microsecond) is a
        ``numpy.datetime64`` of the column's unit, in UTC if the column has a time zone. An unknown
        time zone gives the same moment in UTC. The lowest 64-bit timestamp, which numpy takes for
        "not a time", stays an ``int``.
        """
        return None if self.min_scalar is None else plain_value(self.min_scalar)

    @property
    def max(self) -> PlainValue | None:
        """The maximum as a plain Python value, or None; see :attr:`min`."""
        return None if self.max_scalar is None else plain_value(self.max_scalar)


def make_statistics(
    arrow_type: pa.DataType,
    null_count: int,
    num_rows: int,
    min_bytes: bytes | None,
    max_bytes: bytes | None,
) -> ColumnStatistics:
    """Build the statistics of one column in one row group from what the index stores.

    If the minimum or maximum is NaN, or the minimum is above the maximum, both are omitted: the
    null count remains, the rest is doubtful and never used.

    Parameters
    ----------
    arrow_type : pyarrow.DataType
        Type of the column.
    null_count, num_rows : int
        Nulls and rows in the row group.
    min_bytes, max_bytes : bytes or None
        The stored values, without length prefix; None if the file stores none.

    Raises
    ------
    CorruptFileError
        If the bytes are not a valid value of this type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.arrow.statistics import make_statistics
    >>> statistics = make_statistics(pa.int16(), 0, 10, b"\\xff\\xff", b"\\x00\\x07")
    >>> statistics.min, statistics.max
    (-1, 7)
    >>> make_statistics(pa.int16(), 0, 10, b"\\x00\\x07", b"\\xff\\xff").has_min_max
    False
    """
    if min_bytes is None or max_bytes is None:
        return ColumnStatistics(null_count, num_rows)
    low = decode_value(min_bytes, arrow_type)
    high = decode_value(max_bytes, arrow_type)
    # NaN fails every comparison, so this one test covers it.
    if not order_key(low) <= order_key(high):  # type: ignore[operator]
        return ColumnStatistics(null_count, num_rows)
    return ColumnStatistics(null_count, num_rows, low, high)


def decode_value(data: bytes, arrow_type: pa.DataType) -> pa.Scalar:
    """Decode one stored minimum or maximum.

    Parameters
    ----------
    data : bytes
        The value, without length prefix.
    arrow_type : pyarrow.DataType
        Type of the column.

    Raises
    ------
    CorruptFileError
        If the bytes are not a valid value of this type.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.arrow.statistics import decode_value
    >>> decode_value(b"\\x00\\x00\\x00\\x2a", pa.int32())
    <pyarrow.Int32Scalar: 42>
    >>> decode_value(bytes(7) + b"\\x7b", pa.decimal128(5, 2))
    <pyarrow.Decimal128Scalar: Decimal('1.23')>
    """
    types = pa.types
    if types.is_boolean(arrow_type):
        return plain_scalar(stored.parse_integer(data, 1, arrow_type) != 0, arrow_type)
    if types.is_integer(arrow_type) or types.is_date32(arrow_type):
        number = stored.parse_integer(data, arrow_type.bit_width // 8, arrow_type)
        return plain_scalar(number, arrow_type)
    if types.is_float32(arrow_type) or types.is_float64(arrow_type):
        return plain_scalar(
            stored.parse_float(data, arrow_type.bit_width // 8, arrow_type), arrow_type
        )
    if types.is_time32(arrow_type):
        return plain_scalar(stored.parse_time(data, arrow_type), arrow_type)
    if types.is_timestamp(arrow_type):
        if arrow_type.unit == "ns":
            return plain_scalar(stored.parse_nanoseconds(data, arrow_type), arrow_type)
        return plain_scalar(stored.parse_integer(data, 8, arrow_type), arrow_type)
    if types.is_decimal128(arrow_type):
        unscaled = stored.parse_decimal(data, arrow_type.precision, arrow_type)
        return plain_scalar(unscaled, arrow_type)
    if types.is_string(arrow_type):
        return plain_scalar(stored.parse_text(data).encode(), arrow_type)
    if types.is_binary(arrow_type):
        return plain_scalar(data, arrow_type)
    raise stored.corrupt(f"a column of type {arrow_type} has a minimum or maximum")


def order_key(scalar: pa.Scalar) -> int | float | bytes:
    """Return a key that sorts among keys of its type as the format sorts the values.

    Integers, booleans, dates, times and timestamps give their raw integer, decimals the unscaled
    one, floats themselves, strings and binary their bytes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.arrow.statistics import order_key
    >>> order_key(pa.scalar("é")), order_key(pa.scalar(7, pa.timestamp("ns")))
    (b'\\xc3\\xa9', 7)
    """
    types, arrow_type = pa.types, scalar.type
    key: int | float | bytes
    if types.is_temporal(arrow_type):
        key = scalar.value
    elif types.is_decimal(arrow_type):
        key = int(pa.repeat(scalar, 1).view(_UNSCALED)[0].as_py())
    elif types.is_boolean(arrow_type) or types.is_integer(arrow_type):
        key = int(scalar.as_py())
    elif types.is_floating(arrow_type):
        key = float(scalar.as_py())
    else:
        key = scalar.as_buffer().to_pybytes()
    return key


def plain_value(scalar: pa.Scalar) -> PlainValue:
    """Return a scalar that is not null as a plain Python value; see :attr:`ColumnStatistics.min`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.arrow.statistics import plain_value
    >>> plain_value(pa.scalar(0, pa.timestamp("ms")))
    datetime.datetime(1970, 1, 1, 0, 0)
    """
    arrow_type = scalar.type
    if pa.types.is_timestamp(arrow_type):
        return _plain_timestamp(scalar.value, arrow_type.unit, arrow_type.tz)
    if pa.types.is_decimal(arrow_type):
        # Not converted by Arrow, which fails on scales such as -100.
        sign, digits, _ = Decimal(int(order_key(scalar))).as_tuple()
        return Decimal((sign, digits, -arrow_type.scale))
    value: PlainValue
    try:
        value = scalar.as_py()
    except (OverflowError, ValueError):
        if not pa.types.is_date32(arrow_type):
            raise
        value = np.datetime64(scalar.value, "D")
    return value


def _plain_timestamp(value: int, unit: str, zone: str | None) -> PlainValue:
    micros, finer = divmod(value * 10**6, _UNITS_PER_SECOND[unit])
    try:
        moment = _EPOCH + datetime.timedelta(microseconds=micros)
    except OverflowError:
        finer = 1
    if finer:
        return value if value == _INT64_MIN else np.datetime64(value, cast(Literal["ns"], unit))
    if zone is None:
        return moment.replace(tzinfo=None)
    if _ZONE_NAME.fullmatch(zone) is None:
        return moment
    try:
        return moment.astimezone(pa.lib.string_to_tzinfo(zone))
    except (pa.ArrowException, LookupError, ValueError, OverflowError):
        return moment
