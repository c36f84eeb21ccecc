"""Convert: formats in and out, partitions, clustering."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as f

import pymosaic
from pymosaic.spark.jobs import convert


@pytest.fixture
def base(tmp_path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def parquet(tmp_path) -> Path:
    path = tmp_path / "in"
    path.mkdir()
    number = range(100)
    table = pa.table(
        {
            "number": number,
            "half": [x / 2 if x % 5 else None for x in number],
            "a.b": [f"text {x}" for x in number],
            "day": [x % 2 for x in number],
        }
    )
    for part in range(2):
        pq.write_table(table.slice(part * 50, 50), path / f"{part}.parquet")
    return path


def test_parquet_becomes_mosaic_and_comes_back(spark, base, parquet, tmp_path):
    report = convert(spark, parquet, base, partition_by="day", compressionLevel=3)
    assert (report.job, report.rows, report.columns) == ("convert", 100, 4)
    files = list(base.rglob("*.mosaic"))
    assert report.files == len(files)
    assert report.bytes_out == sum(path.stat().st_size for path in files)
    assert {path.parent.name for path in files} == {"day=0", "day=1"}
    back = convert(spark, base, tmp_path / "back", target_format="parquet", partition_by="day")
    written = list((tmp_path / "back").rglob("*.parquet"))
    assert (back.format, back.rows, back.files) == ("parquet", 100, len(written))
    assert back.bytes_out == sum(path.stat().st_size for path in written)
    columns = ["number", "half", "a.b"]
    found = pq.read_table(tmp_path / "back", columns=columns).sort_by("number")
    assert found.equals(pq.read_table(parquet, columns=columns).sort_by("number"))
    ignored = convert(spark, base, tmp_path / "back", target_format="parquet", mode="ignore")
    assert ignored.files == 0


def test_clustered_files_hold_ranges_and_statistics(spark, base, parquet):
    shuffled = spark.read.parquet(str(parquet)).orderBy(f.hash("number"))
    convert(spark, shuffled, base, cluster_by="number", partitions=3)
    ranges: list[tuple[Any, Any]] = []
    for path in base.glob("*.mosaic"):
        with pymosaic.MosaicFile(path) as file:
            found = file.statistics(0)["number"]
            ranges.append((found.min, found.max))
            numbers = file.read(["number"])["number"].to_pylist()
            assert numbers == sorted(numbers)
    ranges.sort()
    assert len(ranges) > 1
    assert all(one[1] < other[0] for one, other in pairwise(ranges))


def test_csv_json_orc_and_tables_are_read(spark, base, tmp_path):
    path = tmp_path / "rows.csv"
    pyarrow.csv.write_csv(pa.table({"n": [1, 2], "text": ["x", "y"]}), path)
    convert(spark, path, base)
    assert str(pymosaic.dataset(str(base)).schema.field("n").type) == "int32"
    (tmp_path / "rows.jsonl").write_text('{"n": 3, "text": "z"}\n')
    frame = spark.read.json(str(tmp_path / "rows.jsonl"))
    frame.write.orc(str(tmp_path / "orc"))
    frame.createOrReplaceTempView("rows_of_a_view")
    sources = [(tmp_path / "rows.jsonl", None), (tmp_path / "orc", None)]
    for source, name in [*sources, ("rows_of_a_view", "table")]:
        report = convert(spark, source, base, format=name, mode="overwrite")
        assert report.rows == 1
        table = pymosaic.dataset(str(base)).scan().to_table()
        assert table.to_pylist() == [{"n": 3, "text": "z"}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cluster_by": "numbr"}, "cluster_by: .*did you mean 'number'"),
        ({"partition_by": ["day", "day"]}, "partition_by names a column twice"),
        ({"mode": "replace"}, "mode must be one of"),
        ({"partitions": 0}, "partitions must be from 1"),
        ({"numBukets": 5}, "did you mean 'numBuckets'"),
    ],
)
def test_mistakes_are_refused_and_leave_no_trace(spark, base, parquet, options, message):
    with pytest.raises(pymosaic.InvalidOptionError, match=message):
        convert(spark, parquet, base, **options)
    assert not base.exists()


def test_a_format_that_nothing_tells_must_be_named(spark, base, tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "data.bin").write_bytes(b"?")
    with pytest.raises(pymosaic.InvalidOptionError, match="the extension does not give the format"):
        convert(spark, tmp_path / "rows", base)


def test_a_target_that_holds_the_source_is_refused(spark, base, parquet, tmp_path):
    convert(spark, parquet, base)
    frame = spark.read.format("mosaic").load(str(base))
    spark.sql(f"CREATE TABLE converted USING mosaic LOCATION '{base}'")
    try:
        for source, format in ((base, "mosaic"), (frame, None), ("converted", "table")):
            for mode in ("overwrite", "append"):
                with pytest.raises(pymosaic.InvalidOptionError, match="is also an input of"):
                    convert(spark, source, base, format=format, target_format="parquet", mode=mode)
    finally:
        spark.sql("DROP TABLE converted")
    with pytest.raises(pymosaic.InvalidOptionError, match="is also an input of"):
        convert(spark, parquet, parquet, mode="append")
    rows = spark.read.parquet(str(parquet)).count()
    assert convert(spark, base, base, format="mosaic", mode="overwrite").rows == rows
    assert pymosaic.dataset(str(base)).count_rows() == rows
