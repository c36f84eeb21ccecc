"""Assemble: many tables on their keys, all kinds of joins, what is refused."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as f

import pymosaic
import pymosaic.spark
from pymosaic.spark.jobs import assemble


@pytest.fixture
def base(tmp_path) -> Path:
    return tmp_path / "wide"


@pytest.fixture
def tables(spark):
    return {
        "people": spark.createDataFrame(
            [(1, "x", "Ann", 30), (2, "x", None, 40), (None, "y", "Nil", None)],
            "id int, shop string, name string, age int",
        ),
        "visits": spark.createDataFrame(
            [("x", 2, [1.5, None], {"a": 1}), ("x", 3, [], None)],
            "shop string, id int, times array<double>, pages map<string,int>",
        ),
        "sums": spark.createDataFrame(
            [(2, "x", 7.5, 8.5, "two"), (None, "y", None, 1.0, None)],
            "id int, shop string, low double, high double, note string",
        ),
    }


def rows_of(base: Path) -> dict:
    rows = pymosaic.dataset(str(base)).scan().to_table().to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: tuple(row.values())[2:] for row in rows}


ANN = ("Ann", 30, None, None, None, None, None)
TWO = (None, 40, [1.5, None], [("a", 1)], 7.5, 8.5, "two")
THREE: tuple[Any, ...] = (None, None, [], None, None, None, None)
NIL = ("Nil", None, None, None, None, 1.0, None)


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ("outer", {1: ANN, 2: TWO, 3: THREE, None: NIL}),
        ("left", {1: ANN, 2: TWO, None: NIL}),
        ("inner", {2: TWO}),
    ],
)
def test_rows_of_one_key_become_one(spark, base, tables, how, wanted):
    report = assemble(spark, tables, base, on=["id", "shop"], how=how, partitions=2)
    names = pymosaic.dataset(str(base)).schema.names
    assert names == ["id", "shop", "name", "age", "times", "pages", "low", "high", "note"]
    assert rows_of(base) == wanted
    assert (report.rows, report.columns, report.tables, report.rows_in) == (len(wanted), 9, 3, 7)


def test_the_result_is_that_of_a_join_of_sparks(spark, base):
    frames = [
        spark.range(0, 200)
        .where(f.col("id") % (2 + number) == 0)
        .select(
            "id",
            *[(f.col("id") * (number * 10 + place)).alias(f"c{place}") for place in range(5)],
            f.concat(f.lit("t"), "id").alias("text"),
        )
        for number in range(3)
    ]
    assemble(spark, frames, base, on="id", column_names="t{table}_{column}", rowGroupBytes="16k")
    first, *others = [
        frame.toDF("id", *(f"t{number}_{name}" for name in frame.columns[1:]))
        for number, frame in enumerate(frames)
    ]
    joined = first
    for other in others:
        joined = joined.join(other, "id", "outer")
    read = pymosaic.spark.read(spark, base)
    assert read.columns == joined.columns
    assert sorted(read.collect()) == sorted(joined.collect())


def test_mistakes_are_refused_and_leave_no_trace(spark, base, tables):
    twice = {**tables, "more": tables["people"]}
    options: dict[str, Any] = {"on": ["id", "shop"]}
    with pytest.raises(pymosaic.InvalidOptionError, match="several tables have a column 'name'"):
        assemble(spark, twice, base, **options)
    with pytest.raises(pymosaic.InvalidOptionError, match="how must be one of outer"):
        assemble(spark, tables, base, **options, how="cross")
    with pytest.raises(pymosaic.InvalidOptionError, match="table 'visits' has no columns named"):
        assemble(spark, tables, base, on=["id", "name"])
    frames = [tables["people"], tables["sums"].withColumn("id", f.col("id").cast("long"))]
    with pytest.raises(pymosaic.InvalidOptionError, match="has type bigint in table '1'"):
        assemble(spark, frames, base, **options)
    double = {**tables, "sums": tables["sums"].union(tables["sums"])}
    with pytest.raises(pymosaic.InvalidDataError, match=r"table 'sums' has several .*id="):
        assemble(spark, double, base, **options)
    assert not base.exists()


def test_keys_are_equal_where_sparks_are(spark, base):
    left = spark.createDataFrame([(0.0, 1)], "id double, a int")
    right = spark.createDataFrame([(-0.0, 2)], "ID double, b int")
    assert assemble(spark, [left, right], base, on="Id").rows == 1
    assert spark.read.format("mosaic").load(str(base)).collect() == [(0.0, 1, 2)]
