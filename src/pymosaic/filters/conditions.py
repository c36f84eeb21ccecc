"""Conditions of other engines, as far as filters can say them.

An engine's predicate is translated leaf by leaf. What cannot be said is left out, in such a way
that the filter keeps at least the rows that the engine wants: the engine, or its expression, sorts
out the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from pymosaic.errors import InvalidOptionError
from pymosaic.filters.predicates import Predicate
from pymosaic.filters.row_filter import Filter

__all__ = ["UNKNOWN", "AllOf", "AnyOf", "Condition", "Unknown", "compare", "to_filter"]

# Above this many alternatives a filter costs more than it saves.
_MAX_CONJUNCTIONS = 128


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that filters cannot say; any row may pass."""


UNKNOWN = Unknown()


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of these hold; without any, every row passes."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of these holds."""

    parts: tuple[Condition, ...]


Condition: TypeAlias = Predicate | AllOf | AnyOf | Unknown


def compare(
    column: str, operator: str, values: Sequence[object], arrow_type: pa.DataType
) -> Condition:
    """A predicate on a column of this type, or unknown where its literals do not fit."""
    predicate = Predicate(column, operator, tuple(values))
    if operator not in ("is null", "is not null"):
        try:
            predicate.bind(arrow_type)
        except InvalidOptionError:
            return UNKNOWN
    return predicate


def to_filter(condition: Condition) -> tuple[Filter | None, bool]:
    """The filter that keeps at least what the condition wants, and whether it keeps just that.

    Examples
    --------
    >>> import pyarrow as pa
    >>> wanted = AllOf((compare("age", ">", [50], pa.int64()), UNKNOWN))
    >>> row_filter, exact = to_filter(wanted)
    >>> str(row_filter), exact
    ('age > 50', False)
    """
    groups, exact = _conjunctions(condition)
    if groups is None or () in groups:
        return None, exact
    return Filter(tuple(groups)), exact


def _conjunctions(condition: Condition) -> tuple[list[tuple[Predicate, ...]] | None, bool]:
    """Alternatives, each a list of predicates; None where any row may pass."""
    if isinstance(condition, Predicate):
        return [(condition,)], True
    if isinstance(condition, Unknown):
        return None, False
    parts = [_conjunctions(part) for part in condition.parts]
    exact = all(part_exact for _, part_exact in parts)
    if isinstance(condition, AnyOf):
        alternatives: list[tuple[Predicate, ...]] = []
        for groups, _ in parts:
            if groups is None:
                return None, False
            alternatives += groups
        if not alternatives or len(alternatives) > _MAX_CONJUNCTIONS:
            return None, False
        return alternatives, exact
    product: list[tuple[Predicate, ...]] = [()]
    for groups, _ in parts:
        if groups is None:
            continue
        if len(product) * len(groups) > _MAX_CONJUNCTIONS:
            exact = False
            continue
        product = [(*left, *right) for left in product for right in groups]
    return product, exact
