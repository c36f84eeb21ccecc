from __future__ import annotations

import datetime
import itertools
import math
import operator
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pymosaic.arrow.statistics import ColumnStatistics
from pymosaic.errors import ColumnNotFoundError, InvalidOptionError
from pymosaic.filters.literals import plain
from pymosaic.filters.residual import residual_filter
from pymosaic.filters.row_filter import Filter
from pymosaic.filters.tuples import parse_filters

NAN, INF = math.nan, math.inf
UTC = datetime.UTC
DAY = datetime.date(2024, 5, 31)
NOON = datetime.datetime(2024, 5, 31, 12)
NOON_UTC = NOON.replace(tzinfo=UTC)
TOKYO = datetime.timezone(datetime.timedelta(hours=9))


def parsed(filters: object) -> Filter:
    result = parse_filters(filters)
    assert result is not None
    return result


def kept(filters: object, **columns: pa.Array) -> list[Any]:
    """The mask as a list, after the checks that hold for every mask."""
    found = parsed(filters)
    found.validate({name: column.type for name, column in columns.items()})
    mask = found.mask(columns)
    assert mask.type == pa.bool_()
    assert mask.null_count == 0
    return mask.to_pylist()


def column_of(arrow_type: pa.DataType, *values: object) -> pa.Array:
    return pa.array(values, arrow_type)


# Parsing


def test_no_filter() -> None:
    assert parse_filters(None) is None


def test_columns_are_named_once_in_order() -> None:
    filters = [[("b", "=", 1), ("a", "<", 2)], [("b", "is null"), ("c", "in", [1])]]
    assert parsed(filters).columns == ("b", "a", "c")


@pytest.mark.parametrize(
    "filters",
    [
        [("x", ">", 1), ("x", "<", 4)],
        (("x", ">", 1), ("x", "<", 4)),
        [[("x", ">", 1), ("x", "<", 4)]],
        [["x", ">", 1], ["x", "<", 4]],
        [[["x", ">", 1], ["x", "<", 4]]],
        [("x", ">", 1), ("x", " < ", 4)],
    ],
)
def test_forms_of_a_conjunction(filters: object) -> None:
    assert kept(filters, x=pa.array([1, 2, 3, 4])) == [False, True, True, False]


def test_disjunction_of_conjunctions() -> None:
    filters = [[("x", ">", 2), ("y", "==", "a")], [("x", "==", 1)]]
    x, y = pa.array([1, 2, 3, 4]), pa.array([None, "a", "a", "b"])
    assert kept(filters, x=x, y=y) == [True, False, True, False]


@pytest.mark.parametrize(
    ("name", "literal", "expected"),
    [
        ("=", 2, [False, True, False, False]),
        ("==", 2, [False, True, False, False]),
        ("!=", 2, [True, False, True, False]),
        ("<", 2, [True, False, False, False]),
        ("<=", 2, [True, True, False, False]),
        (">", 2, [False, False, True, False]),
        (">=", 2, [False, True, True, False]),
        ("in", [1, 3], [True, False, True, False]),
        ("IN", (1, 3), [True, False, True, False]),
        ("in", {1, 3}, [True, False, True, False]),
        ("in", range(1, 3), [True, True, False, False]),
        ("in", np.array([1, 3]), [True, False, True, False]),
        ("in", pa.array([1, None]), [True, False, False, False]),
        ("in", pa.chunked_array([[1], [3]]), [True, False, True, False]),
        ("in", pd.Series([1, 3]), [True, False, True, False]),
        ("in", (value for value in (1, 3)), [True, False, True, False]),
        ("in", [], [False, False, False, False]),
        ("in", [None], [False, False, False, False]),
        ("in", [1, None], [True, False, False, False]),
        ("not in", [1, 3], [False, True, False, False]),
        ("Not  In", [1], [False, True, True, False]),
        ("not in", [1, None], [False, False, False, False]),
        ("not in", [1, pd.NA], [False, False, False, False]),
        ("not in", [None], [False, False, False, False]),
        ("not in", [], [True, True, True, True]),
        ("is null", None, [False, False, False, True]),
        ("IS NULL", True, [False, False, False, True]),
        ("is not null", None, [True, True, True, False]),
    ],
)
def test_operators(name: str, literal: object, expected: list[bool]) -> None:
    assert kept([("x", name, literal)], x=pa.array([1, 2, 3, None])) == expected


def test_null_tests_take_no_literal() -> None:
    assert kept([("x", "is null")], x=pa.array([1, None])) == [False, True]
    assert kept([("x", "is not null")], x=pa.array([1, None])) == [True, False]


@pytest.mark.parametrize(
    ("filters", "reason"),
    [
        ([], "empty list; use None"),
        ((), "empty list; use None"),
        ([[]], "expected a list of conditions"),
        ([[("x", ">", 1)], []], "expected a list of conditions"),
        (("x", ">", 1), "single condition"),
        (42, "got 42"),
        ({"x": 1}, "got {'x': 1}"),
        (5, "got 5"),
        ([5], "got 5"),
        ([("x", ">", 1), [("y", ">", 1)]], "expected a condition"),
        ([[("x", ">", 1)], ("y", ">", 1)], "expected a condition"),
        ([(1, ">", 1)], "expected a condition"),
        ([("x", 1, 1)], "expected a condition"),
        ([("x",)], "expected a condition"),
        ([("x", ">", 1, 2)], "expected a condition"),
        ([("x", ">")], "has no literal"),
        ([("x", "~", 1)], "'~' is not an operator; the operators are =, ==, !="),
        ([("x", "is", None)], "'is' is not an operator"),
        ([("x", "is null", False)], "takes no literal"),
        ([("x", "in", "abc")], "takes a list of literals, got 'abc'"),
        ([("x", "in", b"abc")], "takes a list of literals"),
        ([("x", "not in", 5)], "takes a list of literals, got 5"),
        ([("x", "in", {1: 2})], "takes a list of literals"),
        (pc.field("x") > 1, "expressions are not supported here"),
        ([pc.field("x") > 1], "expected a list of conditions"),
    ],
)
def test_malformed_filters_are_refused_with_an_example(filters: object, reason: str) -> None:
    with pytest.raises(InvalidOptionError) as caught:
        parse_filters(filters)
    message = str(caught.value)
    assert message.startswith("filters: ")
    assert reason in message
    assert 'write filters=[("age", ">", 50)' in message


@pytest.mark.parametrize(
    "null", [None, pa.scalar(None, pa.int64()), pd.NA, pd.NaT, np.datetime64("NaT")]
)
@pytest.mark.parametrize("name", ["=", "==", "!=", "<", "<=", ">", ">="])
def test_comparison_with_null_points_to_null_tests(name: str, null: object) -> None:
    with pytest.raises(InvalidOptionError, match=r"\('x', 'is null'\)"):
        parse_filters([("x", name, null)])


def test_a_huge_wrong_filter_gives_a_short_message() -> None:
    with pytest.raises(InvalidOptionError) as caught:
        parse_filters(("x", "in", list(range(100_000))))
    assert len(str(caught.value)) < 400


def test_filters_survive_pickling() -> None:
    found = parsed([("x", ">", 1)])
    array = pa.array([1, 2])
    found.mask({"x": array})
    assert pickle.loads(pickle.dumps(found)).mask({"x": array}).to_pylist() == [False, True]


def test_record_batches_and_slices_are_taken() -> None:
    batch = pa.record_batch({"x": [0, 1, 2, None], "s": ["a", "b", "c", "d"]}).slice(1)
    assert parsed([("x", ">=", 1), ("s", ">", "b")]).mask(batch).to_pylist() == [False, True, False]


@pytest.mark.parametrize("filters", [[("x", ">", 1)], [("x", "in", [])], [("x", "is null")]])
def test_no_rows(filters: object) -> None:
    assert kept(filters, x=pa.array([], pa.int64())) == []


# Literals

BIG, HUGE = 2**53, 10**400


@pytest.mark.parametrize(
    ("column", "name", "literal", "expected"),
    [
        # Beyond the range of the type.
        (column_of(pa.int8(), -128, 127), "<", 1000, [True, True]),
        (column_of(pa.int8(), -128, 127), ">", 1000, [False, False]),
        (column_of(pa.int8(), -128, 127), ">=", -1000, [True, True]),
        (column_of(pa.int8(), -128, 127), "<=", -1000, [False, False]),
        (column_of(pa.int8(), -128, 127), "==", 1000, [False, False]),
        (column_of(pa.int8(), -128, 127), "<", HUGE, [True, True]),
        (column_of(pa.int8(), -128, None), "!=", 1000, [True, False]),
        (column_of(pa.int8(), -128, 127), "in", [1000, 127], [False, True]),
        (column_of(pa.int8(), -128, 127), "not in", [1000, 127], [True, False]),
        (column_of(pa.int64(), 2**63 - 1), "<", 2.0**63, [True]),
        (column_of(pa.int64(), -(2**63)), ">=", -(2.0**63), [True]),
        (column_of(pa.uint32(), 0, 2**32 - 1), ">", -1, [True, True]),
        # Between two values, and beyond the precision of floats.
        (column_of(pa.int32(), 2, 3), "<", 2.5, [True, False]),
        (column_of(pa.int32(), 2, 3), ">=", 2.5, [False, True]),
        (column_of(pa.int32(), -3, -2), "<=", -2.5, [True, False]),
        (column_of(pa.int32(), 2, 3), "==", 2.5, [False, False]),
        (column_of(pa.int32(), 2, 3), "!=", 2.5, [True, True]),
        (column_of(pa.int32(), 2, 3), "==", 2.0, [True, False]),
        (column_of(pa.int64(), BIG, BIG + 1, BIG + 2), "==", float(BIG), [True, False, False]),
        (column_of(pa.int64(), BIG, BIG + 1, BIG + 2), "<=", float(BIG), [True, False, False]),
        (column_of(pa.float64(), 2.0**53, 2.0**53 + 2), "==", BIG + 1, [False, False]),
        (column_of(pa.float64(), 2.0**53, 2.0**53 + 2), "<", BIG + 1, [True, False]),
        (column_of(pa.int32(), 2, 3), "<", Fraction(5, 2), [True, False]),
        (column_of(pa.int32(), 2, 3), "<", Decimal("2.5"), [True, False]),
        # Infinities and NaN.
        (column_of(pa.int32(), 2, None), "<", INF, [True, False]),
        (column_of(pa.int32(), 2, None), "<", -INF, [False, False]),
        (column_of(pa.int32(), 2, None), "<", Decimal("Infinity"), [True, False]),
        (column_of(pa.int32(), 2, None), ">", NAN, [False, False]),
        (column_of(pa.int32(), 2, None), "!=", NAN, [True, False]),
        (column_of(pa.int32(), 2, None), "!=", Decimal("sNaN"), [True, False]),
        (column_of(pa.float64(), NAN, INF, 1.0), "==", NAN, [False, False, False]),
        (column_of(pa.float64(), NAN, INF, None), "!=", NAN, [True, True, False]),
        (column_of(pa.float64(), NAN, INF, 1.0), "in", [NAN, 1.0], [False, False, True]),
        (column_of(pa.float64(), NAN, INF, None), "not in", [NAN, 1.0], [True, True, False]),
        (column_of(pa.float64(), NAN, 5.0), "!=", 5, [True, False]),
        (column_of(pa.float64(), NAN, 5.0), ">=", -INF, [False, True]),
        (column_of(pa.float64(), INF, -INF, 1e308), "<", HUGE, [False, True, True]),
        (column_of(pa.float64(), INF, -INF, 1e308), ">", HUGE, [True, False, False]),
        (column_of(pa.float64(), INF, -INF, 1e308), ">", -HUGE, [True, False, True]),
        (column_of(pa.float32(), INF, 3e38), "<", 1e300, [False, True]),
        # The two zeros.
        (column_of(pa.float64(), 0.0, -0.0, 1.0), "==", 0, [True, True, False]),
        (column_of(pa.float64(), 0.0, -0.0, 1.0), "in", [-0.0, 5], [True, True, False]),
        (column_of(pa.float64(), 0.0, -0.0, 1.0), "not in", [0.0, 5], [False, False, True]),
        (column_of(pa.float32(), 0.0, -0.0, 1.0), "<", -0.0, [False, False, False]),
        # The double 0.1 is no float.
        (column_of(pa.float32(), 0.1), "==", 0.1, [False]),
        (column_of(pa.float32(), 0.1), ">", 0.1, [True]),
        (column_of(pa.float32(), 0.1), "==", np.float32(0.1), [True]),
        (column_of(pa.float64(), 0.1), "==", Decimal("0.1"), [False]),
        # Decimals, negative scales and the ends of the precision included.
        (column_of(pa.decimal128(5, 2), Decimal("1.25")), "==", 1.25, [True]),
        (column_of(pa.decimal128(5, 2), Decimal("1.25")), "<", Decimal("1.251"), [True]),
        (column_of(pa.decimal128(5, 2), Decimal("0.10")), "==", 0.1, [False]),
        (column_of(pa.decimal128(5, 2), Decimal("999.99")), "<", HUGE, [True]),
        (column_of(pa.decimal128(5, 2), Decimal("2.00")), "in", [2, 7], [True]),
        (column_of(pa.decimal128(5, -3), Decimal("7E+3")), "==", 7000, [True]),
        (column_of(pa.decimal128(5, -3), Decimal("7E+3")), "<", 7001, [True]),
        (column_of(pa.decimal128(38, 0), Decimal(10**38 - 1)), ">=", 10**38 - 1, [True]),
        # Numbers of other libraries.
        (column_of(pa.int8(), 1, 2), ">", np.int64(1), [False, True]),
        (column_of(pa.int8(), 1, 2), ">", np.float16(1.5), [False, True]),
        (column_of(pa.int8(), 1, 2), ">", np.longdouble("1.5"), [False, True]),
        (column_of(pa.int8(), 1, 2), ">", pa.scalar(1, pa.int64()), [False, True]),
        (column_of(pa.int8(), 1, 2), ">", pa.scalar(Decimal("1.5")), [False, True]),
        # Booleans, text, bytes.
        (column_of(pa.bool_(), True, False, None), "==", True, [True, False, False]),
        (column_of(pa.bool_(), True, False, None), "<", np.True_, [False, True, False]),
        (column_of(pa.bool_(), True, False), "in", [True, False], [True, True]),
        (column_of(pa.string(), "z", "é"), "<", "é", [True, False]),
        (column_of(pa.string(), "\uffff", "\U00010000"), ">", "\uffff", [False, True]),
        (column_of(pa.string(), "a", ""), "==", np.str_("a"), [True, False]),
        (column_of(pa.string(), "a", ""), "in", [pa.scalar("a"), "\ud800"], [True, False]),
        (column_of(pa.string(), "a", "\U00010000"), "<", "\ud800", [True, False]),
        (column_of(pa.binary(), b"a", b"\xff"), ">", b"a\x00", [False, True]),
        (column_of(pa.binary(), b"a", b"\xff"), "==", bytearray(b"a"), [True, False]),
        # Dates.
        (column_of(pa.date32(), DAY), "==", DAY, [True]),
        (column_of(pa.date32(), DAY), "==", "2024-05-31", [True]),
        (column_of(pa.date32(), DAY), "<", NOON, [True]),
        (column_of(pa.date32(), DAY), "==", NOON, [False]),
        (column_of(pa.date32(), DAY), "==", np.datetime64("2024-05-31"), [True]),
        (column_of(pa.date32(), DAY), "<", np.datetime64("2024-06"), [True]),
        (column_of(pa.date32(), DAY), "==", pd.Timestamp("2024-05-31"), [True]),
        (column_of(pa.date32(), DAY), "==", pa.scalar(DAY), [True]),
        (column_of(pa.date32(), 2**31 - 1), ">", DAY, [True]),
        # Times.
        (column_of(pa.time32("ms"), 1500), "==", datetime.time(0, 0, 1, 500_000), [True]),
        (column_of(pa.time32("ms"), 1500), "<", datetime.time(0, 0, 1, 500_001), [True]),
        (column_of(pa.time32("ms"), 1500), "==", "00:00:01.5", [True]),
        (column_of(pa.time32("ms"), 1500), "<", "00:00:01.500000001", [True]),
        (column_of(pa.time32("ms"), 1500), "in", [pa.scalar(1500, pa.time32("ms"))], [True]),
        # Timestamps without and with time zone.
        (column_of(pa.timestamp("ms"), NOON), "==", NOON, [True]),
        (column_of(pa.timestamp("ms"), NOON), ">", DAY, [True]),
        (column_of(pa.timestamp("ms"), NOON), "==", "2024-05-31 12:00", [True]),
        (column_of(pa.timestamp("ms"), NOON), "<", "2024-05-31T12:00:00.0000000001", [True]),
        (column_of(pa.timestamp("ns"), 1), "==", "1970-01-01T00:00:00.000000001", [True]),
        (column_of(pa.timestamp("ns"), 1), "==", np.datetime64(1, "ns"), [True]),
        (column_of(pa.timestamp("ns"), 1), "<", np.datetime64(1001, "ps"), [True]),
        (column_of(pa.timestamp("ns"), 1), "==", pd.Timestamp(1), [True]),
        (column_of(pa.timestamp("ns"), 1), "<", datetime.datetime(9999, 1, 1), [True]),
        (
            column_of(pa.timestamp("ns"), 1),
            "in",
            [datetime.datetime(9999, 1, 1), "1970-01-01"],
            [False],
        ),
        (column_of(pa.timestamp("us", "UTC"), NOON_UTC), "==", NOON_UTC, [True]),
        (column_of(pa.timestamp("us", "UTC"), NOON_UTC), "==", NOON_UTC.astimezone(TOKYO), [True]),
        (column_of(pa.timestamp("us", "UTC"), NOON_UTC), "==", "2024-05-31T12:00:00Z", [True]),
        (
            column_of(pa.timestamp("us", "UTC"), NOON_UTC),
            "<",
            "2024-05-31T14:00:00.5+02:00",
            [True],
        ),
        (
            column_of(pa.timestamp("us", "Asia/Tokyo"), NOON_UTC),
            "==",
            pd.Timestamp(NOON_UTC),
            [True],
        ),
        (column_of(pa.timestamp("us", "UTC"), NOON_UTC), "==", pa.scalar(NOON_UTC), [True]),
        (column_of(pa.timestamp("us", "No/Zone"), 5), ">", NOON_UTC, [False]),
    ],
)
def test_literals(column: pa.Array, name: str, literal: object, expected: list[bool]) -> None:
    assert kept([("x", name, literal)], x=column) == expected


def test_results_agree_with_pyarrow_where_it_compares() -> None:
    floats = pa.array([NAN, INF, -INF, 0.0, -0.0, 1.5, None])
    for literal in (0.0, -0.0, 1.5, INF, NAN):
        for name, compare in (("==", pc.equal), ("!=", pc.not_equal), ("<", pc.less)):
            expected = pc.fill_null(compare(floats, literal), False).to_pylist()
            assert kept([("x", name, literal)], x=floats) == expected


@pytest.mark.parametrize(
    ("arrow_type", "literal", "wanted"),
    [
        (pa.int8(), "50", "a number"),
        (pa.int8(), True, "a number"),
        (pa.int8(), [1], "a number"),
        (pa.int8(), pa.scalar(1001, pa.timestamp("ns")), "a number"),
        (pa.float64(), DAY, "a number"),
        (pa.decimal128(5, 2), "1.25", "a number"),
        (pa.bool_(), 1, "True or False"),
        (pa.bool_(), "true", "True or False"),
        (pa.string(), 5, "a str"),
        (pa.string(), b"a", "a str"),
        (pa.binary(), "a", "bytes"),
        (pa.date32(), 19000, "a datetime.date"),
        (pa.date32(), "31.05.2024", "ISO text such as '2024-05-31'"),
        (pa.date32(), "yesterday", "ISO text such as '2024-05-31'"),
        (pa.date32(), NOON_UTC, "a datetime.date"),
        (pa.time32("ms"), 5, "a datetime.time"),
        (pa.time32("ms"), "noon", "a datetime.time"),
        (pa.time32("ms"), NOON, "a datetime.time"),
        (pa.time32("ms"), datetime.time(1, tzinfo=UTC), "without time zone"),
        (pa.timestamp("us"), 5, "a datetime without time zone"),
        (pa.timestamp("us"), NOON_UTC, "a datetime without time zone"),
        (pa.timestamp("us"), "2024-05-31T12:00:00Z", "a datetime without time zone"),
        (pa.timestamp("us"), "2024-05-31T12.5", "ISO text"),
        (pa.timestamp("us"), "20240531T120000.1234567", "ISO text"),
        (pa.timestamp("us", "UTC"), NOON, "a datetime with a time zone"),
        (pa.timestamp("us", "UTC"), DAY, "a datetime with a time zone"),
        (pa.timestamp("us", "UTC"), np.datetime64("2024-05-31"), "with a time zone"),
        (
            pa.timestamp("us", "UTC"),
            "2024-05-31T12:00:00",
            "ISO text such as '2024-05-31T23:59:00+00",
        ),
        (pa.timestamp("us", "UTC"), pa.scalar(NOON), "with a time zone"),
    ],
)
@pytest.mark.parametrize("name", ["==", "in"])
def test_a_literal_that_cannot_be_compared_is_refused_early(
    arrow_type: pa.DataType, literal: object, wanted: str, name: str
) -> None:
    found = parsed([("ok", "is null"), ("x", name, [literal] if name == "in" else literal)])
    with pytest.raises(InvalidOptionError) as caught:
        found.validate({"x": arrow_type, "ok": pa.int8()})
    message = str(caught.value)
    assert message.startswith(
        f"filters: column 'x' has type {arrow_type} and must be compared with "
    )
    assert wanted in message
    assert message.endswith(f"got {plain(literal)!r}")


@pytest.mark.parametrize(
    "arrow_type", [pa.list_(pa.int8()), pa.map_(pa.string(), pa.int8()), pa.struct([])]
)
def test_nested_columns_take_null_tests_only(arrow_type: pa.DataType) -> None:
    column = pa.array([None, []] if not pa.types.is_struct(arrow_type) else [None, {}], arrow_type)
    assert kept([("x", "is null")], x=column) == [True, False]
    assert kept([("x", "is not null")], x=column) == [False, True]
    for name, literal in (("==", []), ("in", [1]), ("in", []), ("not in", [])):
        with pytest.raises(InvalidOptionError, match=r"'x'.* supports only null tests"):
            parsed([("x", name, literal)]).validate({"x": arrow_type})


def test_validate_names_a_column_that_is_not_there() -> None:
    with pytest.raises(ColumnNotFoundError, match="filters: no column is named 'y'"):
        parsed([("y", "is null")]).validate({"x": pa.int8()})


# Pruning by statistics


def statistics_with(
    low: object, high: object, arrow_type: pa.DataType, null_count: int = 0
) -> ColumnStatistics:
    return ColumnStatistics(null_count, 10, pa.scalar(low, arrow_type), pa.scalar(high, arrow_type))


I32, F64, STR = pa.int32(), pa.float64(), pa.string()


@pytest.mark.parametrize(
    ("statistics", "name", "literal", "expected"),
    [
        (statistics_with(5, 9, I32), "==", 4, True),
        (statistics_with(5, 9, I32), "==", 5, False),
        (statistics_with(5, 9, I32), "==", 9, False),
        (statistics_with(5, 9, I32), "==", 10, True),
        (statistics_with(5, 9, I32), "==", 6.5, True),
        (statistics_with(5, 9, I32), "==", 10**30, True),
        (statistics_with(5, 9, I32), "<", 5, True),
        (statistics_with(5, 9, I32), "<", 5.5, False),
        (statistics_with(5, 9, I32), "<=", 5, False),
        (statistics_with(5, 9, I32), "<=", 4.9, True),
        (statistics_with(5, 9, I32), ">", 9, True),
        (statistics_with(5, 9, I32), ">", 8.5, False),
        (statistics_with(5, 9, I32), ">=", 9, False),
        (statistics_with(5, 9, I32), ">=", 9.1, True),
        (statistics_with(5, 9, I32), "<", -INF, True),
        (statistics_with(5, 9, I32), "<", INF, False),
        (statistics_with(5, 9, I32), "<", NAN, True),
        (statistics_with(5, 9, I32), "!=", NAN, False),
        (statistics_with(5, 9, I32), "!=", 5, False),
        (statistics_with(5, 5, I32), "!=", 5, True),
        (statistics_with(5, 5, I32, 3), "!=", 5, True),
        (statistics_with(5, 5, I32), "!=", 6, False),
        (statistics_with(5, 9, I32), "in", [1, 4, 10], True),
        (statistics_with(5, 9, I32), "in", [1, 7, 10], False),
        (statistics_with(5, 9, I32), "in", [5.5, None], True),
        (statistics_with(5, 5, I32), "not in", [4, 5], True),
        (statistics_with(5, 6, I32), "not in", [5, 6], False),
        (statistics_with(5, 9, I32), "not in", [], False),
        (statistics_with(5, 9, I32), "is null", None, True),
        (statistics_with(5, 9, I32, 1), "is null", None, False),
        (statistics_with(5, 9, I32, 9), "is not null", None, False),
        # A NaN may hide among floats.
        (statistics_with(5.0, 5.0, F64), "!=", 5, False),
        (statistics_with(5.0, 5.0, F64), "not in", [5, 6], False),
        (statistics_with(5.0, 5.0, F64), "==", 6, True),
        (statistics_with(5.0, 5.0, F64), ">", 5, True),
        (statistics_with(5.0, 5.0, F64), ">=", NAN, True),
        (statistics_with(-0.0, -0.0, F64), "==", 0.0, False),
        (statistics_with(-0.0, -0.0, F64), "in", [0, 9], False),
        (statistics_with(0.0, 0.0, F64), "<", -0.0, True),
        (statistics_with(-INF, INF, F64), "==", HUGE, True),
        (statistics_with(-INF, INF, F64), ">", HUGE, False),
        (statistics_with("a", "z", STR), "==", "é", True),
        (statistics_with("a", "é", STR), ">", "z", False),
        (statistics_with("\uffff", "\U00010000", STR), ">", "\U00010000", True),
        (statistics_with(False, False, pa.bool_()), "==", True, True),
        (statistics_with(False, False, pa.bool_()), "!=", False, True),
        (statistics_with(False, True, pa.bool_()), "==", True, False),
        (statistics_with(DAY, DAY, pa.date32()), ">", "2024-05-31", True),
        (statistics_with(DAY, DAY, pa.date32()), "<", NOON, False),
        (statistics_with(NOON, NOON, pa.timestamp("ns")), "<", "2024-05-31T12:00", True),
        (statistics_with(1, 2, pa.decimal128(5, 2)), "==", 3, True),
        (statistics_with(1, 2, pa.decimal128(5, 2)), "==", 1.5, False),
        # Doubtful or missing minimum and maximum, and nulls only.
        (ColumnStatistics(1, 10), "==", 5, False),
        (ColumnStatistics(0, 10), "is null", None, True),
        (ColumnStatistics(10, 10), "==", 5, True),
        (ColumnStatistics(10, 10), "!=", 5, True),
        (ColumnStatistics(10, 10), "not in", [5], True),
        (ColumnStatistics(10, 10), "not in", [], False),
        (ColumnStatistics(10, 10), "is null", None, False),
        (ColumnStatistics(10, 10), "is not null", None, True),
        # What no value passes needs no statistics.
        (None, "==", 5, False),
        (None, "is null", None, False),
        (None, "is not null", None, False),
        (None, "in", [], True),
        (None, "in", [None], True),
        (None, "not in", [5, None], True),
        (None, "not in", [], False),
    ],
)
def test_excludes(
    statistics: ColumnStatistics | None, name: str, literal: object, expected: bool
) -> None:
    assert parsed([("x", name, literal)]).excludes(lambda column: statistics, 10) is expected


def test_one_impossible_condition_excludes_a_conjunction_all_a_disjunction() -> None:
    statistics = {"x": statistics_with(5, 9, I32)}
    impossible, possible = ("x", ">", 9), ("y", "==", 1)
    assert parsed([possible, impossible]).excludes(statistics.get, 10)
    assert parsed([[possible, impossible], [impossible]]).excludes(statistics.get, 10)
    assert not parsed([[possible], [impossible]]).excludes(statistics.get, 10)


def test_a_row_group_without_rows_is_excluded() -> None:
    assert parsed([("x", "is null")]).excludes(lambda column: None, 0)


@pytest.mark.parametrize(
    ("statistics", "name", "literal", "expected"),
    [
        (statistics_with(5, 9, I32), ">=", 5, True),
        (statistics_with(5, 9, I32), ">", 5, False),
        (statistics_with(5, 9, I32), "<", 9.5, True),
        (statistics_with(5, 9, I32), "<=", 8, False),
        (statistics_with(5, 9, I32, 1), "<", 10, False),
        (statistics_with(5, 5, I32), "==", 5, True),
        (statistics_with(5, 6, I32), "in", [5, 6], False),
        (statistics_with(5, 9, I32), "!=", 10, True),
        (statistics_with(5, 9, I32), "not in", [4, 10], True),
        (statistics_with(5, 9, I32), "not in", [4, 7], False),
        (statistics_with(5, 9, I32), "is not null", None, True),
        (statistics_with(5, 9, I32, 1), "is not null", None, False),
        (ColumnStatistics(10, 10), "is null", None, True),
        (ColumnStatistics(0, 10), ">", 1, False),
        # A NaN may hide among floats.
        (statistics_with(5.0, 9.0, F64), ">", 1, False),
        (statistics_with(5.0, 9.0, F64), "!=", 1, True),
        (None, ">", 1, False),
        (None, "not in", [], True),
    ],
)
def test_covers(
    statistics: ColumnStatistics | None, name: str, literal: object, expected: bool
) -> None:
    assert parsed([("x", name, literal)]).covers(lambda column: statistics, 10) is expected


def test_one_certain_alternative_covers() -> None:
    statistics = {"x": statistics_with(5, 9, I32)}
    certain, open_question = ("x", ">", 4), ("y", "==", 1)
    assert parsed([[open_question], [certain]]).covers(statistics.get, 10)
    assert not parsed([certain, open_question]).covers(statistics.get, 10)


@pytest.mark.parametrize(
    ("filters", "text"),
    [
        ([("a", ">", 5), ("b", "=", "x")], "a > 5 and b == 'x'"),
        ([[("a", "in", [1, None])], [("b", "is null")]], "(a in [1, None]) or (b is null)"),
        ([("a", "==", pa.scalar(5))], "a == 5"),
    ],
)
def test_a_filter_as_text(filters: object, text: str) -> None:
    assert str(parsed(filters)) == text


# Against a plain-Python evaluation in three-valued logic


@dataclass(frozen=True)
class Kind:
    """A column type: raw values, and literals as (what the user writes, its raw value).

    Raw values compare exactly with Python's own operators.
    """

    arrow_type: pa.DataType
    raw_values: st.SearchStrategy[Any]
    literals: st.SearchStrategy[tuple[Any, Any]]
    to_arrow: Callable[[Any], Any] = lambda raw: raw
    to_literal: Callable[[Any], Any] = lambda raw: raw


def same(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, Any]]:
    return strategy.map(lambda value: (value, value))


SMALL = st.integers(-3, 3)
POWERS = st.sampled_from([sign * 2**bits + step for sign in (1, -1) for bits in (7, 31, 53, 63, 64)
                          for step in (-1, 0, 1)])  # fmt: skip
ANY_FLOAT = st.one_of(st.sampled_from([0.0, -0.0, NAN, INF, -INF, 0.5, -2.5, 1.0]), st.floats())
FLOAT32 = st.one_of(st.sampled_from([0.0, -0.0, NAN, INF, 0.5, 1.0]), st.floats(width=32))
CENTS = SMALL.map(lambda cents: Decimal(cents) / 100)
DECIMALS = st.one_of(CENTS, st.decimals(-(10**9), 10**9, places=4))
NUMBERS = st.one_of(
    same(st.one_of(SMALL, POWERS, ANY_FLOAT, DECIMALS)),
    SMALL.map(lambda value: (np.int16(value), value)),
    SMALL.map(lambda value: (pa.scalar(value), value)),
    FLOAT32.map(lambda value: (np.float32(value), value)),
)
EPOCH = datetime.datetime(1970, 1, 1)
MICROS = st.one_of(SMALL, st.integers(-(10**15), 10**15))
NANOS = st.one_of(SMALL, SMALL.map(lambda step: step * 1000), st.integers(-(2**62), 2**62))
DAYS = st.one_of(SMALL, st.integers(-(10**5), 10**5))


def moment(micros: int) -> datetime.datetime:
    return EPOCH + datetime.timedelta(microseconds=micros)


def integers(arrow_type: pa.DataType) -> Kind:
    bits = arrow_type.bit_width - 1
    whole = st.integers(-(2**bits), 2**bits - 1)
    edges = POWERS.filter(lambda value: -(2**bits) <= value < 2**bits)
    return Kind(arrow_type, st.one_of(SMALL, edges, whole), NUMBERS)


def unscaled(precision: int, scale: int) -> Kind:
    bound = 10**precision - 1
    raw = st.one_of(SMALL, st.integers(-bound, bound)).map(
        lambda value: Decimal((int(value < 0), Decimal(abs(value)).as_tuple().digits, -scale))
    )
    return Kind(pa.decimal128(precision, scale), raw, st.one_of(NUMBERS, same(raw)))


TEXT = st.one_of(st.sampled_from(["", "a", "é", "\uffff", "\U00010000"]), st.text(max_size=3))
DAY_MICROS = 86_400 * 10**6
MIDNIGHTS = DAYS.map(lambda day: day * DAY_MICROS)
ZONES = st.integers(-12, 12).map(lambda hours: datetime.timezone(datetime.timedelta(hours=hours)))

KINDS = [
    integers(pa.int8()),
    integers(pa.int32()),
    integers(pa.int64()),
    Kind(pa.float64(), ANY_FLOAT, NUMBERS),
    Kind(pa.float32(), FLOAT32, NUMBERS),
    unscaled(10, 2),
    unscaled(18, -3),
    unscaled(38, 5),
    Kind(pa.bool_(), st.booleans(), same(st.booleans())),
    Kind(
        STR,
        TEXT.map(str.encode),
        TEXT.map(lambda text: (text, text.encode())),
        bytes.decode,
        bytes.decode,
    ),
    Kind(
        pa.date32(),
        MIDNIGHTS,
        st.one_of(
            MIDNIGHTS.map(lambda micros: (moment(micros).date(), micros)),
            MIDNIGHTS.map(lambda micros: (moment(micros).date().isoformat(), micros)),
            MICROS.map(lambda micros: (moment(micros), micros)),
        ),
        lambda micros: micros // DAY_MICROS,
        lambda micros: moment(micros).date(),
    ),
    Kind(
        pa.timestamp("ns"),
        NANOS,
        st.one_of(
            NANOS.map(lambda value: (np.datetime64(value, "ns"), value)),
            NANOS.map(lambda value: (pd.Timestamp(value), value)),
            NANOS.map(lambda value: (str(np.datetime64(value, "ns")), value)),
            MICROS.map(lambda micros: (moment(micros), micros * 1000)),
        ),
        to_literal=lambda nanos: np.datetime64(nanos, "ns"),
    ),
    Kind(
        pa.timestamp("ms", "Europe/Oslo"),
        st.one_of(SMALL, st.integers(-(10**12), 10**12)).map(lambda millis: millis * 1000),
        st.builds(
            lambda micros, zone: (moment(micros).replace(tzinfo=UTC).astimezone(zone), micros),
            MICROS,
            ZONES,
        ),
        lambda micros: micros // 1000,
        lambda micros: moment(micros).replace(tzinfo=UTC),
    ),
    Kind(
        pa.time32("ms"),
        st.one_of(st.integers(0, 3), st.integers(0, 86_399_999)).map(lambda millis: millis * 1000),
        st.one_of(st.integers(0, 3000), st.integers(0, DAY_MICROS - 1)).map(
            lambda micros: (moment(micros).time(), micros)
        ),
        lambda micros: micros // 1000,
        lambda micros: moment(micros).time(),
    ),
]
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True)
class Condition:
    """A condition as the user writes it, and with raw literals for the evaluation here."""

    column: str
    name: str
    literal: Any
    raw: Any

    def evaluate(self, value: Any) -> bool | None:
        if self.name == "is null":
            return value is None
        if self.name == "is not null":
            return value is not None
        if self.name in COMPARISONS:
            if value is None:
                return None
            if self.raw != self.raw or value != value:  # NaN, which Decimal refuses to order
                return self.name == "!="
            return COMPARISONS[self.name](value, self.raw)
        equal = any_of(None if None in (value, raw) else value == raw for raw in self.raw)
        return equal if self.name == "in" or equal is None else not equal


def any_of(terms: Any) -> bool | None:
    terms = list(terms)
    return True if True in terms else None if None in terms else False


def all_of(terms: Any) -> bool | None:
    terms = list(terms)
    return False if False in terms else None if None in terms else True


@dataclass(frozen=True)
class Column:
    """A column with few distinct values, so that minimum, maximum and literals often meet."""

    kind: Kind
    pool: list[Any]
    raw: list[Any]

    @property
    def array(self) -> pa.Array:
        values = [None if raw is None else self.kind.to_arrow(raw) for raw in self.raw]
        return pa.array(values, self.kind.arrow_type)

    @property
    def literals(self) -> st.SearchStrategy[tuple[Any, Any]]:
        pool = [(self.kind.to_literal(raw), raw) for raw in self.pool]
        return st.one_of(st.sampled_from(pool), self.kind.literals)


@st.composite
def columns_of(draw: st.DrawFn, kind: Kind, num_rows: int) -> Column:
    pool = draw(st.lists(kind.raw_values, min_size=1, max_size=3))
    values = st.one_of(st.sampled_from(pool), st.sampled_from([None, *pool]))
    return Column(kind, pool, draw(st.lists(values, min_size=num_rows, max_size=num_rows)))


@st.composite
def conditions(draw: st.DrawFn, columns: dict[str, Column]) -> Condition:
    column = draw(st.sampled_from(sorted(columns)))
    literals = columns[column].literals
    name = draw(st.sampled_from([*COMPARISONS, "in", "not in", "is null", "is not null"]))
    if name in COMPARISONS:
        return Condition(column, name, *draw(literals))
    if name in ("in", "not in"):
        pairs = draw(st.lists(literals, max_size=4))
        if draw(st.integers(0, 4)) == 0:
            pairs.append((None, None))
        return Condition(column, name, [pair[0] for pair in pairs], [pair[1] for pair in pairs])
    return Condition(column, name, None, None)


def spec_statistics(raw: list[Any], array: pa.Array) -> ColumnStatistics:
    """Null count, minimum and maximum as the spec has them, NaN left out."""
    ranked = [(v, i) for i, v in enumerate(raw) if v is not None and v == v]
    null_count = raw.count(None)
    if not ranked:
        return ColumnStatistics(null_count, len(raw))
    low = min(ranked, key=lambda pair: pair[0])[1]
    high = max(ranked, key=lambda pair: pair[0])[1]
    return ColumnStatistics(null_count, len(raw), array[low], array[high])


def check(
    columns: dict[str, Column],
    groups: list[list[Condition]],
    num_rows: int,
    with_statistics: set[str],
) -> None:
    """Compare mask with the plain evaluation, and pruning with both."""
    arrays = {name: column.array for name, column in columns.items()}
    found = parsed([[(c.column, c.name, c.literal) for c in group] for group in groups])
    found.validate({name: array.type for name, array in arrays.items()})
    expected = [
        any_of(all_of(c.evaluate(columns[c.column].raw[row]) for c in group) for group in groups)
        is True
        for row in range(num_rows)
    ]
    assert found.mask(arrays).to_pylist() == expected
    statistics = {
        name: spec_statistics(columns[name].raw, arrays[name]) for name in with_statistics
    }
    if found.excludes(statistics.get, num_rows):
        assert not any(expected)
    if found.covers(statistics.get, num_rows):
        assert all(expected)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.arrow_type))
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_condition_agrees_with_three_valued_logic(kind: Kind, data: st.DataObject) -> None:
    num_rows = data.draw(st.integers(0, 5))
    columns = {"a": data.draw(columns_of(kind, num_rows))}
    check(columns, [[data.draw(conditions(columns))]], num_rows, {"a"})


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_combination_agrees_with_three_valued_logic(data: st.DataObject) -> None:
    num_rows = data.draw(st.integers(0, 6))
    columns = {
        name: data.draw(columns_of(data.draw(st.sampled_from(KINDS)), num_rows)) for name in "abc"
    }
    group = st.lists(conditions(columns), min_size=1, max_size=3)
    groups = data.draw(st.lists(group, min_size=1, max_size=3))
    check(columns, groups, num_rows, data.draw(st.sets(st.sampled_from("abc"))))


def test_every_small_float_column_agrees_with_three_valued_logic() -> None:
    kind = Kind(pa.float32(), ANY_FLOAT, NUMBERS)
    literals = [-0.0, 1, NAN, 0.1]
    lists = [[0.0, 1.0], [0.0, NAN], [1.0, None], [1.0]]
    tests: list[tuple[str, Any]] = [*itertools.product(COMPARISONS, literals)]
    tests += itertools.product(("in", "not in"), lists)
    for num_rows in (1, 2, 3):
        for raw in itertools.product([None, NAN, -0.0, 0.0, 1.0], repeat=num_rows):
            columns = {"a": Column(kind, [], list(raw))}
            for name, literal in tests:
                check(columns, [[Condition("a", name, literal, literal)]], num_rows, {"a"})


BEYOND_PYTHON = [
    pa.scalar(-5_000_000, pa.date32()),
    pa.scalar(-(2**31), pa.date32()),
    pa.scalar(2**62, pa.timestamp("us")),
    pa.scalar(-(2**62), pa.timestamp("ms", "UTC")),
]


@pytest.mark.parametrize("literal", BEYOND_PYTHON, ids=lambda value: f"{value.type} {value.value}")
def test_literals_that_python_cannot_hold_are_compared_shown_and_refused(
    literal: pa.Scalar,
) -> None:
    row_filter = parse_filters([("x", "==", literal)])
    assert row_filter is not None
    batch = pa.record_batch({"x": pa.array([0, literal.value], literal.type)})
    assert row_filter.mask(batch).to_pylist() == [False, True]
    assert str(row_filter).startswith("x == '")
    with pytest.raises(InvalidOptionError, match="has type int8"):
        row_filter.validate({"x": pa.int8()})
    assert residual_filter(row_filter, {"x": literal}) == (True, None)
    null = pa.scalar(None, literal.type)
    assert residual_filter(row_filter, {"x": null}) == (False, None)
