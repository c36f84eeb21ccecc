"""The wire form of filters, used by the option of the Spark source and by pickles.

The form is JSON: lists of lists of ``[column, operator, literal]``. A literal that JSON does not
have is an object with its type and its text or number, such as
``{"type": "decimal", "value": "1.50"}``. Spark users may write this form themselves.

=================  =====================================================================
``type``           ``value``
=================  =====================================================================
``binary``         bytes, in base64
``date``           ISO text, or days since 1970
``datetime64``     number of units since 1970; ``unit`` is numpy's, such as ``"ns"``
``decimal``        text
``double``         text: ``nan``, ``inf``, ``-inf``, or a number
``fraction``       text, such as ``"1/3"``
``number``         text as written in a filter: for a float column, the nearest float
``time``           ISO text, or number of units since midnight, with ``unit``
``timestamp``      ISO text, or number of units since 1970, with ``unit`` and ``zone``
=================  =====================================================================
"""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any

import numpy as np
import pyarrow as pa

from pymosaic.errors import InvalidOptionError
from pymosaic.filters.literals import WrittenNumber

__all__ = ["decode", "dumps", "encode_literal", "loads"]


def dumps(groups: Iterable[Sequence[tuple[Any, ...]]]) -> str:
    """Return filters in their tuple form as JSON.

    Raises
    ------
    InvalidOptionError
        If a literal has a type that no column can be compared with.

    Examples
    --------
    >>> import datetime
    >>> from pymosaic.filters.wire import dumps, loads
    >>> text = dumps([[("age", ">", 50), ("day", "==", datetime.date(2024, 5, 31))]])
    >>> text
    '[[["age", ">", 50], ["day", "==", {"type": "date", "value": "2024-05-31"}]]]'
    >>> loads(text)
    [[['age', '>', 50], ['day', '==', datetime.date(2024, 5, 31)]]]
    """
    return json.dumps(
        [[[*test[:2], *map(encode_literal, test[2:])] for test in group] for group in groups]
    )


def loads(text: str) -> Any:
    """Return the filters in JSON, with their literals; the caller must check their form.

    Raises
    ------
    ValueError
        If the text is not JSON.
    InvalidOptionError
        If a literal is not one of the types above, or its value is not of that type.
    """
    return decode(json.loads(text))


def encode_literal(value: Any) -> Any:
    """Return a literal, or a list of literals, in its JSON form."""
    if isinstance(value, list | tuple | set | frozenset):
        return [encode_literal(item) for item in value]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, WrittenNumber):
        return _typed("number", str(value))
    if isinstance(value, Decimal):
        return _typed("decimal", str(value))
    if isinstance(value, Rational):
        return _typed("fraction", str(Fraction(value)))
    if isinstance(value, float | np.floating):
        if math.isfinite(value):
            return encode_literal(Fraction(*value.as_integer_ratio()))
        return _typed("double", str(float(value)))
    if isinstance(value, bytes | bytearray | memoryview):
        return _typed("binary", base64.b64encode(value).decode())
    if isinstance(value, pa.Scalar):
        return _encode_scalar(value)
    return _encode_instant(value)


def _typed(kind: str, value: str | int, **more: str | None) -> dict[str, Any]:
    return {"type": kind, "value": value, **more}


def _encode_scalar(value: pa.Scalar) -> Any:
    """An Arrow scalar; dates and times as numbers, since Python's own types may not hold them."""
    types, arrow_type = pa.types, value.type
    if not value.is_valid:
        return None
    if types.is_date32(arrow_type):
        return _typed("date", value.value)
    if types.is_time(arrow_type):
        return _typed("time", value.value, unit=arrow_type.unit)
    if types.is_timestamp(arrow_type):
        return _typed("timestamp", value.value, unit=arrow_type.unit, zone=arrow_type.tz)
    return encode_literal(value.as_py())


def _encode_instant(value: Any) -> Any:
    if isinstance(value, np.datetime64):
        unit, step = np.datetime_data(value.dtype)
        return _typed("datetime64", int(value.astype(np.int64)), unit=f"{step}{unit}")
    to_numpy = getattr(value, "to_datetime64", None)
    if isinstance(value, datetime.datetime) and to_numpy is not None:
        # A pandas.Timestamp, whose nanoseconds count.
        instant = to_numpy()
        if value.tzinfo is None:
            return _encode_instant(instant)
        unit = np.datetime_data(instant.dtype)[0]
        return _typed("timestamp", int(instant.astype(np.int64)), unit=unit, zone="UTC")
    for kind, python_type in _PYTHON_TYPES.items():
        if isinstance(value, python_type):
            return _typed(kind, value.isoformat())
    raise InvalidOptionError(f"filters: {value!r} cannot be sent to another process")


# A datetime is a date, too: it comes first.
_PYTHON_TYPES: dict[str, Any] = {
    "timestamp": datetime.datetime,
    "date": datetime.date,
    "time": datetime.time,
}
_TIME_TYPES = {"s": pa.time32, "ms": pa.time32, "us": pa.time64, "ns": pa.time64}


def _arrow_type(literal: dict[str, Any]) -> pa.DataType:
    kind, unit = literal["type"], str(literal.get("unit"))
    if kind == "date":
        return pa.date32()
    return _TIME_TYPES[unit](unit) if kind == "time" else pa.timestamp(unit, literal.get("zone"))


def _decode_instant(literal: dict[str, Any]) -> Any:
    value = literal["value"]
    if isinstance(value, str):
        return _PYTHON_TYPES[literal["type"]].fromisoformat(value)
    return pa.scalar(int(value), _arrow_type(literal))


_DECODERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "binary": lambda literal: base64.b64decode(literal["value"], validate=True),
    "date": _decode_instant,
    "datetime64": lambda literal: np.datetime64(int(literal["value"]), literal["unit"]),
    "decimal": lambda literal: Decimal(literal["value"]),
    "double": lambda literal: float(literal["value"]),
    "fraction": lambda literal: Fraction(literal["value"]),
    "number": lambda literal: WrittenNumber(literal["value"]),
    "time": _decode_instant,
    "timestamp": _decode_instant,
}


def decode(value: Any) -> Any:
    """Return filters parsed from JSON, or a part of them, with their literals."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    decoder = _DECODERS.get(str(value.get("type")))
    if decoder is None:
        raise InvalidOptionError(
            f"filters: {value!r} is not a literal; its type must be one of {', '.join(_DECODERS)}"
        )
    try:
        return decoder(value)
    except (ValueError, TypeError, LookupError, ArithmeticError, pa.ArrowException) as error:
        raise InvalidOptionError(f"filters: {value!r} is not a valid literal: {error}") from None
