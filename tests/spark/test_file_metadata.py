"""The hidden column that tells where rows come from; without a session."""

import datetime
import json
import os

import pyarrow as pa
import pytest
from pyspark.sql import types as st

import pymosaic
from pymosaic.spark.file_metadata import file_uri
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.reading import MosaicReader

FIELDS = {
    "file_path": st.StringType(),
    "file_name": st.StringType(),
    "file_size": st.LongType(),
    "file_modification_time": st.TimestampType(),
    "row_index": st.LongType(),
}


def read(path, names, *fields, **options):
    struct = st.StructType([st.StructField(name, FIELDS[name]) for name in fields])
    schema = st.StructType([*(st.StructField(name, st.LongType()) for name in names)])
    schema.add("_metadata", struct)
    reader = MosaicReader(SourceOptions.parse({"path": str(path), **options}), schema)
    batches = [batch for split in reader.partitions() for batch in reader.batches.read(split)]
    return pa.Table.from_batches(batches).to_pylist()


@pytest.fixture
def base(tmp_path):
    for number in range(2):
        with pymosaic.MosaicWriter(
            tmp_path / f"{number}.mosaic", pa.schema([("n", pa.int64())]), row_group_bytes=1
        ) as writer:
            writer.write(pa.record_batch({"n": [number * 10, number * 10 + 1]}))
            writer.write(pa.record_batch({"n": [number * 10 + 2]}))
    os.utime(tmp_path / "1.mosaic", (1_700_000_000.25, 1_700_000_000.25))
    return tmp_path


def test_rows_know_their_file_and_place(base):
    rows = read(base, ["n"], "file_name", "row_index")
    assert [(row["n"], row["_metadata"]["row_index"]) for row in rows] == [
        (0, 0),
        (1, 1),
        (2, 2),
        (10, 0),
        (11, 1),
        (12, 2),
    ]
    assert {row["_metadata"]["file_name"] for row in rows} == {"0.mosaic", "1.mosaic"}


def test_facts_of_the_file(base):
    facts = read(base / "1.mosaic", [], "file_path", "file_size", "file_modification_time")
    assert len(facts) == 3
    assert facts[0]["_metadata"] == {
        "file_path": f"file://{base}/1.mosaic",
        "file_size": os.path.getsize(base / "1.mosaic"),
        "file_modification_time": datetime.datetime(2023, 11, 14, 22, 13, 20, 250000, datetime.UTC),
    }


def test_places_are_right_whatever_is_filtered_and_pruned(base):
    is_twelve = {"name": "=", "children": [{"column": "n"}, {"type": "long", "value": "12"}]}
    rows = read(base, ["n"], "row_index", _pushed=json.dumps({"filters": [is_twelve]}))
    assert {row["_metadata"]["row_index"] for row in rows if row["n"] == 12} == {2}


def test_paths_are_written_as_uris():
    assert file_uri("/a b/k=1%2F2/é.mosaic", "/x") == "file:///a%20b/k=1%252F2/é.mosaic"
    assert file_uri("/a", "file:///a") == "file:///a"
