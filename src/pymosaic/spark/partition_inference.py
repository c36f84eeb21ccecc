"""Types of partition columns as Spark infers them from the names of directories.

Every value has the first of these types that can read it: int, bigint, a whole decimal, double,
timestamp, date, time, string. A column has the type that holds all of its values without loss, or
else string. Booleans are text. A column of nothing but nulls is void.

With the option ``partitionTypes`` set to ``recorded``, columns have the types that the dataset's
records keep instead. Timestamps and floating-point numbers that its jobs wrote are recognised in
any case.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from pymosaic.datasets.partition_types import parse_type
from pymosaic.errors import DatasetError
from pymosaic.spark.moments import days_of, instant_of

__all__ = ["infer_type", "recorded_type", "spark_text", "typed_value"]

_INTEGER = re.compile(r"[+-]?\d+")
_DOUBLE = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?)", re.ASCII)
# Years of five digits or more have a sign.
_DATE = re.compile(r"(?:\d{4}|\+\d{5,7}|-(?!0+-)\d{4,7})-\d{2}-\d{2}", re.ASCII)
_TIMESTAMP = re.compile(_DATE.pattern + r" \d{2}:\d{2}:\d{2}(?:\.\d)?", re.ASCII)
# Jobs write nanoseconds, which Spark does not have.
_TIME = re.compile(r"(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,6}|\d{6}000))?", re.ASCII)
_WRITTEN_TIME = re.compile(r"(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,6})0{0,3})?)?", re.ASCII)
_WRITTEN_DATE = re.compile(r"([+-]?\d{4,7})-(\d{2})-(\d{2})", re.ASCII)
_WRITTEN_TIMESTAMP = re.compile(
    r"([+-]?\d{4,7})-(\d{2})-(\d{2})[ T](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:Z|\+00:00)?",
    re.ASCII,
)
_INSTANT = pa.timestamp("us")
_INT32, _INT64 = range(-(1 << 31), 1 << 31), range(-(1 << 63), 1 << 63)
_MAX_PRECISION = 38
_DIGITS = {"int": 10, "long": 20}
# Java writes numbers from 0.001 to 10 million without an exponent.
_PLAIN_POWERS = range(-3, 7)
_SPECIAL = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def infer_type(texts: Iterable[str], timestamps: pa.DataType) -> pa.DataType:
    """The type of a column with these values, by Spark's rules.

    Parameters
    ----------
    texts : iterable of str
        The values; nulls are left out.
    timestamps : pyarrow.DataType
        The session's default type of timestamps.

    Examples
    --------
    >>> import pyarrow as pa
    >>> infer_type(["1", "3000000000"], pa.timestamp("us", "UTC"))
    DataType(int64)
    >>> infer_type(["1", "x"], pa.timestamp("us", "UTC"))
    DataType(string)
    """
    precision = 0
    kinds = set()
    for text in texts:
        kind, digits = _kind_of(text)
        kinds.add(kind)
        precision = max(precision, digits)
    if not kinds:
        return pa.null()
    if kinds <= {"int", "long", "decimal"}:
        if "decimal" in kinds:
            return pa.decimal128(min(precision, _MAX_PRECISION), 0)
        return pa.int64() if "long" in kinds else pa.int32()
    if "double" in kinds and kinds <= {"int", "double"}:
        return pa.float64()
    if kinds == {"date"}:
        return pa.date32()
    if kinds <= {"date", "timestamp"}:
        return timestamps
    if kinds == {"time"}:
        return pa.time64("us")
    return pa.string()


def _kind_of(text: str) -> tuple[str, int]:
    """The type of one value, and the digits that a decimal would need for it."""
    if _INTEGER.fullmatch(text):
        number = int(text)
        if number in _INT32:
            return "int", _DIGITS["int"]
        if number in _INT64:
            return "long", _DIGITS["long"]
    try:
        decimal = Decimal(text) if text.isascii() and text == text.strip() else None
    except InvalidOperation:
        decimal = None
    if decimal is not None and decimal.is_finite() and "_" not in text:
        _, digits, exponent = decimal.as_tuple()
        assert isinstance(exponent, int)
        if exponent >= 0 and len(digits) + exponent <= _MAX_PRECISION:
            return "decimal", len(digits) + exponent
    if _DOUBLE.fullmatch(text.strip()):
        return "double", 0
    if _TIMESTAMP.fullmatch(text) and _written_instant(text, _INSTANT, datetime.UTC) is not None:
        return "timestamp", 0
    if _DATE.fullmatch(text) and _written_day(text) is not None:
        return "date", 0
    if _time(_TIME, text) is not None:
        return "time", 0
    return "string", 0


def recorded_type(
    texts: Iterable[str], recorded: str | None, exact: bool, timestamps: pa.DataType
) -> pa.DataType | None:
    """The type to use because of what records keep; None if it is to be inferred.

    Parameters
    ----------
    texts : iterable of str
        The values, all of which must fit.
    recorded : str or None
        The type in the records.
    exact : bool
        Whether that is the type to use. Otherwise only timestamps, which jobs write in another
        form than Spark, are recognised by it.
    timestamps : pyarrow.DataType
        The session's default type of timestamps.
    """
    data_type = None if recorded is None else parse_type(recorded)
    if data_type is None:
        return None
    if not exact:
        if not pa.types.is_timestamp(data_type):
            return None
        data_type = timestamps
    try:
        for text in texts:
            typed_value("", text, data_type, datetime.UTC, "")
    except DatasetError:
        return None
    return data_type


def spark_text(text: str, recorded: str | None) -> str:
    """A value as Spark would have written it.

    Examples
    --------
    >>> [spark_text(text, "double") for text in ("nan", "1", "1e+20")]
    ['NaN', '1.0', '1.0E20']
    """
    if recorded not in ("float", "double"):
        return text
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    if not number.is_finite():
        return _SPECIAL.get(text, text)
    sign, digits, _ = number.as_tuple()
    power = number.adjusted() if number else 0
    if power in _PLAIN_POWERS:
        plain = f"{number:f}"
        return plain if "." in plain else f"{plain}.0"
    first, rest = digits[0], "".join(map(str, digits[1:])).rstrip("0")
    return f"{'-' * sign}{first}.{rest or 0}E{power}"


def typed_value(
    key: str, text: str, data_type: pa.DataType, zone: datetime.tzinfo, path: str
) -> Any:
    """The value of a partition column, as a Python object.

    A day or a moment that Python does not have is its number: days since 1970, or units of the
    type.

    Parameters
    ----------
    key, path : str
        For messages.
    text : str
        The value in the directory's name.
    data_type : pyarrow.DataType
        The column's type.
    zone : tzinfo
        The zone of timestamps.

    Raises
    ------
    DatasetError
        If the text is not a value of the type.
    """
    kinds = pa.types
    value: Any = None
    if kinds.is_string(data_type) or kinds.is_large_string(data_type):
        return text
    if kinds.is_integer(data_type):
        value = int(text) if _INTEGER.fullmatch(text) else None
    elif kinds.is_floating(data_type):
        plain = text.strip().rstrip("fFdD") if _DOUBLE.fullmatch(text.strip()) else ""
        value = float(plain) if plain else None
    elif kinds.is_boolean(data_type):
        value = {"true": True, "false": False}.get(text.strip().lower())
    elif kinds.is_date(data_type):
        value = _written_day(text)
    elif kinds.is_time(data_type):
        value = _time(_WRITTEN_TIME, text)
    elif kinds.is_timestamp(data_type):
        value = _written_instant(text, data_type, zone)
    if value is None or kinds.is_decimal(data_type):
        try:
            value = pa.scalar(text).cast(data_type).as_py()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            value = None
    else:
        try:
            pa.scalar(value, data_type)
        except (pa.ArrowInvalid, OverflowError):
            value = None
    if value is None:
        raise DatasetError(
            f"{path}: the partition value {text!r} of {key!r} is not a valid {data_type}"
        )
    return value


def _written_day(text: str) -> Any:
    match = _WRITTEN_DATE.fullmatch(re.split("[ T]", text, maxsplit=1)[0])
    if match is None:
        return None
    try:
        return _python_value(pa.scalar(days_of(*map(int, match.groups())), pa.date32()))
    except (ValueError, OverflowError):
        return None


def _written_instant(text: str, data_type: pa.TimestampType, zone: datetime.tzinfo) -> Any:
    match = _WRITTEN_TIMESTAMP.fullmatch(text) or _WRITTEN_DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day, *time = match.groups()
    hour, minute, second = (int(part or 0) for part in time[:3] or (0, 0, 0))
    written_utc = text.endswith(("Z", "+00:00"))
    try:
        number = instant_of(
            int(year), int(month), int(day),
            datetime.time(hour, minute, second, _fraction(time[3] if time else None)),
            datetime.UTC if data_type.tz is None or written_utc else zone,
        )  # fmt: skip
        instant = pa.scalar(number, pa.timestamp("us")).cast(pa.timestamp(data_type.unit))
    except (ValueError, OverflowError):
        return None
    return _python_value(instant.cast(data_type))


def _python_value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        return scalar.value


def _time(pattern: re.Pattern[str], text: str) -> datetime.time | None:
    match = pattern.fullmatch(text)
    if match is None:
        return None
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    try:
        return datetime.time(hour, minute, second, _fraction(match[4]))
    except ValueError:
        return None


def _fraction(digits: str | None) -> int:
    """The microseconds of a fraction of a second."""
    return int((digits or "").ljust(6, "0")[:6])
