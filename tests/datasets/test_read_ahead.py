"""Reading ahead: in order, bounded, and over when the consumer has enough."""

from __future__ import annotations

from itertools import count
from threading import get_ident

import pytest

from pymosaic import threads
from pymosaic.threads import read_ahead, read_ahead_if_slow


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_order(workers: int) -> None:
    items = ((number, 1) for number in range(100))
    assert list(read_ahead(lambda n: n * n, items, workers, 10)) == [n * n for n in range(100)]


@pytest.mark.parametrize("workers", [2, 4])
def test_what_is_under_way_weighs_no_more_than_allowed(workers: int) -> None:
    taken = 0

    def items():
        nonlocal taken
        for number in range(40):
            taken += 1
            yield number, 3

    results = read_ahead(lambda n: n, items(), workers, max_weight=9)
    for consumed, result in enumerate(results, 1):
        assert result == consumed - 1
        # Three may wait, a fourth was asked for when its turn came.
        assert taken <= consumed + 3


def test_an_item_may_weigh_more_than_all_are_allowed() -> None:
    items = [("light", 1), ("heavy", 100), ("light", 1)]
    assert list(read_ahead(str, items, 2, 5)) == ["light", "heavy", "light"]


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_comes_in_its_turn(workers: int) -> None:
    results = read_ahead(lambda n: 1 // (3 - n), ((n, 1) for n in range(9)), workers, 9)
    assert [next(results), next(results), next(results)] == [0, 0, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_leaving_early_waits_for_what_has_started() -> None:
    done: list[int] = []

    def work(number: int) -> int:
        done.append(number)
        return number

    results = read_ahead(work, ((n, 1) for n in range(1000)), 2, 4)
    assert next(results) == 0
    results.close()
    begun = len(done)
    assert begun <= 6
    # The threads stay for the next scan, and have nothing left to do.
    assert list(read_ahead(lambda n: n, ((n, 1) for n in range(9)), 2, 4)) == list(range(9))
    assert len(done) == begun


def test_a_loop_inside_the_work_of_a_loop_does_not_wait_for_its_own_threads() -> None:
    def inner(number: int) -> int:
        return sum(read_ahead(lambda n: n, ((n, 1) for n in range(number)), 2, 4))

    items = ((number, 1) for number in range(20))
    assert list(read_ahead(inner, items, 2, 9)) == [sum(range(n)) for n in range(20)]


def test_items_may_come_from_a_loop_over_other_threads() -> None:
    heads = read_ahead(lambda n: (n, 1), ((n, 1) for n in range(50)), 2, 2, "pymosaic-head")
    assert list(read_ahead(lambda n: -n, heads, 2, 4)) == [-n for n in range(50)]


@pytest.fixture
def set_time(monkeypatch: pytest.MonkeyPatch):
    """Sets how long each item takes that the caller does, by a clock of its own."""

    def set_clock(seconds: float) -> None:
        ticks = count()
        monkeypatch.setattr(threads, "perf_counter", lambda: next(ticks) * seconds)

    return set_clock


@pytest.mark.parametrize("seconds", [0.0, 1.0])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_come_in_order_whoever_does_the_work(set_time, workers, seconds) -> None:
    set_time(seconds)
    items = ((number, number % 7) for number in range(200))
    results = read_ahead_if_slow(lambda n: n * n, items, workers, 10, light=4)
    assert list(results) == [n * n for n in range(200)]


def test_quick_items_are_done_by_the_caller(set_time) -> None:
    set_time(0.0)
    items = ((number, 1) for number in range(100))
    assert set(read_ahead_if_slow(lambda _: get_ident(), items, 2, 10)) == {get_ident()}


def test_of_slow_items_most_are_handed_to_threads_and_few_are_tried(set_time) -> None:
    set_time(1.0)
    items = ((number, 1) for number in range(1_000))
    done_by = list(read_ahead_if_slow(lambda _: get_ident(), items, 2, 10))
    tried = [number for number, thread in enumerate(done_by) if thread == get_ident()]
    assert tried == [0, 17, 50, 115, 244, 501]


def test_heavy_items_are_handed_over_without_a_try(set_time) -> None:
    set_time(0.0)
    items = [("light", 1), ("heavy", 9), ("light", 1), ("light", 1)]
    done_by = list(read_ahead_if_slow(lambda _: get_ident(), items, 2, 10))
    assert [thread == get_ident() for thread in done_by] == [True, False, False, False]


@pytest.mark.parametrize("seconds", [0.0, 1.0])
def test_an_error_comes_in_its_turn_whoever_meets_it(set_time, seconds) -> None:
    set_time(seconds)
    results = read_ahead_if_slow(lambda n: 1 // (3 - n), ((n, 1) for n in range(9)), 2, 9)
    assert [next(results), next(results), next(results)] == [0, 0, 1]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_items_that_the_caller_does_are_not_begun_before_they_are_wanted(set_time) -> None:
    set_time(0.0)
    begun: list[int] = []
    results = read_ahead_if_slow(begun.append, ((n, 1) for n in range(9)), 2, 9)
    next(results)
    results.close()
    assert begun == [0]
