"""What plans tell, what is answered without a task, and what queries share."""

import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import pymosaic
import pymosaic.spark
from tests.spark.plans import metrics, physical_plan, rows_read


@pytest.fixture
def base(tmp_path: Path) -> str:
    """Two partitions of two files; statistics of all columns but one."""
    for number in range(4):
        table = pa.table(
            {
                "n": pa.array([number * 10, None, number * 10 + 5], pa.int64()),
                "text": ["b", "ä", None],
                "flag": [True, False, None],
                "day": [datetime.date(2024, 1, number + 1)] * 3,
                "price": pa.array([Decimal("1.50"), Decimal("-2.25"), None], pa.decimal128(7, 2)),
                "at": pa.array([0, 1_500_000, None], pa.timestamp("us", "UTC")),
                "plain": pa.array([0, 1, 2], pa.timestamp("us")),
                "number": [1.5, float("nan"), None],
                "bare": [1, 2, 3],
            }
        )
        directory = tmp_path / f"half={number // 2}"
        directory.mkdir(exist_ok=True)
        names = [name for name in table.column_names if name != "bare"]
        pymosaic.write_table(table, directory / f"{number}.mosaic", statistics=names)
    return str(tmp_path)


def test_a_plan_names_what_is_read(spark, base):
    frame = spark.read.format("mosaic").load(base).where("half = 1 AND n > 30").select("n")
    plan = physical_plan(frame)
    assert "columns: [n, half]" in plan
    assert "n > 30" in plan
    assert "half == 1" in plan
    assert "partitions: 1 of 2, files: 1 of 4, row groups: 1 of 2, bytes: " in plan
    assert [row.n for row in frame.collect()] == [35]
    assert metrics(frame) == {
        "mosaicFilesRead": 1,
        "mosaicFilesSkipped": 3,
        "mosaicRowGroupsRead": 1,
        "mosaicRowGroupsSkipped": 1,
    }


AGGREGATES = {
    "min(n)": 0,
    "max(n)": 35,
    "count(n)": 8,
    "count(*)": 12,
    "count(1)": 12,
    "min(text)": "b",
    "max(text)": "ä",
    "min(flag)": False,
    "max(day)": datetime.date(2024, 1, 4),
    "min(price)": Decimal("-2.25"),
    "max(half)": 1,
    "count(half)": 12,
    "max(at) = timestamp'1970-01-01 09:00:01.5'": True,
    "max(plain)": datetime.datetime(1970, 1, 1, 0, 0, 0, 2),
}


def test_aggregates_are_answered_without_a_task(spark, base):
    frame = spark.read.format("mosaic").load(base)
    named = {name: text for name, text in AGGREGATES.items() if "=" not in name}
    query = frame.selectExpr(*named)
    assert list(query.collect()[0]) == list(named.values())
    assert "LocalTableScan" in physical_plan(query)
    assert "BatchScan" not in physical_plan(query)
    assert frame.selectExpr(*AGGREGATES).collect()[0][-2] is True
    renamed = frame.select(f.col("n").alias("m"), "text").agg(f.max("m"))
    assert renamed.collect() == [(35,)]
    assert "BatchScan" not in physical_plan(renamed)


@pytest.mark.parametrize(
    "expression",
    ["max(bare)", "max(number)", "sum(n)", "max(n + 1)", "count(DISTINCT n)", "max(n) + max(bare)"],
)
def test_what_metadata_does_not_tell_is_computed(spark, base, expression):
    frame = spark.read.format("mosaic").load(base)
    query = frame.selectExpr(f"{expression} AS x")
    expected = spark.createDataFrame(frame.collect(), frame.schema).selectExpr(f"{expression} AS x")
    assert str(query.collect()) == str(expected.collect())
    assert "BatchScan" in physical_plan(query)


def test_aggregates_of_filtered_rows_and_declared_types_are_computed(spark, base):
    frame = spark.read.format("mosaic").load(base)
    assert frame.where("n > 20").selectExpr("count(*)", "min(n)").collect() == [(3, 25)]
    assert pymosaic.spark.read(spark, base, filters=[("n", ">", 20)]).count() == 3
    declared = spark.read.schema("n string, extra int").format("mosaic").load(base)
    assert declared.selectExpr("max(n)", "count(extra)").collect() == [("5", 0)]
    switched = spark.conf.get("spark.mosaic.pushDown", "true")
    spark.conf.set("spark.mosaic.pushDown", "false")
    try:
        assert frame.selectExpr("max(n)").collect() == [(35,)]
        assert "BatchScan" in physical_plan(frame.selectExpr("max(n)"))
    finally:
        spark.conf.set("spark.mosaic.pushDown", switched)


def test_rows_know_their_files(spark, base):
    frame = spark.read.format("mosaic").load(base)
    rows = frame.select("n", "half", "_metadata.file_name", "_metadata.row_index").collect()
    assert len(rows) == 12
    for row in rows:
        if row.n is not None:
            assert row.file_name == f"{row.n // 10}.mosaic"
            assert row.row_index == (2 if row.n % 10 else 0)
    assert "_metadata" not in frame.columns
    names = frame.select(f.input_file_name().alias("name"), "_metadata.file_path").distinct()
    assert {row.name for row in names.collect()} == set(frame.inputFiles())
    assert all(row.name == row.file_path for row in names.collect())
    assert len(frame.inputFiles()) == 4
    kept = frame.where(f.input_file_name().endswith("2.mosaic"))
    assert kept.columns == frame.columns
    assert sorted(row.n for row in kept.collect() if row.n is not None) == [20, 25]
    counted = frame.groupBy(f.input_file_name()).count().collect()
    assert sorted(row["count"] for row in counted) == [3] * 4


def test_a_join_prunes_partitions_when_it_runs(spark, base, conf):
    conf("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly", False)
    conf("spark.sql.optimizer.dynamicPartitionPruning.useStats", False)
    frame = spark.read.format("mosaic").load(base)
    small = spark.range(5).selectExpr("cast(id AS int) AS half", "id").where("id = 1")
    joined = frame.join(small.hint("broadcast"), "half").select("n")
    assert len(joined.collect()) == 6
    assert "dynamicpruning" in physical_plan(joined).lower()
    assert rows_read(joined) == 6


def test_equal_scans_are_one(spark, base, conf):
    conf("spark.sql.adaptive.enabled", False)
    conf("spark.sql.autoBroadcastJoinThreshold", -1)

    def counted(condition: str):
        frame = spark.read.format("mosaic").load(base).where(condition)
        return frame.groupBy("text").agg(f.sum("bare"))

    assert "ReusedExchange" in physical_plan(counted("n > 3").join(counted("n > 3"), "text"))
    assert "ReusedExchange" not in physical_plan(counted("n > 3").join(counted("n > 4"), "text"))
    load = spark.read.format("mosaic").load
    assert load(base).sameSemantics(load(base))
