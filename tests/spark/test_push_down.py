"""What reaches a scan of the columns, filters and limits of a query."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from pymosaic.spark import enable, session
from tests.spark.plans import physical_plan, pushed, rows_read, scan_columns


@pytest.fixture
def frame(spark: SparkSession, wide: Path):
    return spark.read.format("mosaic").load(str(wide))


def test_everything_is_active_in_a_classic_session(spark):
    support = enable(spark)
    assert support.push_down
    assert support.driver_planning
    assert support.reasons == ()


def test_select_of_two_columns_reads_two(frame):
    chosen = frame.select("column_007", "id")
    assert len(chosen.collect()) == 80
    assert scan_columns(chosen) == [["id", "column_007"]]


def test_sql_view_is_pruned(spark, wide):
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW wide USING mosaic OPTIONS (path '{wide}')")
    total = spark.sql("SELECT sum(column_002) AS total FROM wide WHERE half = 1")
    assert total.collect()[0]["total"] == sum(2 * row for row in range(40, 80))
    assert scan_columns(total) == [["column_002", "half"]]


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("id = 37", 1),
        ("id >= 70", 10),
        ("id < 5 or id > 77", 7),
        ("(id = 3 or id = 33) and name = 'row 33'", 1),
        ("not (id > 3 and id < 76)", 8),
        ("id in (1, 41, 79)", 3),
        ("id between 28 and 31", 4),
        ("half = 1 and id < 50", 10),
        ("name like 'row 7%'", 11),
        ("score is null and id < 30", 5),
        ("id <=> 11", 1),
    ],
)
def test_rows_outside_a_filter_are_not_handed_over(frame, condition, rows):
    found = frame.where(condition).select("column_001")
    assert len(found.collect()) == rows
    assert rows_read(found) == rows


def test_row_groups_and_partitions_are_skipped_before_tasks_start(frame):
    found = frame.where("id = 37").select("column_001")
    assert found.rdd.getNumPartitions() == 1
    assert frame.where("half = 7").select("id").rdd.getNumPartitions() == 1
    assert frame.where("half = 7").select("id").collect() == []


def test_functions_in_a_filter_are_left_to_spark(frame):
    found = frame.where("id % 2 = 0 and id < 10 and length(name) = 5").select("id")
    assert sorted(row["id"] for row in found.collect()) == [0, 2, 4, 6, 8]
    assert rows_read(found) <= 10


FOLDED = [
    "coalesce(i < 3000000000, false)",
    "coalesce(i = 1.5, true)",
    "(d = 0.123) is true",
    "(d = 0.123) is not false",
    "(i = 1.5) is null",
    "(i = 1.5) is not null",
    "not ((i = 1.5) is null)",
    "(i = 1.5) or i = 2",
    "(i > 3000000000) <=> (d > 99999)",
    "if(i < 3000000000, i = 1, i = 2)",
    "case when i < 3000000000 then true else false end",
    "(i in (1, 3000000000)) is true",
    "not (i >= 3000000000 and d = 0.123)",
]


@pytest.fixture(scope="module")
def folded(spark, tmp_path_factory):
    """Rows twice: as Mosaic and as Parquet."""
    rows = spark.sql(
        "SELECT CAST(id AS int) AS i, CAST(id AS decimal(5,2)) AS d FROM range(4) "
        "UNION ALL SELECT NULL, NULL"
    )
    base = tmp_path_factory.mktemp("folded")
    rows.write.format("mosaic").mode("append").save(str(base / "mosaic"))
    rows.write.parquet(str(base / "parquet"))
    return [spark.read.format(kind).load(str(base / kind)) for kind in ("mosaic", "parquet")]


@pytest.mark.parametrize("condition", FOLDED)
def test_comparisons_that_spark_folds_are_left_to_it(folded, condition):
    def answers(frame):
        return [
            sorted(map(str, frame.where(condition).collect())),
            frame.where(condition).count(),
            sorted(map(str, frame.selectExpr(condition).collect())),
            sorted(map(str, frame.groupBy(f.expr(condition)).count().collect())),
            frame.agg(f.sum(f.expr(f"if({condition}, i, 0)"))).collect(),
        ]

    mosaic, parquet = folded
    assert answers(mosaic) == answers(parquet)


def test_limit_stops_early(frame):
    few = frame.select("id").limit(3)
    assert len(few.collect()) == 3
    assert pushed(few)[0]["limit"] == 3
    assert rows_read(few) <= 3


def test_count_comes_from_metadata(spark, frame):
    counted = frame.groupBy().count()
    assert counted.collect()[0][0] == 80
    plan = physical_plan(counted)
    assert "LocalTableScan" in plan
    assert "BatchScan" not in plan


def test_counts_beside_other_things_are_right(spark, frame):
    assert frame.selectExpr("count(*)", "count(1) AS one").collect() == [(80, 80)]
    assert frame.selectExpr("count(*) + 1").collect() == [(81,)]
    assert frame.selectExpr("count(*) FILTER (WHERE id < 3)").collect() == [(3,)]
    assert frame.selectExpr("count(NULL)").collect() == [(0,)]
    assert frame.limit(7).count() == 7
    assert frame.where("id < 9").count() == 9
    assert spark.range(1).where(f.lit(80) == frame.groupBy().count().scalar()).count() == 1


def test_count_of_a_column_and_of_groups_is_right(frame):
    assert frame.agg(f.count("score")).collect()[0][0] == 80 - 12
    assert {row["half"]: row["count"] for row in frame.groupBy("half").count().collect()} == {
        0: 40,
        1: 40,
    }


def test_small_side_of_a_join_is_broadcast(frame):
    joined = frame.select("id", "column_001").join(frame.select("id", "name"), "id")
    assert "BroadcastHashJoin" in joined._jdf.queryExecution().sparkPlan().toString()
    assert joined.count() == 80


def test_switch_turns_push_down_off(frame, conf):
    conf("spark.mosaic.pushDown", False)
    chosen = frame.select("id")
    assert len(chosen.collect()) == 80
    assert len(scan_columns(chosen)[0]) == 300


def test_one_frame_with_two_filters_keeps_them_apart(frame):
    both = frame.where("id = 1").union(frame.where("id = 2")).select("id")
    assert sorted(row["id"] for row in both.collect()) == [1, 2]
    assert frame.where("id = 3").count() == 1
    assert frame.count() == 80


def test_splits_go_by_projected_bytes(spark, wide):
    read = spark.read.format("mosaic").option("maxPartitionBytes", "1100000").load(str(wide))
    assert read.select("id").rdd.getNumPartitions() == 4
    assert spark.read.format("mosaic").load(str(wide)).select("id").rdd.getNumPartitions() == 2


@pytest.fixture
def other(spark):
    """A session besides the shared one."""
    yield spark.newSession()
    # A session that was used is the active one until another is.
    spark._jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(spark._jsparkSession)


def test_a_second_session_is_made_ready_on_its_own(other, wide):
    assert enable(other).push_down
    frame = other.read.format("mosaic").load(str(wide)).select("id")
    assert len(frame.collect()) == 80
    assert scan_columns(frame) == [["id"]]


def test_a_session_that_was_not_made_ready_has_the_source_too(other, wide):
    frame = other.read.format("mosaic").load(str(wide))
    chosen = frame.where("id = 37 or id = 12").select("column_001")
    assert sorted(row[0] for row in chosen.collect()) == [12, 37]
    assert rows_read(chosen) == 2
    assert frame.count() == 80


def test_a_spark_of_other_internals_is_told(other, monkeypatch):
    def fail(spark):
        raise RuntimeError("cannot compile\nat line 5")

    monkeypatch.setattr(session, "_install", fail)
    support = enable(other)
    assert not support.push_down
    assert not support.driver_planning
    assert support.reasons == ("Java parts: cannot compile",)
