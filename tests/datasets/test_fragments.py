"""Fragments of a dataset: one file each, for engines that share work out."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

import pymosaic

TABLE = pa.table({"x": [1, 2, 3, 4], "day": [1, 1, 2, None]})


@pytest.fixture
def days(tmp_path) -> pymosaic.Dataset:
    pymosaic.write_dataset(TABLE, tmp_path / "days", partition_by=["day"], statistics=["x"])
    return pymosaic.dataset(tmp_path / "days")


def test_fragments_have_all_rows_once_and_one_schema(days):
    fragments = list(days.get_fragments())
    assert [fragment.path for fragment in fragments] == list(days.files)
    assert pa.concat_tables(item.to_table() for item in fragments) == days.to_table()
    assert all(item.schema == days.schema for item in fragments)
    assert all(isinstance(item, pads.Dataset) for item in fragments)


def test_a_fragment_tells_its_partition_and_its_own_columns(days):
    fragments = list(days.get_fragments())
    told = [str(item.partition_expression) for item in fragments]
    assert told[:2] == ["(day == 1)", "(day == 2)"]
    assert told[2].startswith("is_null(day")
    assert fragments[0].physical_schema.names == ["x"]
    for item in fragments:
        assert days.to_table(filter=item.partition_expression) == item.to_table()


def test_a_filter_leaves_out_files(days):
    assert len(list(days.get_fragments("day = 2"))) == 1
    assert len(list(days.get_fragments([("x", ">", 3)]))) == 1
    assert len(list(days.get_fragments((pc.field("day") == 1) | (pc.field("x") == 3)))) == 2


def test_fragments_are_pickled_and_answer_like_datasets(days):
    fragment = pickle.loads(pickle.dumps(next(days.get_fragments())))
    assert fragment.count_rows() == 2
    assert fragment.head(1).to_pydict() == {"x": [1], "day": [1]}
    assert fragment.scan(["x"], "x > 1").to_table().to_pydict() == {"x": [2]}
    assert "Fragment" in repr(fragment)


def test_a_dataset_is_sorted_in_memory(days):
    ordered = days.sort_by([("x", "descending")])
    assert isinstance(ordered, pads.Dataset)
    assert ordered.to_table()["x"].to_pylist() == [4, 3, 2, 1]
    assert days.sort_by("x").head(1)["x"].to_pylist() == [1]
