"""The ends of very many files of others, read in tasks."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Twelve files, of two schemas."""
    for number in range(12):
        column = "even" if number % 2 == 0 else "odd"
        table = pa.table({"id": [number], column: [str(number)]})
        (tmp_path / f"k={number % 3}").mkdir(exist_ok=True)
        path = tmp_path / f"k={number % 3}" / f"{number}.mosaic"
        pymosaic.write_table(table, path, statistics=["id"])
    return tmp_path


def test_tasks_read_the_ends_of_many_files_and_the_driver_none(spark, base, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the driver opened a file")

    monkeypatch.setattr("pymosaic.datasets.head_store.read_head", refuse)
    few = spark.read.format("mosaic").option("maxFilesOpenedByDriver", 12)
    with pytest.raises(Exception, match="the driver opened a file"):
        few.load(str(base)).count()
    frame = spark.read.format("mosaic").option("maxFilesOpenedByDriver", 11).load(str(base))
    assert frame.columns == ["id", "even", "odd", "k"]
    assert sorted(row.id for row in frame.where("id >= 4 AND k < 2").collect()) == [4, 6, 7, 9, 10]
    assert frame.count() == 12


def test_a_file_that_tasks_cannot_read_is_named(spark, base):
    (base / "k=0" / "damaged.mosaic").write_bytes(b"not a Mosaic file")
    source = spark.read.format("mosaic").option("maxFilesOpenedByDriver", 3)
    with pytest.raises(Exception, match=r"damaged\.mosaic"):
        source.load(str(base)).count()
    assert source.option("ignoreCorruptFiles", True).load(str(base)).count() == 12
