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

from pymosaic.arrow.statistics import ColumnStatistics
from pymosaic.errors import ColumnNotFoundError
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
    """

    conjunctions: tuple[tuple[Predicate, ...], ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the filter uses, each once, in order of first use.

        Examples
        --------
        >>> from pymosaic.filters.tuples import parse_filters
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
        for group in self.conjunctions:
            for predicate in group:
                if predicate.column not in types:
                    hint = did_you_mean(predicate.column, types)
                    raise ColumnNotFoundError(
                        f"filters: no column is named {predicate.column!r}{hint}"
                    )
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
        return pc.fill_null(kept, False)

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
        return any(
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
        return [[predicate.as_tuple() for predicate in group] for group in self.conjunctions]

    def __str__(self) -> str:
        return " or ".join(
            " and ".join(map(str, group))
            if len(self.conjunctions) == 1
            else f"({' and '.join(map(str, group))})"
            for group in self.conjunctions
        )
