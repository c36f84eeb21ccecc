"""Translation of filters pushed down by Spark into filters of the dataset layer.

Spark checks every row again, so a translation may keep too many rows, but never too few: a
condition that cannot be translated counts as true. That is sound only if it is not negated, so
negations are first pushed down to the conditions.

Where the two disagree, the condition is skipped: in Spark, NaN is greater than every number, and
timestamps have a precision of microseconds.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from pymosaic.filters.conditions import (
    EVERYTHING,
    NOTHING,
    UNKNOWN,
    AllOf,
    AnyOf,
    Condition,
    compare,
    multiply,
    normal_form,
    starts_with,
)
from pymosaic.filters.operators import complement, mirrored
from pymosaic.filters.predicates import Predicate
from pymosaic.filters.tuples import parse_filters
from pymosaic.filters.wire import decode

__all__ = ["Groups", "decode_filters", "literal_value", "narrowed", "renamed", "translate"]

# Disjunctive normal form: one of the groups must hold; None is true for every row.
Groups = list[list[tuple[Any, ...]]] | None

# Beyond this a filter costs more than it saves, and a hostile one would grow without bound.
_MAX_GROUPS = 64
_COMPARISONS = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def translate(filters: Sequence[Mapping[str, Any]], types: Mapping[str, pa.DataType]) -> Groups:
    """Translate filters that must all hold.

    Parameters
    ----------
    filters : sequence of dict
        Expressions, as the optimizer rule writes them.
    types : mapping of str to pyarrow.DataType
        The columns whose values Spark sees unchanged, and their types in the dataset.

    Returns
    -------
    list of lists of tuples, or None
        Filters for a scan; None if nothing is known. An empty list means that no row passes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.spark.predicates import translate
    >>> age = {"column": "age"}, {"type": "integer", "value": "50"}
    >>> translate([{"name": ">", "children": age}], {"age": pa.int32()})
    [[('age', '>', 50)]]
    """
    condition = AllOf(tuple(_translated(item, types, False) for item in filters))
    groups = normal_form(condition, _MAX_GROUPS).groups
    if () in groups:
        return None
    return [[predicate.as_tuple() for predicate in group] for group in groups]


def narrowed(filters: Groups, pushed: Groups) -> Groups:
    """A filter that must hold, narrowed by one that may be ignored."""
    if filters is None or pushed is None:
        return pushed if filters is None else filters
    if len(filters) * len(pushed) > _MAX_GROUPS:
        return filters
    return list(map(list, multiply((filters, pushed))))


def renamed(groups: Groups, spellings: Mapping[str, str]) -> Groups:
    """The filter with column names as they are spelled in the dataset."""
    if groups is None:
        return None
    return [[(spellings[column], *rest) for column, *rest in group] for group in groups]


def _translated(
    node: Mapping[str, Any], types: Mapping[str, pa.DataType], negated: bool
) -> Condition:
    name, children = node.get("name"), node.get("children", ())
    if name == "NOT":
        return _translated(children[0], types, not negated)
    if name in ("AND", "OR"):
        parts = tuple(_translated(child, types, negated) for child in children)
        return AllOf(parts) if (name == "AND") != negated else AnyOf(parts)
    if name in ("ALWAYS_TRUE", "ALWAYS_FALSE"):
        return EVERYTHING if (name == "ALWAYS_TRUE") != negated else NOTHING
    if name in ("IS_NULL", "IS_NOT_NULL"):
        column = _column(children[0], types)
        is_null = (name == "IS_NULL") != negated
        return UNKNOWN if column is None else _null_test(column, is_null)
    if name == "IN":
        return _set_test(children, types, negated)
    if name == "<=>":
        return _null_safe(children, types, negated)
    if name in _COMPARISONS and len(children) == 2:
        operator = _COMPARISONS[name]
        if "column" not in children[0]:
            operator, children = mirrored(operator), children[::-1]
        return _comparison(complement(operator) if negated else operator, children, types)
    if name in ("STARTS_WITH", "ENDS_WITH", "CONTAINS"):
        return _text_test(name, children, types, negated)
    return UNKNOWN


def _null_test(column: str, is_null: bool) -> Condition:
    return Predicate(column, "is null" if is_null else "is not null")


def _column(node: Mapping[str, Any], types: Mapping[str, pa.DataType]) -> str | None:
    column = node.get("column")
    return column if column in types else None


def _comparison(
    operator: str, children: Sequence[Mapping[str, Any]], types: Mapping[str, pa.DataType]
) -> Condition:
    column = _column(children[0], types)
    if column is None:
        return UNKNOWN
    known, value = literal_value(children[1], types[column])
    if not known:
        return UNKNOWN
    if value is None:
        return NOTHING  # A comparison with null is never true.
    if pa.types.is_floating(types[column]):
        if value != value:
            return UNKNOWN
        if operator in (">", ">="):
            return _null_test(column, False)  # NaN passes in Spark, whatever the number.
    return compare(column, operator, [value], types[column])


def _null_safe(
    children: Sequence[Mapping[str, Any]], types: Mapping[str, pa.DataType], negated: bool
) -> Condition:
    if "column" not in children[0]:
        children = children[::-1]
    column = _column(children[0], types)
    if column is None:
        return UNKNOWN
    known, value = literal_value(children[1], types[column])
    if not known:
        return UNKNOWN
    if value is None:
        return _null_test(column, not negated)
    if negated:
        return AnyOf((_comparison("!=", children, types), _null_test(column, True)))
    return _comparison("==", children, types)


def _set_test(
    children: Sequence[Mapping[str, Any]], types: Mapping[str, pa.DataType], negated: bool
) -> Condition:
    column = _column(children[0], types)
    if column is None:
        return UNKNOWN
    values = []
    for child in children[1:]:
        known, value = literal_value(child, types[column])
        if not known or value != value:
            return UNKNOWN
        values.append(value)
    return Predicate.of_set(column, "not in" if negated else "in", values)


def _text_test(
    name: str,
    children: Sequence[Mapping[str, Any]],
    types: Mapping[str, pa.DataType],
    negated: bool,
) -> Condition:
    column = _column(children[0], types)
    if column is None or not pa.types.is_string(types[column]):
        return UNKNOWN
    known, value = literal_value(children[1], types[column])
    if not known:
        return UNKNOWN
    if value is None:
        return NOTHING
    if negated or name != "STARTS_WITH" or not value:
        return _null_test(column, False)
    return starts_with(column, value)


def literal_value(node: Mapping[str, Any], arrow_type: pa.DataType) -> tuple[bool, Any]:
    """Whether a literal can be compared with a column exactly as Spark does, and the literal."""
    kind, text = node.get("type"), node.get("value")
    if kind is None:
        return False, None
    if text is None:
        return True, None
    types = pa.types
    if kind == "string":
        return types.is_string(arrow_type), text
    if kind == "binary":
        return types.is_binary(arrow_type), base64.b64decode(text)
    if kind == "boolean":
        return types.is_boolean(arrow_type), text == "true"
    if kind in ("byte", "short", "integer", "long"):
        return types.is_integer(arrow_type), int(text)
    if kind == "float":
        return types.is_float32(arrow_type), float(np.float32(text))
    if kind == "double":
        return types.is_float64(arrow_type), float(text)
    if kind.startswith("decimal"):
        return types.is_decimal(arrow_type), Decimal(text)
    if kind == "date":
        return types.is_date32(arrow_type), pa.scalar(int(text), pa.date32())
    if kind in ("timestamp", "timestamp_ntz"):
        exact = types.is_timestamp(arrow_type) and arrow_type.unit in ("us", "ms", "s")
        zone = "UTC" if kind == "timestamp" else None
        same = exact and (arrow_type.tz is None) == (zone is None)
        return same, pa.scalar(int(text), pa.timestamp("us", zone))
    return False, None


def decode_filters(filters: Any) -> Groups:
    """The filters of the option `filters`, as groups of conditions."""
    if not filters:
        return None
    row_filter = parse_filters(decode(filters))
    return None if row_filter is None else row_filter.as_tuples()
