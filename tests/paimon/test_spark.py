"""Paimon tables in Spark: read at any snapshot, written as one snapshot."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pypaimon.table.file_store_table import FileStoreTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from pymosaic.errors import InvalidOptionError
from pymosaic.paimon import add_columns, dataset, rename_columns, write
from pymosaic.spark import jobs
from tests.paimon.building import theirs

pytestmark = pytest.mark.xdist_group("spark")

DATA = pa.table(
    {"id": [1, 2, 3, 4], "x": [1.5, None, 3.5, 4.5], "day": ["mon", "mon", "tue", "wed"]}
)
SCHEMA = "id long, x double, day string"
Session = SparkSession


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "shop.db" / "sales")
    options = {"metadata.stats-mode": "full"}
    write(DATA, path, create=True, partition_by=["day"], table_options=options)
    return path


def load(spark: Session, path: str, **options: Any) -> DataFrame:
    return spark.read.format("mosaic").options(**options).load(path)


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def expected(path: str, **travel: Any) -> list[tuple[Any, ...]]:
    table = dataset(path, **travel).to_table()
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


class TestRead:
    def test_found_by_itself_and_by_option(self, spark: Session, path: str) -> None:
        assert rows(load(spark, path)) == expected(path)
        assert rows(load(spark, path, table="paimon")) == expected(path)
        assert load(spark, path).schema.names == ["id", "x", "day"]

    def test_columns_of_several_files_by_field_id(self, spark: Session, path: str) -> None:
        add_columns(path, {"twice": "id * 2"})
        rename_columns(path, {"x": "amount"})
        write(DATA.select(["id", "day"]), path)
        frame = load(spark, path)
        assert frame.columns == ["id", "amount", "day", "twice"]
        assert frame.agg(F.sum("twice"), F.sum("amount")).first() == (20, 9.5)

    def test_snapshot_tag_and_timestamp(self, spark: Session, path: str) -> None:
        FileStoreTable.from_path(path).create_tag("first")
        taken = FileStoreTable.from_path(path).snapshot_manager().get_latest_snapshot()
        add_columns(path, {"twice": "id * 2"})
        write(DATA, path, mode="overwrite")
        for option in ({"snapshot": 1}, {"tag": "first"}, {"timestamp": taken.time_millis}):
            assert rows(load(spark, path, **option)) == expected(path, snapshot=1)
        assert len(load(spark, path, snapshot=2).columns) == 4

    def test_filters_and_columns_are_pushed_down(self, spark: Session, path: str) -> None:
        write(pa.table({"id": [100], "x": [0.0], "day": ["mon"]}), path)
        frame = load(spark, path).where("id > 50 and day = 'mon'").select("x")
        assert rows(frame) == [(0.0,)]
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert "files: 1 of 4" in plan, plan

    def test_a_frame_stays_at_its_snapshot(self, spark: Session, path: str) -> None:
        frame = load(spark, path)
        assert frame.count() == 4
        write(DATA, path)
        assert frame.count() == 4
        assert load(spark, path).count() == 8

    def test_a_table_that_was_made_anew(self, spark: Session, path: str) -> None:
        assert rows(load(spark, path)) == expected(path)
        shutil.rmtree(path)
        write(DATA.slice(1), path, create=True)
        assert rows(load(spark, path)) == expected(path)

    def test_large_ranges_are_split(self, spark: Session, tmp_path: Path) -> None:
        path = str(tmp_path / "large")
        options = {"mosaic.row-group-max-size": "64 kb"}
        table = pa.table({"n": range(200_000), "text": [f"row {n * 7919}" for n in range(200_000)]})
        write(table, path, create=True, table_options=options)
        frame = load(spark, path, maxPartitionBytes="300k")
        assert frame.rdd.getNumPartitions() > 1
        assert frame.agg(F.sum("n"), F.count("*")).first() == (sum(range(200_000)), 200_000)


class TestWrite:
    def test_append_and_overwrite_are_one_snapshot_each(self, spark: Session, path: str) -> None:
        frame = spark.createDataFrame([(5, 5.5, "mon"), (6, None, "thu")], SCHEMA)
        frame.repartition(2).write.format("mosaic").mode("append").save(path)
        assert dataset(path).snapshot_id == 2
        assert rows(load(spark, path)) == sorted(
            [*expected(path, snapshot=1), *rows(frame)], key=repr
        )
        frame.write.format("mosaic").mode("overwrite").save(path)
        assert dataset(path).snapshot_id == 3
        assert expected(path) == rows(frame)
        assert sorted(map(repr, theirs(FileStoreTable.from_path(path)).to_pylist())) == sorted(
            map(repr, dataset(path).to_table().to_pylist())
        )

    def test_overwrite_of_the_partitions_written_to(self, spark: Session, path: str) -> None:
        frame = spark.createDataFrame([(9, 9.5, "mon")], SCHEMA)
        writer = frame.write.format("mosaic").mode("overwrite")
        writer.option("partitionOverwriteMode", "dynamic").save(path)
        assert [row[0] for row in rows(load(spark, path))] == [3, 4, 9]

    def test_a_new_table(self, spark: Session, tmp_path: Path) -> None:
        path = str(tmp_path / "new")
        frame = spark.range(10).withColumn("day", F.col("id") % 2)
        writer = frame.write.format("mosaic").option("table", "paimon").partitionBy("day")
        writer.save(path)
        assert dataset(path).partition_columns == ("day",)
        assert load(spark, path).count() == 10
        with pytest.raises(Exception, match="already"):
            writer.mode("error").save(path)

    def test_a_failed_write_leaves_no_snapshot(self, spark: Session, path: str) -> None:
        frame = spark.range(10, numPartitions=2).select(
            "id",
            F.expr("if(id = 9, raise_error('broken'), 1.0)").alias("x"),
            F.lit("mon").alias("day"),
        )
        with pytest.raises(Exception, match="broken"):
            frame.write.format("mosaic").mode("append").save(path)
        assert dataset(path).snapshot_id == 1
        assert rows(load(spark, path)) == expected(path)


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"snapshot": 9}, "has no snapshot 9; it has 1 to 1"),
            ({"tag": "none"}, "has no tag 'none'"),
            ({"snapshot": 1, "tag": "a"}, "give one of snapshot, tag and timestamp"),
            ({"snapshot": "x"}, "snapshot"),
            ({"table": "iceberg"}, "paimon or files"),
        ],
    )
    def test_reads(self, spark: Session, path: str, options: Any, message: str) -> None:
        with pytest.raises(Exception, match=message):
            load(spark, path, **options)

    def test_what_is_not_a_table(self, spark: Session, tmp_path: Path) -> None:
        with pytest.raises(Exception, match="is not a Paimon table"):
            load(spark, str(tmp_path), table="paimon")
        with pytest.raises(Exception, match="for Paimon tables"):
            load(spark, str(tmp_path), snapshot=1)

    def test_writes(self, spark: Session, path: str, tmp_path: Path) -> None:
        frame = spark.createDataFrame([(9, 9.5, "mon")], SCHEMA)
        writer = frame.write.format("mosaic").mode("append")
        with pytest.raises(Exception, match="partitioned by day"):
            writer.partitionBy("id").save(path)
        with pytest.raises(Exception, match="no column 'z'"):
            frame.withColumn("z", F.lit(1)).write.format("mosaic").mode("append").save(path)
        keyed = str(tmp_path / "keyed")
        write(DATA, keyed, create=True, primary_key=["id"])
        with pytest.raises(Exception, match="primary key"):
            frame.write.format("mosaic").mode("append").save(keyed)
        assert (dataset(path).snapshot_id, dataset(keyed).snapshot_id) == (1, 1)

    def test_writes_that_a_table_cannot_remember(
        self, spark: Session, path: str, tmp_path: Path
    ) -> None:
        frame = spark.createDataFrame([(9, 9.5, "mon")], SCHEMA)
        frame.write.json(str(tmp_path / "incoming"))
        numbered = frame.write.format("mosaic").mode("append").option("txnAppId", "a")
        with pytest.raises(Exception, match="need a Mosaic dataset"):
            numbered.option("txnVersion", 1).save(path)
        stream = spark.readStream.schema(SCHEMA).json(str(tmp_path / "incoming")).writeStream
        query = stream.format("mosaic").option("checkpointLocation", str(tmp_path / "checkpoint"))
        with pytest.raises(Exception, match="need a Mosaic dataset"):
            query.trigger(availableNow=True).start(path).awaitTermination()
        assert dataset(path).snapshot_id == 1


class TestAddColumns:
    def test_a_task_for_each_range_and_one_snapshot(self, spark: Session, path: str) -> None:
        report = jobs.add_columns(spark, path, {"twice": "id * 2", "more": "x + 1"})
        assert (report.files, report.rows, report.columns, report.snapshot) == (3, 4, 2, 2)
        assert sorted(dataset(path).to_table().column("twice").to_pylist()) == [2, 4, 6, 8]
        jobs.add_columns(spark, path, lambda batch: {"x": batch["id"]}, columns=["id"], update=True)
        assert sorted(dataset(path).to_table().column("x").to_pylist()) == [1, 2, 3, 4]

    def test_compaction_is_a_task_for_each_group(self, spark: Session, path: str) -> None:
        jobs.add_columns(spark, path, {"twice": "id * 2"})
        before = dataset(path).to_table().sort_by("id")
        report = jobs.compact(spark, path)
        assert (report.files_before, report.files_after, report.files) == (6, 3, 3)
        assert dataset(path).to_table().sort_by("id") == before
        with pytest.raises(InvalidOptionError, match="its own options"):
            jobs.compact(spark, path, target_file_bytes=1000)

    def test_a_task_that_fails_leaves_the_table_as_it_was(self, spark: Session, path: str) -> None:
        def failing(batch: pa.RecordBatch) -> dict[str, Any]:
            if "wed" in batch["day"].to_pylist():
                raise OSError("gone")
            return {"c": batch["id"]}

        with pytest.raises(Exception, match="gone"):
            jobs.add_columns(spark, path, failing)
        assert (dataset(path).schema.names, dataset(path).snapshot_id) == (["id", "x", "day"], 1)
