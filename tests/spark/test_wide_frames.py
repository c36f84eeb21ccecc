"""Frames of a thousand columns or more are aggregated without an encoder of their rows."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import pymosaic

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
