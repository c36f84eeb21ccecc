"""Tables that are replaced: by queries that read them, by queries that fail, by other layouts."""

import shutil
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException

import pymosaic
from tests.spark.versions import can

REPLACEMENTS = {
    "saveAsTable": lambda spark, frame, table: (
        frame.write.format("mosaic").mode("overwrite").saveAsTable(table)
    ),
    "createOrReplace": lambda spark, frame, table: (
        frame.writeTo(table).using("mosaic").createOrReplace()
    ),
    "replace": lambda spark, frame, table: frame.writeTo(table).using("mosaic").replace(),
    "CREATE OR REPLACE": lambda spark, frame, table: spark.sql(
        f"CREATE OR REPLACE TABLE {table} USING mosaic AS SELECT * FROM {{frame}}", frame=frame
    ),
    "REPLACE": lambda spark, frame, table: spark.sql(
        f"REPLACE TABLE {table} USING mosaic AS SELECT * FROM {{frame}}", frame=frame
    ),
}


@pytest.fixture
def table(spark):
    spark.sql("CREATE TABLE replaced USING mosaic AS SELECT id, id * 2 AS twice FROM range(10)")
    yield "replaced"
    spark.sql("DROP TABLE IF EXISTS replaced")


def tables(spark) -> list[str]:
    return [row["tableName"] for row in spark.sql("SHOW TABLES").collect()]


@pytest.mark.parametrize("spelling", REPLACEMENTS)
def test_a_table_is_replaced_by_a_query_that_reads_it(spark, table, spelling):
    before = tables(spark)
    REPLACEMENTS[spelling](spark, spark.table(table).where("id < 5").select("twice"), table)
    assert sorted(spark.table(table).collect()) == [(0,), (2,), (4,), (6,), (8,)]
    assert spark.table(table).count() == 5
    assert tables(spark) == before


@pytest.mark.parametrize("spelling", REPLACEMENTS)
def test_a_query_that_fails_leaves_the_table_as_it_was(spark, table, spelling):
    before = tables(spark)
    failing = spark.table(table).selectExpr(
        "CASE WHEN id = 9 THEN raise_error('enough') ELSE id END AS id"
    )
    with pytest.raises(Exception, match="enough"):
        REPLACEMENTS[spelling](spark, failing.selectExpr("cast(id AS long) AS id"), table)
    assert spark.table(table).columns == ["id", "twice"]
    assert spark.table(table).count() == 10
    assert tables(spark) == before


def test_a_cached_table_is_not_answered_from_before(spark, table):
    spark.sql(f"CACHE TABLE {table}")
    assert spark.table(table).count() == 10
    REPLACEMENTS["saveAsTable"](spark, spark.table(table).where("id = 3"), table)
    assert spark.table(table).collect() == [(3, 6)]


def test_a_table_at_a_path_is_replaced_where_it_is(spark, tmp_path):
    def write(frame):
        writer = frame.write.format("mosaic").mode("overwrite").option("path", str(tmp_path / "t"))
        writer.saveAsTable("located")

    try:
        write(spark.range(10))
        write(spark.table("located").where("id < 3").selectExpr("id", "id AS same"))
        assert sorted(spark.table("located").collect()) == [(0, 0), (1, 1), (2, 2)]
        failing = spark.table("located").selectExpr("raise_error('enough') IS NULL AS gone")
        with pytest.raises(Exception, match="enough"):
            write(failing)
        assert sorted(spark.table("located").collect()) == [(0, 0), (1, 1), (2, 2)]
    finally:
        spark.sql("DROP TABLE IF EXISTS located")


def test_a_table_of_another_source_is_replaced_too(spark, table):
    spark.sql(f"DROP TABLE {table}")
    other = f"CREATE TABLE {table} USING parquet AS SELECT id FROM range(4)"
    spark.sql(other)
    if can("keep tables of others"):
        with pytest.raises(AnalysisException, match=r"use df\.writeTo\(table\)"):
            REPLACEMENTS["saveAsTable"](spark, spark.range(2), table)
    else:
        with pytest.raises(Exception, match="INTERNAL_ERROR"):
            REPLACEMENTS["saveAsTable"](spark, spark.range(2), table)
        assert table not in tables(spark)
        shutil.rmtree(warehouse(spark, table))
        spark.sql(other)
    failing = spark.range(3).selectExpr("raise_error('enough') IS NULL AS gone")
    with pytest.raises(Exception, match="enough"):
        REPLACEMENTS["createOrReplace"](spark, failing, table)
    assert spark.table(table).count() == 4
    REPLACEMENTS["createOrReplace"](spark, spark.range(2, 4), table)
    assert sorted(spark.table(table).collect()) == [(2,), (3,)]
    assert all(path.suffix == ".mosaic" for path in warehouse(spark, table).glob("part*"))


def warehouse(spark, table: str) -> Path:
    base = spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")
    return Path(base) / table


def directories(spark, table: str) -> set[str]:
    """The directories of the files that the table has; others are deleted some time later."""
    files = pymosaic.dataset(str(warehouse(spark, table))).files
    return {Path(path).parent.name for path in files}


def test_partitioned_by_makes_directories_and_comes_last(spark, table):
    spark.sql(f"DROP TABLE {table}")
    spark.sql(f"CREATE TABLE {table} (Day STRING, n INT) USING mosaic PARTITIONED BY (day)")
    assert spark.table(table).columns == ["n", "Day"]
    spark.sql(f"INSERT INTO {table} VALUES (1, 'mon'), (2, 'tue')")
    assert directories(spark, table) == {"Day=mon", "Day=tue"}
    assert sorted(spark.table(table).collect()) == [(1, "mon"), (2, "tue")]
    spark.sql(f"INSERT OVERWRITE {table} VALUES (3, 'wed')")
    assert directories(spark, table) == {"Day=wed"}


@pytest.mark.parametrize("spelling", ["SQL", "partitionBy", "writeTo", "replace"])
def test_partitions_of_a_table_made_by_a_query(spark, table, spelling):
    frame = spark.range(4).selectExpr("id % 2 AS half", "id")
    if spelling != "replace":
        spark.sql(f"DROP TABLE {table}")
    if spelling in ("SQL", "replace"):
        spark.sql(
            f"CREATE {'OR REPLACE' if spelling == 'replace' else ''} TABLE {table} USING mosaic "
            "PARTITIONED BY (half) AS SELECT * FROM {frame}",
            frame=frame,
        )
    elif spelling == "partitionBy":
        frame.write.format("mosaic").partitionBy("half").saveAsTable(table)
    else:
        frame.writeTo(table).using("mosaic").partitionedBy(frame.half).create()
    assert directories(spark, table) == {"half=0", "half=1"}
    assert spark.table(table).columns == ["id", "half"]
    assert sorted(spark.table(table).collect()) == [(0, 0), (1, 1), (2, 0), (3, 1)]


def test_buckets_are_refused_with_advice(spark, table):
    spark.sql(f"DROP TABLE {table}")
    for clause in ("CLUSTERED BY (id) INTO 4 BUCKETS", "CLUSTER BY (id)"):
        with pytest.raises(AnalysisException, match=r"a mosaic table cannot have .*PARTITIONED BY"):
            spark.sql(f"CREATE TABLE {table} (id INT, n INT) USING mosaic {clause}")
    with pytest.raises(AnalysisException, match="a mosaic table cannot have bucket"):
        spark.range(3).write.format("mosaic").bucketBy(4, "id").saveAsTable(table)
    with pytest.raises(AnalysisException, match="names all columns"):
        spark.range(3).write.format("mosaic").partitionBy("id").saveAsTable(table)
    assert table not in tables(spark)


def test_a_managed_table_cannot_be_replaced_at_its_own_place(spark, table):
    place = warehouse(spark, table)
    before = sorted(spark.table(table).collect())
    with pytest.raises(AnalysisException, match="is managed, and its directory"):
        spark.sql(
            f"CREATE OR REPLACE TABLE {table} USING mosaic LOCATION '{place}' AS SELECT 2 AS n"
        )
    assert sorted(spark.table(table).collect()) == before


def test_a_place_with_files_is_never_mixed_with_the_rows_of_a_query(spark, tmp_path):
    place = str(tmp_path / "there")
    spark.range(5).write.format("mosaic").save(place)
    with pytest.raises(AnalysisException, match="non-empty directory"):
        spark.sql(f"CREATE TABLE placed USING mosaic LOCATION '{place}' AS SELECT id FROM range(3)")
    with pytest.raises(AnalysisException, match="non-empty directory"):
        spark.range(3).write.format("mosaic").option("path", place).saveAsTable("placed")
    assert "placed" not in tables(spark)
    assert pymosaic.dataset(place).count_rows() == 5
    try:
        spark.range(2).write.format("mosaic").mode("overwrite").option("path", place).saveAsTable(
            "placed"
        )
        assert spark.table("placed").count() == pymosaic.dataset(place).count_rows() == 2
        spark.sql("DROP TABLE placed")
        spark.sql(
            f"CREATE OR REPLACE TABLE placed USING mosaic LOCATION '{place}' "
            "AS SELECT id FROM range(7)"
        )
        assert spark.table("placed").count() == pymosaic.dataset(place).count_rows() == 7
    finally:
        spark.sql("DROP TABLE IF EXISTS placed")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE OR REPLACE TABLE {table} (x INT) USING mosaic OPTIONS (nonsense 'x')",
        "REPLACE TABLE {table} USING mosaic LOCATION '/nowhere/at/all'",
        "REPLACE TABLE {table} (x INT) USING mosaic PARTITIONED BY (x)",
    ],
)
def test_a_definition_that_fails_leaves_the_table_as_it_was(spark, table, statement):
    before = tables(spark)
    with pytest.raises(AnalysisException):
        spark.sql(statement.format(table=table))
    assert tables(spark) == before
    assert spark.table(table).count() == 10


@pytest.mark.parametrize("verb", ["REPLACE", "CREATE OR REPLACE"])
def test_a_table_is_replaced_by_a_definition(spark, table, tmp_path, verb):
    before = tables(spark)
    spark.sql(f"{verb} TABLE {table} (x INT, k INT) USING mosaic PARTITIONED BY (k) COMMENT 'new'")
    assert spark.table(table).collect() == []
    spark.sql(f"INSERT INTO {table} VALUES (1, 2)")
    assert spark.table(table).collect() == [(1, 2)]
    spark.range(3).write.format("mosaic").save(str(tmp_path / "files"))
    spark.sql(f"{verb} TABLE {table} USING mosaic LOCATION '{tmp_path / 'files'}'")
    assert spark.table(table).count() == 3
    assert tables(spark) == before


def test_rows_without_columns_replace_nothing(spark, table):
    with pytest.raises(AnalysisException, match=r"^rows without columns cannot be stored"):
        spark.table(table).select().write.format("mosaic").mode("overwrite").saveAsTable(table)
    assert spark.table(table).count() == 10


def test_a_name_that_another_source_lost_is_free(spark, tmp_path):
    """Spark remembers the files of a table whose overwrite failed."""
    frame = spark.range(6)
    spark.sql(f"CREATE DATABASE lost LOCATION '{tmp_path / 'first'}'")
    frame.write.format("parquet").saveAsTable("lost.numbers")
    with pytest.raises(Exception, match="enough"):
        frame.selectExpr("raise_error('enough') IS NULL AS id").write.format("parquet").mode(
            "overwrite"
        ).saveAsTable("lost.numbers")
    spark.sql("DROP DATABASE lost CASCADE")
    spark.sql(f"CREATE DATABASE lost LOCATION '{tmp_path / 'second'}'")
    try:
        frame.write.format("mosaic").saveAsTable("lost.numbers")
        assert spark.table("lost.numbers").count() == 6
        assert pymosaic.dataset(tmp_path / "second" / "numbers").count_rows() == 6
    finally:
        spark.sql("DROP DATABASE lost CASCADE")
