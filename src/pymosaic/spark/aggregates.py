"""Aggregate functions over all rows of a relation, answered from metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pymosaic.datasets.summary import ColumnSummary
from pymosaic.spark.names import match_names
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.relations import open_relation
from pymosaic.spark.types import spark_type

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["aggregate"]

_MICROSECONDS = {"s": 1_000_000, "ms": 1000, "us": 1}


def aggregate(
    options: SourceOptions, schema: StructType, functions: Sequence[tuple[str, str | None]]
) -> list[str | None] | None:
    """Results of functions, as text; None if metadata does not tell all of them.

    Parameters
    ----------
    options : SourceOptions
        What to read.
    schema : pyspark.sql.types.StructType
        The columns of functions, with the types that Spark takes them to have.
    functions : sequence of (str, str or None)
        ``count``, ``min`` or ``max``, and the column; None for the count of all rows.
    """
    if options.filters is not None or options.ignore_corrupt_files or options.ignore_missing_files:
        return None
    _, dataset = open_relation(options, schema.names)
    if dataset is None:
        return ["0" if name == "count" else None for name, _ in functions]
    matches = match_names(
        schema.names, dataset.schema.names, options.case_sensitive, options.pushed.get("alike", ())
    )
    for field, name in zip(schema.fields, matches, strict=True):
        if name is not None and (
            name in dataset.conflicts
            or spark_type(dataset.schema.field(name).type) != field.dataType
        ):
            return None
    names = [name for name in dict.fromkeys(matches) if name is not None]
    summary = dataset.scan(columns=names).summary()
    if summary is None:
        return None
    found = dict(zip(schema.names, matches, strict=True))
    results: list[str | None] = []
    for function, column in functions:
        if column is None:
            results.append(str(summary.num_rows))
            continue
        name = found[column]
        values = ColumnSummary() if name is None else summary.columns[name]
        if values is None:
            return None
        if function == "count":
            results.append(str(values.num_values))
            continue
        scalar = values.min_scalar if function == "min" else values.max_scalar
        text = None if scalar is None else _text(scalar)
        if scalar is not None and text is None:
            return None
        results.append(text)
    return results


def _text(scalar: pa.Scalar) -> str | None:
    """A value as Spark keeps it inside; None for types whose order Spark sees differently."""
    kinds = pa.types
    value: Any = scalar
    if kinds.is_boolean(scalar.type):
        return str(scalar.as_py()).lower()
    if kinds.is_integer(scalar.type) or kinds.is_string(scalar.type):
        return str(scalar.as_py())
    if kinds.is_decimal(scalar.type):
        return f"{scalar.as_py():f}"
    if kinds.is_date32(scalar.type):
        return str(value.value)
    if kinds.is_timestamp(scalar.type) and scalar.type.unit in _MICROSECONDS:
        return str(value.value * _MICROSECONDS[scalar.type.unit])
    return None
