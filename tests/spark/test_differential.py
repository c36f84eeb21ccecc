"""Every query gives the same rows with push-down as without it, and as over the same Parquet."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

import pymosaic

ROWS = 120
Query = Callable[[SparkSession, DataFrame], DataFrame]


def _events() -> pa.Table:
    generator = np.random.default_rng(7)
    values = generator.normal(size=ROWS)
    values[::11] = np.nan
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "Mixed": pa.array([row % 5 for row in range(ROWS)], pa.int32()),
            "key": [None if row % 13 == 0 else f"k{row % 9}" for row in range(ROWS)],
            "value": pa.array(values, mask=np.arange(ROWS) % 17 == 0),
            "small": pa.array(values.astype("f4")),
            "flag": [row % 3 == 0 for row in range(ROWS)],
            "at": pa.array([row * 3_600_000_000 for row in range(ROWS)], pa.timestamp("us", "UTC")),
            "local": pa.array(
                [row * 86_400_000_000_123 for row in range(ROWS)], pa.timestamp("ns")
            ),
            "day": pa.array([row // 4 for row in range(ROWS)], pa.date32()),
            "tags": [[f"t{row % 3}", f"t{row % 4}"] for row in range(ROWS)],
            "dotted.name": pa.array([row * 2 for row in range(ROWS)], pa.int16()),
        }
        | {f"extra_{place}": pa.array(range(ROWS), pa.int32()) for place in range(40)}
    )


@pytest.fixture(scope="module")
def tables(spark, tmp_path_factory) -> tuple[Path, Path]:
    base = tmp_path_factory.mktemp("differential")
    events = _events()
    for number in range(3):
        part = events.slice(number * 40, 40)
        mosaic, parquet = base / "mosaic", base / "parquet"
        mosaic.mkdir(exist_ok=True)
        parquet.mkdir(exist_ok=True)
        with pymosaic.MosaicWriter(
            mosaic / f"{number}.mosaic", part.schema, statistics=True, row_group_bytes=1
        ) as writer:
            writer.write(part.slice(0, 20))
            writer.write(part.slice(20))
        # Spark reads no nanoseconds from Parquet; it cuts them off Mosaic's.
        cut = part.set_column(
            part.schema.get_field_index("local"),
            "local",
            part["local"].cast(pa.timestamp("us"), safe=False),
        )
        pq.write_table(cut, parquet / f"{number}.parquet")
    return base / "mosaic", base / "parquet"


def _sql(text: str) -> Query:
    def query(session: SparkSession, events: DataFrame) -> DataFrame:
        events.createOrReplaceTempView("events")
        return session.sql(text)

    return query


def _cached(session: SparkSession, events: DataFrame) -> DataFrame:
    cached = events.select("id", "key").where("id > 10").cache()
    cached.count()
    return cached.groupBy("key").count()


def _udf(session: SparkSession, events: DataFrame) -> DataFrame:
    longer = f.udf(lambda text: None if text is None else text + "!", "string")
    return events.select(longer("key").alias("key"), "id").where(longer("key") != "k3!")


def _map_in_arrow(session: SparkSession, events: DataFrame) -> DataFrame:
    return events.select("id", "Mixed").mapInArrow(lambda batches: batches, "id long, Mixed int")


def _checkpointed(session: SparkSession, events: DataFrame) -> DataFrame:
    return events.select("id", "flag").localCheckpoint().where("flag")


def _random_joins(session: SparkSession, events: DataFrame) -> DataFrame:
    generator = np.random.default_rng(11)
    result = events.select("id", "key").where("id < 60")
    for step in range(4):
        column = f"extra_{generator.integers(40)}"
        limit = int(generator.integers(20, ROWS))
        other = events.select(f.col(column).alias("id"), f.col("value").alias(f"v{step}"))
        result = result.join(other.where(f.col("id") < limit), "id", "left")
    return result


QUERIES: dict[str, Query] = {
    "all": lambda session, events: events,
    "count": lambda session, events: events.groupBy().count(),
    "limit after sort": lambda session, events: events.orderBy("id").select("key").limit(7),
    "sort by an unselected column": lambda session, events: events.orderBy("value").select("id"),
    "nan equals nan": _sql("SELECT id FROM events WHERE value = double('NaN')"),
    "nan above numbers": _sql("SELECT id FROM events WHERE value > 0.5"),
    "nan not below": _sql("SELECT id FROM events WHERE NOT (value < 0.5)"),
    "nan in": _sql("SELECT id FROM events WHERE value IN (double('NaN'), 1.0)"),
    "float": _sql("SELECT id FROM events WHERE small >= float(0.1) OR small < -1.0"),
    "nanoseconds": _sql("SELECT id FROM events WHERE local = timestamp_ntz'1970-01-03 00:00:00'"),
    "timestamp": _sql("SELECT id FROM events WHERE at > timestamp'1970-01-03 10:00:00'"),
    "date": _sql("SELECT id FROM events WHERE day BETWEEN date'1970-01-05' AND date'1970-01-09'"),
    "nulls": _sql("SELECT id FROM events WHERE key IS NULL OR NOT (key = 'k1')"),
    "null safe": _sql("SELECT id FROM events WHERE NOT (key <=> 'k1')"),
    "not in": _sql("SELECT id FROM events WHERE key NOT IN ('k1', 'k2')"),
    "not in with null": _sql("SELECT id FROM events WHERE key NOT IN ('k1', NULL)"),
    "prefix": _sql("SELECT id FROM events WHERE key LIKE 'k%' AND NOT key LIKE 'k8%'"),
    "boolean": _sql("SELECT id FROM events WHERE flag AND NOT (id < 9)"),
    "dotted": _sql("SELECT `dotted.name` FROM events WHERE `dotted.name` < 20"),
    "case": _sql("SELECT MIXED, count(*) AS n FROM events WHERE mIxEd > 1 GROUP BY mixed"),
    "deep tree": _sql(
        "SELECT id FROM events WHERE (id < 4 OR id > 110 AND (key = 'k5' OR flag)) AND "
        "NOT (Mixed = 1 OR Mixed = 2 AND value IS NULL)"
    ),
    "join": _sql("SELECT a.id, b.key FROM events a JOIN events b ON a.id = b.extra_3 WHERE a.flag"),
    "semi": _sql("SELECT id FROM events WHERE id IN (SELECT extra_1 FROM events WHERE Mixed = 2)"),
    "anti": _sql(
        "SELECT id FROM events a WHERE NOT EXISTS "
        "(SELECT 1 FROM events b WHERE b.id = a.id AND b.value > 0)"
    ),
    "scalar subqueries": _sql(
        "SELECT id, (SELECT max(id) FROM events), (SELECT min(value) FROM events) FROM events "
        "WHERE id > (SELECT avg(extra_5) FROM events)"
    ),
    "correlated": _sql(
        "SELECT id FROM events a WHERE value = (SELECT max(value) FROM events b "
        "WHERE b.key = a.key)"
    ),
    "union of filters": _sql(
        "SELECT id FROM events WHERE id = 1 UNION ALL SELECT id FROM events WHERE id = 2 "
        "UNION ALL SELECT extra_2 FROM events WHERE Mixed = 4"
    ),
    "intersect": _sql("SELECT key FROM events INTERSECT SELECT key FROM events WHERE id < 50"),
    "except": _sql("SELECT id FROM events EXCEPT SELECT id FROM events WHERE flag"),
    "common tables": _sql(
        "WITH few AS (SELECT id, key FROM events WHERE id < 40) "
        "SELECT a.key, count(*) FROM few a JOIN few b ON a.key = b.key GROUP BY a.key"
    ),
    "explode": _sql(
        "SELECT id, tag FROM events LATERAL VIEW explode(tags) AS tag WHERE tag = 't1'"
    ),
    "rollup": _sql("SELECT key, flag, count(*) FROM events GROUP BY ROLLUP (key, flag)"),
    "distinct": lambda session, events: events.select("key", "flag").distinct(),
    "window": lambda session, events: events.select(
        "id", f.sum("extra_7").over(Window.partitionBy("key").orderBy("id")).alias("sum")
    ),
    "pivot": lambda session, events: events.groupBy("key").pivot("Mixed", [0, 1, 2]).count(),
    "self join": lambda session, events: (
        events.alias("a")
        .join(events.alias("b"), f.col("a.id") == f.col("b.extra_9"))
        .select("a.id", "b.value")
    ),
    "cache": _cached,
    "udf": _udf,
    "map in arrow": _map_in_arrow,
    "checkpoint": _checkpointed,
    "joins at random": _random_joins,
}


def _rows(frame: DataFrame) -> Counter:
    """The rows, without their order; NaN and null told apart, and equal to themselves."""
    return Counter(
        tuple(
            "nan" if isinstance(value, float) and pd.isna(value) else repr(value) for value in row
        )
        for row in frame.collect()
    )


@pytest.mark.parametrize("name", QUERIES)
def test_results_do_not_depend_on_push_down(spark, tables, conf, name):
    query, (mosaic, parquet) = QUERIES[name], tables
    conf("spark.sql.parquet.filterPushdown", False)  # Parquet's finds no NaN
    expected = _rows(query(spark, spark.read.parquet(str(parquet))))
    spark.catalog.clearCache()
    events = spark.read.format("mosaic").load(str(mosaic))
    conf("spark.mosaic.pushDown", True)
    # Few queries plan differently without adaptive execution; each runs one way.
    conf("spark.sql.adaptive.enabled", len(name) % 2 == 0)
    assert _rows(query(spark, events)) == expected
    spark.catalog.clearCache()


@pytest.mark.parametrize("name", ["all", "nan above numbers", "join", "common tables", "cache"])
def test_plain_scans_give_the_same(spark, tables, conf, name):
    query, (mosaic, parquet) = QUERIES[name], tables
    conf("spark.sql.parquet.filterPushdown", False)  # Parquet's finds no NaN
    expected = _rows(query(spark, spark.read.parquet(str(parquet))))
    spark.catalog.clearCache()
    conf("spark.mosaic.pushDown", False)
    assert _rows(query(spark, spark.read.format("mosaic").load(str(mosaic)))) == expected
    spark.catalog.clearCache()
