"""Writes to one partition of a dataset, through its own directory."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

import pymosaic
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.writing import DatasetWriter, WrittenFiles


def start(place: Path, mode: str) -> DatasetWriter:
    options = SourceOptions.parse({"path": str(place), "_mode": mode})
    return DatasetWriter(options, StructType([StructField("x", LongType())]), False)


def finish(writer: DatasetWriter, value: int) -> None:
    assert writer.job is not None
    files = writer._open(writer.job, "0")
    files.write(pa.record_batch({"x": [value]}))
    writer.commit([WrittenFiles(tuple(file.staged for file in files.close()))])


@pytest.mark.parametrize("mode", ["error", "ignore"])
def test_of_two_writers_that_need_an_empty_partition_one_fails(tmp_path, mode):
    place = tmp_path / "sales" / "day=1"
    first, second = start(place, mode), start(place, mode)
    finish(start(tmp_path / "sales" / "day=2", mode), 2)
    finish(first, 1)
    with pytest.raises(pymosaic.DatasetExistsError, match="day=1 already has files"):
        finish(second, 1)
    second.abort([])
    assert sorted(pymosaic.dataset(tmp_path / "sales").to_table()["x"].to_pylist()) == [1, 2]
