"""A held Dataset whose files are replaced in place: the new rows or an error, never nothing."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.fs
import pytest

import pymosaic
from tests.datasets.building import write_files

OLD = pa.table({"n": range(100)})
NEW = pa.table({"n": range(500, 600)})
WANTED = [("n", ">=", 500)]


def write(table: pa.Table, path: Path) -> None:
    pymosaic.write_table(table, path, statistics=True, compression="none")


def replace_by_rename(path: Path) -> None:
    write(NEW, path)


def overwrite_in_place(path: Path) -> None:
    """The same file, the same size, other bytes."""
    size = path.stat().st_size
    write(NEW, path.with_suffix(".new"))
    content = path.with_suffix(".new").read_bytes()
    path.with_suffix(".new").unlink()
    assert len(content) == size
    with path.open("r+b") as file:
        file.write(content)


def replace_with_old_times(path: Path) -> None:
    """As cp -p and rsync -t do."""
    status = path.stat()
    write(NEW, path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("replace", [replace_by_rename, overwrite_in_place, replace_with_old_times])
class TestLocalFiles:
    def test_statistics_of_the_old_file_do_not_prune_the_new_one(
        self, replace: Callable[[Path], None], tmp_path: Path
    ) -> None:
        path = tmp_path / "a.mosaic"
        write(OLD, path)
        held = pymosaic.dataset(tmp_path)
        assert held.scan(filters=WANTED).to_table().num_rows == 0
        replace(path)
        assert held.scan(filters=WANTED).to_table().equals(NEW)
        assert held.scan(filters=WANTED).count_rows() == 100
        assert len(held.scan(filters=WANTED).plan().pieces) == 1
        assert held.to_table(filters=WANTED).equals(NEW)

    def test_everything_is_of_the_new_file(
        self, replace: Callable[[Path], None], tmp_path: Path
    ) -> None:
        path = tmp_path / "a.mosaic"
        write(OLD, path)
        held = pymosaic.dataset(tmp_path)
        replace(path)
        assert held.to_table().equals(NEW)

    def test_a_scan_that_was_planned_before_is_an_error(
        self, replace: Callable[[Path], None], tmp_path: Path
    ) -> None:
        path = tmp_path / "a.mosaic"
        write(OLD, path)
        held = pymosaic.dataset(tmp_path)
        scan = held.scan()
        pieces = scan.plan().pieces
        replace(path)
        with pytest.raises(pymosaic.DatasetError, match=r"a\.mosaic has changed since"):
            list(scan.task().read(pieces, heads=held._heads))


@pytest.mark.parametrize("replace", [replace_by_rename, overwrite_in_place])
def test_a_task_elsewhere_notices_that_a_file_was_replaced(
    replace: Callable[[Path], None], tmp_path: Path
) -> None:
    """It has the plan alone: no heads that it could compare."""
    write(OLD, tmp_path / "a.mosaic")
    scan = pymosaic.dataset(tmp_path).scan()
    task, pieces = pickle.loads(pickle.dumps((scan.task(), scan.plan().pieces)))
    assert sum(batch.num_rows for batch in task.read(pieces)) == 100
    replace(tmp_path / "a.mosaic")
    with pytest.raises(pymosaic.DatasetError, match=r"a\.mosaic has changed since"):
        list(task.read(pieces))


def test_so_does_one_that_reads_another_file_system(memory_filesystem: Any) -> None:
    options: dict[str, Any] = {"filesystem": memory_filesystem, "compression": "none"}
    pymosaic.write_table(OLD, "/elsewhere/a.mosaic", **options)
    scan = pymosaic.dataset("/elsewhere", filesystem=memory_filesystem).scan()
    pieces = scan.plan().pieces
    assert sum(batch.num_rows for batch in scan.task().read(pieces)) == 100
    pymosaic.write_table(NEW, "/elsewhere/a.mosaic", **options)
    with pytest.raises(pymosaic.DatasetError, match=r"a\.mosaic has changed since"):
        list(scan.task().read(pieces))


def test_counts_are_of_the_file_as_it_is(tmp_path: Path) -> None:
    write(OLD, tmp_path / "a.mosaic")
    held = pymosaic.dataset(tmp_path)
    assert held.count_rows() == 100
    write(NEW.slice(0, 7), tmp_path / "a.mosaic")
    assert held.count_rows() == 7


@pytest.mark.parametrize("table", [{"n": ["text"]}, {"m": [1]}, {"n": [1], "m": [1]}])
def test_a_new_file_with_other_columns_is_an_error(table: dict[str, Any], tmp_path: Path) -> None:
    write(OLD, tmp_path / "a.mosaic")
    held = pymosaic.dataset(tmp_path)
    write(pa.table(table), tmp_path / "a.mosaic")
    for _ in range(2):
        with pytest.raises(pymosaic.DatasetError, match="replaced by a file with other columns"):
            held.scan(filters=WANTED).to_table()


def test_a_file_that_was_deleted_is_an_error(tmp_path: Path) -> None:
    write(OLD, tmp_path / "a.mosaic")
    write(NEW, tmp_path / "b.mosaic")
    held = pymosaic.dataset(tmp_path)
    (tmp_path / "a.mosaic").unlink()
    with pytest.raises(FileNotFoundError):
        held.scan(filters=WANTED).to_table()


def test_heads_of_files_that_stay_are_not_read_again(tmp_path: Path, reads: Any) -> None:
    for name in "abc":
        write(OLD, tmp_path / f"{name}.mosaic")
    held = pymosaic.dataset(tmp_path)
    write(NEW, tmp_path / "b.mosaic")
    reads.clear()
    assert held.scan(filters=WANTED).count_rows() == 100
    assert reads.files == {"b.mosaic"}


@pytest.mark.parametrize("kind", ["fsspec", "pyarrow"])
def test_other_file_systems_are_asked_where_statistics_decide(kind: str, tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    filesystem = memory if kind == "fsspec" else pyarrow.fs._MockFileSystem()
    base = f"/replaced-{kind}"
    if kind == "pyarrow":
        filesystem.create_dir(base)
    pymosaic.write_table(OLD, f"{base}/a.mosaic", filesystem=filesystem, statistics=True)
    held = pymosaic.dataset(base, filesystem=filesystem)
    pymosaic.write_table(
        NEW.slice(0, 50), f"{base}/a.mosaic", filesystem=filesystem, statistics=True
    )
    assert held.scan(filters=WANTED).to_table().num_rows == 50
    assert held.count_rows() == 50


def test_a_file_of_the_same_size_in_another_file_system(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    options: dict[str, Any] = {"filesystem": memory, "statistics": True, "compression": "none"}
    pymosaic.write_table(OLD, "/replaced-same-size/a.mosaic", **options)
    held = pymosaic.dataset("/replaced-same-size", filesystem=memory)
    assert held.count_rows(WANTED) == 0
    size = memory.info("/replaced-same-size/a.mosaic")["size"]
    pymosaic.write_table(NEW, "/replaced-same-size/a.mosaic", **options)
    assert memory.info("/replaced-same-size/a.mosaic")["size"] == size
    assert held.count_rows(WANTED) == 100
    assert held.to_table(filters=WANTED).equals(NEW)


def test_heads_are_carried_over_to_a_new_listing_where_files_are_the_same(
    tmp_path: Path, reads: Any
) -> None:
    write_files(tmp_path, {"a.mosaic": {"n": [1]}, "b.mosaic": {"n": [2]}})
    held = pymosaic.Dataset(str(tmp_path))
    reads.clear()
    again = pymosaic.Dataset(str(tmp_path), opened_before=held)
    assert reads.ranges == []
    assert again.scan().to_table()["n"].to_pylist() == [1, 2]
    write_files(tmp_path, {"b.mosaic": {"m": ["x"]}, "c.mosaic": {"n": [3]}})
    reads.clear()
    changed = pymosaic.Dataset(str(tmp_path), opened_before=held)
    assert reads.files == {"b.mosaic", "c.mosaic"}
    assert sorted(changed.schema.names) == ["m", "n"]


def test_on_other_file_systems_a_listing_must_tell_the_time(memory_filesystem: Any) -> None:
    table = pa.table({"n": [1]})
    pymosaic.write_table(table, "/d/a.mosaic", filesystem=memory_filesystem)
    held = pymosaic.Dataset("/d", filesystem=memory_filesystem)
    same = pa.table({"n": [2]})
    pymosaic.write_table(same, "/d/a.mosaic", filesystem=memory_filesystem)
    again = pymosaic.Dataset("/d", filesystem=memory_filesystem, opened_before=held)
    assert again.scan(filters=[("n", "=", 2)]).to_table().num_rows == 1
