"""Datasets as Polars lazy frames.

Polars passes the scan the columns that a query needs, and its predicate. The predicate is parsed
from its JSON form, which Polars may change: parts that are not understood are not pushed down. The
predicate itself is applied to every frame, so that Polars always decides which rows are returned.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pymosaic.datasets.arrow_dataset import ArrowDataset
from pymosaic.datasets.dataset import dataset
from pymosaic.datasets.discovery import DatasetSource
from pymosaic.filters.conditions import UNKNOWN, AllOf, AnyOf, Condition, compare, to_filter
from pymosaic.filters.literals import is_null
from pymosaic.filters.operators import mirrored
from pymosaic.filters.row_filter import Filter

if TYPE_CHECKING:
    import polars as pl

__all__ = ["scan_polars"]

_COMPARISONS = {"Eq": "==", "NotEq": "!=", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
# Above this many alternatives a filter costs more than it saves.
_MAX_GROUPS = 128
_CLOSED = {
    "Both": (">=", "<="),
    "Left": (">=", "<"),
    "Right": (">", "<="),
    "None": (">", "<"),
}


def scan_polars(source: DatasetSource | ArrowDataset, **options: Any) -> pl.LazyFrame:
    """Query Mosaic files with Polars, reading only what the query needs.

    Parameters
    ----------
    source : str, path-like, list of those, Dataset or PaimonDataset
        As for :func:`pymosaic.dataset`.
    **options
        Those of :func:`pymosaic.dataset`.

    Returns
    -------
    polars.LazyFrame

    Examples
    --------
    >>> import polars as pl, pyarrow as pa, pymosaic
    >>> pymosaic.write_table(pa.table({"age": [31, 52], "name": ["Ann", "Bo"]}), "people.mosaic")
    >>> people = pymosaic.scan_polars("people.mosaic")
    >>> people.filter(pl.col("age") > 40).select("name").collect().to_dicts()
    [{'name': 'Bo'}]
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    opened = source if isinstance(source, ArrowDataset) else dataset(source, **options)

    def read(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        columns = with_columns
        row_filter = None
        if predicate is not None:
            predicate, row_filter = _push_down(predicate, opened.stored_schema)
            if columns is not None and predicate is not None:
                columns = [*columns, *predicate.meta.root_names()]
        limit = n_rows if predicate is None else None
        left = n_rows
        for batch in opened.scan(columns, row_filter, limit).to_batches(batch_size or 65_536):
            frame = pl.DataFrame(batch)
            if predicate is not None:
                frame = frame.filter(predicate)
            if with_columns is not None:
                frame = frame.select(with_columns)
            if left is not None:
                frame = frame.head(left)
                left -= frame.height
            yield frame
            if left == 0:
                return

    return register_io_source(read, schema=_schema(opened.schema), is_pure=True)


def _schema(schema: pa.Schema) -> dict[str, pl.DataType]:
    """Names and Polars types; the type of many columns is converted once."""
    import polars as pl

    fields = [field.with_name("").with_nullable(True) for field in schema]
    # Some types are told apart by their metadata only.
    kinds = [(field.type, field.metadata and tuple(field.metadata.items())) for field in fields]
    distinct = dict(zip(kinds, fields, strict=True))
    sample = pa.schema([field.with_name(str(i)) for i, field in enumerate(distinct.values())])
    found = dict(zip(distinct, pl.DataFrame(sample.empty_table()).dtypes, strict=True))
    return {name: found[kind] for name, kind in zip(schema.names, kinds, strict=True)}


def _push_down(predicate: pl.Expr, schema: pa.Schema) -> tuple[pl.Expr | None, Filter | None]:
    """The predicate to apply, and a filter that keeps at least its rows."""
    from polars.exceptions import PolarsError

    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
        wanted = _without_hints(tree)
        if wanted is None:
            return None, None
        if wanted is not tree:
            predicate = _expression(wanted)
        return predicate, to_filter(_translate(wanted, schema), _MAX_GROUPS)[0]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, PolarsError):
        # An unknown form, from this or a later version of Polars.
        return predicate, None


def _without_hints(node: Any) -> Any:
    """The tree of a predicate without the hints that Polars 1 adds for a sorted ``head``.

    They cannot be evaluated, and need not be: the rows that they skip are dropped later.
    """
    match node:
        case {"Display": {"fmt_str": str(text)}} if text.startswith("dynamic_pred"):
            return None
        case {"BinaryExpr": {"left": left, "op": "And", "right": right}}:
            parts = [_without_hints(left), _without_hints(right)]
            if parts[0] is left and parts[1] is right:
                return node
            kept = [part for part in parts if part is not None]
            if len(kept) == 2:
                return {"BinaryExpr": {"left": kept[0], "op": "And", "right": kept[1]}}
            return kept[0] if kept else None
    return node


def _expression(tree: Any) -> pl.Expr:
    import polars as pl

    return pl.Expr.deserialize(io.BytesIO(json.dumps(tree).encode()), format="json")


def _translate(node: Any, schema: pa.Schema) -> Condition:
    match node:
        case {"BinaryExpr": {"left": left, "op": "And" | "LogicalAnd", "right": right}}:
            return AllOf((_translate(left, schema), _translate(right, schema)))
        case {"BinaryExpr": {"left": left, "op": "Or" | "LogicalOr", "right": right}}:
            return AnyOf((_translate(left, schema), _translate(right, schema)))
        case {"BinaryExpr": {"left": {"Column": column}, "op": operator, "right": literal}}:
            return _compare(column, _COMPARISONS.get(operator), literal, schema)
        case {"BinaryExpr": {"left": literal, "op": operator, "right": {"Column": column}}}:
            name = _COMPARISONS.get(operator)
            return _compare(column, None if name is None else mirrored(name), literal, schema)
        case {"Function": {"input": [{"Column": column}, *rest], "function": {"Boolean": test}}}:
            return _test(column, test, rest, schema)
        case {"Column": column} if pa.types.is_boolean(schema.field(column).type):
            return compare(column, "==", [True], pa.bool_())
    return UNKNOWN


def _test(column: str, test: Any, rest: list[Any], schema: pa.Schema) -> Condition:
    match test, rest:
        case "IsNull", []:
            return compare(column, "is null", [], schema.field(column).type)
        case "IsNotNull", []:
            return compare(column, "is not null", [], schema.field(column).type)
        case {"IsBetween": {"closed": closed}}, [low, high]:
            lower, upper = _CLOSED[closed]
            bounds = (
                _compare(column, lower, low, schema),
                _compare(column, upper, high, schema),
            )
            return AllOf(bounds)
        case {"IsIn": {"nulls_equal": False}}, [literal]:
            values = _values(literal)
            if values is None or any(map(is_null, values)) or any(map(_is_nan, values)):
                return UNKNOWN
            return compare(column, "in", values, schema.field(column).type)
    return UNKNOWN


def _compare(column: str, operator: str | None, literal: Any, schema: pa.Schema) -> Condition:
    if operator is None:
        return UNKNOWN
    if _may_be_nan(column, schema) and operator not in ("<", "<=", "=="):
        return UNKNOWN  # Polars orders NaN above every number
    values = _values(literal)
    if values is None or len(values) != 1 or is_null(values[0]) or _is_nan(values[0]):
        return UNKNOWN
    return compare(column, operator, values, schema.field(column).type)


def _may_be_nan(column: str, schema: pa.Schema) -> bool:
    return bool(pa.types.is_floating(schema.field(column).type))


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _values(node: Any) -> list[Any] | None:
    """The values of an expression without columns, as Polars evaluates it."""
    import polars as pl

    if "Literal" not in node:
        return None
    series = pl.select(_expression(node)).to_series()
    if isinstance(series.dtype, pl.List | pl.Array):
        series = series.explode()
    # Python's own types stop at microseconds.
    return list(series.to_arrow()) if series.dtype.is_temporal() else series.to_list()
