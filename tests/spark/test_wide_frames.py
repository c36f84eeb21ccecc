"""Frames of a thousand columns or more: analysis and aggregates without a look at all columns."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as f

import pymosaic
from pymosaic.spark.session import _new

_COLUMNS = 1_200


@pytest.fixture(scope="module")
def wide(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = str(tmp_path_factory.mktemp("wide") / "data")
    columns: dict[str, Any] = {f"c{place}": [place, place + 1, None] for place in range(_COLUMNS)}
    pymosaic.write_dataset(pa.table({"k": ["a", "b", "a"], **columns}), path)
    return spark.read.format("mosaic").load(path)


def _encoded_columns(frame: DataFrame) -> int:
    groups: Any = frame.groupBy("k")
    return int(groups._jgd.df().encoder().schema().size())


def test_groups_of_a_wide_frame_encode_no_columns(wide: DataFrame) -> None:
    assert _encoded_columns(wide) == 0


def test_groups_of_a_narrow_frame_are_left_to_spark(wide: DataFrame) -> None:
    assert _encoded_columns(wide.select("k", "c1")) == 2


def test_count_and_aggregates_of_a_wide_frame_are_right(wide: DataFrame) -> None:
    matching = wide.where("c10 >= 10")
    assert (wide.count(), matching.count(), wide.where("c10 > 99").count()) == (3, 2, 0)
    assert matching.agg(f.sum("c1199"), f.max("k")).collect() == [(2399, "b")]
    assert matching.agg({"c7": "max"}).collect() == [(8,)]
    assert len(wide.groupBy().max().columns) == _COLUMNS


def test_groups_of_a_wide_frame_are_right(wide: DataFrame) -> None:
    assert sorted(wide.groupBy("k").count().collect()) == [("a", 2), ("b", 1)]
    assert sorted(wide.groupBy("k").sum("c5").collect()) == [("a", 5), ("b", 6)]
    assert wide.rollup("k").count().count() == 3
    assert wide.cube("k").agg(f.count("c1")).count() == 3
    pivoted = wide.groupBy("c4").pivot("k").count().where("c4 = 4")
    assert pivoted.collect() == [(4, 1, None)]


def test_groups_of_a_wide_frame_go_to_pandas(wide: DataFrame) -> None:
    sizes = wide.select("k", *[f"c{place}" for place in range(1_000)]).groupBy("k")
    found = sizes.applyInPandas(lambda group: group[["k", "c0"]].head(1), "k string, c0 double")
    assert sorted(row.k for row in found.collect()) == ["a", "b"]


def _columns_below(frame: DataFrame) -> int:
    """How many columns the operator at the top of an analyzed plan sees."""
    plan: Any = frame._jdf.queryExecution().analyzed()
    return int(plan.children().apply(0).output().size())


_FEW: list[tuple[Callable[[DataFrame], list[Column | str]], list[Any]]] = [
    (lambda _: ["k"], ["a"]),
    (lambda _: ["C7", "k"], [7, "a"]),
    (lambda wide: [wide["c3"], wide.c4 + 1], [3, 5]),
    (lambda _: [f.expr("c1 + C2 AS total"), "c5"], [3, 5]),
    (lambda _: [f.expr("upper(k)"), f.lit(1)], ["A", 1]),
    (lambda _: [f.coalesce("c9", f.lit(0)).alias("c9")], [9]),
    (lambda _: [f.explode(f.array("c2", "c1"))], [2]),
    (lambda _: [f.sum("c1").over(Window.orderBy("c1"))], [1]),
]


@pytest.mark.parametrize(("columns", "first"), _FEW)
def test_few_columns_are_selected_before_anything_is_resolved(
    wide: DataFrame, columns: Callable[[DataFrame], list[Column | str]], first: list[Any]
) -> None:
    chosen = wide.where("c0 = 0").select(*columns(wide))
    assert _columns_below(chosen) < 10
    assert list(chosen.collect()[0]) == first


_OPEN: list[tuple[Callable[[DataFrame], DataFrame], Any]] = [
    (lambda wide: wide.select("*").where("c0 = 0").select("k"), "a"),
    (lambda wide: wide.alias("t").select("t.c8"), 8),
    (lambda wide: wide.selectExpr("c1 + 1 AS new", "new + 1"), 2),
    (lambda wide: wide.select(wide.colRegex("`c119[89]`")), 1198),
    (lambda wide: wide.selectExpr("(SELECT col1 FROM VALUES (1) WHERE col1 = c1)"), 1),
    (lambda wide: wide.select("_metadata.row_index"), 0),
    (lambda wide: wide.select(f.input_file_name() != "", "c1"), True),
    (lambda wide: wide.select("k").select("_metadata.row_index"), 0),
]


@pytest.mark.parametrize(("query", "first"), _OPEN)
def test_names_that_are_no_plain_columns_are_left_to_spark(
    wide: DataFrame, query: Callable[[DataFrame], DataFrame], first: Any
) -> None:
    assert query(wide).collect()[0][0] == first


def test_columns_that_were_not_selected_are_found_below(wide: DataFrame) -> None:
    assert wide.select("k").where("c10 = 11").collect() == [("b",)]
    assert wide.select("c1").orderBy(wide["c2"].desc()).collect()[0] == (2,)


_AFTER_AGGREGATE: list[Callable[[DataFrame], DataFrame]] = [
    lambda wide: wide.groupBy("k").count().orderBy(f.sum("c5")),
    lambda wide: wide.groupBy("k").count().orderBy(f.max(wide["c5"]).desc()),
    lambda wide: wide.groupBy("k").count().where("sum(c5) > 5"),
    lambda wide: wide.groupBy("k").count().where("count > 0").orderBy(f.sum("c5")),
    lambda wide: wide.groupBy("k").count().where("max(c5) > 0").where("count > 1"),
    lambda wide: wide.cube("k").count().orderBy(f.sum("c5")),
    lambda wide: wide.rollup("k").count().where("max(c5) > 5").orderBy("k"),
    lambda wide: wide.agg(f.sum("c1")).where(f.max("c2") > 1),
    lambda wide: wide.select(f.sum("c1")).orderBy(f.max("c2")),
]


@pytest.mark.parametrize("query", _AFTER_AGGREGATE)
def test_columns_that_were_not_aggregated_are_found_below(
    wide: DataFrame, query: Callable[[DataFrame], DataFrame]
) -> None:
    narrow = wide.select("k", "c1", "c2", "c5")
    assert query(wide).collect() == query(narrow).collect() != []
    assert query(wide.toDF(*wide.columns)).collect() == query(narrow).collect()


def test_columns_of_an_aggregate_are_ordered_without_a_look_at_others(wide: DataFrame) -> None:
    counts: Any = wide.groupBy("k").count().orderBy("count")._jdf.queryExecution().analyzed()
    assert counts.children().apply(0).children().apply(0).output().size() == 1


def test_a_wide_frame_joins_itself(wide: DataFrame) -> None:
    first, second = wide.select("k", "c1"), wide.select("k", "c2")
    assert first.join(second, "k").count() == 5
    assert wide.join(wide, "k").count() == 5
    both = wide.alias("x").join(wide.alias("y"), f.col("x.c1") == f.col("y.c0"))
    assert both.select("x.c1", "y.c1").collect() == [(1, 2)]


def test_missing_columns_are_told_with_suggestions(wide: DataFrame) -> None:
    with pytest.raises(AnalysisException, match=r"UNRESOLVED_COLUMN.*c119"):
        wide.select("c11999")
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        wide.agg(f.max("nothing"))


def test_names_in_another_case_are_ambiguous(spark: SparkSession, tmp_path: Path) -> None:
    columns: dict[str, Any] = {f"c{place}": [place] for place in range(_COLUMNS)}
    pymosaic.write_dataset(pa.table({"A": [1], "a": [2], **columns}), tmp_path / "data")
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        frame = spark.read.format("mosaic").load(str(tmp_path / "data"))
        assert frame.select("A", "a", "c1").collect() == [(1, 2, 1)]
        with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
            frame.select("C1")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    with pytest.raises(AnalysisException, match="AMBIGUOUS_REFERENCE"):
        frame.select("A")


@pytest.mark.parametrize(("columns", "is_resolved"), [(_COLUMNS, True), (10, False)])
def test_no_rule_looks_at_the_columns_of_a_wide_path(
    spark: SparkSession, tmp_path: Path, columns: int, is_resolved: bool
) -> None:
    table = pa.table({f"c{place}": [place] for place in range(columns)})
    pymosaic.write_dataset(table, tmp_path / "data")
    frame: Any = spark.read.format("mosaic").load(str(tmp_path / "data"))
    relation = frame._jdf.queryExecution().analyzed().newInstance()
    assert not relation.analyzed()
    _new(spark.sparkContext, "MosaicAnalysis$Resolved").apply(relation)
    assert relation.analyzed() == is_resolved


def test_wide_frames_lose_columns_and_duplicates(wide: DataFrame) -> None:
    assert wide.dropDuplicates(["k"]).count() == 2
    assert len(wide.drop("c1", "c2").where("k = 'b'").collect()[0]) == _COLUMNS - 1


def _top(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().sparkPlan().getClass().getSimpleName())


def test_rows_of_a_scan_are_not_copied(wide: DataFrame) -> None:
    assert _top(wide) == "BatchScanExec"
    assert _top(wide.where("c3 > 3")) == "FilterExec"
    assert _top(wide.select("c1", "k")) == "ProjectExec"
    assert wide.collect()[1][:4] == ("b", 1, 2, 3)
    assert wide.where("c3 > 3").select("k", "c3").collect() == [("b", 4)]
    assert wide.where("c3 > 3").collect()[0][:4] == ("b", 1, 2, 3)
    assert [row.c7 for row in wide.orderBy(f.desc_nulls_last("c7")).collect()] == [8, 7, None]


def _whole_scan(frame: DataFrame, plan: Any) -> Any:
    """What a plan becomes before Spark pushes anything into its scans."""
    return _new(frame.sparkSession.sparkContext, "MosaicPlans$Whole").apply(plan)


@pytest.mark.parametrize(
    ("query", "is_made"),
    [
        (lambda wide: wide, True),
        (lambda wide: wide.repartition(2), True),
        (lambda wide: wide.union(wide), True),
        (lambda wide: wide.select("k", "c1"), False),
        (lambda wide: wide.where("c1 = 1"), False),
        (lambda wide: wide.limit(1), False),
        (lambda wide: wide.groupBy("k").count(), False),
        (lambda wide: wide.select("*", "_metadata"), False),
    ],
)
def test_only_scans_of_whole_rows_are_made_before_spark_pushes_down(
    wide: DataFrame, query: Callable[[DataFrame], DataFrame], is_made: bool
) -> None:
    frame = query(wide)
    made = _whole_scan(frame, frame._jdf.queryExecution().analyzed())
    leaves = made.collectLeaves()
    kinds = {leaves.apply(place).getClass().getSimpleName() for place in range(leaves.size())}
    assert kinds == {"DataSourceV2ScanRelation" if is_made else "DataSourceV2Relation"}


def test_whole_rows_are_what_spark_reads_without_the_shortcut(
    wide: DataFrame, tmp_path: Path
) -> None:
    spark, rows = wide.sparkSession, wide.limit(3).collect()  # a limit is left to Spark
    assert wide.collect() == rows
    assert wide.union(wide).collect() == rows + rows
    assert sorted(map(str, wide.repartition(2).collect())) == sorted(map(str, rows))
    wide.write.parquet(str(tmp_path / "parquet"))
    assert spark.read.parquet(str(tmp_path / "parquet")).collect() == rows
    wide.write.format("mosaic").save(str(tmp_path / "mosaic"))
    assert spark.read.format("mosaic").load(str(tmp_path / "mosaic")).collect() == rows
