"""vacuum and sweeping: what dead jobs left goes, what is alive or seen stays."""

from __future__ import annotations

import os
import pickle
import shutil
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs

import pymosaic
from pymosaic.datasets.claim import Claim
from pymosaic.datasets.commit import StagedFile, WriteJob
from pymosaic.datasets.records import record_path
from pymosaic.datasets.snapshot import take_snapshot
from pymosaic.io import open_directory

TABLE = pa.table({"n": [1, 2]})
DAY = 86400


def start(base: Path, *, write: int = 1) -> tuple[WriteJob, list[StagedFile]]:
    job = WriteJob.start(base)
    files = [job.file("k=1", 0, number) for number in range(write)]
    for file in files:
        pymosaic.write_table(TABLE, file.write_path)
    return job, files


def age(base: Path, seconds: float) -> None:
    """Make everything look as if it had happened so much earlier."""
    for path in base.rglob("*"):
        status = path.stat()
        os.utime(path, (status.st_atime - seconds, status.st_mtime - seconds))


def paths(base: Path) -> list[str]:
    return sorted(entry.path for entry in open_directory(base).list_files())


def test_a_dead_job_is_removed_when_it_is_old(tmp_path: Path) -> None:
    base = tmp_path / "set"
    job, files = start(base, write=2)
    report = pymosaic.vacuum(base)
    assert (report.jobs, report.files, report.num_bytes) == ((), (), 0)
    assert len(paths(base)) == 3
    age(base, DAY + 60)
    size = sum(Path(file.write_path).stat().st_size for file in files)
    report = pymosaic.vacuum(base)
    assert (report.jobs, len(report.files), report.num_bytes) == ((job.id,), 2, size)
    # The mark hides what the job would write if it were only asleep.
    assert paths(base) == [record_path(job.id, "aborted")]


def test_a_job_that_still_writes_is_alive_however_long_ago_it_began(tmp_path: Path) -> None:
    job, files = start(tmp_path)
    age(tmp_path, 3 * DAY)
    more = job.file("k=1", 0, 7)
    pymosaic.write_table(TABLE, more.write_path)
    assert pymosaic.vacuum(tmp_path).jobs == ()
    job.commit([*files, more])
    assert pymosaic.dataset(str(tmp_path)).count_rows() == 4


def test_a_job_that_was_vacuumed_cannot_commit(tmp_path: Path) -> None:
    job, files = start(tmp_path)
    pymosaic.vacuum(tmp_path, older_than=0)
    with pytest.raises(pymosaic.MosaicError, match="vacuumed"):
        job.commit(files)
    job.abort()
    [checkpoint] = paths(tmp_path)
    assert checkpoint.startswith("_mosaic/checkpoint-")
    assert job.id in (tmp_path / checkpoint).read_text()


def test_nor_can_one_that_was_aborted_or_committed(tmp_path: Path) -> None:
    job, files = start(tmp_path)
    job.commit(files)
    job.abort()
    assert pymosaic.dataset(str(tmp_path)).count_rows() == 2
    with pytest.raises(pymosaic.MosaicError, match="committed"):
        job.commit(files)


def test_later_commits_forget_old_records(tmp_path: Path) -> None:
    for number in range(3):
        pymosaic.write_dataset(pa.table({"n": [number]}), tmp_path, mode="append")
    assert len(paths(tmp_path)) == 6
    for number in range(3, 9):
        age(tmp_path, DAY + 60)
        pymosaic.write_dataset(pa.table({"n": [number]}), tmp_path, mode="append")
        records = [path for path in paths(tmp_path) if path.startswith("_mosaic")]
        assert pymosaic.dataset(tmp_path).scan().to_table()["n"].to_pylist() == list(
            range(number + 1)
        )
    # The newest checkpoint and the one before, and records that this did not tell of.
    assert len([path for path in records if "/checkpoint-" in path]) == 2
    assert len([path for path in records if not path.endswith(".pack")]) <= 5


def test_commits_delete_what_was_replaced_a_day_ago(tmp_path: Path) -> None:
    pymosaic.write_dataset(pa.table({"n": [1]}), tmp_path)
    pymosaic.write_dataset(pa.table({"n": [2]}), tmp_path, mode="overwrite")
    pymosaic.write_dataset(pa.table({"n": [3]}), tmp_path, mode="append")
    assert len(list(tmp_path.glob("*.mosaic"))) == 3
    age(tmp_path, DAY + 60)
    pymosaic.write_dataset(pa.table({"n": [4]}), tmp_path, mode="append")
    assert len(list(tmp_path.glob("*.mosaic"))) == 3
    assert pymosaic.dataset(tmp_path).scan().to_table()["n"].to_pylist() == [2, 3, 4]


def test_replaced_files_that_could_not_be_deleted_are_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pymosaic.write_dataset(TABLE, tmp_path)
    with monkeypatch.context() as patch:

        def refuse(*arguments: Any) -> None:
            raise PermissionError("read-only now")

        patch.setattr("pymosaic.datasets.commit.maintain", refuse)
        pymosaic.write_dataset(pa.table({"n": [7]}), tmp_path, mode="overwrite", keep_replaced=0)
    read = pymosaic.dataset(str(tmp_path)).scan().to_table
    assert len(list(tmp_path.glob("*.mosaic"))) == 2
    assert read()["n"].to_pylist() == [7]
    report = pymosaic.vacuum(tmp_path, older_than=timedelta())
    assert len(report.files) == 1
    assert len(list(tmp_path.glob("*.mosaic"))) == 1
    assert read()["n"].to_pylist() == [7]


def test_a_file_put_under_a_removed_name_is_not_deleted(tmp_path: Path) -> None:
    mine = tmp_path / "mine.mosaic"
    pymosaic.write_table(TABLE, mine)
    pymosaic.write_dataset(pa.table({"n": [7]}), tmp_path, mode="overwrite")
    pymosaic.write_table(pa.table({"n": [8]}), mine)
    pymosaic.vacuum(tmp_path, older_than=0)
    assert mine.exists()
    read = pymosaic.dataset(str(tmp_path)).scan().to_table()
    assert sorted(read["n"].to_pylist()) == [7, 8]


@pytest.mark.parametrize("older_than", [-1, "day", None, float("nan")])
def test_a_bad_age_is_refused(older_than: Any, tmp_path: Path) -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match="older_than"):
        pymosaic.vacuum(tmp_path, older_than=older_than)


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="typo"):
        pymosaic.vacuum(tmp_path / "typo")
    assert not (tmp_path / "typo").exists()


def test_a_directory_of_plain_files_is_left_as_it_is(tmp_path: Path) -> None:
    pymosaic.write_table(TABLE, tmp_path / "mine.mosaic")
    assert pymosaic.vacuum(tmp_path, older_than=0).files == ()
    assert paths(tmp_path) == ["mine.mosaic"]


class TestClaims:
    def claim(self, base: Path, job: str, content: str) -> Path:
        path = base / record_path(job, "claim")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def test_two_do_not_hold_at_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("pymosaic.datasets.claim._WAIT_SECONDS", 0.0)
        storage = open_directory(tmp_path)
        storage.make_directory("_mosaic")
        with Claim(storage, "1" * 32):
            with pytest.raises(pymosaic.CommitConflictError, match="1" * 32):
                Claim(storage, "2" * 32).__enter__()
            assert paths(tmp_path) == [record_path("1" * 32, "claim")]
        with Claim(storage, "2" * 32):
            pass
        assert paths(tmp_path) == []

    def test_that_of_a_process_that_is_gone_is_void(self, tmp_path: Path) -> None:
        dead = (1 << 22) + 1  # above all that Linux gives
        storage = open_directory(tmp_path)
        storage.make_directory("_mosaic")
        with Claim(storage, "2" * 32):
            mine = storage.read(record_path("2" * 32, "claim")).decode()
        self.claim(tmp_path, "1" * 32, mine.replace(str(os.getpid()), str(dead)))
        with Claim(storage, "2" * 32):
            assert paths(tmp_path) == [record_path("2" * 32, "claim")]

    def test_an_old_one_is_void_and_a_strange_one_is_not(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pymosaic.datasets.claim._WAIT_SECONDS", 0.0)
        storage = open_directory(tmp_path)
        for content in (
            "",
            "{}",
            '{"machine": "x", "process": 1}',
            '{"machine": 1, "process": {}}',
        ):
            path = self.claim(tmp_path, "1" * 32, content)
            with pytest.raises(pymosaic.CommitConflictError):
                Claim(storage, "2" * 32).__enter__()
            old = time.time() - 3600
            os.utime(path, (old, old))
            with Claim(storage, "2" * 32) as held:
                held.check(storage.list_files())
                storage.delete(record_path("2" * 32, "claim"))
                with pytest.raises(pymosaic.CommitConflictError):
                    held.check(storage.list_files())

    def test_nothing_is_published_under_one_that_is_too_old(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pymosaic.write_dataset(TABLE, tmp_path)
        before = paths(tmp_path)
        monkeypatch.setattr("pymosaic.datasets.claim.HOLD_SECONDS", -1.0)
        with pytest.raises(pymosaic.CommitConflictError, match="others may have changed"):
            pymosaic.write_dataset(TABLE, tmp_path, mode="overwrite")
        assert [path for path in paths(tmp_path) if not path.endswith(".aborted")] == before


def test_files_are_staged_where_directories_must_exist_and_moves_cost_nothing(
    tmp_path: Path,
) -> None:
    """HDFS through pyarrow: played by pyarrow's file system for tests."""
    filesystem = fs._MockFileSystem()
    storage = open_directory("set", filesystem)
    storage.moves = True
    job = WriteJob.start(storage)
    file = job.file("k=1", 0, 0)
    assert "/_mosaic/staging/" in file.write_path
    pymosaic.write_table(TABLE, file.write_path, filesystem=filesystem)
    assert job.commit([file]) == ()
    replacing = WriteJob.start(storage, mode="overwrite")
    other = replacing.file("k=2", 0, 0)
    pymosaic.write_table(TABLE, other.write_path, filesystem=filesystem)
    assert replacing.commit([other]) == (file.final_path,)
    given_up = WriteJob.start(storage)
    given_up.file("k=3", 0, 0)
    given_up.abort()
    assert [entry.path for entry in take_snapshot(storage).files] == [other.final_path]
    found = sorted(entry.path for entry in storage.list_files())
    records = [path for path in found if path.startswith("_mosaic/")]
    assert all(path.endswith(".committed.json") for path in records)
    assert not filesystem.get_file_info("set/_mosaic/staging").is_file


def test_a_partition_is_not_taken_for_a_dataset(tmp_path: Path) -> None:
    pymosaic.write_dataset(pa.table({"n": [1], "k": [1]}), tmp_path, partition_by="k")
    for write in (
        lambda: pymosaic.write_dataset(TABLE, tmp_path / "k=1", mode="append"),
        lambda: pymosaic.write_dataset(TABLE, f"{tmp_path}/k=2/"),
    ):
        with pytest.raises(pymosaic.InvalidOptionError, match="pass the dataset's directory"):
            write()


def test_links_that_lead_in_circles_end(tmp_path: Path) -> None:
    base = tmp_path / "set"
    pymosaic.write_dataset(TABLE, base)
    (base / "again").symlink_to(base)
    (base / "other").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    pymosaic.write_table(TABLE, tmp_path / "elsewhere" / "x.mosaic")
    assert [path for path in paths(base) if "_mosaic" not in path.split("/")[0]] == [
        "other/x.mosaic",
        *[path.name for path in base.glob("part*.mosaic")],
    ]


def test_directories_that_others_remove_while_empty_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = open_directory(tmp_path / "set")
    removals = 3
    replace = os.replace

    def remove_first(source: str, target: str) -> None:
        nonlocal removals
        if removals:
            removals -= 1
            raise FileNotFoundError(target)
        replace(source, target)

    monkeypatch.setattr(os, "replace", remove_first)
    storage.write("_mosaic/x", b"content")
    assert storage.read("_mosaic/x") == b"content"


def test_a_job_means_the_same_directory_in_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    job: WriteJob = pickle.loads(pickle.dumps(WriteJob.start("set")))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    file = job.file("", "3-1", 0)
    pymosaic.write_table(TABLE, file.write_path)
    job.commit(pickle.loads(pickle.dumps([file])))
    assert (tmp_path / "set" / file.final_path).exists()


def test_a_link_to_a_partition_or_a_copy_inside_costs_no_file(tmp_path: Path) -> None:
    base = tmp_path / "set"
    table = pa.table({"day": [1, 2], "n": [1, 2]})
    pymosaic.write_dataset(table, base, partition_by="day")
    shutil.copytree(base, tmp_path / "copy")
    shutil.move(tmp_path / "copy", base / "backup")
    (base / "latest").symlink_to(base / "day=1")
    for path in (*base.rglob("*.mosaic"), *base.rglob("*.json")):
        os.utime(path, (0, 0))
    pymosaic.write_dataset(table, base, mode="append")
    pymosaic.vacuum(base, older_than=0)
    assert pymosaic.dataset(str(base / "backup")).count_rows() == 2
    assert len(list((base / "day=1").glob("*.mosaic"))) == 2
    kept = pymosaic.dataset(str(base / "day=1")).scan().to_table()
    assert kept["n"].to_pylist() == [1, 1]
