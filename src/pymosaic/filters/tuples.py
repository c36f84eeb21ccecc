"""Filters as users write them: pyarrow.parquet's lists of tuples, or text.

``[("a", ">", 5), ("b", "==", "x")]`` keeps rows that match both; a list of such lists keeps rows
that match any of them.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from pymosaic.errors import InvalidOptionError
from pymosaic.filters.literals import is_null
from pymosaic.filters.operators import NULL_TESTS, OPERATORS, SET_TESTS
from pymosaic.filters.predicates import Predicate
from pymosaic.filters.row_filter import Filter
from pymosaic.filters.text import parse_filter

__all__ = ["parse_filters"]

_EXAMPLE = (
    'write filters=[("age", ">", 50), ("city", "in", ["Oslo", "Rome"])], '
    "or a list of such lists, at least one of which must match, "
    "or text: filters=\"age > 50 and city in ('Oslo', 'Rome')\""
)


def parse_filters(filters: object) -> Filter | None:
    """Check and parse the filters that a caller wrote.

    Parameters
    ----------
    filters : list of tuples, list of lists of tuples, str, or None
        Text is as for :func:`pymosaic.parse_filter`.
        Tuples are ``(column, operator, literal)``. Operators: ``=`` or ``==``, ``!=``, ``<``,
        ``<=``, ``>``, ``>=``, their negations ``not <`` to ``not >=`` (which keep NaN), ``in`` and
        ``not in`` (with a list, set, array, ... of literals), ``is null`` and ``is not null`` (the
        literal may be omitted). Upper case is accepted, and so are lists instead of tuples.

    Returns
    -------
    Filter or None
        None if ``filters`` is None.

    Raises
    ------
    InvalidOptionError
        If ``filters`` has another form, or compares with None, for which there are null tests.

    Notes
    -----
    Nulls in the list follow SQL: ``in`` finds no nulls, and ``not in`` a list with a null keeps
    nothing. ``not in`` drops nulls, except with an empty list, which keeps every row.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.filters.tuples import parse_filters
    >>> batch = pa.record_batch({"age": [10, 60, 70], "city": ["Oslo", "Oslo", None]})
    >>> parse_filters([("age", ">", 50), ("city", "is null")]).mask(batch).to_pylist()
    [False, False, True]
    """
    if filters is None:
        return None
    if isinstance(filters, str):
        filters = parse_filter(filters)
    if isinstance(filters, pc.Expression):
        raise _malformed("pyarrow expressions are not supported here")
    if not isinstance(filters, list | tuple):
        raise _malformed(f"got {reprlib.repr(filters)}")
    if not filters:
        raise _malformed("got an empty list; use None to keep every row")
    if isinstance(filters[0], str):
        raise _malformed(f"got a single condition {reprlib.repr(filters)}, which must be in a list")
    groups: Sequence[object] = [filters] if _is_predicate(filters[0]) else filters
    return Filter(tuple(_parse_group(group) for group in groups))


def _is_predicate(item: object) -> bool:
    return isinstance(item, list | tuple) and len(item) > 0 and isinstance(item[0], str)


def _parse_group(group: object) -> tuple[Predicate, ...]:
    if not isinstance(group, list | tuple) or not group:
        raise _malformed(f"expected a list of conditions, got {reprlib.repr(group)}")
    return tuple(_parse_predicate(item) for item in group)


def _parse_predicate(item: Any) -> Predicate:
    if not _is_predicate(item) or len(item) not in (2, 3) or not isinstance(item[1], str):
        raise _malformed(f"expected a condition, got {reprlib.repr(item)}")
    column, name = item[0], " ".join(item[1].lower().split())
    name = "==" if name == "=" else name
    if name not in OPERATORS:
        known = ", ".join(("=", *OPERATORS))
        raise _malformed(f"{item[1]!r} is not an operator; the operators are {known}")
    if name in NULL_TESTS:
        # The one literal that would mean the opposite.
        if len(item) == 3 and item[2] is False:
            raise _malformed(f"{name!r} takes no literal, got {item!r}")
        return Predicate(column, name)
    if len(item) != 3:
        raise _malformed(f"{item!r} has no literal")
    literal = item[2]
    if name in SET_TESTS:
        if isinstance(literal, str | bytes | Mapping) or not isinstance(literal, Iterable):
            raise _malformed(f"{name!r} takes a list of literals, got {literal!r}")
        return Predicate.of_set(column, name, literal)
    if is_null(literal):
        raise _malformed(
            f"{literal!r} cannot be compared; for nulls use ({column!r}, 'is null') "
            f"or ({column!r}, 'is not null')"
        )
    return Predicate(column, name, (literal,))


def _malformed(problem: str) -> InvalidOptionError:
    return InvalidOptionError(f"filters: {problem}; {_EXAMPLE}")
