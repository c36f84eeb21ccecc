"""Following a dataset: each row of each commit is found once."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.datasets.following import FileVersion, Seen, look, look_first
from pymosaic.datasets.snapshot import take_snapshot
from pymosaic.errors import DatasetError
from pymosaic.io import open_directory


class Follower:
    """Reads what is new at each look."""

    def __init__(self, base: Path, **options: object) -> None:
        self._base = base
        self._options = options
        self.seen: Seen | None = None
        self.read: list[int] = []

    def look(self, **options: object) -> list[int]:
        snapshot = take_snapshot(open_directory(self._base))
        files: tuple[FileVersion, ...]
        if self.seen is None:
            self.seen, files = look_first(snapshot, **self._options)  # type: ignore[arg-type]
        else:
            self.seen, files = look(snapshot, self.seen, **options)  # type: ignore[arg-type]
        paths = [self._base / file.path for file in files]
        rows = [row for path in paths for row in pymosaic.read_table(path)["n"].to_pylist()]
        self.read += rows
        return rows


def add(base: Path, *rows: int, mode: Any = "append") -> None:
    pymosaic.write_dataset(pa.table({"n": list(rows)}), base, mode=mode)


def put(base: Path, name: str, *rows: int) -> None:
    pymosaic.write_table(pa.table({"n": list(rows)}), base / name)


@pytest.fixture
def base(tmp_path: Path) -> Path:
    add(tmp_path / "data", 0, 1)
    return tmp_path / "data"


def test_each_commit_is_found_once_and_in_order(base):
    follower = Follower(base)
    assert follower.look() == [0, 1]
    add(base, 2)
    add(base, 3)
    assert follower.look() == [2, 3]
    assert follower.look() == []


def test_files_of_others_are_found_the_oldest_first(base):
    follower = Follower(base)
    follower.look()
    put(base, "b.mosaic", 5)
    put(base, "a.mosaic", 6)
    os.utime(base / "b.mosaic", (1e9, 1e9))
    assert follower.look() == [5, 6]
    assert follower.look() == []


def test_a_file_of_others_that_is_replaced_in_place_is_a_change(base):
    """It was perhaps copied there slowly, or only touched: its rows must not come twice."""
    follower = Follower(base)
    put(base, "mine.mosaic", 5)
    follower.look()
    before = follower.seen
    put(base, "mine.mosaic", 5, 6)
    with pytest.raises(DatasetError, match=r"mine\.mosaic, which no job wrote, was replaced"):
        follower.look()
    assert follower.look(on_change="skip") == []
    assert follower.look() == [], "it is known then"
    follower.seen = before
    assert follower.look(on_change="read") == [5, 6]


@pytest.mark.parametrize("vacuums", [False, True])
def test_a_name_that_compaction_has_set_free_may_be_used_again(base, vacuums):
    follower = Follower(base)
    put(base, "mine.mosaic", 5)
    follower.look()
    pymosaic.compact(base)
    if vacuums:
        pymosaic.vacuum(base, older_than=0)
    put(base, "mine.mosaic", 6, 7)
    assert follower.look() == [6, 7]


def test_a_dataset_that_was_deleted_and_made_anew_is_an_error(base):
    follower = Follower(base)
    follower.look()
    shutil.rmtree(base)
    add(base, 2)
    with pytest.raises(DatasetError, match="another dataset"):
        follower.look()
    assert follower.look(on_change="skip") == [2]


def test_compaction_is_nothing_new_and_hides_nothing(base):
    follower = Follower(base)
    follower.look()
    add(base, 2)
    put(base, "mine.mosaic", 9)
    pymosaic.compact(base)
    assert follower.look() == [2, 9]
    pymosaic.compact(base)
    assert follower.look() == []
    pymosaic.vacuum(base, older_than=0)
    assert follower.look() == []
    add(base, 3)
    assert follower.look() == [3]


@pytest.mark.parametrize("forgets", [False, True])
def test_rows_that_are_gone_are_an_error(base, forgets, monkeypatch):
    """Also when the dataset no longer knows that there was such a commit."""
    follower = Follower(base)
    follower.look()
    add(base, 2)
    pymosaic.compact(base)
    if forgets:
        monkeypatch.setattr("pymosaic.datasets.maintenance._MEMORY_SECONDS", -1.0)
    for _ in range(3):
        add(base, 3)
        pymosaic.compact(base)
        pymosaic.vacuum(base, older_than=0)
    with pytest.raises(DatasetError, match="deleted"):
        follower.look()
    assert 2 not in follower.look(allow_missing=True)


def test_a_file_of_others_that_is_gone_unseen_is_an_error(base):
    follower = Follower(base)
    follower.look()
    put(base, "mine.mosaic", 9)
    pymosaic.compact(base)
    pymosaic.vacuum(base, older_than=0)
    with pytest.raises(DatasetError, match="deleted"):
        follower.look()


def test_what_was_seen_may_be_gone(base, monkeypatch):
    monkeypatch.setattr("pymosaic.datasets.maintenance._MEMORY_SECONDS", -1.0)
    follower = Follower(base)
    follower.look()
    put(base, "mine.mosaic", 9)
    for number in range(10, 20):
        add(base, number)
        assert number in follower.look()
        pymosaic.compact(base)
        pymosaic.vacuum(base, older_than=0)
    assert follower.seen is not None
    assert len(follower.seen.jobs) < 10, "the memory of a follower is bounded, too"
    assert sorted(follower.read) == [0, 1, 9, *range(10, 20)]


def test_changes_are_an_error_or_skipped_or_read(base):
    follower = Follower(base)
    follower.look()
    add(base, 2)
    add(base, 7, mode="overwrite")
    before = follower.seen
    with pytest.raises(DatasetError, match="removed or replaced rows"):
        follower.look()
    assert follower.seen == before
    assert follower.look(on_change="skip") == [2]
    follower.seen = before
    assert follower.look(on_change="read") == [2, 7]
    add(base, 3)
    assert follower.look() == [3]


def test_a_follower_begins_now_or_at_a_time(base):
    latest = Follower(base, latest=True)
    assert latest.look() == []
    for path in (base / "_mosaic").iterdir():
        os.utime(path, (1e9, 1e9))
    add(base, 2)
    assert latest.look() == [2]
    assert Follower(base, since=1e9 + 1).look() == [2]
    assert Follower(base, since=1e9).look() == [0, 1, 2]
    add(base, 3, mode="overwrite")
    with pytest.raises(DatasetError, match="removed or replaced rows"):
        Follower(base, since=1e9 + 1).look()
    assert Follower(base, since=1e9 + 1, on_change="skip").look() == [2]
    assert Follower(base, since=1e9 + 1, on_change="read").look() == [2, 3]


@pytest.mark.parametrize("seed", range(4))
def test_random_histories(base, seed, monkeypatch):
    monkeypatch.setattr("pymosaic.datasets.maintenance.RECORDS_PER_CHECKPOINT", 3)
    draw = random.Random(seed)
    follower = Follower(base)
    expected = [0, 1]
    for number in range(10, 60):
        match draw.choice(["add", "add", "put", "compact", "look", "vacuum"]):
            case "add":
                add(base, number)
                expected.append(number)
            case "put":
                put(base, f"of-others-{number}.mosaic", number)
                expected.append(number)
            case "compact":
                pymosaic.compact(base)
            case "vacuum":
                pymosaic.vacuum(base)
            case _:
                follower.look()
    follower.look()
    assert sorted(follower.read) == expected
