"""Reading ahead: in order, bounded, and over when the consumer has enough."""

from __future__ import annotations

import pytest

from pymosaic.threads import read_ahead


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
