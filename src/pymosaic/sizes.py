"""Sizes in bytes as people write and read them: ``64MiB``, ``1g``, ``120.6 KiB``."""

from __future__ import annotations

import re

from pymosaic.errors import InvalidOptionError

__all__ = ["format_size", "parse_size", "short_size"]

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_SIZE = re.compile(r"(\d+)\s*(?:([kmgt])(?:i?b)?|b)?", re.ASCII | re.IGNORECASE)
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str) -> int:
    """Return a number of bytes, written with or without a unit; units are powers of 1024.

    Raises
    ------
    InvalidOptionError
        If the text is not a size.

    Examples
    --------
    >>> from pymosaic.sizes import parse_size
    >>> parse_size("64MiB"), parse_size("1g"), parse_size("1000")
    (67108864, 1073741824, 1000)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise InvalidOptionError(
            f"{text!r} is not a valid size; write 1000, 64KiB, 256MiB, 1GiB or 1g"
        )
    power = _POWERS[match[2].lower()] if match[2] else 0
    return int(match[1]) << 10 * power


def format_size(num_bytes: int) -> str:
    """Return a size in the unit that keeps the number short.

    Examples
    --------
    >>> from pymosaic.sizes import format_size
    >>> format_size(999), format_size(123456)
    ('999 B', '120.6 KiB')
    """
    power = 0
    while power < len(_UNITS) - 1 and num_bytes >= 1024 ** (power + 1):
        power += 1
    return f"{num_bytes / 1024**power:.{min(power, 1)}f} {_UNITS[power]}"


def short_size(num_bytes: int) -> str:
    """Return a size as it is written in options; :func:`parse_size` gives it back.

    Examples
    --------
    >>> from pymosaic.sizes import short_size
    >>> short_size(256 << 20), short_size(1000)
    ('256MiB', '1000')
    """
    for power in range(len(_POWERS), 0, -1):
        if num_bytes and num_bytes % 1024**power == 0:
            return f"{num_bytes // 1024**power}{_UNITS[power]}"
    return str(num_bytes)
