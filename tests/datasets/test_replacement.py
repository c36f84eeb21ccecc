"""Replacing partitions: those that are written to, or those that a filter selects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.datasets.commit import WriteJob
from pymosaic.datasets.replacement import partitions_where


def numbers(base: Path) -> list[int]:
    return sorted(pymosaic.dataset(str(base)).scan().to_table()["n"].to_pylist())


def table(*rows: tuple[Any, ...]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(("day", "city", "n"), row, strict=True)) for row in rows])


@pytest.fixture
def base(tmp_path: Path) -> Path:
    content = table((1, "Oslo", 1), (1, "S o", 2), (2, "Oslo", 3), (2, None, 4))
    pymosaic.write_dataset(content, tmp_path, partition_by=["day", "city"])
    return tmp_path


def test_only_partitions_that_are_written_to_are_replaced(base: Path) -> None:
    new = table((1, "S o", 20), (2, None, 40), (3, "Rome", 50))
    written = pymosaic.write_dataset(new, base, mode="overwrite_partitions")
    assert len(written.removed) == 2
    assert numbers(base) == [1, 3, 20, 40, 50]


def test_files_of_others_in_a_partition_are_replaced_too(base: Path) -> None:
    inner = base / "day=1" / "city=Oslo" / "inner"
    inner.mkdir()
    pymosaic.write_table(pa.table({"n": [9]}), inner / "mine.mosaic")
    pymosaic.write_dataset(table((1, "Oslo", 10)), base, mode="overwrite_partitions")
    assert numbers(base) == [2, 3, 4, 10]


def test_without_partitions_all_is_replaced_and_without_a_dataset_it_is_begun(
    tmp_path: Path,
) -> None:
    for number in (1, 2):
        data = pa.table({"n": [number]})
        pymosaic.write_dataset(data, tmp_path / "set", mode="overwrite_partitions")
    assert pymosaic.dataset(str(tmp_path / "set")).scan().to_table()["n"].to_pylist() == [2]


def test_partitions_are_chosen_when_the_job_publishes(base: Path) -> None:
    job = WriteJob.start(base)
    file = job.file("day=2/city=Rome", 0, 0)
    pymosaic.write_table(pa.table({"n": [30]}), file.write_path)
    pymosaic.write_dataset(table((2, "Oslo", 31)), base, mode="append")
    removed = job.commit([file], removes=partitions_where([("day", "==", 2)]))
    assert len(removed) == 3
    assert numbers(base) == [1, 2, 30]


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ([("day", "==", 1)], [3, 4]),
        ([("city", "is null")], [1, 2, 3]),
        ([[("day", "==", 1), ("city", "==", "S o")], [("day", ">", 1)]], [1]),
        ([("day", ">", 7)], [1, 2, 3, 4]),
    ],
)
def test_a_filter_selects_whole_partitions(filters: Any, left: list[int], base: Path) -> None:
    WriteJob.start(base).commit([], removes=partitions_where(filters))
    assert numbers(base) == left


def test_a_filter_on_other_columns_is_refused(base: Path) -> None:
    job = WriteJob.start(base)
    with pytest.raises(pymosaic.InvalidOptionError, match="'n' is not a partition column"):
        job.commit([], removes=partitions_where([("n", "==", 1)]))
    job.abort()
    with pytest.raises(pymosaic.InvalidOptionError, match="must select the partitions"):
        partitions_where(None)
    assert pymosaic.dataset(str(base)).count_rows() == 4


def test_a_filter_compares_values_of_the_type_that_was_written(tmp_path: Path) -> None:
    codes = pa.table({"code": ["1", "01", "2"], "n": [1, 2, 3]})
    pymosaic.write_dataset(codes, tmp_path, partition_by="code")
    WriteJob.start(tmp_path).commit([], removes=partitions_where([("code", "==", "1")]))
    assert sorted(pymosaic.dataset(str(tmp_path)).scan().to_table()["n"].to_pylist()) == [2, 3]


def test_files_may_be_chosen_one_by_one(base: Path) -> None:
    job = WriteJob.start(base, mode="append")
    job.commit([], lambda snapshot: (x.path for x in snapshot.files if x.path.startswith("day=1")))
    assert numbers(base) == [3, 4]
