"""Rows that a frame only reads from Mosaic files are read by the tasks of a job themselves."""

import gc
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import pymosaic
from pymosaic.datasets.plan import Piece
from pymosaic.spark.jobs import convert, writing
from pymosaic.spark.jobs.scans import scan_of


@pytest.fixture
def path(tmp_path: Path) -> str:
    rows = range(60)
    table = pa.table(
        {
            "id": rows,
            "k": [x % 3 for x in rows],
            "name": [None if x % 7 == 0 else f"text {x}" for x in rows],
            "at": [datetime(2024, 1, 1, tzinfo=UTC)] * 60,
            "day": [date(1, 1, 1)] * 60,
            "price": [Decimal("1.50")] * 60,
            "bytes": [bytes([x]) for x in rows],
            "a.b": [x / 2 for x in rows],
        }
    )
    place = str(tmp_path / "data")
    pymosaic.write_dataset(table, place, partition_by="k")
    return place


_Frame = Callable[[SparkSession, str], DataFrame]
_READS: dict[str, _Frame] = {
    "all": lambda spark, path: spark.read.format("mosaic").load(path),
    "fewer columns": lambda spark, path: spark.read.format("mosaic").load(path).select("id", "k"),
    "options": lambda spark, path: (
        spark.read.format("mosaic")
        .option("filters", '[["id", ">", 20]]')
        .option("columns", '["name", "id"]')
        .load(path)
    ),
    "another type": lambda spark, path: (
        spark.read.schema("id double, k string").format("mosaic").load(path)
    ),
    "a view": lambda spark, path: spark.read.format("mosaic").load(path).alias("view"),
}
_COMPUTED: dict[str, _Frame] = {
    "a filter": lambda spark, path: spark.read.format("mosaic").load(path).where("id > 3"),
    "a limit": lambda spark, path: spark.read.format("mosaic").load(path).limit(3),
    "an expression": lambda spark, path: (
        spark.read.format("mosaic").load(path).selectExpr("id + 1 AS id")
    ),
    "another order": lambda spark, path: (
        spark.read.format("mosaic").load(path).select("name", "id")
    ),
    "another name": lambda spark, path: (
        spark.read.format("mosaic").load(path).selectExpr("id AS number")
    ),
    "a union": lambda spark, path: (
        spark.read.format("mosaic").load(path).union(spark.read.format("mosaic").load(path))
    ),
    "other files": lambda spark, path: spark.range(5),
}


def _rows(frame: DataFrame) -> list[Any]:
    return sorted((tuple(row) for row in frame.collect()), key=str)


@pytest.mark.parametrize("name", _READS)
def test_tasks_read_the_files_of_a_frame(
    spark: SparkSession, path: str, tmp_path: Path, name: str
) -> None:
    frame = _READS[name](spark, path)
    assert scan_of(frame) is not None
    report = convert(spark, frame, tmp_path / "copy")
    found = spark.read.format("mosaic").load(str(tmp_path / "copy"))
    assert (found.schema, _rows(found)) == (frame.schema, _rows(frame))
    assert (report.rows, report.columns) == (frame.count(), len(frame.columns))
    assert report.bytes_in > 0


def test_a_task_makes_objects_of_its_own_files_only(spark: SparkSession, path: str) -> None:
    """Of 100,000 files in 10,000 tasks, those of all would take each of them half a second."""
    scan = scan_of(spark.read.format("mosaic").option("maxPartitionBytes", 1).load(path))
    assert scan is not None
    assert len(scan.splits) == 3
    data = pickle.dumps(scan)

    def num_pieces() -> int:
        return sum(isinstance(x, Piece) for x in gc.get_objects())

    before = num_pieces()
    copy = pickle.loads(data)
    assert num_pieces() == before
    [batch, *_] = copy([pa.record_batch({"id": [1]})])
    assert batch.num_rows == 20


@pytest.mark.parametrize("name", _COMPUTED)
def test_what_spark_computes_goes_through_spark(
    spark: SparkSession, path: str, tmp_path: Path, name: str
) -> None:
    frame = _COMPUTED[name](spark, path)
    assert scan_of(frame) is None
    convert(spark, frame, tmp_path / "copy")
    found = spark.read.format("mosaic").load(str(tmp_path / "copy"))
    assert _rows(found) == _rows(frame)


def test_cached_rows_and_rows_of_parquet_are_not_read_from_files(
    spark: SparkSession, path: str, tmp_path: Path
) -> None:
    frame = spark.read.format("mosaic").load(path).cache()
    assert scan_of(frame) is None
    frame.unpersist()
    pq.write_table(pa.table({"x": [1]}), tmp_path / "x.parquet")
    assert scan_of(spark.read.parquet(str(tmp_path / "x.parquet"))) is None


def test_the_files_are_those_that_the_frame_was_loaded_with(
    spark: SparkSession, path: str, tmp_path: Path
) -> None:
    frame = spark.read.format("mosaic").load(path)
    extra = pa.table({"id": [1000], "k": [0]}, pa.schema([("id", pa.int64()), ("k", pa.int64())]))
    pymosaic.write_dataset(extra, path, mode="append", partition_by="k")
    assert convert(spark, frame, tmp_path / "copy").rows == 60
    assert convert(spark, path, tmp_path / "new", format="mosaic").rows == 61


def test_a_source_that_cannot_be_planned_leaves_no_trace(
    spark: SparkSession, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(frame: DataFrame) -> None:
        raise OSError("no answer")

    monkeypatch.setattr(writing, "scan_of", fail)
    with pytest.raises(OSError, match="no answer"):
        convert(spark, path, tmp_path / "copy", format="mosaic")
    left = [file for file in (tmp_path / "copy").rglob("*") if file.is_file()]
    assert left == []


def test_a_dataset_is_converted_in_place_with_other_partitions(
    spark: SparkSession, path: str
) -> None:
    rows = _rows(spark.read.format("mosaic").load(path).select("id", "k", "name"))
    convert(spark, path, path, format="mosaic", mode="overwrite", partition_by="day")
    found = spark.read.format("mosaic").load(path)
    assert _rows(found.select("id", "k", "name")) == rows
    assert found.columns[-1] == "day"
