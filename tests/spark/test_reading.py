"""Reads: where from, what is narrowed, what is wrong with files; sessions without `enable`."""

import datetime
import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import types as st

import pymosaic
import pymosaic.spark
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.reading import MosaicReader
from pymosaic.spark.types import spark_schema


def _reader(path: Path, columns: list[str], **options: str) -> MosaicReader:
    schema = spark_schema(pymosaic.dataset(str(path)).scan(columns).schema)
    return MosaicReader(SourceOptions.parse({"path": str(path), **options}), schema)


def test_rows_of_small_files_are_handed_over_together(tmp_path):
    sizes = [1, 2, 5_000, 3, 0, 4_095, 10, 4]
    starts = np.cumsum([0, *sizes])
    for number, (start, size) in enumerate(zip(starts.tolist(), sizes, strict=False)):
        table = pa.table({"n": range(start, start + size)}, pa.schema({"n": pa.int64()}))
        pymosaic.write_table(table, tmp_path / f"{number}.mosaic")

    def batches(**pushed: object) -> list[list[int]]:
        reader = _reader(tmp_path, ["n"], _pushed=json.dumps({"parallelism": 1, **pushed}))
        [split] = reader.partitions()
        return [batch["n"].to_pylist() for batch in reader.read(split)]

    found = batches()
    assert [len(batch) for batch in found] == [3, 5_000, 4_098, 14]
    assert [row for batch in found for row in batch] == list(range(sum(sizes)))
    # A limit is not kept waiting.
    assert batches(limit=2) == [[0], [1]]


def test_patterns_and_lists(spark, wide):
    pattern = spark.read.format("mosaic").load(f"{wide}/half=1/*.mosaic")
    assert pattern.count() == 40
    several = [f"{wide}/half=0/file-0.mosaic", f"{wide}/half=1/file-3.mosaic"]
    assert spark.read.format("mosaic").load(several).count() == 40
    assert pymosaic.spark.read(spark, [Path(path) for path in several]).count() == 40


def test_a_query_reads_no_end_of_a_file_that_was_read_for_the_schema(spark, tmp_path, reads):
    for number in range(3):
        pymosaic.write_table(pa.table({"n": [number]}), tmp_path / f"{number}.mosaic")
    frame = spark.read.format("mosaic").load(str(tmp_path))
    assert sorted(name for name, _, _ in reads.ranges) == ["0.mosaic", "1.mosaic", "2.mosaic"]
    reads.clear()
    assert sorted(row.n for row in frame.collect()) == [0, 1, 2]
    assert frame.where("n > 0").count() == 2
    assert reads.ranges == []
    # What has changed since is read anew, other columns included.
    pymosaic.write_table(pa.table({"n": [10], "m": ["new"]}), tmp_path / "1.mosaic")
    fresh = spark.read.format("mosaic").load(str(tmp_path))
    assert {name for name, _, _ in reads.ranges} == {"1.mosaic"}
    assert sorted(fresh.columns) == ["m", "n"]
    assert sorted(row.n for row in fresh.collect()) == [0, 2, 10]


def test_columns_and_filters_narrow_the_relation(spark, tmp_path):
    table = pa.table(
        {
            "id": range(6),
            "day": [datetime.date(2024, 1, n + 1) for n in range(6)],
            "price": pa.array([Decimal(n) / 4 for n in range(6)], pa.decimal128(9, 2)),
            "key": [bytes([n]) for n in range(6)],
            "other": range(6),
        }
    )
    pymosaic.write_table(table, tmp_path / "t.mosaic")
    frame = pymosaic.spark.read(
        spark,
        tmp_path,
        columns=["id", "pri*", "key", "day"],
        filters=[
            [("day", ">=", datetime.date(2024, 1, 5)), ("key", "!=", b"\x05")],
            [("price", "in", [Decimal("0.25"), Decimal("0.5")])],
        ],
    )
    assert frame.columns == ["id", "price", "key", "day"]
    assert sorted(row["id"] for row in frame.collect()) == [1, 2, 4]
    assert frame.count() == 3
    assert frame.where("id > 1").count() == 2
    flat = pymosaic.spark.read(spark, tmp_path, filters=[("id", ">", 1), ("id", "<", 5)])
    assert flat.count() == 3
    assert flat.where("id = 4 or id = 5").count() == 1
    spoken = pymosaic.spark.read(spark, tmp_path, filters="id > 1 and price < 1.25")
    assert sorted(row["id"] for row in spoken.collect()) == [2, 3, 4]
    between = (pc.field("id") > 1) & (pc.field("day") < datetime.date(2024, 1, 5))
    expressed = pymosaic.spark.read(spark, tmp_path, filters=between)
    assert sorted(row["id"] for row in expressed.collect()) == [2, 3]
    with pytest.raises(pymosaic.UnsupportedFeatureError, match=r"use DataFrame\.filter"):
        pymosaic.spark.read(spark, tmp_path, filters=pc.field("id") > pc.field("other"))
    with pytest.raises(pymosaic.InvalidOptionError, match="columns must be a list"):
        pymosaic.spark.read(spark, tmp_path, columns="id")
    with pytest.raises(Exception, match="no column matches 'idd'"):
        pymosaic.spark.read(spark, tmp_path, columns=["idd"])


def test_a_schema_of_the_users_own_casts_and_fills(spark, wide):
    schema = "missing string, column_003 double, id int"
    frame = spark.read.format("mosaic").schema(schema).load(str(wide))
    row = frame.where("id = 5").collect()[0]
    assert row == (None, 15.0, 5, 0)  # with the partition's column, as Spark adds it
    assert frame.schema == st.StructType(
        [
            st.StructField("missing", st.StringType()),
            st.StructField("column_003", st.DoubleType()),
            st.StructField("id", st.IntegerType()),
            st.StructField("half", st.IntegerType()),
        ]
    )


def test_files_with_other_columns_are_united(spark, tmp_path):
    pymosaic.write_table(pa.table({"a": pa.array([1], pa.int32())}), tmp_path / "1.mosaic")
    pymosaic.write_table(pa.table({"a": [2], "b": ["x"]}), tmp_path / "2.mosaic")
    frame = spark.read.format("mosaic").load(str(tmp_path))
    assert sorted(frame.collect()) == [(1, None), (2, "x")]
    assert frame.where("b is null").select("a").collect() == [(1,)]


def test_batches_are_bounded(tmp_path):
    table = pa.table({"n": pa.array(range(4096), pa.int64())})
    pymosaic.write_table(table, tmp_path / "n.mosaic")
    reader = _reader(tmp_path, ["n"], maxBatchBytes="8k")
    [split] = reader.partitions()
    batches = list(reader.batches.read(split))
    assert [batch.num_rows for batch in batches] == [1024] * 4
    assert pa.Table.from_batches(batches)["n"].to_pylist() == table["n"].to_pylist()


def test_splits_hold_several_files_and_row_groups(wide):
    reader = _reader(wide, ["id"], _pushed='{"parallelism": 2}')
    assert [[len(piece.row_groups) for piece in split.pieces] for split in reader.partitions()] == [
        [2, 2],
        [2, 2],
    ]


def test_row_groups_of_a_large_file_are_shared_out(tmp_path):
    noise = np.random.default_rng(3).random(40_000)
    with pymosaic.MosaicWriter(
        tmp_path / "large.mosaic", pa.schema([("n", pa.float64())]), row_group_bytes=1
    ) as writer:
        for part in np.split(noise, 4):
            writer.write(pa.record_batch({"n": part}))
    reader = _reader(tmp_path, ["n"], maxPartitionBytes="100k")
    pieces = [split.pieces for split in reader.partitions()]
    assert [piece.row_groups for [piece] in pieces] == [(0,), (1,), (2,), (3,)]
    [split] = _reader(tmp_path, ["n"], _pushed='{"parallelism": 1}').partitions()
    assert [piece.row_groups for piece in split.pieces] == [(0, 1, 2, 3)]
    assert sum(batch.num_rows for batch in reader.batches.read(split)) == 40_000


def test_a_broken_file_is_named(spark, wide, tmp_path):
    good = next(wide.rglob("file-0.mosaic"))
    (tmp_path / "good.mosaic").write_bytes(good.read_bytes())
    (tmp_path / "broken.mosaic").write_bytes(good.read_bytes()[:-9])
    with pytest.raises(Exception, match=r"broken\.mosaic"):
        spark.read.format("mosaic").load(str(tmp_path))
    reader = spark.read.format("mosaic").option("ignoreCorruptFiles", "true")
    with pytest.warns(UserWarning, match="1 of 2 files are skipped"):
        assert reader.load(str(tmp_path)).count() == 20


def test_a_damaged_file_is_left_out_as_a_whole_whatever_is_read(spark, tmp_path):
    for number in range(2):
        table = pa.table({"a": range(number * 9, number * 9 + 9), "b": [f"{number} " * 500] * 9})
        path = tmp_path / f"{number}.mosaic"
        pymosaic.write_table(table, path, num_buckets=2)
    row_group = pymosaic.read_metadata(tmp_path / "0.mosaic").row_group(0)
    [bucket] = [bucket for bucket in row_group.buckets() if "b" in bucket.column_names]
    assert "a" not in bucket.column_names
    data = bytearray((tmp_path / "0.mosaic").read_bytes())
    data[bucket.offset + bucket.compressed_size // 2] ^= 0xFF
    (tmp_path / "0.mosaic").write_bytes(data)
    frame = spark.read.format("mosaic").option("ignoreCorruptFiles", "true").load(str(tmp_path))
    assert len(frame.limit(4).collect()) == 4
    for columns in (["a"], ["b"], ["a", "b"]):
        assert len(frame.select(*columns).collect()) == 9, columns
    assert frame.count() == 9


def test_damage_that_a_task_finds_is_named(spark, wide, tmp_path):
    data = bytearray(next(wide.rglob("file-0.mosaic")).read_bytes())
    data[40] ^= 0xFF
    (tmp_path / "damaged.mosaic").write_bytes(data)
    frame = spark.read.format("mosaic").load(str(tmp_path))
    with pytest.raises(Exception, match=r"damaged\.mosaic"):
        frame.collect()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"colums": "id"}, "did you mean 'columns'"),
        ({"columns": "nothing_*"}, "nothing_"),
        ({"filters": '[["id", "~", 1]]'}, "is not an operator"),
        ({"filters": '[["idd", ">", 1]]'}, "no column matches 'idd' .did you mean 'id'"),
        ({"filters": '[["id", ">", "x"]]'}, "must be compared with a number"),
    ],
)
def test_mistakes_are_told_by_load(spark, wide, options, message):
    with pytest.raises(AnalysisException, match=message):
        spark.read.format("mosaic").options(**options).load(str(wide))


def test_a_declared_column_is_read_where_files_have_it_without_merging_schemas(spark, tmp_path):
    pymosaic.write_table(pa.table({"id": [1]}), tmp_path / "a.mosaic")
    pymosaic.write_table(pa.table({"id": [2], "more": ["x"]}), tmp_path / "b.mosaic")
    source = spark.read.format("mosaic").option("mergeSchema", False)
    assert source.load(str(tmp_path)).columns == ["id"]
    frame = source.schema("id LONG, More STRING").load(str(tmp_path))
    assert sorted(map(tuple, frame.collect())) == [(1, None), (2, "x")]
    assert tuple(frame.selectExpr("count(More)", "max(More)").first()) == (1, "x")
    assert frame.where("more = 'x'").select("id").first().id == 2


def test_without_merging_schemas_a_wider_type_is_an_error(spark, tmp_path):
    pymosaic.write_table(pa.table({"id": pa.array([1], pa.int32())}), tmp_path / "a.mosaic")
    pymosaic.write_table(pa.table({"id": [1 << 40]}), tmp_path / "b.mosaic")
    source = spark.read.format("mosaic").option("mergeSchema", False)
    with pytest.raises(Exception, match="id"):
        source.load(str(tmp_path)).collect()


def test_a_missing_path_is_told(spark, tmp_path):
    with pytest.raises(Exception, match="No such file or directory"):
        spark.read.format("mosaic").load(str(tmp_path / "nowhere"))
    with pytest.raises(Exception, match="the path is missing"):
        spark.read.format("mosaic").load()


def test_a_full_width_read_of_many_columns(spark, tmp_path):
    columns = {f"c{place}": [place, place + 1] for place in range(2000)}
    pymosaic.write_table(pa.table(columns), tmp_path / "wide.mosaic")
    table = spark.read.format("mosaic").load(str(tmp_path)).toArrow()
    assert table.num_columns == 2000
    assert table["c1999"].to_pylist() == [1999, 2000]


PLAIN_SESSION = """
import sys
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.memory", "1g")
spark = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
spark.sparkContext.setLogLevel("WARN")
frame = spark.read.format("mosaic").load(sys.argv[1])
assert len(frame.columns) == 300
assert frame.where("id = 3").select("id", "column_002").collect() == [(3, 6)]
assert frame.count() == 80
spark.stop()

spark = builder.getOrCreate()
spark.sparkContext.setLogLevel("WARN")
import pymosaic.spark

print("ENABLED", pymosaic.spark.enable(spark), file=sys.stderr, flush=True)
spark.stop()
"""


def test_spark_finds_the_source_by_itself_and_stops_without_noise(wide):
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PLAIN_SESSION, str(wide)],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    _, _, after = done.stderr.partition("ENABLED")
    assert after.splitlines()[0].strip() == str(pymosaic.spark.Support(True, True))
    assert "Exception" not in after
    assert "ERROR" not in after


SENTINELS = [
    "at < timestamp'9999-12-31 23:59:59'",
    "at > timestamp'0001-01-01 00:00:00'",
    "at < timestamp'+12000-01-01 00:00:00'",
    "at in (timestamp'+12000-01-01 00:00:00', timestamp'2020-06-01 12:00:00')",
    "day < date'+10000-01-01'",
    "day > date'0001-01-01'",
    "day <> date'-0005-01-01'",
    "plain < timestamp_ntz'+10000-01-01 00:00:00'",
]


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_dates_that_python_does_not_have_are_compared(spark, tmp_path, conf, zone):
    conf("spark.sql.session.timeZone", zone)
    spark.sql(
        "SELECT timestamp'2020-06-01 12:00:00' AS at, date'2020-06-01' AS day, "
        "timestamp_ntz'2020-06-01 12:00:00' AS plain"
    ).write.format("mosaic").mode("append").save(str(tmp_path / "moments"))
    frame = spark.read.format("mosaic").load(str(tmp_path / "moments"))
    for condition in SENTINELS:
        assert len(frame.where(condition).collect()) == 1, condition
        assert len(frame.where(f"NOT ({condition})").collect()) == 0, condition


def test_declared_names_of_other_case_are_the_same_columns(spark, tmp_path, conf):
    base = str(tmp_path / "names")
    pymosaic.write_dataset(pa.table({"id": [1, 2], "name": ["a", "b"]}), base)
    declared = spark.read.format("mosaic").schema("NAME string, ID long, other int")
    frame = declared.load(base)
    assert sorted(frame.collect()) == [("a", 1, None), ("b", 2, None)]
    assert frame.where("id = 2").select("name").collect() == [("b",)]
    spark.sql(f"CREATE TABLE spelled (ID BIGINT, Name STRING) USING mosaic LOCATION '{base}'")
    try:
        spark.sql("INSERT INTO spelled VALUES (3, 'c')")
        assert sorted(spark.table("spelled").collect()) == [(1, "a"), (2, "b"), (3, "c")]
    finally:
        spark.sql("DROP TABLE spelled")
    assert pymosaic.dataset(base).schema.names == ["id", "name"]
    conf("spark.sql.caseSensitive", True)
    assert [row[1] for row in declared.load(base).collect()] == [None, None, None]


def test_a_declared_name_that_could_be_two_columns_is_refused(spark, tmp_path, conf):
    base = str(tmp_path / "twins")
    pymosaic.write_dataset(pa.table({"id": [1], "ID": [2], "x": [3]}), base)
    for schema in ("Id long", "id long"):
        with pytest.raises(Exception, match="is ambiguous: there are 'id' and 'ID'"):
            spark.read.format("mosaic").schema(schema).load(base).collect()
    inferred = spark.read.format("mosaic").load(base)
    assert inferred.collect() == [(1, 2, 3)]
    assert inferred.select("x").collect() == [(3,)]
    assert inferred.where("x > 1").count() == 1
    conf("spark.sql.caseSensitive", True)
    assert inferred.select("ID").collect() == [(2,)]


def test_files_of_types_that_do_not_unite_are_read_by_schema_or_without_the_column(spark, tmp_path):
    pymosaic.write_table(pa.table({"id": [1], "x": [10]}), tmp_path / "0.mosaic")
    pymosaic.write_table(pa.table({"id": [2], "x": ["ten"]}), tmp_path / "1.mosaic")
    reader = spark.read.format("mosaic")
    with pytest.raises(Exception, match=r"column 'x' is int64 in .*0\.mosaic and string in"):
        reader.load(str(tmp_path))
    narrow = spark.read.format("mosaic").option("columns", "id").load(str(tmp_path))
    assert sorted(narrow.collect()) == [(1,), (2,)]
    declared = reader.schema("id long, x string").load(str(tmp_path))
    assert sorted(declared.collect()) == [(1, "10"), (2, "ten")]
    assert declared.where("x = 'ten'").select("id").collect() == [(2,)]
    assert declared.select("id").count() == 2
