"""Lines of JSON from the kernel are those that Python's encoder writes."""

from __future__ import annotations

import datetime
import decimal
import json
import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pymosaic.cli.formats.jsonl import json_lines
from pymosaic.cli.values import MANY_COLUMNS, plain_columns, to_json
from pymosaic.kernels.json_rows import JsonRows

ENOUGH = MANY_COLUMNS + 1
INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
UNSIGNED = [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


def expected(batch: pa.RecordBatch) -> str:
    rows = zip(*plain_columns(batch), strict=True)
    return "".join(to_json(dict(zip(batch.schema.names, row, strict=True))) + "\n" for row in rows)


def wide(*columns: pa.Array) -> pa.RecordBatch:
    """A batch of so many columns that the kernel writes it."""
    arrays = [columns[number % len(columns)] for number in range(max(ENOUGH, len(columns)))]
    return pa.record_batch(arrays, [f"column {number}" for number in range(len(arrays))])


def values_of(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_string(kind):
        return st.text(st.characters(exclude_categories=["Cs"]))
    if pa.types.is_float64(kind):
        return st.floats()
    signed = pa.types.is_signed_integer(kind)
    bits = kind.bit_width - signed
    return st.integers(-(1 << bits) if signed else 0, (1 << bits) - 1)


@given(st.data())
def test_values_are_written_as_python_writes_them(data: st.DataObject) -> None:
    kinds = [*INTEGERS, *UNSIGNED, pa.bool_(), pa.float64(), pa.string()]
    rows = data.draw(st.integers(1, 4))
    columns = []
    for kind in kinds:
        values = st.lists(st.none() | values_of(kind), min_size=rows, max_size=rows)
        columns.append(pa.array(data.draw(values), kind))
    batch = wide(*columns)
    assert "".join(json_lines([batch])) == expected(batch)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int64(), [-(1 << 63), (1 << 63) - 1, 0]),
        (pa.uint64(), [(1 << 64) - 1, 0]),
        (pa.float64(), [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e16, 1e300, 3.0]),
        (pa.string(), ["", '"', "\\", "\n", "\x7f", "ü", "\u2028", "\ufeff", "plain", "\x00"]),
    ],
)
def test_values_at_the_edges_of_types(kind: pa.DataType, values: list[Any]) -> None:
    batch = wide(pa.array([*values, None], kind))
    assert "".join(json_lines([batch])) == expected(batch)


def test_types_that_the_kernel_does_not_write_stand_between_the_others() -> None:
    columns = [
        pa.array([1, None]),
        pa.array([decimal.Decimal("1.50"), None]),
        pa.array([0.1, None], pa.float32()),
        pa.array([datetime.date(2024, 5, 31), None]),
        pa.array([[1, None], None]),
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array(["large", None], pa.large_string()),
        pa.nulls(2),
    ]
    batch = wide(*columns)
    assert set(JsonRows(batch, to_json).others) == {
        number for number in range(ENOUGH) if number % len(columns) != 0
    }
    assert "".join(json_lines([batch])) == expected(batch)


def test_rows_of_a_slice() -> None:
    batch = wide(pa.array([1, 2, None, 4]), pa.array(["a", None, "c", "d"])).slice(1, 2)
    assert "".join(json_lines([batch])) == expected(batch)
    assert json.loads("".join(json_lines([batch])).splitlines()[0])["column 0"] == 2


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda rows: rows.line(2, ["{"], {}), IndexError),
        (lambda rows: rows.line(-1, ["{"], {}), IndexError),
        (lambda rows: rows.line(0, [], {}), ValueError),
        (lambda rows: rows.line(0, [b"{"], {}), TypeError),
    ],
)
def test_rows_and_heads_that_the_batch_does_not_have(
    wrong: Callable[[JsonRows], object], error: type[Exception]
) -> None:
    rows = JsonRows(pa.record_batch({"a": [1, 2]}), to_json)
    with pytest.raises(error):
        wrong(rows)


def test_texts_that_are_missing() -> None:
    rows = JsonRows(pa.record_batch({"a": pa.nulls(1)}), to_json)
    with pytest.raises(KeyError):
        rows.line(0, ["{"], {})


@pytest.mark.parametrize(
    ("texts", "error"), [([], ValueError), (["null"] * 4, ValueError), ("null", TypeError)]
)
def test_texts_that_are_not_those_of_the_rows(texts: Any, error: type[Exception]) -> None:
    rows = JsonRows(pa.record_batch({"a": pa.nulls(3)}), to_json)
    with pytest.raises(error):
        rows.line(2, ["{"], {0: texts})
