"""Ctrl-C: at every step of the threads' work in turn, and as real signals at any moment."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic import threads
from pymosaic.threads import ordered_map

ITEMS = 30


@pytest.fixture(autouse=True)
def _four_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine with four processors; the pool of other tests is left alone."""
    monkeypatch.setattr(threads, "_pool", None)
    monkeypatch.setattr(threads, "num_threads", lambda: 4)
    yield
    pool = threads._pool
    if pool is not None:
        pool.shutdown()


class Submitting:
    """Interrupts the n-th submission to any pool, before it is made or right after."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, failing: int, afterwards: bool) -> None:
        self.count = 0
        self.error = KeyboardInterrupt()
        submit = ThreadPoolExecutor.submit

        def interrupted(pool: ThreadPoolExecutor, *arguments: Any) -> Any:
            self.count += 1
            if self.count - 1 != failing:
                return submit(pool, *arguments)
            if afterwards:
                submit(pool, *arguments)
            raise self.error

        monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)


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


def test_after_an_interrupted_submission_no_thread_of_the_old_pool_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python's pool forgets a thread if it is interrupted while that starts."""
    list(ordered_map(lambda item: item, range(ITEMS), True))
    old = threads._pool
    assert old is not None
    workers = set(old._threads)
    with monkeypatch.context() as patch:
        Submitting(patch, 2, afterwards=True)
        with pytest.raises(KeyboardInterrupt):
            list(ordered_map(lambda item: item, range(ITEMS), True))
    for worker in workers:
        worker.join(timeout=60)
        assert not worker.is_alive()
    list(ordered_map(lambda item: item, range(ITEMS), True))
    assert threads._pool is not old


@pytest.mark.parametrize("failing", range(12))
def test_where_no_thread_can_be_started_work_is_done_once_all_the_same(
    failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start
    count = 0

    def exhausted(thread: threading.Thread) -> None:
        nonlocal count
        count += 1
        if count > failing:
            raise RuntimeError("can't start new thread")
        start(thread)

    work = Work()
    monkeypatch.setattr(threading.Thread, "start", exhausted)
    assert list(ordered_map(work, range(ITEMS), True)) == list(range(ITEMS))
    assert sorted(work.begun) == list(range(ITEMS))


def test_an_error_of_work_that_no_thread_could_take_comes_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def exhausted(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def fail(item: int) -> None:
        raise RuntimeError(f"of item {item}")

    monkeypatch.setattr(threading.Thread, "start", exhausted)
    with pytest.raises(RuntimeError, match="of item 0"):
        list(ordered_map(fail, range(ITEMS), True))


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


def test_real_signals_at_any_moment_neither_hang_nor_tear_a_file() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.faults.interrupts", "--rounds", "25", "--seed", "3"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout)
    assert figures["rounds"] == 25
    assert figures["torn_files"] == 0
