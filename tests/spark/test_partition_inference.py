"""Types of partition columns; what Spark says of the same directories, as tried with Parquet."""

import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest

from pymosaic.errors import DatasetError
from pymosaic.spark.partition_inference import infer_type, recorded_type, spark_text, typed_value

INSTANT = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1", "2"], pa.int32()),
        (["1", "3000000000"], pa.int64()),
        (["007"], pa.int32()),
        (["+5", "-0", "٣"], pa.int32()),
        (["007", "a"], pa.string()),
        (["true", "false"], pa.string()),
        (["1.5", "2"], pa.float64()),
        (["1.5", "3000000000"], pa.string()),
        (["9" * 20, "1"], pa.decimal128(20, 0)),
        (["9" * 20, "3000000000"], pa.decimal128(20, 0)),
        (["9" * 20, "1.5"], pa.string()),
        (["1" * 39], pa.float64()),
        (["1e5"], pa.decimal128(6, 0)),
        (["NaN", "1.0"], pa.float64()),
        (["Infinity", "1"], pa.float64()),
        (["inf"], pa.string()),
        ([" 5"], pa.float64()),
        (["1f"], pa.float64()),
        (["0x10"], pa.string()),
        (["1_000"], pa.string()),
        (["2024-05-31", "0001-01-01"], pa.date32()),
        (["2024-05-31", "2024-05-31 10:30:00"], INSTANT),
        (["2024-05-31 10:30:00.2"], INSTANT),
        (["2024-05-31 10:30:00.25"], pa.string()),
        (["2024-05-31T10:30:00"], pa.string()),
        (["2024-05-31 24:00:00"], pa.string()),
        (["2024-02-30"], pa.string()),
        (["2024-5-1"], pa.string()),
        (["10000-01-01"], pa.string()),
        (["2024-05-31", "1"], pa.string()),
        (["12:00:00", "23:59:59.123456"], pa.time64("us")),
        (["12:00:00", "12:30:00.500000000"], pa.time64("us")),
        (["12:00:00", "24:00:00"], pa.string()),
        (["12:00:00.5", "12:00:00.123"], pa.time64("us")),
        (["12:00:00.1234567"], pa.string()),
        (["12:00:00."], pa.string()),
        (["+10000-01-01", "-0044-03-15", "0000-01-01"], pa.date32()),
        (["+5881580-07-11", "-5877641-06-23"], pa.date32()),
        (["+5881580-07-12"], pa.string()),
        (["-0000-01-01"], pa.string()),
        (["+2024-01-01"], pa.string()),
        (["+10000-01-01 10:00:00", "-0044-03-15 10:00:00.5", "+10000-01-01"], INSTANT),
        (["+294247-01-11 05:00:00"], pa.string()),
        (["12:00"], pa.string()),
        (["12:00:00", "2024-05-31"], pa.string()),
        ([], pa.null()),
    ],
)
def test_types_are_those_that_spark_infers(texts, expected):
    assert infer_type(texts, INSTANT) == expected


@pytest.mark.parametrize(
    ("text", "data_type", "value"),
    [
        ("007", pa.int32(), 7),
        ("007", pa.string(), "007"),
        (" 5", pa.float64(), 5.0),
        ("2.50", pa.decimal128(5, 2), Decimal("2.50")),
        ("true", pa.bool_(), True),
        ("2024-05-31", pa.date32(), datetime.date(2024, 5, 31)),
        ("2024-05-31 10:30:00", pa.timestamp("us"), datetime.datetime(2024, 5, 31, 10, 30)),
        ("10000-01-01", pa.date32(), 2_932_897),
        ("-0044-03-15", pa.date32(), -735_525),
        ("9999-12-31", pa.date32(), datetime.date.max),
        ("10000-01-01 00:00:00Z", pa.timestamp("us", "UTC"), 253_402_300_800_000_000),
        ("0000-12-31 00:00:00.000001Z", pa.timestamp("us", "UTC"), -62_135_683_199_999_999),
        ("0000-12-31 23:00:00", pa.timestamp("us"), -62_135_600_400_000_000),
        ("12:30:00", pa.time64("us"), datetime.time(12, 30)),
        ("12:30:00.5", pa.time64("ns"), datetime.time(12, 30, 0, 500_000)),
    ],
)
def test_values_have_the_types_of_their_columns(text, data_type, value):
    assert typed_value("k", text, data_type, datetime.UTC, "path") == value


def test_timestamps_are_in_the_zone_of_the_session_unless_they_say_otherwise():
    tokyo = ZoneInfo("Asia/Tokyo")
    at = datetime.datetime(2024, 5, 31, 10, 30, tzinfo=tokyo)
    assert typed_value("k", "2024-05-31 10:30:00", INSTANT, tokyo, "path") == at
    assert typed_value("k", "2024-05-31 01:30:00.000000Z", INSTANT, tokyo, "path") == at


@pytest.mark.parametrize("year", [-3999, -399, 0, 1, 2, 1969, 9998, 9999, 10_398, 200_000])
def test_moments_of_any_year_are_in_the_zone_of_the_session(year):
    text = f"{year:+05d}-02-28 23:30:00"
    zone = datetime.timezone(datetime.timedelta(hours=9, minutes=30))
    [told] = [typed_value("k", text, INSTANT, zone, "path")]
    exact = np.datetime64(f"{year:+05d}-02-28T14:00:00", "us").astype(int)
    assert pa.scalar(told, INSTANT).value == exact


@pytest.mark.parametrize(
    ("text", "data_type"),
    [
        ("2024-01-01 junk", INSTANT),
        ("9999999-01-01", pa.date32()),
        ("9999999-01-01 00:00:00", INSTANT),
        ("9999-01-01 00:00:00", pa.timestamp("ns")),
        ("a", pa.int32()),
        ("300", pa.int8()),
        ("1.5", pa.int32()),
        ("x", pa.date32()),
        ("24:00:00", pa.time64("us")),
    ],
)
def test_a_value_that_does_not_fit_is_told(text, data_type):
    with pytest.raises(DatasetError, match=f"{text!r} of 'k' is not a valid"):
        typed_value("k", text, data_type, datetime.UTC, "path")


def test_recorded_types_are_used_on_request():
    assert recorded_type(["007"], "string", True, INSTANT) == pa.string()
    assert recorded_type(["2.50"], "decimal128(5, 2)", True, INSTANT) == pa.decimal128(5, 2)
    assert recorded_type(["1", "x"], "int64", True, INSTANT) is None
    assert recorded_type(["1"], None, True, INSTANT) is None
    assert recorded_type(["1"], "int64", False, INSTANT) is None


def test_timestamps_of_jobs_are_recognised():
    texts = ["2024-05-31 01:30:00.250000Z"]
    assert recorded_type(texts, "timestamp[us, tz=UTC]", False, INSTANT) == INSTANT


@pytest.mark.parametrize(
    ("text", "in_java"),
    [
        ("nan", "NaN"),
        ("-inf", "-Infinity"),
        ("1.5", "1.5"),
        ("1", "1.0"),
        ("-0", "-0.0"),
        ("0.001", "0.001"),
        ("0.0001", "1.0E-4"),
        ("1234567", "1234567.0"),
        ("-12345678", "-1.2345678E7"),
        ("1e+20", "1.0E20"),
        ("1.25e-7", "1.25E-7"),
        ("x", "x"),
    ],
)
def test_floating_point_numbers_of_jobs_are_as_java_writes_them(text, in_java):
    assert spark_text(text, "double") == spark_text(text, "float") == in_java
    assert spark_text(text, "string") == text
