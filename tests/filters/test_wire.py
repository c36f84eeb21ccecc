"""Filters on their way to another process: every literal arrives as it was."""

from __future__ import annotations

import datetime
import json
import math
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.filters import wire
from pymosaic.filters.literals import WrittenNumber, locate
from pymosaic.filters.tuples import parse_filters

TWO_HOURS = datetime.timezone(datetime.timedelta(hours=2))
LITERALS: list[tuple[Any, pa.DataType]] = [
    (True, pa.bool_()),
    (np.bool_(False), pa.bool_()),
    (0, pa.int64()),
    (10**40, pa.int64()),
    (np.uint8(200), pa.int64()),
    (0.1, pa.float64()),
    (-0.0, pa.float64()),
    (math.inf, pa.float64()),
    (np.float32(0.1), pa.float32()),
    (np.float32(-math.inf), pa.float32()),
    (np.longdouble(1) / 3, pa.float64()),
    (Fraction(1, 3), pa.float64()),
    (Decimal("1.50"), pa.decimal128(10, 2)),
    (WrittenNumber("0.1"), pa.float32()),
    ("Zürich \ud800 '\"\\", pa.string()),
    (b"\x00\xff", pa.binary()),
    (memoryview(b"ab"), pa.binary()),
    (datetime.date(2024, 5, 31), pa.date32()),
    (pa.scalar(-5_000_000, pa.date32()), pa.date32()),
    (datetime.time(23, 59, 0, 1), pa.time64("ns")),
    (pa.scalar(123, pa.time64("ns")), pa.time64("ns")),
    (pa.scalar(123, pa.time32("ms")), pa.time64("ns")),
    (datetime.datetime(2024, 5, 31, 1, 2, 3, 4), pa.timestamp("ns")),
    (datetime.datetime(2024, 5, 31, tzinfo=TWO_HOURS), pa.timestamp("us", "UTC")),
    (pa.scalar(2**62, pa.timestamp("us")), pa.timestamp("us")),
    (pa.scalar(-(2**62), pa.timestamp("ns", "Europe/Berlin")), pa.timestamp("ns", "UTC")),
    (np.datetime64("2024-05-31T00:00:00.000000001"), pa.timestamp("ns")),
    (np.datetime64("2024-05"), pa.date32()),
    (np.datetime64(3, ("s", 25)), pa.timestamp("ms")),
    (pd.Timestamp("2024-05-31 00:00:00.000000001"), pa.timestamp("ns")),
    (pd.Timestamp("2024-05-31 00:00:00.000000001", tz="Asia/Tokyo"), pa.timestamp("ns", "UTC")),
    (pa.scalar(5, pa.int8()), pa.int64()),
    (pa.scalar("x", pa.large_string()), pa.string()),
]


@pytest.mark.parametrize(
    ("literal", "arrow_type"), LITERALS, ids=lambda value: type(value).__name__
)
def test_a_literal_arrives_at_its_place(literal: Any, arrow_type: pa.DataType) -> None:
    expected = locate(literal, arrow_type)
    assert expected is not None
    [[[column, operator, found]]] = wire.loads(wire.dumps([[("x", "==", literal)]]))
    assert (column, operator) == ("x", "==")
    assert locate(found, arrow_type) == expected
    [[predicate]] = parse_filters([("x", "in", [literal, None])]).conjunctions  # type: ignore[union-attr]
    copy = pickle.loads(pickle.dumps(predicate))
    assert copy.has_null
    assert [locate(value, arrow_type) for value in copy.values] == [expected]


def test_nan_arrives() -> None:
    [[[_, _, found]]] = wire.loads(wire.dumps([[("x", "==", math.nan)]]))
    assert math.isnan(found)


def test_a_pickled_filter_is_small_and_keeps_its_rows() -> None:
    row_filter = parse_filters(pymosaic.parse_filter("x = 0.1 or y in (1, 2, null) and z is null"))
    assert row_filter is not None
    plain = pickle.dumps(row_filter)
    x, y = pa.array([0.1, 0.5, None], pa.float32()), pa.array([2, 1, 1], pa.int8())
    batch = pa.record_batch({"x": x, "y": y, "z": pa.array([None, 1, None], pa.int8())})
    expected = row_filter.mask(batch).to_pylist()
    assert expected == [True, False, True]
    # What was bound to types of columns does not travel.
    assert pickle.dumps(row_filter) == plain
    copy = pickle.loads(plain)
    assert copy == row_filter
    assert copy.mask(batch).to_pylist() == expected


def test_what_is_not_a_literal_is_refused() -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match="cannot be sent"):
        wire.dumps([[("x", "==", object())]])


@pytest.mark.parametrize(
    "literal",
    [
        {"type": "decimal", "value": "abc"},
        {"type": "decimal"},
        {"type": "binary", "value": "%"},
        {"type": "timestamp", "value": 5},
        {"type": "timestamp", "value": 5, "unit": "h"},
        {"type": "timestamp", "value": 2**64, "unit": "s"},
        {"type": "time", "value": 5, "unit": "h"},
        {"type": "date", "value": "2024-31-05"},
        {"type": "date", "value": None},
        {"type": "datetime64", "value": 5},
        {"type": "datetime64", "value": 5, "unit": "x"},
        {"type": "fraction", "value": "1/0"},
        {"type": "number", "value": []},
        {"type": "money", "value": "5"},
        {"value": "5"},
    ],
)
def test_a_wrong_literal_is_refused_with_its_text(literal: object) -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match=r"^filters: .*literal"):
        wire.loads(json.dumps([["x", "==", literal]]))
