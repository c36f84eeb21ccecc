"""Conditions joined by "and" and "or", and their one normal form.

Every source of filters (filter text, Arrow expressions, engine predicates) builds a tree of
conditions with :func:`compare`, :class:`AllOf` and :class:`AnyOf`, and expands it with
:func:`normal_form` or :func:`to_filter`. A part that cannot be expressed is :data:`UNKNOWN`. It is
left out in such a way that the filter keeps at least the wanted rows: the engine, or its
expression, removes the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import TypeAlias, TypeVar

import pyarrow as pa

from pymosaic.errors import InvalidOptionError
from pymosaic.filters.operators import NULL_TESTS, negation
from pymosaic.filters.predicates import Predicate
from pymosaic.filters.row_filter import Filter

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "UNKNOWN",
    "AllOf",
    "AnyOf",
    "Condition",
    "NormalForm",
    "Unknown",
    "compare",
    "multiply",
    "negated",
    "normal_form",
    "starts_with",
    "to_filter",
]

Item = TypeVar("Item")
Group: TypeAlias = tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A condition that filters cannot express; any row may match."""


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of these must match; if there are none, every row matches."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of these must match; if there are none, no row matches."""

    parts: tuple[Condition, ...]


Condition: TypeAlias = Predicate | AllOf | AnyOf | Unknown
UNKNOWN = Unknown()
EVERYTHING = AllOf(())
NOTHING = AnyOf(())


@dataclass(frozen=True, slots=True)
class NormalForm:
    """A condition in disjunctive normal form.

    Parameters
    ----------
    groups : tuple of tuples of Predicate
        All predicates of at least one group must match. Without groups no row matches; with an
        empty group every row does.
    exact : bool
        Whether exactly the wanted rows match, rather than more.
    """

    groups: tuple[Group, ...]
    exact: bool


def compare(
    column: str, operator: str, values: Sequence[object], arrow_type: pa.DataType
) -> Condition:
    """A predicate on a column of this type; unknown if its literals cannot be compared with it."""
    predicate = Predicate(column, operator, tuple(values))
    if operator not in NULL_TESTS:
        try:
            predicate.bind(arrow_type)
        except InvalidOptionError:
            return UNKNOWN
    return predicate


def starts_with(column: str, prefix: str) -> Condition:
    """A condition that values of a text column start with a prefix: a range in their order.

    Examples
    --------
    >>> from pymosaic.filters.conditions import starts_with
    >>> [str(part) for part in starts_with("city", "Ro").parts]
    ["city >= 'Ro'", "city < 'Rp'"]
    """
    above = _next_text(prefix)
    from_prefix = Predicate(column, ">=", (prefix,))
    if above is None:
        return from_prefix
    return AllOf((from_prefix, Predicate(column, "<", (above,))))


def _next_text(prefix: str) -> str | None:
    """The smallest text above all that start with the prefix; None if there is none."""
    kept = prefix.rstrip("\U0010ffff")
    if not kept:
        return None
    successor = ord(kept[-1]) + 1
    if successor == 0xD800:  # surrogates are not text
        successor = 0xE000
    return kept[:-1] + chr(successor)


def negated(condition: Condition) -> Condition:
    """The condition that is true wherever this one is false.

    Examples
    --------
    >>> from pymosaic.filters.conditions import AllOf, negated
    >>> from pymosaic.filters.predicates import Predicate
    >>> between = AllOf((Predicate("age", ">=", (20,)), Predicate("age", "<=", (30,))))
    >>> [str(part) for part in negated(between).parts]
    ['age not >= 20', 'age not <= 30']
    """
    match condition:
        case Predicate():
            return replace(condition, operator=negation(condition.operator))
        case AllOf(parts):
            return AnyOf(tuple(map(negated, parts)))
        case AnyOf(parts):
            return AllOf(tuple(map(negated, parts)))
    return UNKNOWN


def normal_form(condition: Condition, max_groups: int) -> NormalForm:
    """Expand a condition into groups, at least one of which must match.

    Parameters
    ----------
    condition : Condition
        The condition to expand.
    max_groups : int
        Maximum number of groups: "and" of "or"s multiplies. Parts that would make more are left
        out, and the result is not exact.

    Examples
    --------
    >>> from pymosaic.filters.conditions import AllOf, AnyOf, normal_form
    >>> from pymosaic.filters.predicates import Predicate
    >>> a, b, c = (Predicate(name, "is null") for name in "abc")
    >>> form = normal_form(AllOf((AnyOf((a, b)), c)), 10)
    >>> [[str(test) for test in group] for group in form.groups]
    [['a is null', 'c is null'], ['b is null', 'c is null']]
    """
    match condition:
        case Predicate():
            return NormalForm(((condition,),), True)
        case Unknown():
            return _ANY_ROW
        case AnyOf(parts):
            return _any_of([normal_form(part, max_groups) for part in parts], max_groups)
        case AllOf(parts):
            return _all_of([normal_form(part, max_groups) for part in parts], max_groups)


_ANY_ROW = NormalForm(((),), False)


def _any_of(parts: Sequence[NormalForm], max_groups: int) -> NormalForm:
    groups = tuple(group for part in parts for group in part.groups)
    if len(groups) > max_groups:
        return _ANY_ROW
    return NormalForm(((),) if () in groups else groups, all(part.exact for part in parts))


def _all_of(parts: Sequence[NormalForm], max_groups: int) -> NormalForm:
    """The product of the parts; if there are too many groups, only the smallest parts are kept."""
    size = 1
    kept = []
    for number in sorted(range(len(parts)), key=lambda number: len(parts[number].groups)):
        if size * len(parts[number].groups) <= max_groups:
            size *= len(parts[number].groups)
            kept.append(number)
    groups = tuple(multiply(parts[number].groups for number in sorted(kept)))
    exact = len(kept) == len(parts) and all(part.exact for part in parts)
    return NormalForm(groups, exact)


def multiply(parts: Iterable[Sequence[Sequence[Item]]]) -> Iterator[tuple[Item, ...]]:
    """The groups of a conjunction: every combination of one group per part."""
    return (tuple(chain.from_iterable(chosen)) for chosen in product(*parts))


def to_filter(condition: Condition, max_groups: int) -> tuple[Filter | None, bool]:
    """The filter that keeps at least the rows of a condition, and whether it keeps only those.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.filters.conditions import UNKNOWN, AllOf, compare, to_filter
    >>> wanted = AllOf((compare("age", ">", [50], pa.int64()), UNKNOWN))
    >>> row_filter, exact = to_filter(wanted, 10)
    >>> str(row_filter), exact
    ('age > 50', False)
    """
    form = normal_form(condition, max_groups)
    if not form.groups or () in form.groups:
        return None, form.exact and bool(form.groups)
    return Filter(form.groups), form.exact
