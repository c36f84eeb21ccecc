"""Profile: what is in each column, and the table of it in three formats."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pymosaic
import pymosaic.spark
from pymosaic.spark.jobs import profile


@pytest.fixture
def base(tmp_path) -> str:
    number = range(300)
    table = pa.table(
        {
            "id": number,
            "kind": [["red", "green", "blue"][x % 3] for x in number],
            "half": [None if x % 4 == 0 else x / 2 for x in number],
            "none": pa.array([None] * 300, pa.int32()),
            "raw": [bytes([x % 256]) for x in number],
            "list": [[x, x] for x in number],
            "day": [x // 100 for x in number],
        }
    )
    pymosaic.write_dataset(table, tmp_path / "data", partition_by="day")
    return str(tmp_path / "data")


def test_each_column_is_described(spark, base, tmp_path):
    report = profile(spark, base, output=tmp_path / "profile.parquet")
    assert (report.rows, report.columns, report.files) == (300, 7, 3)
    found = {row["column"]: row for row in report.table.to_pylist()}
    assert (found["id"]["minimum"], found["id"]["maximum"]) == ("0", "299")
    assert (found["id"]["rows"], found["id"]["nulls"], found["id"]["type"]) == (300, 0, "int64")
    assert abs(found["id"]["approximate_distinct"] - 300) < 30
    assert found["kind"]["approximate_distinct"] == 3
    assert (found["kind"]["minimum"], found["kind"]["maximum"]) == ("blue", "red")
    assert found["kind"]["encodings"] == "DICT 3"
    assert found["half"]["nulls"] == 75
    assert (found["id"]["mean"], found["none"]["mean"], found["kind"]["50%"]) == (149.5, None, None)
    assert abs(found["id"]["25%"] - 75) <= 3
    assert found["none"]["minimum"] is None
    assert (found["none"]["encodings"], found["none"]["nulls"]) == ("ALL_NULL 3", 300)
    assert (found["raw"]["minimum"], found["raw"]["maximum"]) == ("00", "ff")
    assert found["list"]["minimum"] is None
    assert found["day"]["approximate_distinct"] == 3
    assert (found["day"]["maximum"], found["day"]["stored_bytes"]) == ("2", 0)
    assert found["id"]["raw_bytes"] >= 300
    stored = sum(row["stored_bytes"] for row in found.values())
    sizes = 0
    for path in pymosaic.dataset(base).files:
        with pymosaic.MosaicFile(path) as file:
            sizes += file.metadata.row_group(0).compressed_size
    assert 0.9 * sizes <= stored <= sizes + len(found)
    assert pq.read_table(tmp_path / "profile.parquet").equals(report.table)


def test_some_columns_and_other_formats(spark, base, tmp_path):
    report = profile(spark, base, columns=["k*"], output=tmp_path / "profile.json")
    assert report.columns == 1
    assert json.loads((tmp_path / "profile.json").read_text()) == report.table.to_pylist()
    assert json.loads(report.to_json())["profile"] == report.table.to_pylist()
    report = profile(spark, base, columns=["id"], output=tmp_path / "profile.mosaic")
    assert pymosaic.read_table(tmp_path / "profile.mosaic").equals(report.table)
    assert report.bytes_out == (tmp_path / "profile.mosaic").stat().st_size
    with pytest.raises(pymosaic.InvalidOptionError, match=r"output must end in \.mosaic"):
        profile(spark, base, output=tmp_path / "profile.xml")


def test_dates_that_python_does_not_have_are_profiled(spark, tmp_path):
    rows = spark.sql(
        "SELECT date'+10000-01-01' AS day, timestamp_ntz'-0005-01-01 00:00:00' AS at UNION ALL "
        "SELECT date'2020-01-01', timestamp_ntz'2020-01-01 00:00:00'"
    )
    pymosaic.spark.write(rows, tmp_path / "moments")
    table = profile(spark, tmp_path / "moments").table.to_pydict()
    assert table["minimum"] == ["2020-01-01", "-0005-01-01 00:00:00.000000"]
    assert table["maximum"] == ["10000-01-01", "2020-01-01 00:00:00.000000"]
