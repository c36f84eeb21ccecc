"""Work done ahead of its consumer, on threads, in order, and only so much of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["read_ahead"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def read_ahead(
    function: Callable[[_Item], _Result],
    items: Iterable[tuple[_Item, int]],
    workers: int,
    max_weight: int,
) -> Generator[_Result, None, None]:
    """Results in the order of the items.

    Parameters
    ----------
    function : callable
    items : iterable of (item, weight)
    workers : int
        Threads; with 1 everything happens on the caller's.
    max_weight : int
        What items under way or waiting may weigh together; one may weigh more on its own.

    Notes
    -----
    An exception, or leaving the loop early, cancels what has not started and waits for what has.
    """
    if workers <= 1:
        for item, _ in items:
            yield function(item)
        return
    pool = ThreadPoolExecutor(workers, thread_name_prefix="pymosaic-scan")
    waiting: deque[tuple[Future[_Result], int]] = deque()
    weight = 0
    try:
        for item, item_weight in items:
            while waiting and (weight + item_weight > max_weight or len(waiting) > 2 * workers):
                weight -= waiting[0][1]
                yield waiting.popleft()[0].result()
            waiting.append((pool.submit(function, item), item_weight))
            weight += item_weight
        while waiting:
            yield waiting.popleft()[0].result()
    finally:
        pool.shutdown(cancel_futures=True)
