"""One condition on one column: which rows match, and what statistics say about that.

Semantics
    SQL's three-valued logic: a comparison with a null is unknown, and only rows for which the
    filter is true are kept. Numbers compare by exact value (the literal 0.1 is a double that no
    value of a float32 column equals, as in pyarrow), strings and binary byte by byte.
    Floats follow IEEE 754, as in pyarrow.compute: NaN equals nothing, is neither above nor below
    anything, and differs from everything, itself included; -0.0 equals 0.0. An engine in which
    NaN is the largest value (Spark) must not push its comparisons of floats down to this module.
"""

from __future__ import annotations

import reprlib
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.arrow.plain_arrays import FALSE, plain_array, plain_scalar
from pymosaic.arrow.statistics import ColumnStatistics, order_key
from pymosaic.errors import InvalidOptionError
from pymosaic.filters.literals import (
    Key,
    Place,
    exact_key,
    floor_key,
    is_null,
    key_range,
    key_type,
    locate,
    plain,
    wanted_literal,
)
from pymosaic.filters.operators import NULL_TESTS, SET_TESTS, complement, negation
from pymosaic.filters.wire import decode, encode_literal

__all__ = ["Predicate"]

# The comparison of arrays, and whether no value from minimum to maximum can match.
_ORDER_TESTS: dict[str, tuple[Callable[..., pa.Array], Callable[[Any, Any, Any], bool]]] = {
    "<": (pc.less, lambda low, high, key: bool(low >= key)),
    "<=": (pc.less_equal, lambda low, high, key: bool(low > key)),
    ">": (pc.greater, lambda low, high, key: bool(high <= key)),
    ">=": (pc.greater_equal, lambda low, high, key: bool(high < key)),
}


@dataclass(frozen=True, slots=True)
class _Test:
    """A predicate bound to a column type: exact, and for values that are not null.

    ``operator`` is ``in`` or ``not in`` with any number of sorted keys (with none, nothing or
    everything matches), or one of ``< <= > >=`` with one key. ``values`` holds the keys as Arrow.
    A negated test matches exactly the values that it would otherwise reject.
    """

    operator: str
    keys: tuple[Key, ...]
    values: pa.Array
    negated: bool = False

    def mask(self, array: pa.Array) -> pa.Array:
        mask = self._mask(array.view(self.values.type))
        return pc.and_not(array.is_valid(), pc.fill_null(mask, FALSE)) if self.negated else mask

    def _mask(self, array: pa.Array) -> pa.Array:
        if self.operator in _ORDER_TESTS:
            compare, _ = _ORDER_TESTS[self.operator]
            return compare(array, self.values[0])
        if len(self.keys) == 1:
            compare = pc.equal if self.operator == "in" else pc.not_equal
            return compare(array, self.values[0])
        found = pc.is_in(array, value_set=self.values)
        return found if self.operator == "in" else pc.and_not(array.is_valid(), found)

    def excludes(self, low: Any, high: Any) -> bool:
        if self.negated:
            return replace(self, negated=False).covers(low, high)
        if self.operator in _ORDER_TESTS:
            _, impossible = _ORDER_TESTS[self.operator]
            return impossible(low, high, self.keys[0])
        index = bisect_left(self.keys, low)
        inside = index < len(self.keys) and self.keys[index] <= high
        if self.operator == "in":
            return not inside
        # A NaN, which minimum and maximum do not cover, differs from every key.
        return inside and low == high and not isinstance(low, float)

    def covers(self, low: Any, high: Any) -> bool:
        if self.negated:
            return replace(self, negated=False).excludes(low, high)
        # A NaN, which minimum and maximum do not cover, matches no test but "not in".
        if isinstance(low, float) and self.operator != "not in":
            return False
        return _Test(complement(self.operator), self.keys, self.values).excludes(low, high)


@dataclass(frozen=True, slots=True)
class Predicate:
    """One condition on one column; only ``has_null`` records a null in the list of literals."""

    column: str
    operator: str
    values: tuple[Any, ...] = ()
    has_null: bool = False
    _tests: dict[pa.DataType, _Test] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def bind(self, arrow_type: pa.DataType) -> _Test:
        """Translate the literals to keys of the type, or raise InvalidOptionError."""
        test = self._tests.get(arrow_type)
        if test is None:
            if key_type(arrow_type) is None:
                raise InvalidOptionError(
                    f"filters: column {self.column!r} has type {arrow_type}, which "
                    f"supports only null tests; write ({self.column!r}, 'is null') or 'is not null'"
                )
            places = [self._place(value, arrow_type) for value in self.values]
            if self.operator in _ORDER_TESTS:
                test = _bind_order(self.operator, places[0], arrow_type)
            elif negation(self.operator) in _ORDER_TESTS:
                positive = _bind_order(negation(self.operator), places[0], arrow_type)
                test = replace(positive, negated=True)
            else:
                name = "in" if self.operator in ("==", "in") else "not in"
                keys = [exact_key(place, arrow_type) for place in places]
                test = _make_test(name, [key for key in keys if key is not None], arrow_type)
            self._tests[arrow_type] = test
        return test

    def _place(self, value: object, arrow_type: pa.DataType) -> Place:
        place = locate(value, arrow_type)
        if place is None:
            raise InvalidOptionError(
                f"filters: column {self.column!r} has type {arrow_type} and must be compared with "
                f"{wanted_literal(arrow_type)}, got {plain(value)!r}"
            )
        return place

    @property
    def _is_trivial(self) -> bool:
        # Nothing equals an element of an empty list, not even unknown values.
        return self.operator == "not in" and not self.values and not self.has_null

    @property
    def _is_impossible(self) -> bool:
        if self.operator == "in":
            return not self.values
        return self.operator == "not in" and self.has_null

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the literals in their wire form, without bound tests."""
        literals = encode_literal(self.values)
        return _unpickled, (self.column, self.operator, literals, self.has_null)

    @classmethod
    def of_set(cls, column: str, operator: str, literals: Iterable[Any]) -> Predicate:
        """A test against a set of literals, which may include nulls."""
        values = tuple(literals)
        known = tuple(value for value in values if not is_null(value))
        return cls(column, operator, known, has_null=len(known) < len(values))

    def as_tuple(self) -> tuple[Any, ...]:
        """Return the condition as users write it.

        Examples
        --------
        >>> from pymosaic.filters.predicates import Predicate
        >>> Predicate("city", "in", ("Oslo",), has_null=True).as_tuple()
        ('city', 'in', ['Oslo', None])
        """
        if self.operator in NULL_TESTS:
            return self.column, self.operator
        values = [*self.values, *([None] if self.has_null else [])]
        return self.column, self.operator, values if self.operator in SET_TESTS else values[0]

    def __str__(self) -> str:
        if self.operator in NULL_TESTS:
            return f"{self.column} {self.operator}"
        values = reprlib.repr([*map(plain, self.values), *([None] if self.has_null else [])])
        if self.operator not in SET_TESTS:
            values = values[1:-1]
        return f"{self.column} {self.operator} {values}"

    def mask(self, array: pa.Array) -> pa.Array:
        """Return true, false or null for each value."""
        if self.operator == "is null":
            return array.is_null()
        if self.operator == "is not null":
            return array.is_valid()
        if self._is_trivial or self._is_impossible:
            return pa.repeat(plain_scalar(self._is_trivial, pa.bool_()), len(array))
        return self.bind(array.type).mask(array)

    def excludes(self, statistics: ColumnStatistics | None, num_rows: int) -> bool:
        """Whether no row of a row group with these statistics can match."""
        if self._is_trivial or self._is_impossible:
            return self._is_impossible
        if statistics is None:
            return False
        if self.operator == "is null":
            return statistics.null_count == 0
        if statistics.null_count == num_rows:
            return True
        low, high = statistics.min_scalar, statistics.max_scalar
        if self.operator == "is not null" or low is None or high is None:
            return False
        return self.bind(low.type).excludes(order_key(low), order_key(high))

    def covers(self, statistics: ColumnStatistics | None, num_rows: int) -> bool:
        """Whether every row of a row group with these statistics matches."""
        if self._is_trivial or self._is_impossible:
            return self._is_trivial
        if statistics is None:
            return False
        if self.operator == "is null":
            return statistics.null_count == num_rows
        if statistics.null_count > 0:
            return False
        low, high = statistics.min_scalar, statistics.max_scalar
        if self.operator == "is not null":
            return True
        if low is None or high is None:
            return False
        return self.bind(low.type).covers(order_key(low), order_key(high))


def _unpickled(column: str, operator: str, literals: list[Any], has_null: bool) -> Predicate:
    return Predicate(column, operator, tuple(decode(literals)), has_null)


def _bind_order(name: str, place: Place, arrow_type: pa.DataType) -> _Test:
    key = exact_key(place, arrow_type)
    if key is not None:
        return _make_test(name, [key], arrow_type)
    assert not isinstance(place, bytes)
    below, (low, high) = floor_key(place, arrow_type), key_range(arrow_type)
    if below != below:  # NaN; math.isnan() cannot take every int
        return _make_test("in", [], arrow_type)
    # The literal is between two keys, or beyond all.
    upward = name in (">", ">=")
    if low <= below < high:
        return _make_test(">" if upward else "<=", [below], arrow_type)
    return _make_test("not in" if upward == (below < low) else "in", [], arrow_type)


def _make_test(name: str, keys: Iterable[Key], arrow_type: pa.DataType) -> _Test:
    ordered = tuple(sorted(set(keys)))
    raw = key_type(arrow_type)
    values: list[Any] = list(ordered)
    if pa.types.is_floating(raw) and 0.0 in values:
        values += [0.0, -0.0]  # is_in() distinguishes the two zeros
    return _Test(name, ordered, plain_array(values, raw))
