"""Row filters in pyarrow.parquet's disjunctive normal form.

``[("a", ">", 5), ("b", "==", "x")]`` keeps rows where both hold; a list of such lists keeps rows
where any of them holds. A filter does two things: :meth:`Filter.mask` selects rows, and
:meth:`Filter.excludes` tells from statistics that a row group holds none.

Semantics
    SQL's three-valued logic: a comparison with a null is unknown, and only rows for which the
    filter is true are kept. Numbers compare by their exact values (the literal 0.1 is a double
    that no value of a float32 column equals, as in pyarrow), strings and binary byte by byte.
    Floats follow IEEE 754, as in pyarrow.compute: NaN equals nothing, is neither above nor below
    anything, and differs from everything, itself included; -0.0 equals 0.0. An engine in which
    NaN is the largest value (Spark) must not hand its comparisons of floats down to this module.
"""

from __future__ import annotations

import reprlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.errors import ColumnNotFoundError, InvalidOptionError
from pymosaic.literals import (
    Key,
    Place,
    exact_key,
    floor_key,
    is_null,
    key_range,
    key_type,
    locate,
    wanted_literal,
)
from pymosaic.statistics import ColumnStatistics, order_key

__all__ = ["Filter", "Predicate", "parse_filters"]

_EXAMPLE = (
    'write filters=[("age", ">", 50), ("city", "in", ["Oslo", "Rome"])], '
    "or a list of such lists, of which one must hold"
)
_NULL_TESTS = ("is null", "is not null")
_SET_TESTS = ("in", "not in")
# The comparison of arrays, and whether no value from minimum to maximum can pass it.
_ORDER_TESTS: dict[str, tuple[Callable[..., pa.Array], Callable[[Any, Any, Any], bool]]] = {
    "<": (pc.less, lambda low, high, key: bool(low >= key)),
    "<=": (pc.less_equal, lambda low, high, key: bool(low > key)),
    ">": (pc.greater, lambda low, high, key: bool(high <= key)),
    ">=": (pc.greater_equal, lambda low, high, key: bool(high < key)),
}
_OPPOSITES = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "in": "not in", "not in": "in"}
# Not the opposites, to a NaN: it is not below 5, and not at or above it either.
_NEGATED_TESTS = {f"not {name}": name for name in _ORDER_TESTS}
_OPERATORS = ("=", "==", "!=", *_ORDER_TESTS, *_NEGATED_TESTS, *_SET_TESTS, *_NULL_TESTS)


@dataclass(frozen=True, slots=True)
class _Test:
    """A predicate bound to a column type: exact, and for values that are not null.

    ``operator`` is ``in`` or ``not in`` (with any number of sorted keys: none, and nothing or
    everything passes), or one of ``< <= > >=`` with one key. ``values`` holds the keys as Arrow.
    A negated test passes what it would otherwise fail.
    """

    operator: str
    keys: tuple[Key, ...]
    values: pa.Array
    negated: bool = False

    def mask(self, array: pa.Array) -> pa.Array:
        mask = self._mask(array.view(self.values.type))
        return pc.and_not(array.is_valid(), pc.fill_null(mask, False)) if self.negated else mask

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
        # A NaN, which minimum and maximum do not tell of, differs from every key.
        return inside and low == high and not isinstance(low, float)

    def covers(self, low: Any, high: Any) -> bool:
        if self.negated:
            return replace(self, negated=False).excludes(low, high)
        # A NaN, which minimum and maximum do not tell of, passes no test but "not in".
        if isinstance(low, float) and self.operator != "not in":
            return False
        opposite = _Test(_OPPOSITES[self.operator], self.keys, self.values)
        return opposite.excludes(low, high)


@dataclass(frozen=True, slots=True)
class Predicate:
    """One condition on one column; a null in the list of literals is told by ``has_null`` only."""

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
                    f"filters: column {self.column!r} has type {arrow_type}, which only "
                    f"takes null tests; write ({self.column!r}, 'is null') or 'is not null'"
                )
            places = [self._place(value, arrow_type) for value in self.values]
            if self.operator in _ORDER_TESTS:
                test = _bind_order(self.operator, places[0], arrow_type)
            elif self.operator in _NEGATED_TESTS:
                positive = _bind_order(_NEGATED_TESTS[self.operator], places[0], arrow_type)
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
                f"filters: column {self.column!r} has type {arrow_type} and is compared with "
                f"{wanted_literal(arrow_type)}, got {value!r}"
            )
        return place

    @property
    def _is_trivial(self) -> bool:
        # In an empty list nothing can equal even a null.
        return self.operator == "not in" and not self.values and not self.has_null

    @property
    def _is_impossible(self) -> bool:
        if self.operator == "in":
            return not self.values
        return self.operator == "not in" and self.has_null

    def __str__(self) -> str:
        if self.operator in _NULL_TESTS:
            return f"{self.column} {self.operator}"
        plain = [v.as_py() if isinstance(v, pa.Scalar) else v for v in self.values]
        values = reprlib.repr([*plain, *([None] if self.has_null else [])])
        if self.operator not in _SET_TESTS:
            values = values[1:-1]
        return f"{self.column} {self.operator} {values}"

    def mask(self, array: pa.Array) -> pa.Array:
        """Return true, false or null for each value."""
        if self.operator == "is null":
            return array.is_null()
        if self.operator == "is not null":
            return array.is_valid()
        if self._is_trivial or self._is_impossible:
            return pa.repeat(pa.scalar(self._is_trivial), len(array))
        return self.bind(array.type).mask(array)

    def excludes(self, statistics: ColumnStatistics | None, num_rows: int) -> bool:
        """Whether no row of a row group with these statistics can pass."""
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
        """Whether every row of a row group with these statistics passes."""
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


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter; make one with :func:`parse_filters`.

    Parameters
    ----------
    conjunctions : tuple of tuples of Predicate
        A row is kept if all predicates of any of the inner tuples are true.
    """

    conjunctions: tuple[tuple[Predicate, ...], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns the filter looks at, each once, in order of first use.

        Examples
        --------
        >>> from pymosaic.filters import parse_filters
        >>> parse_filters([[("b", ">", 1), ("a", "<", 5)], [("b", "is null")]]).columns
        ('b', 'a')
        """
        return tuple(dict.fromkeys(test.column for group in self.conjunctions for test in group))

    def validate(self, types: Mapping[str, pa.DataType]) -> None:
        """Check that every literal can be compared with its column.

        Parameters
        ----------
        types : mapping of str to pyarrow.DataType
            At least the types of :attr:`columns`.

        Raises
        ------
        InvalidOptionError
            Naming the column, its type, the literal, and what would be right.
        ColumnNotFoundError
            If a column is not in ``types``.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from pymosaic.filters import parse_filters
        >>> parse_filters([("age", ">", "50")]).validate({"age": pa.int8()})
        Traceback (most recent call last):
        ...
        pymosaic.errors.InvalidOptionError: filters: column 'age' has type int8 and ...
        """
        for group in self.conjunctions:
            for predicate in group:
                if predicate.column not in types:
                    raise ColumnNotFoundError(f"filters: no column is named {predicate.column!r}")
                if predicate.operator not in _NULL_TESTS:
                    predicate.bind(types[predicate.column])

    def mask(self, columns: Mapping[str, pa.Array] | pa.RecordBatch) -> pa.BooleanArray:
        """Tell for each row whether it is kept; the result holds no nulls.

        Parameters
        ----------
        columns : mapping of str to pyarrow.Array, or pyarrow.RecordBatch
            At least :attr:`columns`, of equal length.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from pymosaic.filters import parse_filters
        >>> batch = pa.record_batch({"age": [10, 60, None]})
        >>> parse_filters([("age", "!=", 10)]).mask(batch).to_pylist()
        [False, True, False]
        """
        kept: pa.Array | None = None
        for group in self.conjunctions:
            passed: pa.Array | None = None
            for predicate in group:
                mask = predicate.mask(columns[predicate.column])
                passed = mask if passed is None else pc.and_kleene(passed, mask)
            kept = passed if kept is None else pc.or_kleene(kept, passed)
        return pc.fill_null(kept, False)

    def excludes(self, statistics: Callable[[str], ColumnStatistics | None], num_rows: int) -> bool:
        """Tell whether no row of a row group can be kept, so that it need not be read.

        True is certain; False only means that rows may be kept. The answer agrees with
        :meth:`mask` for every content that has these statistics.

        Parameters
        ----------
        statistics : callable
            Gives the statistics of a column by name, or None if there are none.
        num_rows : int
            Number of rows in the row group.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from pymosaic.filters import parse_filters
        >>> from pymosaic.statistics import ColumnStatistics
        >>> ages = {"age": ColumnStatistics(0, 10, pa.scalar(5), pa.scalar(40))}
        >>> parse_filters([("age", ">", 50)]).excludes(ages.get, 10)
        True
        """
        return num_rows == 0 or all(
            any(predicate.excludes(statistics(predicate.column), num_rows) for predicate in group)
            for group in self.conjunctions
        )

    def covers(self, statistics: Callable[[str], ColumnStatistics | None], num_rows: int) -> bool:
        """Tell whether every row of a row group is kept, so that its rows can be counted unread.

        True is certain; False only means that rows may be dropped. The answer agrees with
        :meth:`mask` for every content that has these statistics.

        Parameters
        ----------
        statistics : callable
            Gives the statistics of a column by name, or None if there are none.
        num_rows : int
            Number of rows in the row group.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from pymosaic.filters import parse_filters
        >>> from pymosaic.statistics import ColumnStatistics
        >>> ages = {"age": ColumnStatistics(0, 10, pa.scalar(55), pa.scalar(60))}
        >>> parse_filters([("age", ">", 50)]).covers(ages.get, 10)
        True
        """
        return any(
            all(predicate.covers(statistics(predicate.column), num_rows) for predicate in group)
            for group in self.conjunctions
        )

    def __str__(self) -> str:
        return " or ".join(
            " and ".join(map(str, group))
            if len(self.conjunctions) == 1
            else f"({' and '.join(map(str, group))})"
            for group in self.conjunctions
        )


def parse_filters(filters: object) -> Filter | None:
    """Check filters as the caller wrote them, and return them parsed.

    Parameters
    ----------
    filters : list of tuples, list of lists of tuples, or None
        Tuples are ``(column, operator, literal)``. Operators: ``=`` or ``==``, ``!=``, ``<``,
        ``<=``, ``>``, ``>=``, their negations ``not <`` to ``not >=`` (which keep NaN), ``in`` and
        ``not in`` (with a list, set, array, ... of literals), ``is null`` and ``is not null`` (the
        literal may be left out). Upper case is accepted. A list in place of a tuple is, too.

    Returns
    -------
    Filter or None
        None if ``filters`` is None.

    Raises
    ------
    InvalidOptionError
        If ``filters`` has another form, or compares with None: that is what null tests are for.

    Notes
    -----
    Nulls in the list follow SQL: ``in`` finds no nulls, and ``not in`` a list with a null keeps
    nothing. ``not in`` drops nulls, except with an empty list, which keeps every row.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.filters import parse_filters
    >>> batch = pa.record_batch({"age": [10, 60, 70], "city": ["Oslo", "Oslo", None]})
    >>> parse_filters([("age", ">", 50), ("city", "is null")]).mask(batch).to_pylist()
    [False, False, True]
    """
    if filters is None:
        return None
    if isinstance(filters, pc.Expression):
        raise _malformed("pyarrow expressions are not supported")
    if not isinstance(filters, list | tuple):
        raise _malformed(f"got {reprlib.repr(filters)}")
    if not filters:
        raise _malformed("got an empty list; use None to keep every row")
    if isinstance(filters[0], str):
        raise _malformed(f"got a bare condition {reprlib.repr(filters)}, which belongs in a list")
    groups: Sequence[object] = [filters] if _is_predicate(filters[0]) else filters
    return Filter(tuple(_parse_group(group) for group in groups))


def _is_predicate(item: object) -> bool:
    return isinstance(item, list | tuple) and len(item) > 0 and isinstance(item[0], str)


def _parse_group(group: object) -> tuple[Predicate, ...]:
    if not isinstance(group, list | tuple) or not group:
        raise _malformed(f"got {reprlib.repr(group)} for a list of conditions")
    return tuple(_parse_predicate(item) for item in group)


def _parse_predicate(item: Any) -> Predicate:
    if not _is_predicate(item) or len(item) not in (2, 3) or not isinstance(item[1], str):
        raise _malformed(f"got {reprlib.repr(item)} for a condition")
    column, name = item[0], " ".join(item[1].lower().split())
    if name not in _OPERATORS:
        raise _malformed(f"{item[1]!r} is no operator; the operators are {', '.join(_OPERATORS)}")
    if name in _NULL_TESTS:
        # The one literal that would say the contrary of what is done.
        if len(item) == 3 and item[2] is False:
            raise _malformed(f"{name!r} takes no literal, got {item!r}")
        return Predicate(column, name)
    if len(item) != 3:
        raise _malformed(f"{item!r} has no literal")
    literal = item[2]
    if name in _SET_TESTS:
        if isinstance(literal, str | bytes | Mapping) or not isinstance(literal, Iterable):
            raise _malformed(f"{name!r} takes a list of literals, got {literal!r}")
        values = tuple(literal)
        known = tuple(value for value in values if not is_null(value))
        return Predicate(column, name, known, has_null=len(known) < len(values))
    if is_null(literal):
        raise _malformed(
            f"nothing compares with {literal!r}; for nulls use ({column!r}, 'is null') "
            f"or ({column!r}, 'is not null')"
        )
    return Predicate(column, "==" if name == "=" else name, (literal,))


def _malformed(problem: str) -> InvalidOptionError:
    return InvalidOptionError(f"filters: {problem}; {_EXAMPLE}")


def _bind_order(name: str, place: Place, arrow_type: pa.DataType) -> _Test:
    key = exact_key(place, arrow_type)
    if key is not None:
        return _make_test(name, [key], arrow_type)
    assert not isinstance(place, bytes)
    below, (low, high) = floor_key(place, arrow_type), key_range(arrow_type)
    if below != below:  # NaN; math.isnan() cannot take every int
        return _make_test("in", [], arrow_type)
    # The literal lies between two keys, or beyond all.
    upward = name in (">", ">=")
    if low <= below < high:
        return _make_test(">" if upward else "<=", [below], arrow_type)
    return _make_test("not in" if upward == (below < low) else "in", [], arrow_type)


def _make_test(name: str, keys: Iterable[Key], arrow_type: pa.DataType) -> _Test:
    ordered = tuple(sorted(set(keys)))
    raw = key_type(arrow_type)
    values: list[Any] = list(ordered)
    if pa.types.is_decimal(raw):
        values = [Decimal(value) for value in values]
    elif pa.types.is_floating(raw) and 0.0 in values:
        values += [0.0, -0.0]  # is_in() tells the two zeros apart
    return _Test(name, ordered, pa.array(values, raw))
