"""A frame is one state of its dataset, and its files are listed once."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

import pymosaic
import pymosaic.spark
from pymosaic.datasets.discovery import discover
from pymosaic.spark import listing


@pytest.fixture
def base(tmp_path: Path) -> str:
    path = str(tmp_path / "numbers")
    pymosaic.write_dataset(pa.table({"n": range(10), "k": ["a", "b"] * 5}), path)
    return path


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The places whose files were listed."""
    found: list[str] = []

    def recorded(source, *arguments, **options):
        found.append(str(source))
        return discover(source, *arguments, **options)

    monkeypatch.setattr(listing, "discover", recorded)
    return found


def add(base: str, mode: Any) -> None:
    pymosaic.write_dataset(pa.table({"n": range(10, 20), "k": ["a"] * 10}), base, mode=mode)


def results(frame) -> list[int]:
    """The rows of a frame, as all kinds of queries see them."""
    return [
        frame.count(),
        len(frame.collect()),
        frame.where("n >= 0").count(),
        frame.select("k").toArrow().num_rows,
        frame.join(frame.selectExpr("n AS m"), frame.n == frame.n.alias("m")).count()
        and frame.selectExpr("count(n)").collect()[0][0],
    ]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_all_that_is_derived_from_a_frame_agrees(spark, base, mode):
    frame = spark.read.format("mosaic").load(base)
    derived = frame.where("n < 100")
    add(base, mode)
    assert results(frame) == [10] * 5
    assert derived.count() == 10
    fresh = spark.read.format("mosaic").load(base)
    assert fresh.count() == (20 if mode == "append" else 10)
    assert frame.union(fresh).count() == 10 + fresh.count()


def test_a_load_and_its_queries_list_files_once(spark, base, listings):
    frame = spark.read.format("mosaic").load(base)
    frame.where("n > 3").select("k").collect()
    frame.alias("a").join(frame.alias("b"), "n").collect()
    frame.count()
    assert listings == [base]
    # With a schema of the user's own as well.
    del listings[:]
    declared = spark.read.schema("n long").format("mosaic").load(base)
    assert declared.count() == 10
    assert len(declared.collect()) == 10
    assert listings == [base]


def test_a_query_of_a_table_lists_files_once_and_sees_what_is_there(spark, base, listings):
    spark.sql(f"CREATE TABLE numbered USING mosaic LOCATION '{base}'")
    try:
        table = spark.table("numbered")
        del listings[:]
        joined = "SELECT count(*) FROM numbered a JOIN numbered b ON a.n = b.n WHERE a.n >= 0"
        assert spark.sql(joined).collect()[0][0] == 10
        assert len(listings) == 1
        spark.sql("INSERT INTO numbered VALUES (100, 'c')")
        assert spark.sql(joined).collect()[0][0] == 11
        assert table.count() == 11
        add(base, "append")  # by somebody else
        assert table.count() == 21
        assert spark.table("numbered").where("n > 99").count() == 1
    finally:
        spark.sql("DROP TABLE numbered")


def test_a_cached_frame_serves_loads_of_the_same_state_only(spark, base):
    frame = spark.read.format("mosaic").load(base).cache()
    try:
        assert frame.count() == 10
        again = spark.read.format("mosaic").load(base)
        assert "InMemoryTableScan" in again._jdf.queryExecution().executedPlan().toString()
        add(base, "append")
        assert frame.count() == 10
        assert spark.read.format("mosaic").load(base).count() == 20
    finally:
        frame.unpersist()


def test_a_cached_frame_is_read_again_after_a_write_however_paths_are_spelled(
    spark, base, monkeypatch
):
    frame = spark.read.format("mosaic").load(os.path.relpath(base)).cache()
    try:
        assert frame.count() == 10
        rows = spark.createDataFrame([(100, "c")], "n long, k string").coalesce(1)
        rows.write.format("mosaic").mode("append").save(base)
        assert frame.count() == 11
        # Hadoop has no such path; a write that is done must not fail for that.
        monkeypatch.chdir(os.path.dirname(base))
        rows.write.format("mosaic").save("a:b")
        assert pymosaic.dataset("./a:b").count_rows() == 1
    finally:
        frame.unpersist()


@pytest.mark.parametrize(
    ("statement", "left"),
    [
        ("DELETE FROM halves WHERE k = 'a'", 5),
        ("ALTER TABLE halves DROP PARTITION (k = 'a')", 5),
        ("TRUNCATE TABLE halves", 0),
    ],
)
def test_cached_rows_are_read_again_after_partitions_are_removed(spark, tmp_path, statement, left):
    path = str(tmp_path / "halves")
    table = pa.table({"n": range(10), "k": ["a", "b"] * 5})
    pymosaic.write_dataset(table, path, partition_by=["k"])
    spark.sql(
        f"CREATE TABLE halves (n BIGINT, k STRING) USING mosaic PARTITIONED BY (k) "
        f"LOCATION '{path}'"
    )
    frame = spark.read.format("mosaic").load(path).cache()
    try:
        spark.sql("CACHE TABLE halves")
        assert frame.count() == spark.table("halves").count() == 10
        spark.sql(statement)
        assert spark.table("halves").count() == left
        assert frame.count() == left
    finally:
        frame.unpersist()
        spark.sql("DROP TABLE halves")


def test_a_state_survives_that_it_is_forgotten(spark, base):
    frame = spark.read.format("mosaic").load(base)
    add(base, "append")
    for number in range(10):
        other = f"{base}-{number}"
        pymosaic.write_dataset(pa.table({"n": [number]}), other)
        assert spark.read.format("mosaic").load(other).count() == 1
    assert frame.count() == 10
    assert len(frame.select("n").collect()) == 10


def test_a_frame_whose_files_were_deleted_says_what_to_do(spark, base):
    add(base, "append")
    frame = spark.read.format("mosaic").load(base)
    add(base, "overwrite")
    pymosaic.vacuum(base, older_than=0)
    with pytest.raises(AnalysisException, match=r"deleted since .*: open the dataset again"):
        frame.collect()


@pytest.mark.parametrize("how", ["catalog", "sql"])
def test_a_cached_frame_is_read_again_after_refresh(spark, base, how):
    """Others have written to the path, which Spark is told by the user only."""
    frame = spark.read.format("mosaic").load(base).cache()
    assert frame.count() == 10
    add(base, "append")
    assert frame.count() == 10
    if how == "catalog":
        spark.catalog.refreshByPath(base)
    else:
        spark.sql(f"REFRESH '{base}'")
    assert frame.count() == 20
    assert len(frame.collect()) == 20
    assert frame.storageLevel.useMemory
    frame.unpersist()
