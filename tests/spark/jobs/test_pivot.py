"""Pivot: the same as pandas makes of small data, every policy, mistakes, 10,000 columns."""

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as f

import pymosaic
import pymosaic.spark
from pymosaic.spark.jobs import PivotReport, pivot
from pymosaic.spark.jobs.entity_chunks import chunks

LONG = "entity string, feature string, value double, seen int"
ROWS = [
    ("b", "height", 1.5, 1),
    ("a", "height", 1.25, 2),
    ("a", "weight", 70.0, 1),
    ("a", "weight", 60.0, 3),
    ("a", "weight", 65.0, 2),
    ("c", "age", None, 1),
    (None, "age", 7.0, 1),
    ("b", "age", 33.0, 1),
    ("b", "age", None, 2),
]
OPTIONS: dict[str, Any] = {"entity": "entity", "feature": "feature", "values": "value"}


@pytest.fixture
def base(tmp_path) -> Path:
    return tmp_path / "wide"


def rows_of(base: Path, key: str = "entity") -> dict:
    table = pymosaic.dataset(str(base)).scan().to_table()
    rows = table.to_pylist()
    assert len({row[key] for row in rows}) == len(rows)
    return {row.pop(key): row for row in rows}


def expected(policy: str) -> dict:
    frame = pd.DataFrame(ROWS, columns=["entity", "feature", "value", "seen"])
    groups = frame.sort_values("seen").groupby(["entity", "feature"], dropna=False)["value"]
    wide = groups.agg(policy).unstack("feature")
    return {
        None if pd.isna(key) else key: {
            name: None if pd.isna(value) else value for name, value in row.items()
        }
        for key, row in wide.to_dict("index").items()
    }


@pytest.mark.parametrize("policy", ["first", "last", "min", "max", "sum", "mean"])
def test_the_result_is_that_of_pandas(spark, base, policy):
    frame = spark.createDataFrame(ROWS, LONG)
    report = pivot(spark, frame, base, **OPTIONS, duplicates=policy, order_by="seen", partitions=2)
    wanted = expected(policy)
    if policy == "sum":
        wanted["c"]["age"] = None  # pandas has 0 for the sum of nothing, SQL has null
    assert rows_of(base) == wanted
    assert pymosaic.dataset(str(base)).schema.names == ["entity", "age", "height", "weight"]
    assert (report.rows, report.columns, report.features, report.rows_in) == (4, 4, 3, 9)


def test_without_duplicates_no_policy_is_needed(spark, base):
    rows = [row for row in ROWS if row[1] != "weight"]
    report = pivot(spark, spark.createDataFrame(rows, LONG), base, **OPTIONS)
    assert rows_of(base) == {
        "a": {"age": None, "height": 1.25},
        "b": {"age": 33.0, "height": 1.5},
        "c": {"age": None, "height": None},
        None: {"age": 7.0, "height": None},
    }
    files = list(base.glob("*.mosaic"))
    assert isinstance(report, PivotReport)
    assert report.files == len(files)
    assert report.bytes_out == sum(path.stat().st_size for path in files)
    assert json.loads(report.to_json())["rows"] == 4
    assert "rows in    6" in report.summary()


def test_duplicates_are_an_error_that_names_one_and_leaves_no_trace(spark, base):
    with pytest.raises(pymosaic.InvalidDataError, match="feature 'weight' for entity='a'"):
        pivot(spark, spark.createDataFrame(ROWS, LONG), base, **OPTIONS)
    assert not base.exists()


TYPED = (
    "shop int, day date, what string, number long, text string, "
    "price decimal(10,2), at timestamp, list array<string>, pairs map<string,int>"
)
DAY = datetime.date(2024, 5, 1)


def typed_rows() -> list[tuple]:
    moment = datetime.datetime(2024, 5, 1, 12, 30)
    empty: dict[str, Any] = dict.fromkeys(("number", "text", "price", "at", "list", "pairs"))
    rows = []
    for shop in (1, 2):
        features: dict[str, dict[str, Any]] = {
            "visits": {"number": shop * 2**40},
            "name": {"text": f"shop {shop}"},
            "turnover": {"price": Decimal(f"{shop}.25")},
            "opened": {"at": moment},
            "tags": {"list": ["x", None, str(shop)]},
            "stock": {"pairs": {"apples": shop}},
        }
        for what, values in features.items():
            rows.append((shop, DAY, what, *(empty | values).values()))
    return rows


def test_features_have_the_types_of_their_values(spark, base):
    frame = spark.createDataFrame(typed_rows(), TYPED)
    pivot(spark, frame, base, entity=["shop", "day"], feature="what", partition_by="day")
    dataset = pymosaic.dataset(str(base))
    assert dataset.partition_columns == ("day",)
    types = {field.name: str(field.type) for field in dataset.schema}
    assert types["visits"] == "int64"
    assert types["name"] == "string"
    assert types["turnover"] == "decimal128(10, 2)"
    assert types["opened"] == "timestamp[us, tz=UTC]"
    rows = rows_of(base, "shop")
    assert rows[2]["visits"] == 2**41
    assert rows[1]["turnover"] == Decimal("1.25")
    assert rows[2]["tags"] == ["x", None, "2"]
    assert rows[2]["stock"] == [("apples", 2)]
    back = pymosaic.spark.read(spark, base, columns=["opened"]).distinct().collect()
    assert back == frame.where("what = 'opened'").select("at").distinct().collect()


def test_a_feature_with_values_in_several_columns_needs_names_for_them(spark, base):
    frame = spark.createDataFrame(
        [(1, "x", 1.0, "one"), (1, "y", None, "two"), (2, "z", None, None)],
        "id int, name string, number double, text string",
    )
    options: dict[str, Any] = {"entity": "id", "feature": "name"}
    with pytest.raises(pymosaic.InvalidDataError, match="'x' has values in several columns"):
        pivot(spark, frame, base, **options)
    pivot(spark, frame, base, **options, column_names="{feature}_{value}")
    empty = {"x_number": None, "x_text": None, "y_text": None, "z_number": None}
    assert rows_of(base, "id") == {
        1: empty | {"x_number": 1.0, "x_text": "one", "y_text": "two"},
        2: empty,
    }


def test_a_policy_for_each_column_of_values(spark, base):
    frame = spark.createDataFrame(
        [(1, "x", 1, None), (1, "x", 2, None), (1, "y", None, "b"), (1, "y", None, "a")],
        "id int, name string, number int, text string",
    )
    options: dict[str, Any] = {"entity": "id", "feature": "name"}
    pivot(spark, frame, base, **options, duplicates={"number": "sum", "text": "max"})
    assert rows_of(base, "id") == {1: {"x": 3, "y": "b"}}
    with pytest.raises(Exception, match="several values of one feature"):
        pivot(spark, frame, base, **options, duplicates={"number": "sum"}, mode="append")
    assert rows_of(base, "id") == {1: {"x": 3, "y": "b"}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"entity": "entitty"}, "entity: .* no columns named 'entitty' \\(did you mean 'entity'"),
        ({"values": []}, "no column is left that could hold values"),
        ({"values": ["feature"]}, "'feature' cannot be used twice"),
        ({"duplicates": "median"}, "duplicates must be one of error, first"),
        ({"duplicates": "first"}, "needs order_by"),
        ({"duplicates": "sum", "values": ["entity"], "entity": "seen"}, "is for numbers"),
        ({"column_names": "x"}, "column_names must contain {feature}"),
        ({"mode": "replace"}, "mode must be one of"),
        ({"compresion": "zstd"}, "did you mean 'compression'"),
        ({"partitions": 0}, "partitions must be from 1"),
    ],
)
def test_mistakes_are_refused_and_leave_no_trace(spark, base, changes, message):
    frame = spark.createDataFrame(ROWS[:3], LONG)
    with pytest.raises(pymosaic.MosaicError, match=message):
        pivot(spark, frame, base, **(OPTIONS | changes))
    assert not base.exists()


def test_features_without_names_and_names_of_keys_are_refused(spark, base):
    frame = spark.createDataFrame([("a", None, 1.0, 1)], LONG)
    with pytest.raises(pymosaic.InvalidDataError, match="1 rows have no feature"):
        pivot(spark, frame, base, **OPTIONS)
    frame = spark.createDataFrame([("a", "entity", 1.0, 1)], LONG)
    with pytest.raises(pymosaic.InvalidDataError, match="is one of entity"):
        pivot(spark, frame, base, **OPTIONS)
    assert not base.exists()


def test_no_rows_make_a_dataset_without_rows(spark, base):
    report = pivot(spark, spark.createDataFrame([], LONG), base, **OPTIONS)
    assert (report.rows, report.columns, report.files) == (0, 1, 1)
    assert pymosaic.dataset(str(base)).schema.names == ["entity"]


def test_modes_add_and_replace(spark, base):
    for mode, rows in (("error", ROWS[:1]), ("append", ROWS[1:2])):
        pivot(spark, spark.createDataFrame(rows, LONG), base, **OPTIONS, mode=mode)
    assert rows_of(base) == {"a": {"height": 1.25}, "b": {"height": 1.5}}
    frame = spark.createDataFrame(ROWS[2:3], LONG)
    assert pivot(spark, frame, base, **OPTIONS, mode="ignore").files == 0
    with pytest.raises(pymosaic.DatasetExistsError):
        pivot(spark, frame, base, **OPTIONS)
    pivot(spark, frame, base, **OPTIONS, mode="overwrite")
    assert rows_of(base) == {"a": {"weight": 70.0}}


def test_ten_thousand_columns(spark, base):
    told: list[tuple] = []
    long = spark.range(0, 30_000, 1, 4).select(
        (f.col("id") % 3).alias("entity"),
        f.format_string("feature_%05d", (f.col("id") / 3).cast("int")).alias("feature"),
        f.expr("IF(id % 7 = 0, NULL, id * 0.5)").cast("double").alias("value"),
    )
    report = pivot(
        spark, long, base, **OPTIONS, partitions=2, progress=lambda *facts: told.append(facts)
    )
    assert (report.rows, report.columns) == (3, 10_001)
    table = pymosaic.dataset(str(base)).scan().to_table().sort_by("entity")
    assert table.schema.names[1:] == [f"feature_{number:05d}" for number in range(10_000)]
    for number in (0, 1, 6, 4321, 9_999):
        ids = [number * 3 + entity for entity in range(3)]
        wanted = [None if value % 7 == 0 else value * 0.5 for value in ids]
        assert table.column(1 + number).to_pylist() == wanted
    assert sum(column.null_count for column in table.columns) == 30_000 // 7 + 1
    assert told[0] == (0, None, "tasks")
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
    assert told[-1][0] == told[-1][1]


def test_what_progress_raises_ends_the_job(spark, base):
    def stop(done, total, unit):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pivot(spark, spark.createDataFrame(ROWS[:1], LONG), base, **OPTIONS, progress=stop)
    assert not base.exists()


@pytest.mark.parametrize("num_columns", [1, 2 << 20, 4 << 20, 8 << 20])
def test_chunks_hold_whole_entities(num_columns):
    """Whatever the batches: a chunk ends where an entity ends, and is bounded."""
    keys = [None, None, 1, 1, 1, 2, 3, 3, 4, 5, 5, 5, 5, 6]
    rows = pa.record_batch({"key": keys, "n": range(len(keys))})
    bound = max(1, (4 << 20) // num_columns)
    for size in range(1, len(keys) + 1):
        batches = [rows.slice(start, size) for start in range(0, len(keys), size)]
        found = list(chunks([rows.slice(0, 0), *batches], 1, num_columns))
        assert pa.concat_batches([chunk.rows for chunk in found]).equals(rows)
        seen = [key for chunk in found for key in chunk.keys(1)[0].to_pylist()]
        assert seen == [None, 1, 2, 3, 4, 5, 6]
        assert all(chunk.num_entities <= bound for chunk in found)
        assert bound > 7 or max(chunk.num_entities for chunk in found) == bound
        for chunk in found:
            assert len(chunk.entity) == chunk.rows.num_rows
            pairs = set(zip(chunk.rows["key"].to_pylist(), chunk.entity.tolist(), strict=True))
            assert len(pairs) == chunk.num_entities


def test_keys_are_equal_where_sparks_are(spark, base):
    rows = [(0.0, "a", 1), (-0.0, "b", 2), (float("nan"), "a", 3), (float("nan"), "b", 4)]
    long = spark.createDataFrame(rows, "Key double, Feature string, Value int")
    report = pivot(spark, long, base, entity="key", feature="FEATURE", values="value")
    assert report.rows == 2
    found = spark.read.format("mosaic").load(str(base)).orderBy("key").collect()
    assert [str(row.Key) for row in found] == ["0.0", "nan"]
    assert [(row.a, row.b) for row in found] == [(1, 2), (3, 4)]
    collated = long.withColumn("Feature", f.expr("Feature COLLATE UTF8_LCASE"))
    with pytest.raises(pymosaic.UnsupportedFeatureError, match="do not keep collations"):
        pivot(spark, collated, base, entity="key", feature="feature", mode="overwrite")


def test_an_incremental_pivot_reads_and_adds_the_new_days_only(spark, base, tmp_path):
    long = tmp_path / "long"

    def add(day: int, *features: str) -> None:
        rows = [(datetime.date(2024, 5, day), who, x, float(day)) for x in features for who in "ab"]
        frame = spark.createDataFrame(rows, "day date, who string, feature string, value double")
        frame.write.mode("append").partitionBy("day").parquet(str(long))

    def run() -> PivotReport:
        schema = "who string, feature string, value double, day date"
        return pivot(
            spark,
            spark.read.schema(schema).parquet(str(long)),
            base,
            entity=["day", "who"],
            feature="feature",
            partition_by="day",
            incremental="day",
        )

    add(1, "x", "y")
    assert run().rows == 2
    before = sorted(path.name for path in base.rglob("*.mosaic"))
    add(2, "y", "z")
    for path in (long / "day=2024-05-01").glob("*.parquet"):
        path.write_bytes(b"must not be read")
    report = run()
    assert (report.rows, report.rows_in) == (2, 4)
    assert set(before) < {path.name for path in base.rglob("*.mosaic")}
    again = run()
    assert (again.rows, again.files) == (0, 0)
    found = pymosaic.dataset(str(base)).scan().to_table().sort_by("day")
    assert found["x"].to_pylist() == [1.0, 1.0, None, None]
    assert found["z"].to_pylist() == [None, None, 2.0, 2.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"incremental": "seen"}, "must be one of entity and of partition_by"),
        ({"incremental": "entity"}, "must be one of entity and of partition_by"),
        ({"incremental": "value", "entity": ["entity", "value"], "values": "seen"}, "must be text"),
    ],
)
def test_what_cannot_be_incremental_is_refused(spark, base, changes, message):
    options = OPTIONS | changes
    if message == "must be text":
        options["partition_by"] = "value"
    with pytest.raises(pymosaic.InvalidOptionError, match=message):
        pivot(spark, spark.createDataFrame(ROWS, LONG), base, **options)
    assert not base.exists()
