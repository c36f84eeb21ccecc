"""Differences between two tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.cli.inputs import select_names
from pymosaic.cli.rows import Rows
from pymosaic.cli.values import plain_values
from pymosaic.progress import Meter, Progress

__all__ = ["compare"]


def compare(
    left: Rows,
    right: Rows,
    columns: list[str] | None,
    schema_only: bool,
    progress: Progress | None,
) -> list[dict[str, Any]]:
    """All differences: columns, number of rows, and the values of each column."""
    left_fields = {field.name: field for field in left.schema}
    right_fields = {field.name: field for field in right.schema}
    names = list(dict.fromkeys([*left_fields, *right_fields]))
    wanted = select_names(columns, names) or names
    differences = []
    common = []
    for name in wanted:
        first, second = left_fields.get(name), right_fields.get(name)
        if first is not None and second is not None and first.type.equals(second.type):
            common.append(name)
            if first.nullable == second.nullable:
                continue
        differences.append(
            _difference("column", name, left=_type_text(first), right=_type_text(second))
        )
    if columns is None and not differences and list(left_fields) != list(right_fields):
        differences.append(
            _difference("order", None, left="columns in a different order", right=None)
        )
    if schema_only:
        return differences
    if left.num_rows != right.num_rows:
        differences.append(_difference("rows", None, left=left.num_rows, right=right.num_rows))
    if common:
        differences += _compare_values(left, right, common, progress)
    return differences


def _difference(kind: str, column: str | None, **found: Any) -> dict[str, Any]:
    return {"kind": kind, "column": column, "count": None, "row": None, **found}


def _type_text(field: pa.Field | None) -> str | None:
    if field is None:
        return None
    return str(field.type) + ("" if field.nullable else " not null")


def _compare_values(
    left: Rows, right: Rows, names: list[str], progress: Progress | None
) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    start = 0
    meter = Meter(progress, left.num_rows, "rows")
    for first, second in _aligned(left.batches(names), right.batches(names)):
        for name, first_column, second_column in zip(
            names, first.columns, second.columns, strict=True
        ):
            if first_column.equals(second_column) and not _may_hide_zeros(first_column.type):
                continue
            places = _mismatches(first_column, second_column)
            if not len(places):
                continue
            difference = found.get(name)
            if difference is None:
                place = int(places[0])
                difference = found[name] = _difference(
                    "values",
                    name,
                    left=plain_values(first_column.slice(place, 1))[0],
                    right=plain_values(second_column.slice(place, 1))[0],
                )
                difference |= {"count": 0, "row": start + place}
            difference["count"] += len(places)
        start += first.num_rows
        meter.add(first.num_rows)
    return [found[name] for name in names if name in found]


def _aligned(
    left: Iterator[pa.RecordBatch], right: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Pairs of batches of equal length, until one side has no more rows."""
    first, second = next(left, None), next(right, None)
    while first is not None and second is not None:
        rows = min(first.num_rows, second.num_rows)
        if rows:
            yield first.slice(0, rows), second.slice(0, rows)
        first = first.slice(rows) if rows < first.num_rows else next(left, None)
        second = second.slice(rows) if rows < second.num_rows else next(right, None)


def _may_hide_zeros(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind))


def _mismatches(left: pa.Array, right: pa.Array) -> npt.NDArray[np.intp]:
    """Where two arrays differ. All NaNs are equal, and -0.0 differs from 0.0."""
    if pa.types.is_nested(left.type):
        pairs = zip(plain_values(left), plain_values(right), strict=True)
        return np.flatnonzero([repr(first) != repr(second) for first, second in pairs])
    unlike = pc.xor(left.is_valid(), right.is_valid())
    if pa.types.is_floating(left.type):
        bits = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[left.type.bit_width]
        other = pc.not_equal(left.view(bits), right.view(bits))
        if left.type.bit_width > 16:
            other = pc.and_not(other, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    else:
        other = pc.not_equal(left, right)
    mask = pc.or_(unlike, pc.fill_null(other, False))
    return np.flatnonzero(mask.to_numpy(zero_copy_only=False))
