"""The thread pool: order, bounds, and what happens when something goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from pymosaic import threads
from pymosaic.threads import Background, ordered_map, request_map, share_out, split_evenly
from tests.writing import write


@pytest.fixture
def four_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with four processors; the pools of other tests are left alone."""
    monkeypatch.setattr(threads, "_pools", {})
    monkeypatch.setattr(threads, "num_threads", lambda: 4)


def test_there_are_as_many_threads_as_arrow_uses() -> None:
    before = pa.cpu_count()
    try:
        pa.set_cpu_count(3)
        assert threads.num_threads() == 3
    finally:
        pa.set_cpu_count(before)


@pytest.mark.usefixtures("four_threads")
class TestOrderedMap:
    def test_results_come_in_the_order_of_the_items(self) -> None:
        def slow_first(item: int) -> int:
            time.sleep(0.02 if item == 0 else 0)
            return item * 10

        assert list(ordered_map(slow_first, range(30), True)) == [i * 10 for i in range(30)]

    def test_items_are_worked_on_at_once(self) -> None:
        together = threading.Barrier(4, timeout=120)
        assert len(list(ordered_map(lambda _: together.wait(), range(4), True))) == 4

    def test_threads_have_a_name(self) -> None:
        def name(_: int) -> str:
            return threading.current_thread().name

        assert all(each.startswith("pymosaic") for each in ordered_map(name, range(4), True))

    def test_only_a_few_items_are_taken_ahead(self) -> None:
        taken = []

        def items() -> Iterator[int]:
            for i in range(1000):
                taken.append(i)
                yield i

        results = ordered_map(lambda item: item, items(), True)
        next(results)
        assert len(taken) <= 2 * 4 + 1
        results.close()  # type: ignore[attr-defined]
        assert len(taken) <= 2 * 4 + 1

    def test_an_exception_comes_through_and_nothing_runs_on(self) -> None:
        running = threading.Semaphore(0)
        done = []

        def work(item: int) -> None:
            if item == 1:
                raise ZeroDivisionError
            time.sleep(0.01)
            done.append(item)
            running.release()

        with pytest.raises(ZeroDivisionError):
            list(ordered_map(work, range(1000), True))
        finished = len(done)
        assert finished < 20
        time.sleep(0.05)
        assert len(done) == finished

    def test_leaving_early_waits_for_what_has_begun(self) -> None:
        begun, ended = [], []

        def work(item: int) -> int:
            begun.append(item)
            time.sleep(0.01)
            ended.append(item)
            return item

        results = ordered_map(work, range(100), True)
        assert next(results) == 0
        results.close()  # type: ignore[attr-defined]
        assert sorted(begun) == sorted(ended)
        assert len(begun) < 20

    def test_an_exception_of_the_items_comes_through(self) -> None:
        def items() -> Iterator[int]:
            yield 1
            raise KeyError("no more")

        with pytest.raises(KeyError, match="no more"):
            list(ordered_map(lambda item: item, items(), True))

    def test_two_maps_at_once_do_not_mix(self) -> None:
        left = ordered_map(lambda item: ("left", item), range(50), True)
        right = ordered_map(lambda item: ("right", item), range(50), True)
        pairs = list(zip(left, right, strict=True))
        assert pairs == [(("left", i), ("right", i)) for i in range(50)]


@pytest.mark.usefixtures("four_threads")
class TestShareOut:
    def test_every_item_is_worked_on_once(self) -> None:
        done: list[int] = []
        share_out(done.append, range(500), True)
        assert sorted(done) == list(range(500))

    def test_the_caller_is_one_of_the_threads(self) -> None:
        together = threading.Barrier(4, timeout=120)
        workers: list[int] = []

        def work(_: int) -> None:
            together.wait()
            workers.append(threading.get_ident())

        share_out(work, range(4), True)
        assert len(set(workers)) == 4
        assert threading.get_ident() in workers

    def test_the_error_of_the_first_item_that_fails_is_raised(self) -> None:
        together = threading.Barrier(4, timeout=120)

        def work(item: int) -> None:
            together.wait()
            time.sleep(0.02 * (4 - item))
            if item:
                raise ValueError(item)

        for _ in range(5):
            with pytest.raises(ValueError, match="1"):
                share_out(work, range(4), True)

    def test_after_an_error_nothing_runs_on_and_nothing_is_started(self) -> None:
        started: list[int] = []
        ended: list[int] = []

        def work(item: int) -> None:
            started.append(item)
            if item == 1:
                raise ZeroDivisionError
            time.sleep(0.01)
            ended.append(item)

        with pytest.raises(ZeroDivisionError):
            share_out(work, range(1000), True)
        assert sorted(started) == sorted([1, *ended])
        assert len(started) < 100

    def test_an_error_that_is_no_exception_comes_through(self) -> None:
        main = threading.get_ident()
        together = threading.Barrier(2, timeout=120)

        def work(_: int) -> None:
            together.wait()
            if threading.get_ident() != main:
                raise SystemExit

        with pytest.raises(SystemExit):
            share_out(work, range(2), True)

    def test_a_thread_of_the_pool_does_its_share_alone(self) -> None:
        def work(_: int) -> set[int]:
            inner: list[int] = []
            share_out(lambda _: inner.append(threading.get_ident()), range(8), True)
            return set(inner)

        assert all(len(inner) == 1 for inner in ordered_map(work, range(8), True))

    def test_without_threads_items_come_in_order(self) -> None:
        done: list[int] = []
        share_out(done.append, range(9), False)
        assert done == list(range(9))


class TestWithoutThreads:
    @pytest.mark.parametrize(("use_threads", "processors"), [(False, 4), (True, 1)])
    def test_work_is_done_by_the_caller(
        self, use_threads: bool, processors: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(threads, "num_threads", lambda: processors)
        workers = ordered_map(lambda _: threading.get_ident(), range(5), use_threads)
        assert set(workers) == {threading.get_ident()}


class TestSplitEvenly:
    @pytest.mark.parametrize(
        ("weights", "parts", "expected"),
        [
            ([], 4, []),
            ([1], 4, [[0]]),
            ([1, 1, 1, 1], 2, [[0, 1], [2, 3]]),
            ([1, 1, 1, 1], 4, [[0], [1], [2], [3]]),
            ([1, 1, 1, 1], 99, [[0], [1], [2], [3]]),
            ([1, 1, 1, 1], 1, [[0, 1, 2, 3]]),
            ([100, 1, 1, 1], 2, [[0], [1, 2, 3]]),
            ([1, 1, 1, 100], 2, [[0, 1, 2, 3]]),
            ([0, 0, 0], 2, [[0, 1, 2]]),
            ([1, 1], 0, [[0, 1]]),
        ],
    )
    def test_runs_of_about_the_same_weight(
        self, weights: list[int], parts: int, expected: list[list[int]]
    ) -> None:
        items = list(range(len(weights)))
        assert [list(run) for run in split_evenly(items, weights, parts)] == expected

    def test_runs_are_at_most_as_many_as_asked_for_and_hold_everything(self) -> None:
        weights = np.random.default_rng(7).integers(1, 100, size=200).tolist()
        for parts in (1, 2, 3, 8, 50):
            runs = split_evenly(range(200), weights, parts)
            assert 1 <= len(runs) <= parts
            assert [item for run in runs for item in run] == list(range(200))


def test_a_forked_child_reads_and_writes_with_threads(tmp_path: Path) -> None:
    values = np.random.default_rng(7).integers(1 << 62, size=(40, 5_000))
    batch = pa.record_batch({f"c{i:02}": column for i, column in enumerate(values)})
    path = tmp_path / "large.mosaic"
    path.write_bytes(write([batch], batch.schema))
    script = (
        "import os, sys, pyarrow as pa, pymosaic\n"
        "pa.set_cpu_count(4)\n"
        "table = pymosaic.read_table(sys.argv[1])\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    again = pymosaic.read_table(sys.argv[1])\n"
        "    pymosaic.write_table(again, sys.argv[1] + '.copy')\n"
        "    os._exit(0 if again.equals(table) else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    run = subprocess.run(
        [sys.executable, "-c", script, str(path)], env=environment, timeout=300, check=False
    )
    assert run.returncode == 0
    assert Path(f"{path}.copy").stat().st_size == path.stat().st_size


def test_files_can_be_written_and_read_while_the_interpreter_exits(tmp_path: Path) -> None:
    path = tmp_path / "late.mosaic"
    code = f"""
import atexit, pyarrow as pa, pymosaic
table = pa.table({{f"c{{i}}": range(2000) for i in range(200)}})
def late():
    pymosaic.write_table(table, {str(path)!r})
    assert pymosaic.read_table({str(path)!r}).equals(table)
    print("done")
atexit.register(late)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout == "done\n", done.stderr


def test_a_call_in_the_background_is_waited_for_by_several_threads() -> None:
    go = threading.Event()
    call = Background(lambda: go.wait(60) and 42)
    assert not call.wait(0.01)
    results: list[object] = []
    others = [threading.Thread(target=lambda: results.append(call.result())) for _ in range(3)]
    for other in others:
        other.start()
    go.set()
    assert call.result() == 42
    for other in others:
        other.join(60)
    assert results == [42, 42, 42]
    assert call.wait(0)


def test_an_error_in_the_background_comes_with_the_result() -> None:
    call = Background(lambda: 1 // 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            call.result()


def test_without_a_thread_the_one_who_asks_does_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr("pymosaic.threads._thread.start_new_thread", refuse)
        call = Background(threading.get_ident)
    assert not call.wait(0.01)
    assert call.result() == threading.get_ident()


def test_requests_come_in_order_and_the_first_error_ends_them() -> None:
    assert request_map(lambda n: n * n, range(100), 16) == [n * n for n in range(100)]
    assert request_map(lambda n: n, [], 16) == []
    with pytest.raises(ZeroDivisionError):
        request_map(lambda n: 1 // (5 - n), range(100), 4)
