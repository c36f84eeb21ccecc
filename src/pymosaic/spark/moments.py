"""Dates, times and zones as Spark writes them in text."""

from __future__ import annotations

import datetime
import re
from zoneinfo import ZoneInfo

import numpy as np

from pymosaic.errors import InvalidOptionError

__all__ = ["days_of", "instant_of", "microseconds", "parse_moment", "zone_of"]

_MOMENT = re.compile(
    r"\s*(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[T ](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?\s*([A-Za-z+-]\S*)?)?)?)?\s*",
    re.ASCII,
)
_OFFSET = re.compile(
    r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?", re.ASCII | re.IGNORECASE
)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MICROSECOND = datetime.timedelta(microseconds=1)
# Python has the years 1 to 9999, and zones shift moments; the calendar repeats after 400 years.
_FIRST_YEAR, _LAST_YEAR = 2, 9998
_CYCLE = 400
_MICROSECONDS_OF_CYCLE = 146_097 * 86_400_000_000


def zone_of(name: str) -> datetime.tzinfo:
    """The time zone of a name in Spark, such as ``Asia/Tokyo``, ``UTC`` or ``+09:00``.

    Raises
    ------
    InvalidOptionError
        If there is no such zone.

    Examples
    --------
    >>> zone_of("+05:30").utcoffset(None)
    datetime.timedelta(seconds=19800)
    """
    if name.upper() in ("Z", "UTC", "GMT", "UT"):
        return datetime.UTC
    match = _OFFSET.fullmatch(name)
    if match:
        hours, minutes, seconds = (int(part or 0) for part in match.group(2, 3, 4))
        offset = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return datetime.timezone(-offset if match[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InvalidOptionError(f"{name!r} is not a time zone") from None


def microseconds(moment: datetime.datetime) -> int:
    """Microseconds since 1970 of a moment with a time zone."""
    return (moment - _EPOCH) // _MICROSECOND


def days_of(year: int, month: int, day: int) -> int:
    """Days since 1970 of a date in any year; ValueError if there is no such day."""
    return int(np.datetime64(f"{year:+05d}-{month:02d}-{day:02d}", "D").astype(np.int64))


def instant_of(
    year: int,
    month: int,
    day: int,
    time: datetime.time,
    zone: datetime.tzinfo,
) -> int:
    """Microseconds since 1970 of a local time in any year; ValueError if there is no such day."""
    cycles = 0
    if year < _FIRST_YEAR:
        cycles = (year - _FIRST_YEAR) // _CYCLE
    elif year > _LAST_YEAR:
        cycles = (year - _LAST_YEAR + _CYCLE - 1) // _CYCLE
    date = datetime.date(year - cycles * _CYCLE, month, day)
    moment = datetime.datetime.combine(date, time, zone)
    return microseconds(moment) + cycles * _MICROSECONDS_OF_CYCLE


def parse_moment(option: str, text: str, zone: datetime.tzinfo) -> int:
    """The moment that an option names, in microseconds since 1970.

    Parameters
    ----------
    option : str
        The option's name, for messages.
    text : str
        Such as ``2024-05-31T10:30:00``; parts at the end may be missing, and a zone may follow.
    zone : tzinfo
        The zone of a text that has none.

    Raises
    ------
    InvalidOptionError
        If the text is not a moment.

    Examples
    --------
    >>> import datetime
    >>> parse_moment("modifiedAfter", "1970-01-01T00:00:01.5", datetime.timezone.utc)
    1500000
    """
    match = _MOMENT.fullmatch(text)
    if match:
        year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
        fraction = int((match[7] or "").ljust(6, "0")[:6])
        try:
            moment = datetime.datetime(
                year, month or 1, day or 1, hour, minute, second, fraction,
                zone if match[8] is None else zone_of(match[8]),
            )  # fmt: skip
            return microseconds(moment)
        except (ValueError, OverflowError):
            pass
    raise InvalidOptionError(f"{option} must be a moment such as 2024-05-31T10:30:00, got {text!r}")
