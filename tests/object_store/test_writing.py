"""Writing to an object store: files at final names, hidden until their record appears."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs

import pymosaic
from pymosaic.datasets.commit import WriteJob
from pymosaic.datasets.snapshot import take_snapshot
from pymosaic.io import open_directory
from tests.object_store.conftest import arrow_filesystem
from tests.object_store.dying import Dying
from tests.object_store.server import ObjectStore

ROOT = Path(__file__).parents[2]


def table(start: int, rows: int = 50) -> pa.Table:
    return pa.table({"n": np.arange(start, start + rows), "k": np.arange(rows) % 2})


def look(base: str, filesystem: Any) -> list[int]:
    found = pymosaic.dataset(base, filesystem=filesystem).scan(columns=["n"]).to_table()
    return sorted(found["n"].to_pylist())


def keys(base: str, filesystem: Any) -> list[str]:
    return sorted(entry.path for entry in open_directory(base, filesystem).list_files())


def test_write_append_overwrite_compact_vacuum(bucket: str, filesystem: Any) -> None:
    base = f"{bucket}/set"
    options = {"filesystem": filesystem, "partition_by": "k"}
    first = pymosaic.write_dataset(table(0), base, **options)
    assert first.num_rows == 50
    with pytest.raises(pymosaic.DatasetExistsError):
        pymosaic.write_dataset(table(0), base, **options)
    pymosaic.write_dataset(table(100), base, mode="append", filesystem=filesystem)
    assert look(base, filesystem) == [*range(50), *range(100, 150)]
    report = pymosaic.compact(base, filesystem=filesystem, min_row_group_bytes=0)
    assert (report.files_copied, report.files_after) == (4, 2)
    assert look(base, filesystem) == [*range(50), *range(100, 150)]
    written = pymosaic.write_dataset(table(7), base, mode="overwrite", **options)
    assert len(written.removed) == 2
    assert look(base, filesystem) == list(range(7, 57))
    assert pymosaic.vacuum(base, filesystem=filesystem).files == ()
    assert len(pymosaic.vacuum(base, older_than=0, filesystem=filesystem).files) == 6
    data = [key for key in keys(base, filesystem) if not key.startswith("_mosaic/")]
    assert data == sorted(path.partition("/set/")[2] for path in written.files)
    assert look(base, filesystem) == list(range(7, 57))
    for work in (pymosaic.vacuum, pymosaic.compact):
        with pytest.raises(FileNotFoundError, match="typo"):
            work(f"{bucket}/typo", filesystem=filesystem)


def test_merge_of_objects(bucket: str, filesystem: Any) -> None:
    paths = [f"{bucket}/{number}.mosaic" for number in range(3)]
    for number, path in enumerate(paths):
        pymosaic.write_table(table(number * 50), path, filesystem=filesystem)
    report = pymosaic.merge(paths, f"{bucket}/all.mosaic", filesystem=filesystem, verify=True)
    assert report.num_rows == 150
    merged = pymosaic.read_table(f"{bucket}/all.mosaic", filesystem=filesystem)
    assert merged["n"].to_pylist() == list(range(150))


def test_a_failed_write_leaves_the_dataset_as_it_was(bucket: str, filesystem: Any) -> None:
    base = f"{bucket}/set"
    pymosaic.write_dataset(table(0), base, filesystem=filesystem)

    def fail() -> Any:
        yield table(500).to_batches()[0]
        raise RuntimeError("the source broke")

    for mode in ("append", "overwrite"):
        with pytest.raises(RuntimeError, match="the source broke"):
            pymosaic.write_dataset(
                fail(), base, mode=mode, filesystem=filesystem, target_file_bytes=1000
            )
    assert look(base, filesystem) == list(range(50))
    assert len([key for key in keys(base, filesystem) if key.endswith(".mosaic")]) == 1


def test_tasks_that_write_after_the_end_stay_invisible(bucket: str, filesystem: Any) -> None:
    """As a task of a cluster may that was given up, on a machine that nobody reaches."""
    base = f"{bucket}/set"
    job = WriteJob.start(base, filesystem=filesystem)
    dead = WriteJob.start(base, filesystem=filesystem)
    file, late = job.file("", 0, 0), job.file("", 1, 0)
    pymosaic.write_table(table(0), file.write_path, filesystem=filesystem)
    job.commit([file])
    dead.abort()
    for path in (late.write_path, dead.file("", 0, 0).write_path):
        pymosaic.write_table(table(900), path, filesystem=filesystem)
    assert look(base, filesystem) == list(range(50))
    report = pymosaic.vacuum(base, older_than=0, filesystem=filesystem)
    assert len(report.files) == 2
    assert look(base, filesystem) == list(range(50))


def test_records_cost_a_reader_two_listings_and_a_read_each(
    bucket: str, server: ObjectStore
) -> None:
    filesystem = arrow_filesystem(server)
    pymosaic.write_table(table(0), f"{bucket}/set/a.mosaic", filesystem=filesystem)
    storage = open_directory(f"{bucket}/set", filesystem)
    server.clear()
    assert len(take_snapshot(storage).files) == 1
    assert [request.is_listing for request in server.requests] == [True]
    pymosaic.write_dataset(table(100), f"{bucket}/set", mode="append", filesystem=filesystem)
    server.clear()
    assert len(take_snapshot(storage).files) == 2
    listings = [request for request in server.requests if request.is_listing]
    assert len(listings) == 2
    assert {request.path.rpartition(".")[2] for request in server.requests} >= {"json"}


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_death_before_any_upload_or_deletion(mode: Any, bucket: str, server: ObjectStore) -> None:
    """What a dead process leaves is the old dataset or the new one."""
    filesystem = arrow_filesystem(server)
    old = list(range(10))
    new = [*old, *range(500, 510)] if mode == "append" else list(range(500, 510))
    switched = False
    died = True
    kill_at = 0
    while died:
        base = f"{bucket}/{kill_at}"
        pymosaic.write_table(table(0, 10), f"{base}/a.mosaic", filesystem=filesystem)
        dying = Dying(filesystem, kill_at)
        # Once all is published, failing to clean up is no failure.
        with suppress(OSError):
            pymosaic.write_dataset(
                table(500, 10), base, mode=mode, filesystem=fs.PyFileSystem(dying)
            )
        died = dying.dead
        seen = look(base, filesystem)
        switched = switched or seen == new
        assert seen == (new if switched else old), kill_at
        kill_at += 1
    assert switched
    assert kill_at > 3


def test_a_process_killed_in_the_middle_of_an_upload(bucket: str, server: ObjectStore) -> None:
    """Some parts of the object are in the store, the object is not."""
    filesystem = arrow_filesystem(server)
    base = f"{bucket}/set"
    pymosaic.write_dataset(table(0), base, filesystem=filesystem)
    command = [sys.executable, "-m", "tests.object_store.killing", base, str(server.port)]
    server.clear()
    run = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=800, check=False)
    assert run.returncode == -signal.SIGKILL, run.stderr.decode()
    parts = [request for request in server.requests if "partNumber" in request.query]
    assert parts
    assert all(request.method == "PUT" for request in parts)
    assert look(base, filesystem) == list(range(50))
    assert len([key for key in keys(base, filesystem) if key.endswith(".pending")]) == 1
    report = pymosaic.vacuum(base, older_than=0, filesystem=filesystem)
    assert len(report.jobs) == 1
    assert look(base, filesystem) == list(range(50))
