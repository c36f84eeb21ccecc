"""SQL: views, tables of the catalog, inserts."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as f

import pymosaic
import pymosaic.spark
from tests.spark.plans import scan_columns


@pytest.fixture
def table(spark, request):
    name = "t_" + request.node.name.replace("[", "_").replace("]", "")
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.fixture
def days(spark, tmp_path) -> Path:
    base = tmp_path / "days"
    frame = spark.range(6).select(
        "id", (f.col("id") * 2).alias("double"), f.expr("cast(id % 2 AS int)").alias("day")
    )
    pymosaic.spark.write(frame, base, partition_by=["day"])
    return base


def files_of(base: Path) -> list[Path]:
    return sorted(path for path in base.rglob("*.mosaic") if "_mosaic" not in path.parts)


def test_a_view_takes_columns_from_its_options(spark, wide):
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW narrow USING mosaic "
        f"OPTIONS (path '{wide}', columns 'id,column_00*')"
    )
    assert len(spark.table("narrow").columns) == 11
    assert spark.sql("SELECT count(*) FROM narrow").collect()[0][0] == 80


def test_a_table_over_a_dataset_is_read_pruned(spark, table, days):
    spark.sql(f"CREATE TABLE {table} USING mosaic OPTIONS (path '{days}')")
    frame = spark.sql(f"SELECT id FROM {table} WHERE day = 1")
    assert sorted(row["id"] for row in frame.collect()) == [1, 3, 5]
    assert scan_columns(frame) == [["id", "day"]]
    assert spark.table(table).count() == 6


def test_insert_into_keeps_the_partitions_of_a_dataset(spark, table, days):
    spark.sql(f"CREATE TABLE {table} USING mosaic OPTIONS (path '{days}')")
    spark.sql(f"INSERT INTO {table} VALUES (100, 200, 1), (101, 202, 7)")
    assert {path.parent.name for path in files_of(days)} == {"day=0", "day=1", "day=7"}
    assert spark.sql(f"SELECT id FROM {table} WHERE day = 7").collect() == [(101,)]
    assert spark.table(table).count() == 8


def test_insert_overwrite_keeps_them_too(spark, table, days):
    spark.sql(f"CREATE TABLE {table} USING mosaic OPTIONS (path '{days}')")
    spark.sql(f"INSERT OVERWRITE {table} SELECT id, double, day + 5 FROM {table} WHERE id < 2")
    # Replaced files stay for a day, and are not part of the dataset.
    files = pymosaic.dataset(str(days)).files
    assert {Path(path).parent.name for path in files} == {"day=5", "day=6"}
    assert sorted(spark.table(table).collect()) == [(0, 0, 5), (1, 2, 6)]


def test_a_table_with_columns_of_its_own_is_written_and_read(spark, table, tmp_path):
    base = tmp_path / "of its own"
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, day STRING) USING mosaic "
        f"OPTIONS (path '{base}', partitionBy 'day')"
    )
    assert spark.table(table).collect() == []
    assert spark.table(table).count() == 0
    spark.sql(f"INSERT INTO {table} VALUES (1, 'mon'), (2, 'tue')")
    assert {path.parent.name for path in files_of(base)} == {"day=mon", "day=tue"}
    assert sorted(spark.table(table).collect()) == [(1, "mon"), (2, "tue")]


def test_create_table_as_select_into_the_warehouse(spark, table):
    spark.sql(f"CREATE TABLE {table} USING mosaic AS SELECT id, id * id AS square FROM range(5)")
    assert sorted(row["square"] for row in spark.table(table).collect()) == [0, 1, 4, 9, 16]


def test_save_as_table_at_a_path(spark, table, tmp_path):
    writer = spark.range(4).write.format("mosaic").mode("append")
    writer.option("path", str(tmp_path / "saved")).saveAsTable(table)
    assert len(files_of(tmp_path / "saved")) > 0
    assert spark.table(table).count() == 4


def test_a_frame_read_from_mosaic_has_a_plain_schema(spark, wide):
    schema = spark.read.format("mosaic").load(str(wide)).schema
    assert all(field.metadata == {} for field in schema)


def test_partitions_of_any_year_are_read_and_deleted(spark, table, conf):
    spark.sql(f"CREATE TABLE {table} (id INT, at TIMESTAMP) USING mosaic PARTITIONED BY (at)")
    spark.sql(
        f"INSERT INTO {table} VALUES (1, TIMESTAMP'9999-12-31 23:59:59'), "
        "(2, TIMESTAMP'0001-01-01 00:00:00'), (3, TIMESTAMP'+10000-01-01 10:00:00'), "
        "(4, TIMESTAMP'2024-01-01 10:00:00')"
    )
    place = spark.sql(f"DESCRIBE EXTENDED {table}").where("col_name = 'Location'").first()[1]
    moments = "SELECT id, CAST(at AS STRING) FROM {frame} ORDER BY id"
    expected = [
        (1, "9999-12-31 23:59:59"),
        (2, "0001-01-01 00:00:00"),
        (3, "+10000-01-01 10:00:00"),
        (4, "2024-01-01 10:00:00"),
    ]
    for frame in (spark.table(table), spark.read.format("mosaic").load(place)):
        assert spark.sql(moments, frame=frame).collect() == expected
        assert frame.where("at > '2024-01-01 10:00:00'").count() == 2
    spark.sql(f"DELETE FROM {table} WHERE at >= TIMESTAMP'9999-12-31 23:59:59'")
    assert spark.sql(moments, frame=spark.table(table)).collect() == [expected[1], expected[3]]
    conf("spark.sql.session.timeZone", "America/New_York")
    assert spark.table(table).where("at = '2023-12-31 20:00:00'").first()["id"] == 4


def test_partitions_that_others_named_in_the_zone_of_a_session_are_deleted(spark, table, tmp_path):
    for number, name in enumerate(["2024-01-01 10%3A00%3A00", "2024-01-02 10%3A00%3A00"]):
        directory = tmp_path / f"at={name}"
        directory.mkdir()
        pymosaic.write_table(pa.table({"id": [number]}), directory / "rows.mosaic")
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, at TIMESTAMP) USING mosaic PARTITIONED BY (at) "
        f"LOCATION '{tmp_path}'"
    )
    spark.sql(f"DELETE FROM {table} WHERE at = TIMESTAMP'2024-01-02 10:00:00'")
    assert [row.id for row in spark.table(table).collect()] == [0]


def test_a_column_whose_directories_would_be_hidden_is_refused(spark, tmp_path):
    frame = spark.range(2).withColumnRenamed("id", ".k").withColumn("x", f.lit(1))
    with pytest.raises(AnalysisException, match="would be hidden"):
        frame.write.format("mosaic").partitionBy("`.k`").save(str(tmp_path / "t"))
