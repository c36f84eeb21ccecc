"""Tables of the catalog: SQL's commands, partitions, and what is refused with advice."""

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as f

from tests.spark.versions import CAPABILITIES, can


@pytest.fixture
def table(spark):
    spark.sql("CREATE TABLE commanded (id BIGINT, k INT) USING mosaic PARTITIONED BY (k)")
    spark.sql("INSERT INTO commanded VALUES (1, 1), (2, 2)")
    spark.sql("INSERT INTO commanded PARTITION (k = 3) VALUES (3)")
    yield "commanded"
    for name in ("commanded", "copied", "renamed"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")


def rows(spark, table: str) -> list[tuple[object, ...]]:
    return sorted(map(tuple, spark.table(table).collect()))


def test_a_static_partition_is_overwritten(spark, table):
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (k = 1) VALUES (10)")
    assert rows(spark, table) == [(2, 2), (3, 3), (10, 1)]


def test_overwrite_by_a_condition_on_partitions(spark, table):
    new = spark.sql("SELECT 20L AS id, 2 AS k")
    new.writeTo(table).overwrite(f.expr("k IN (2, 3) AND NOT k > 2"))
    assert rows(spark, table) == [(1, 1), (3, 3), (20, 2)]
    with pytest.raises(AnalysisException, match=r"replaces whole partitions.*\[k\]"):
        new.writeTo(table).overwrite(f.expr("id = 1"))
    new.where("k > 5").writeTo(table).overwrite(f.expr("k <=> 2"))
    assert rows(spark, table) == [(1, 1), (3, 3)]


def test_a_partition_of_null_is_overwritten_by_its_own_condition(spark, table):
    spark.sql(f"INSERT INTO {table} VALUES (7, NULL)")
    new = spark.sql("SELECT 8L AS id, CAST(NULL AS INT) AS k")
    new.writeTo(table).overwrite(f.expr("k IS NULL"))
    assert (8, None) in spark.table(table).collect()
    assert spark.table(table).count() == 4
    spark.sql(f"DELETE FROM {table} WHERE k <> 1")
    assert spark.table(table).where("k IS NULL").count() == 1
    assert spark.table(table).count() == 2


def test_dynamic_overwrite_of_a_table(spark, table, conf):
    spark.sql("SELECT 30L AS id, 3 AS k").writeTo(table).overwritePartitions()
    assert rows(spark, table) == [(1, 1), (2, 2), (30, 3)]
    conf("spark.sql.sources.partitionOverwriteMode", "dynamic")
    spark.sql(f"INSERT OVERWRITE {table} VALUES (11, 1)")
    assert rows(spark, table) == [(2, 2), (11, 1), (30, 3)]
    spark.sql("SELECT 22L AS id, 2 AS k").write.insertInto(table, overwrite=True)
    assert rows(spark, table) == [(11, 1), (22, 2), (30, 3)]


def test_delete_from_a_path_is_refused_with_advice(spark, tmp_path):
    spark.range(3).write.format("mosaic").save(str(tmp_path / "base"))
    with pytest.raises(AnalysisException, match="can only be read: make a table of the path"):
        spark.sql(f"DELETE FROM mosaic.`{tmp_path / 'base'}` WHERE id = 1")


def test_delete_removes_whole_partitions(spark, table):
    spark.sql(f"DELETE FROM {table} WHERE k = 2")
    assert rows(spark, table) == [(1, 1), (3, 3)]
    with pytest.raises(AnalysisException, match="for single rows: INSERT OVERWRITE"):
        spark.sql(f"DELETE FROM {table} WHERE id = 1")
    spark.sql(f"DELETE FROM {table}")
    assert rows(spark, table) == []
    assert spark.table(table).columns == ["id", "k"]


def test_partitions_are_listed_dropped_and_truncated(spark, table):
    def listed() -> list[str]:
        return [row[0] for row in spark.sql(f"SHOW PARTITIONS {table}").collect()]

    assert listed() == ["k=1", "k=2", "k=3"]
    assert spark.sql(f"SHOW PARTITIONS {table} PARTITION (k = 2)").collect() == [("k=2",)]
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (k = 2)")
    spark.sql(f"TRUNCATE TABLE {table} PARTITION (k = 1)")
    assert listed() == ["k=3"]
    spark.sql(f"TRUNCATE TABLE {table}")
    assert listed() == []


def test_columns_are_added_before_those_of_partitions(spark, table):
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (b STRING COMMENT 'late', c INT)")
    assert spark.table(table).columns == ["id", "b", "c", "k"]
    spark.sql(f"INSERT INTO {table} VALUES (4, 'four', 4, 4)")
    assert (4, "four", 4, 4) in spark.table(table).collect()
    assert (1, None, None, 1) in spark.table(table).collect()


def test_columns_are_not_added_at_other_places(spark, table):
    with pytest.raises(AnalysisException, match="leave out FIRST and AFTER"):
        spark.sql(f"ALTER TABLE {table} ADD COLUMN b STRING FIRST")


def test_comments_of_columns_are_kept_by_tables(spark, table):
    frame = spark.range(2).withMetadata("id", {"comment": "the number", "unit": "m"})
    frame.write.format("mosaic").saveAsTable("copied")
    assert spark.table("copied").schema["id"].metadata["comment"] == "the number"


@pytest.mark.parametrize(
    "change",
    ["RENAME COLUMN id TO other", "DROP COLUMN id", "ALTER COLUMN id TYPE STRING"],
)
def test_columns_of_files_are_not_renamed_in_the_catalog_alone(spark, table, change):
    message = "CREATE OR REPLACE TABLE table USING mosaic AS|NOT_SUPPORTED_CHANGE_COLUMN"
    with pytest.raises(AnalysisException, match=message):
        spark.sql(f"ALTER TABLE {table} {change}")
    assert rows(spark, table) == [(1, 1), (2, 2), (3, 3)]


def test_commands_that_spark_has_for_its_own_sources(spark, table, tmp_path):
    spark.sql(f"ANALYZE TABLE {table} COMPUTE STATISTICS")
    spark.sql(f"MSCK REPAIR TABLE {table}")
    spark.sql(f"REFRESH TABLE {table}")
    spark.sql(f"CREATE TABLE copied LIKE {table}")
    spark.sql("INSERT INTO copied VALUES (9, 9)")
    assert rows(spark, "copied") == [(9, 9)]
    assert [row[0] for row in spark.sql("SHOW PARTITIONS copied").collect()] == ["k=9"]
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('note' = 'mine')")
    spark.sql(f"ALTER TABLE {table} RENAME TO renamed")
    assert rows(spark, "renamed") == [(1, 1), (2, 2), (3, 3)]
    [[text]] = spark.sql("SHOW CREATE TABLE renamed").collect()
    assert "USING mosaic" in text
    assert "PARTITIONED BY (k)" in text
    assert "'note' = 'mine'" in text
    told = {row[0]: row[1] for row in spark.sql("DESCRIBE EXTENDED renamed").collect()}
    assert told["Type"] == "MANAGED"
    assert told["Provider"] == "mosaic"
    assert told["Location"].endswith("/renamed")
    spark.range(5).withColumn("k", f.lit(5)).write.format("mosaic").save(str(tmp_path / "there"))
    spark.sql(f"ALTER TABLE renamed SET LOCATION '{tmp_path / 'there'}'")
    assert spark.table("renamed").count() == 5


def test_options_of_a_table_are_shown(spark, table, tmp_path):
    spark.sql(
        f"CREATE TABLE copied (id INT) USING mosaic OPTIONS (numBuckets '7') "
        f"LOCATION '{tmp_path / 'x'}'"
    )
    [[text]] = spark.sql("SHOW CREATE TABLE copied").collect()
    assert "'numBuckets' = '7'" in text
    assert str(tmp_path / "x") in text


def test_char_varchar_and_defaults(spark, table):
    spark.sql(
        "CREATE TABLE copied (id INT, n INT DEFAULT 5, c CHAR(4), v VARCHAR(3)) "
        "USING mosaic PARTITIONED BY (v)"
    )
    without_default = "INSERT INTO copied (id, c, v) VALUES (1, 'ab', 'x')"
    if can("missing columns"):
        spark.sql(without_default)
    else:
        with pytest.raises(AnalysisException, match=CAPABILITIES["missing columns"].refusal):
            spark.sql(without_default)
        spark.sql("INSERT INTO copied VALUES (1, DEFAULT, 'ab', 'x')")
    assert spark.table("copied").collect() == [(1, 5, "ab  ", "x")]
    assert spark.table("copied").where("c = 'ab'").count() == 1
    with pytest.raises(Exception, match="EXCEED_LIMIT_LENGTH"):
        spark.sql("INSERT INTO copied VALUES (1, 2, 'ab', 'abcd')")
    told = {row[0]: row[1] for row in spark.sql("DESCRIBE copied").collect()}
    assert told["c"] == "char(4)"
    [[text]] = spark.sql("SHOW CREATE TABLE copied").collect()
    assert "VARCHAR(3)" in text
    assert spark.sql("SHOW PARTITIONS copied").collect() == [("v=x",)]


def test_insert_by_name(spark, table):
    spark.sql(f"INSERT INTO {table} (k, id) VALUES (8, 80)")
    spark.sql(f"INSERT INTO {table} BY NAME SELECT 9 AS k, 90L AS id")
    assert {(80, 8), (90, 9)} <= set(rows(spark, table))


def test_a_path_in_sql(spark, tmp_path):
    base = tmp_path / "data set"
    frame = spark.range(6).withColumn("k", f.expr("cast(id % 3 AS int)"))
    frame.write.format("mosaic").partitionBy("k").save(str(base))
    found = spark.sql(f"SELECT id FROM mosaic.`{base}` WHERE k = 1")
    assert sorted(found.collect()) == [(1,), (4,)]
    assert spark.sql(f"SELECT count(*) FROM mosaic.`{base}`").collect() == [(6,)]
    frame.where("k = 2").write.format("mosaic").mode("overwrite").save(str(base))
    assert spark.sql(f"SELECT * FROM mosaic.`{base}`").count() == 2
