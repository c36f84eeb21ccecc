"""Partitions that a condition of Spark selects: to replace, to delete, to list.

Unlike a filter of a scan, such a condition must hold exactly: what it selects is removed.
"""

from __future__ import annotations

import datetime
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pymosaic.datasets.commit import WriteJob
from pymosaic.datasets.replacement import ReplacedPartitions, partition_of
from pymosaic.datasets.snapshot import Snapshot
from pymosaic.errors import InvalidOptionError, UnsupportedFeatureError
from pymosaic.io import open_directory
from pymosaic.spark.names import match_names
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.paimon_tables import is_paimon
from pymosaic.spark.partition_inference import typed_value
from pymosaic.spark.predicates import literal_value
from pymosaic.spark.storage import locate
from pymosaic.spark.types import arrow_schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["partitions_that", "remove_partitions"]

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def remove_partitions(
    options: SourceOptions, condition: Sequence[Mapping[str, Any]], schema: StructType
) -> None:
    """Remove the partitions that a condition selects, in one commit and without reading a row."""
    if is_paimon(options):
        raise UnsupportedFeatureError(
            "rows of a Paimon table are deleted with PyPaimon, or replaced by mode overwrite"
        )
    [base], filesystem = locate([options.target], options.storage)
    storage = open_directory(base, filesystem)
    selected = partitions_that(condition, schema, options.case_sensitive, options.zone)
    job = WriteJob.start(storage, mode="append")
    try:
        job.commit([], selected)
    except BaseException:
        job.abort()
        raise


def partitions_that(
    condition: Sequence[Mapping[str, Any]],
    schema: StructType,
    case_sensitive: bool,
    zone: datetime.tzinfo,
) -> ReplacedPartitions:
    """Choose the files of all partitions for which every part of a condition is true.

    Parameters
    ----------
    condition : sequence of dict
        Expressions over partition columns, as the optimizer rule writes them.
    schema : pyspark.sql.types.StructType
        The partition columns, as Spark has them.
    case_sensitive : bool
        Whether column names that differ only in case are different.
    zone : tzinfo
        The zone of timestamps in names of directories that have none.
    """
    types = dict(zip(schema.names, arrow_schema(schema).types, strict=True))

    def select(snapshot: Snapshot) -> Iterable[str]:
        decided: dict[Any, bool] = {}
        chosen = []
        for entry in snapshot.files:
            partition = partition_of(entry.path)
            if partition not in decided:
                keys = match_names([key for key, _ in partition], list(types), case_sensitive)
                values = {
                    key: None
                    if text is None
                    else _comparable(
                        pa.scalar(typed_value(key, text, types[key], zone, entry.path), types[key])
                    )
                    for key, (_, text) in zip(keys, partition, strict=True)
                    if key is not None
                }
                decided[partition] = all(_holds(part, values, types) is True for part in condition)
            if decided[partition]:
                chosen.append(entry.path)
        return chosen

    return select


def _comparable(value: Any) -> Any:
    """A value that Python compares as Spark does: days as numbers, NaN as the greatest."""
    if isinstance(value, pa.Scalar):
        if pa.types.is_timestamp(value.type):
            return value.cast(pa.timestamp("us", value.type.tz)).value
        if pa.types.is_date32(value.type):
            return value.value
        value = value.as_py()
    if isinstance(value, float):
        return (True, 0.0) if math.isnan(value) else (False, value)
    return value


def _holds(
    node: Mapping[str, Any], values: Mapping[str, Any], types: Mapping[str, pa.DataType]
) -> bool | None:
    """Whether an expression is true, false or, in SQL's sense, unknown for a partition."""
    if "type" in node:
        return None if node["value"] is None else bool(node["value"] == "true")
    name: str = node["name"]
    children: Sequence[Mapping[str, Any]] = node["children"]
    if name == "NOT":
        found = _holds(children[0], values, types)
        return None if found is None else not found
    if name in ("AND", "OR"):
        parts = [_holds(child, values, types) for child in children]
        decisive = name == "OR"
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    if name in ("ALWAYS_TRUE", "ALWAYS_FALSE"):
        return name == "ALWAYS_TRUE"
    column: str = next((child["column"] for child in children if "column" in child), "")
    if column not in values:
        raise InvalidOptionError(f"{column!r} is not a partition column; these are {list(values)}")
    operands = [_operand(child, column, values, types[column]) for child in children]
    if name in ("IS_NULL", "IS_NOT_NULL"):
        return (operands[0] is None) == (name == "IS_NULL")
    if name == "<=>":
        return bool(operands[0] == operands[1])
    if name == "IN":
        first, *others = operands
        if first is not None and first in others:
            return True
        return None if first is None or None in others else False
    if name in _COMPARISONS:
        return None if None in operands else _COMPARISONS[name](*operands)
    raise InvalidOptionError(f"a condition on partitions cannot have {name}")


def _operand(
    node: Mapping[str, Any], column: str, values: Mapping[str, Any], arrow_type: pa.DataType
) -> Any:
    if "column" in node:
        return values[node["column"]]
    known, value = literal_value(node, arrow_type)
    if not known:
        raise InvalidOptionError(
            f"column {column!r} of type {arrow_type} cannot be compared with a {node.get('type')}"
        )
    return _comparable(value)
