"""Filters in any form that a caller may give them, checked against the columns they use.

======================= =======================================================================
form                    example
======================= =======================================================================
text                    ``"age > 50 and city in ('Oslo', 'Rome')"``
a list of tuples        ``[("age", ">", 50), ("city", "in", ["Oslo", "Rome"])]``
a list of such lists    ``[[("age", ">", 50)], [("city", "is null")]]``: one of them must match
an Arrow expression     ``(pc.field("age") > 50) & pc.field("city").isin(["Oslo", "Rome"])``
======================= =======================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.errors import InvalidOptionError
from pymosaic.filters.arrow_expressions import push_down, used_columns
from pymosaic.filters.expression_test import ExpressionTest
from pymosaic.filters.row_filter import Filter
from pymosaic.filters.tuples import parse_filters

__all__ = ["ArrowExpression", "Filters", "given_filter"]


class ArrowExpression(Protocol):
    """What type checkers know of a ``pyarrow.compute.Expression``."""

    def isin(self, values: Any, /) -> Any:
        """Whether a value is among some."""
        ...

    def is_valid(self) -> Any:
        """Whether a value is not null."""
        ...


# Of one type for both kinds of lists, from which mypy can infer that of a list in a call.
Filters: TypeAlias = "str | ArrowExpression | Filter | Sequence[Sequence[Any]]"
"""What ``filters=`` takes."""


def given_filter(
    filters: object, select: Callable[[tuple[str, ...] | None], pa.Schema]
) -> tuple[Filter | None, pa.Schema]:
    """Parse filters and check them against the types of their columns.

    Parameters
    ----------
    filters : Filters or None
    select : callable
        Returns the fields of some columns, or of all (None); raises an error that names ``filters``
        for columns that do not exist.

    Returns
    -------
    (Filter or None, pyarrow.Schema)
        None if all rows are kept; the columns of the filter.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.compute as pc
    >>> from pymosaic.filters.given import given_filter
    >>> schema = pa.schema({"age": pa.int64(), "limit": pa.int64()})
    >>> def select(names):
    ...     return schema if names is None else pa.schema([schema.field(name) for name in names])
    >>> str(given_filter("age > 50", select)[0])
    'age > 50'
    >>> str(given_filter((pc.field("age") > 50) & (pc.field("age") > pc.field("limit")), select)[0])
    'age > 50 and ((age > 50) and (age > limit))'
    """
    if isinstance(filters, pc.Expression):
        row_filter = _of_expression(filters, select)
    else:
        row_filter = filters if isinstance(filters, Filter) else parse_filters(filters)
    if row_filter is None:
        return None, pa.schema([])
    schema = select(row_filter.columns)
    if schema.names != list(row_filter.columns):
        raise InvalidOptionError("filters: give exact column names, not patterns")
    row_filter.validate({item.name: item.type for item in schema})
    return row_filter, schema


def _of_expression(
    expression: pc.Expression, select: Callable[[tuple[str, ...] | None], pa.Schema]
) -> Filter | None:
    """What a filter can express of it prunes; Arrow tests the rest."""
    columns = used_columns(expression)
    schema = select(columns)
    pushdown = push_down(expression, schema)
    if pushdown.exact:
        return pushdown.row_filter
    groups = ((),) if pushdown.row_filter is None else pushdown.row_filter.conjunctions
    return Filter(groups, ExpressionTest(expression, tuple(schema.names)))
