"""One bounded thread pool for the work on buckets."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa

__all__ = ["num_threads", "ordered_map", "split_evenly"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_pool_size = 0


def _forget_pool() -> None:
    # A forked child has the pool but none of its threads.
    global _pool, _lock
    _pool = None
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_pool)


def num_threads() -> int:
    """Threads that work at once: as many as Arrow uses (``pyarrow.set_cpu_count``)."""
    return max(1, int(pa.cpu_count()))


def _shared_pool() -> ThreadPoolExecutor:
    global _pool, _pool_size
    with _lock:
        if _pool is None or _pool_size != num_threads():
            _pool_size = num_threads()
            _pool = ThreadPoolExecutor(_pool_size, thread_name_prefix="pymosaic")
        return _pool


def _retire(pool: ThreadPoolExecutor) -> None:
    """Let the pool's threads end, and have the next caller make another."""
    global _pool
    if _pool is pool:
        _pool = None
    pool.shutdown(wait=False)


def _start(
    pool: ThreadPoolExecutor,
    future: Future[_Result],
    function: Callable[[_Item], _Result],
    item: _Item,
) -> None:
    """Have the function called once, on a thread if there is one, for the future."""
    claim = threading.Lock()

    def work() -> None:
        if not claim.acquire(blocking=False) or not future.set_running_or_notify_cancel():
            return
        try:
            result = function(item)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    try:
        pool.submit(work)
    except RuntimeError:
        # No thread can be started: the system has no more, or the interpreter is shutting down.
        # The work may be in the queue all the same, for another thread of the pool.
        work()
    except BaseException:
        # Interrupted halfway, the pool may have a thread that it does not know of and that
        # nothing would end.
        _retire(pool)
        raise


def ordered_map(
    function: Callable[[_Item], _Result], items: Iterable[_Item], use_threads: bool
) -> Iterator[_Result]:
    """Results in the order of the items, with at most a few of them under way or waiting.

    An exception, or leaving the loop early, cancels what has not started and waits for what has.
    """
    if not use_threads or num_threads() == 1:
        yield from map(function, items)
        return
    pool = _shared_pool()
    ahead = 2 * num_threads()
    waiting: list[Future[_Result]] = []
    try:
        for item in items:
            future: Future[_Result] = Future()
            waiting.append(future)  # first: whatever happens now, it is cancelled or waited for
            _start(pool, future, function, item)
            if len(waiting) > ahead:
                yield waiting[0].result()
                del waiting[0]
        while waiting:
            yield waiting[0].result()
            del waiting[0]
    finally:
        for future in waiting:
            future.cancel()
        for future in waiting:
            if not future.cancelled():
                future.exception()


def split_evenly(
    items: Sequence[_Item], weights: Sequence[int], parts: int
) -> list[Sequence[_Item]]:
    """Cut a sequence into at most ``parts`` runs of about the same weight."""
    share = max(1, -(-sum(weights) // max(1, parts)))
    runs: list[Sequence[_Item]] = []
    start = weight = 0
    for end, item_weight in enumerate(weights, 1):
        weight += item_weight
        if weight >= share:
            runs.append(items[start:end])
            start, weight = end, 0
    if start < len(items):
        runs.append(items[start:])
    return runs
