"""Ray datasets: what is pushed down, tasks in workers, no rows, wide tables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import ray
import ray.data
from ray.data.expressions import col

import pymosaic
from pymosaic import ColumnNotFoundError
from pymosaic.interop.ray_source import MosaicDatasource
from tests.datasets.building import write_files, write_row_groups


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Four files of two row groups of five rows each."""
    for number in range(4):
        batches = [
            {"n": np.arange(start, start + 5), "text": ["a", None, "c", "d", "e"]}
            for start in (10 * number, 10 * number + 5)
        ]
        write_row_groups(tmp_path / "data" / f"{number}.mosaic", batches, statistics=["n"])
    return tmp_path / "data"


def numbers(rows: Any) -> list[int]:
    return sorted(row["n"] for row in rows.take_all())


@pytest.fixture
def scans(monkeypatch) -> list[tuple[list[str], str, int]]:
    """Columns, filter and rows of every plan that Ray's tasks are made from."""
    found: list[tuple[list[str], str, int]] = []
    original = MosaicDatasource.get_read_tasks

    def get_read_tasks(self: Any, *arguments: Any, **options: Any) -> list[Any]:
        scan = self._scan()
        task = scan.task()
        found.append((task.schema.names, str(task.row_filter), scan.plan().num_rows))
        return original(self, *arguments, **options)

    monkeypatch.setattr(MosaicDatasource, "get_read_tasks", get_read_tasks)
    return found


def test_rows_come_back(base):
    rows = pymosaic.to_ray(base, override_num_blocks=8)
    assert rows.schema().names == ["n", "text"]
    assert rows.count() == 40
    assert (
        sorted(rows.take_all(), key=lambda row: row["n"]) == pymosaic.read_table(base).to_pylist()
    )


def test_columns_and_conditions_are_pushed_down(base, scans):
    rows = pymosaic.to_ray(base).filter(expr=col("n") >= 33).select_columns(["n"])
    assert numbers(rows) == list(range(33, 40))
    assert scans[-1] == (["n"], "n >= 33", 10)


def test_filters_and_conditions_both_hold(base):
    for filters in ("n > 20", [("n", ">", 20)], pc.field("n") > 20):
        rows = pymosaic.to_ray(base, filters=filters).filter(expr=col("n") < 25)
        assert rows.count() == 4
        assert numbers(rows) == [21, 22, 23, 24]


def test_rows_are_counted_without_columns(base, scans):
    assert pymosaic.to_ray(base).filter(expr=col("n") < 25).count() == 25
    assert scans[-1][0] == []


def test_no_rows_are_no_rows(base):
    rows = pymosaic.to_ray(base, filters="n > 1000")
    assert rows.count() == 0
    assert rows.take_all() == []


def test_tasks_run_in_workers(base):
    def processes(batch: pa.Table) -> pa.Table:
        return batch.append_column("process", pa.array([os.getpid()] * batch.num_rows))

    rows = pymosaic.to_ray(base, override_num_blocks=8).map_batches(
        processes, batch_format="pyarrow"
    )
    found = rows.take_all()
    assert sorted(row["n"] for row in found) == list(range(40))
    assert os.getpid() not in {row["process"] for row in found}


def test_files_of_several_schemas_and_partitions_are_one_dataset(tmp_path):
    write_files(
        tmp_path, {"day=1/a.mosaic": {"x": [1]}, "day=2/b.mosaic": {"x": [2], "late": [True]}}
    )
    found = pymosaic.to_ray(tmp_path, override_num_blocks=2).take_all()
    assert sorted((row["day"], row["x"], row["late"]) for row in found if row["late"]) == [
        (2, 2, True)
    ]
    assert sorted(row["x"] for row in found) == [1, 2]


def test_the_number_of_tasks_is_what_ray_asks_for(base):
    source = MosaicDatasource(pymosaic.dataset(base), None, None, None)
    assert len(source.get_read_tasks(1)) == 1
    assert 3 <= len(source.get_read_tasks(4)) <= 5
    assert len(source.get_read_tasks(100)) == 8


def test_one_of_ten_thousand_columns_is_read(tmp_path, scans):
    names = [f"c{place:05d}" for place in range(10_000)]
    pymosaic.write_table(pa.table({name: [1.0, 2.0] for name in names}), tmp_path / "w.mosaic")
    rows = pymosaic.to_ray(tmp_path / "w.mosaic")
    assert rows.select_columns(["c07777"]).sum("c07777") == 3
    assert scans[-1][0] == ["c07777"]


def test_wrong_columns_are_told_when_the_dataset_is_made(base):
    with pytest.raises(ColumnNotFoundError, match="'label'"):
        pymosaic.to_ray(base, columns=["label"])
