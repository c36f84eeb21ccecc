"""Types and values, from Spark to files and back."""

from datetime import UTC, date, datetime, time
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import types as st

import pymosaic
from pymosaic.errors import UnsupportedFeatureError
from pymosaic.spark import jobs
from pymosaic.spark.types import check_storable, spark_schema
from tests.property.reference import reference_table
from tests.spark.versions import can

SCHEMA = st.StructType(
    [
        st.StructField("id", st.IntegerType(), False),
        st.StructField("boolean", st.BooleanType()),
        st.StructField("byte", st.ByteType()),
        st.StructField("short", st.ShortType()),
        st.StructField("long", st.LongType()),
        st.StructField("float", st.FloatType()),
        st.StructField("double", st.DoubleType()),
        st.StructField("text", st.StringType()),
        st.StructField("binary", st.BinaryType()),
        st.StructField("date", st.DateType()),
        st.StructField("instant", st.TimestampType()),
        st.StructField("local", st.TimestampNTZType()),
        st.StructField("decimal", st.DecimalType(10, 2)),
        st.StructField("large", st.DecimalType(38, 10)),
        st.StructField("array", st.ArrayType(st.DoubleType())),
        st.StructField("arrays", st.ArrayType(st.ArrayType(st.StringType()))),
        st.StructField("map", st.MapType(st.StringType(), st.DecimalType(20, 3))),
        st.StructField('name, with "all" ?*[ .sorts\'', st.StringType()),
    ]
)
ROWS = [
    (
        1,
        True,
        -128,
        32767,
        -(2**63),
        1.5,
        -0.0,
        "grüße 🎉",
        bytearray(b"\x00\xff"),
        date(1581, 1, 2),
        datetime(2024, 2, 29, 23, 59, 59, 999999, UTC),
        datetime(1960, 6, 15, 12, 30, 0, 1),
        Decimal("-12345678.90"),
        Decimal("1234567890123456789012345678.0123456789"),
        [1.0, None, 3.0],
        [["a"], [], None],
        {"x": Decimal("1.234"), "y": None},
        "odd",
    ),
    (2, *[None] * 17),
    (
        3,
        False,
        127,
        -32768,
        2**63 - 1,
        float("inf"),
        float("-inf"),
        "",
        bytearray(b""),
        date(9999, 12, 31),
        datetime(1900, 1, 1, 0, 0, 0, 0, UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999999),
        Decimal("0.00"),
        Decimal("-0.0000000001"),
        [],
        [],
        {},
        "",
    ),
]


@pytest.fixture(scope="module")
def frame(spark):
    return spark.createDataFrame(ROWS, SCHEMA)


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York", "UTC"])
def test_every_type_comes_back(spark, frame, conf, tmp_path, zone):
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        expected = sorted(frame.collect())
        frame.write.format("mosaic").mode("append").save(str(tmp_path / "out"))
        spark.conf.set("spark.sql.session.timeZone", "Europe/Lisbon")
        back = spark.read.format("mosaic").load(str(tmp_path / "out"))
        assert [field.dataType for field in back.schema] == [field.dataType for field in SCHEMA]
        assert back.columns == frame.columns
        assert sorted(back.collect()) == expected
    finally:
        spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")


def test_arrow_sees_the_values_that_spark_wrote(frame, tmp_path):
    frame.coalesce(1).write.format("mosaic").mode("append").save(str(tmp_path / "out"))
    table = pymosaic.dataset(str(tmp_path / "out")).scan().to_table().sort_by("id")
    assert table["instant"].type == pa.timestamp("us", "UTC")
    assert table["local"].type == pa.timestamp("us")
    assert table["instant"].to_pylist() == [row[10] for row in ROWS]
    assert table["local"].to_pylist() == [row[11] for row in ROWS]
    assert table["large"].to_pylist() == [row[13] for row in ROWS]
    maps = table["map"].to_pylist()
    assert [None if value is None else dict(value) for value in maps] == [row[16] for row in ROWS]


def test_the_reference_reads_what_spark_wrote(frame, tmp_path):
    plain = frame.select(*frame.columns[:14])
    plain.coalesce(1).write.format("mosaic").mode("append").save(str(tmp_path / "out"))
    [path] = (tmp_path / "out").glob("*.mosaic")
    found = reference_table(path.read_bytes())
    ours = pymosaic.read_table(path)
    assert found.num_rows == 3
    assert set(found.column_names) == set(ours.column_names)
    for name in ours.column_names:
        assert found[name].to_pylist() == ours[name].to_pylist()


def test_time_of_day_round_trips_in_milliseconds(spark, tmp_path):
    table = pa.table({"at": pa.array([time(1, 2, 3, 4000), None], pa.time32("ms"))})
    pymosaic.write_table(table, tmp_path / "in.mosaic")
    if not can("time"):
        with pytest.raises(AnalysisException, match="has no type in Spark"):
            spark.read.format("mosaic").load(str(tmp_path / "in.mosaic"))
        return
    frame = spark.read.format("mosaic").load(str(tmp_path / "in.mosaic"))
    assert [row["at"] for row in frame.collect()] == [time(1, 2, 3, 4000), None]
    frame.write.format("mosaic").mode("append").save(str(tmp_path / "out"))
    back = pymosaic.dataset(str(tmp_path / "out"), types="mosaic").scan().to_table()
    assert back.sort_by("at").equals(table)
    long = frame.selectExpr("at AS key", "'when' AS feature", "at AS value")
    jobs.pivot(spark, long, tmp_path / "wide", entity="key", feature="feature")
    wide = spark.read.format("mosaic").load(str(tmp_path / "wide")).collect()
    at = time(1, 2, 3, 4000)
    assert {row["key"]: row["when"] for row in wide} == {at: at, None: None}


def test_unsigned_and_nanoseconds_become_types_that_spark_has(spark, tmp_path):
    table = pa.table(
        {
            "u64": pa.array([2**64 - 1], pa.uint64()),
            "ns": pa.array([1_000_001_999], pa.timestamp("ns")),
            "zone": pa.array([1_000], pa.timestamp("ms", "Asia/Kolkata")),
        }
    )
    pymosaic.write_table(table, tmp_path / "in.mosaic")
    frame = spark.read.format("mosaic").load(str(tmp_path / "in.mosaic"))
    assert (
        frame.schema.simpleString() == "struct<u64:decimal(20,0),ns:timestamp_ntz,zone:timestamp>"
    )
    [row] = frame.collect()
    assert row["u64"] == 2**64 - 1
    assert row["ns"] == datetime(1970, 1, 1, 0, 0, 1, 1)
    assert row["zone"].timestamp() == 1.0


@pytest.mark.parametrize(
    ("type_text", "advice"),
    [
        ("struct<a:int>", "df.schema['culprit'].dataType.names}).drop('culprit')"),
        ("array<struct<a:int>>", "its elements are of type struct<a:int>"),
        ("interval day to second", "cast it to a number"),
        ("interval year to month", "cast it to a number"),
        ("variant", "CAST(culprit AS STRING)"),
        ("map<array<int>,int>", "map keys must be scalars"),
    ],
)
def test_types_that_the_format_lacks_are_refused_before_a_task_starts(
    spark, tmp_path, type_text, advice
):
    frame = spark.range(1).selectExpr("id", f"CAST(NULL AS {type_text}) AS culprit")
    with pytest.raises(Exception, match="culprit") as caught:
        frame.write.format("mosaic").mode("append").save(str(tmp_path / "out"))
    assert advice in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_void_is_refused_with_advice():
    schema = st.StructType([st.StructField("nothing", st.NullType())])
    with pytest.raises(UnsupportedFeatureError, match="CAST\\(nothing AS STRING\\)"):
        check_storable(schema)


def test_a_decimal_of_negative_scale_has_no_type_in_spark():
    with pytest.raises(UnsupportedFeatureError, match="column 'd' of type decimal128"):
        spark_schema(pa.schema([("d", pa.decimal128(5, -2))]))
