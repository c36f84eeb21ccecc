"""Ctrl-C: at every step of the threads' work in turn, and as real signals at any moment."""

from __future__ import annotations

import _thread
import gc
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import fs

import pymosaic
from pymosaic import threads
from pymosaic.threads import ordered_map

ITEMS = 30


@pytest.fixture(autouse=True)
def _four_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with four processors; the pools of other tests are left alone."""
    monkeypatch.setattr(threads, "_pools", {})
    monkeypatch.setattr(threads, "num_threads", lambda: 4)


class Submitting:
    """Interrupts the n-th submission to any pool, before it is made or right after."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failing: int, afterwards: bool) -> None:
        self.count = 0
        self.error = KeyboardInterrupt()
        put = threads._Pool.put

        def interrupted(pool: threads._Pool, task: Any) -> None:
            self.count += 1
            if self.count - 1 != failing:
                return put(pool, task)
            if afterwards:
                put(pool, task)
            raise self.error

        monkeypatch.setattr(threads._Pool, "put", interrupted)


class Exhausted:
    """Stands for ``_thread``: starts so many threads and no more."""

    def __init__(self, left: int, error: BaseException) -> None:
        self.left = left
        self.error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(_thread, name)

    def start_new_thread(self, *arguments: Any) -> int:
        if self.left == 0:
            raise self.error
        self.left -= 1
        return _thread.start_new_thread(*arguments)


class Work:
    """Notes what has begun and ended."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.ended: list[int] = []

    def __call__(self, item: int) -> int:
        self.begun.append(item)
        threading.Event().wait(0.001)
        self.ended.append(item)
        return item


@pytest.mark.parametrize("afterwards", [False, True])
@pytest.mark.parametrize("failing", range(ITEMS))
def test_an_interrupt_at_any_submission_leaves_nothing_running(
    failing: int, afterwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work()
    with monkeypatch.context() as patch:
        submitting = Submitting(patch, failing, afterwards)
        with pytest.raises(KeyboardInterrupt) as caught:
            list(ordered_map(work, range(ITEMS), True))
        assert caught.value is submitting.error
    assert sorted(work.begun) == sorted(work.ended)
    assert len(set(work.begun)) == len(work.begun) <= failing + 1
    begun = len(work.begun)
    # The threads that are left take no more of it; those of the next map do their own.
    assert list(ordered_map(lambda item: -item, range(ITEMS), True)) == [-i for i in range(ITEMS)]
    assert len(work.begun) == begun


@pytest.mark.parametrize("failing", range(0, ITEMS, 3))
def test_an_interrupt_raised_by_the_work_comes_through(failing: int) -> None:
    work = Work()

    def interrupted(item: int) -> int:
        if item == failing:
            raise KeyboardInterrupt
        return work(item)

    with pytest.raises(KeyboardInterrupt):
        list(ordered_map(interrupted, range(ITEMS), True))
    assert sorted(work.begun) == sorted(work.ended)
    assert list(ordered_map(work, range(ITEMS), True)) == list(range(ITEMS))


@pytest.mark.parametrize("started", range(5))
def test_where_threads_cannot_be_started_work_is_done_once_all_the_same(
    started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = RuntimeError("can't start new thread")
    monkeypatch.setattr(threads, "_thread", Exhausted(started, error))
    work = Work()
    assert list(ordered_map(work, range(ITEMS), True)) == list(range(ITEMS))
    assert sorted(work.begun) == list(range(ITEMS))


@pytest.mark.parametrize("started", range(4))
def test_an_interrupt_while_threads_start_is_followed_by_a_whole_pool(
    started: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "_thread", Exhausted(started, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        list(ordered_map(lambda item: item, range(ITEMS), True))
    monkeypatch.setattr(threads, "_thread", _thread)
    together = threading.Barrier(4, timeout=120)
    assert len(list(ordered_map(lambda _: together.wait(), range(4), True))) == 4


def test_another_number_of_threads_does_not_disturb_a_map_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = ordered_map(lambda item: item, range(ITEMS), True)
    assert next(results) == 0
    monkeypatch.setattr(threads, "num_threads", lambda: 2)
    assert list(ordered_map(lambda item: item, range(ITEMS), True)) == list(range(ITEMS))
    assert list(results) == list(range(1, ITEMS))


def wide(version: int) -> pa.Table:
    """Large enough for threads."""
    rows = np.arange(version, version + 9000)
    return pa.table({f"c{i:02}": rows * (i + 1) for i in range(40)})


@pytest.mark.parametrize("afterwards", [False, True])
def test_an_interrupt_at_any_submission_of_a_write_or_read(
    tmp_path: Path, afterwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = wide(1), wide(2)
    target = tmp_path / "target.mosaic"
    pymosaic.write_table(old, target)

    def copy() -> None:
        table = pymosaic.read_table(target)
        assert table.equals(old)
        pymosaic.write_table(new, target)

    with monkeypatch.context() as patch:
        counting = Submitting(patch, -1, afterwards)
        copy()
        submissions = counting.count
    assert submissions > 20
    for failing in range(0, submissions, 5):
        pymosaic.write_table(old, target)
        with monkeypatch.context() as patch:
            Submitting(patch, failing, afterwards)
            with pytest.raises(KeyboardInterrupt):
                copy()
        assert pymosaic.read_table(target).equals(old)
        assert os.listdir(tmp_path) == [target.name]
    pymosaic.write_table(old, target)
    copy()
    assert pymosaic.read_table(target).equals(new)


@pytest.mark.parametrize("afterwards", [False, True])
@pytest.mark.parametrize("remote", [False, True])
def test_an_interrupt_at_any_submission_of_a_scan_a_commit_or_a_compaction(
    tmp_path: Path, remote: bool, afterwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = wide(1), wide(2)
    filesystem = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()) if remote else None
    base = "table" if remote else str(tmp_path / "table")
    small: dict[str, Any] = {"target_file_bytes": 400_000, "row_group_bytes": 200_000}
    small |= {"compression": "none", "filesystem": filesystem}

    def copy() -> None:
        found = pymosaic.dataset(base, filesystem=filesystem).to_table()
        assert found.num_rows == old.num_rows
        pymosaic.write_dataset(new, base, mode="overwrite", **small)
        pymosaic.compact(base, filesystem=filesystem)

    pymosaic.write_dataset(old, base, mode="overwrite", **small)
    with monkeypatch.context() as patch:
        counting = Submitting(patch, -1, afterwards)
        copy()
        submissions = counting.count
    assert submissions > 20
    for failing in range(0, submissions, max(1, submissions // 8)):
        pymosaic.write_dataset(old, base, mode="overwrite", **small)
        descriptors = len(os.listdir("/proc/self/fd"))
        with monkeypatch.context() as patch:
            submitting = Submitting(patch, failing, afterwards)
            # Threads finish in another order each time: now and then a submission fewer is made.
            with suppress(KeyboardInterrupt):
                copy()
            assert submitting.count > failing or submitting.count > submissions // 2
        found = pymosaic.dataset(base, filesystem=filesystem).to_table().sort_by("c00")
        assert found.equals(old) or found.equals(new)
        gc.collect()
        assert len(os.listdir("/proc/self/fd")) <= descriptors
    copy()


@pytest.mark.parametrize("kind", ["file", "dataset"])
def test_real_signals_at_any_moment_neither_hang_nor_tear_anything(kind: str) -> None:
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.faults.interrupts",
            "--rounds=25",
            "--seed=3",
            f"--kind={kind}",
        ],
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout)
    assert figures["rounds"] == 25
    assert figures["torn_files"] == 0
