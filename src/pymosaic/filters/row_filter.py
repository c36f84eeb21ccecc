"""Row filters in disjunctive normal form: a row is kept if all conditions of any group match.

A filter does two things: :meth:`Filter.mask` selects rows, and :meth:`Filter.excludes` decides from
statistics that a row group has none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.arrow.plain_arrays import FALSE
from pymosaic.arrow.statistics import ColumnStatistics
from pymosaic.errors import ColumnNotFoundError, InvalidOptionError
from pymosaic.filters.expression_test import ExpressionTest
from pymosaic.filters.operators import NULL_TESTS
from pymosaic.filters.predicates import Predicate
from pymosaic.suggestions import did_you_mean

__all__ = ["Filter"]


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed filter; make one with :func:`pymosaic.filters.tuples.parse_filters`.

    Parameters
    ----------
    conjunctions : tuple of tuples of Predicate
        A row is kept if all predicates of any of the inner tuples are true.
    rest : ExpressionTest, optional
        What else must be true of a row. Only then may an inner tuple be empty, for all rows.
    """

    conjunctions: tuple[tuple[Predicate, ...], ...]
    rest: ExpressionTest | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the filter uses, each once, in order of first use.

        Examples
        --------
        >>> from pymosaic.filters.tuples import parse_filters
        >>> parse_filters([[("b", ">", 1), ("a", "<", 5)], [("b", "is null")]]).columns
        ('b', 'a')
        """
        names = dict.fromkeys(test.column for group in self.conjunctions for test in group)
        if self.rest is not None:
            names |= dict.fromkeys(self.rest.columns)
        return tuple(names)

    def validate(self, types: Mapping[str, pa.DataType]) -> None:
        """Check that every literal can be compared with its column.

        Parameters
        ----------
        types : mapping of str to pyarrow.DataType
            At least the types of :attr:`columns`.

        Raises
        ------
        InvalidOptionError
            The message names the column, its type, the literal, and what would be valid.
        ColumnNotFoundError
            If a column is not in ``types``.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from pymosaic.filters.tuples import parse_filters
        >>> parse_filters([("age", ">", "50")]).validate({"age": pa.int8()})
        Traceback (most recent call last):
        ...
        pymosaic.errors.InvalidOptionError: filters: column 'age' has type int8 and ...
        """
        for name in self.columns:
            if name not in types:
                hint = did_you_mean(name, types)
                raise ColumnNotFoundError(f"filters: no column is named {name!r}{hint}")
        if self.rest is not None:
            self.rest.validate(types)
        for group in self.conjunctions:
            for predicate in group:
                if predicate.operator not in NULL_TESTS:
                    predicate.bind(types[predicate.column])

    def mask(self, columns: Mapping[str, pa.Array] | pa.RecordBatch) -> pa.BooleanArray:
        """Return for each row whether it is kept; the result has no nulls.

        Parameters
        ----------
        columns : mapping of str to pyarrow.Array, or pyarrow.RecordBatch
            At least :attr:`columns`, of equal length.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from pymosaic.filters.tuples import parse_filters
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
        kept = None if kept is None else pc.fill_null(kept, FALSE)
        if self.rest is None:
            return kept
        # A batch without columns has a number of rows, too.
        num_rows = getattr(columns, "num_rows", None)
        if num_rows is None:
            num_rows = len(columns[self.rest.columns[0]])
        rest = self.rest.mask(columns, num_rows)
        return rest if kept is None else pc.and_(kept, rest)

    def excludes(self, statistics: Callable[[str], ColumnStatistics | None], num_rows: int) -> bool:
        """Return whether no row of a row group can be kept, so that it need not be read.

        True is certain; False only means that rows may be kept. The answer agrees with
        :meth:`mask` for every content that has these statistics.

        Parameters
        ----------
        statistics : callable
            Returns the statistics of a column by name, or None if there are none.
        num_rows : int
            Number of rows in the row group.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from pymosaic.filters.tuples import parse_filters
        >>> from pymosaic.arrow.statistics import ColumnStatistics
        >>> ages = {"age": ColumnStatistics(0, 10, pa.scalar(5), pa.scalar(40))}
        >>> parse_filters([("age", ">", 50)]).excludes(ages.get, 10)
        True
        """
        return num_rows == 0 or all(
            any(predicate.excludes(statistics(predicate.column), num_rows) for predicate in group)
            for group in self.conjunctions
        )

    def covers(self, statistics: Callable[[str], ColumnStatistics | None], num_rows: int) -> bool:
        """Return whether every row of a row group is kept, so that none need be read to count them.

        True is certain; False only means that rows may be dropped. The answer agrees with
        :meth:`mask` for every content that has these statistics.

        Parameters
        ----------
        statistics : callable
            Returns the statistics of a column by name, or None if there are none.
        num_rows : int
            Number of rows in the row group.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from pymosaic.filters.tuples import parse_filters
        >>> from pymosaic.arrow.statistics import ColumnStatistics
        >>> ages = {"age": ColumnStatistics(0, 10, pa.scalar(55), pa.scalar(60))}
        >>> parse_filters([("age", ">", 50)]).covers(ages.get, 10)
        True
        """
        return self.rest is None and any(
            all(predicate.covers(statistics(predicate.column), num_rows) for predicate in group)
            for group in self.conjunctions
        )

    def as_tuples(self) -> list[list[tuple[Any, ...]]]:
        """Return the filter as users write it.

        Examples
        --------
        >>> from pymosaic.filters.tuples import parse_filters
        >>> parse_filters([("age", ">", 50), ("note", "is null")]).as_tuples()
        [[('age', '>', 50), ('note', 'is null')]]
        """
        if self.rest is not None:
            raise InvalidOptionError(f"filters: {self.rest} cannot be written as tuples")
        return [[predicate.as_tuple() for predicate in group] for group in self.conjunctions]

    def __str__(self) -> str:
        groups = " or ".join(
            " and ".join(map(str, group))
            if len(self.conjunctions) == 1
            else f"({' and '.join(map(str, group))})"
            for group in self.conjunctions
        )
        if self.rest is None:
            return groups
        if len(self.conjunctions) > 1:
            groups = f"({groups})"
        return f"{groups} and {self.rest}" if groups else str(self.rest)
