"""Bounded thread pools: one for work on buckets, one for reads from object stores.

They use locks and queues written in C. Those of ``concurrent.futures`` and ``threading.Thread`` are
written in Python, where Ctrl-C at the wrong instruction leaves a lock locked, and the process then
waits for it forever, at the latest when it exits.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from queue import SimpleQueue
from time import perf_counter
from typing import Any, Generic, TypeVar

import pyarrow as pa

__all__ = [
    "Background",
    "num_threads",
    "ordered_map",
    "read_ahead",
    "read_ahead_if_slow",
    "read_map",
    "request_map",
    "share_out",
    "split_evenly",
]

# How long who waits for the same call as others may sleep after its end.
_POLL_SECONDS = 0.25
# Handing an item to a thread, and taking turns with it in Python, costs 0.1 ms.
_WORTH_HANDING_OVER = 0.25e-3
# How many items are handed over before one is tried again: more each time that one is slow.
_FEWEST_HANDED_OVER, _MOST_HANDED_OVER = 16, 1_024
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class _Task(Generic[_Item, _Result]):
    """One call of a function: started once or cancelled, and waited for any number of times."""

    __slots__ = ("_claim", "_done", "_error", "_finished", "_function", "_item", "_result")

    def __init__(self, function: Callable[[_Item], _Result], item: _Item) -> None:
        self._function = function
        self._item = item
        self._claim = _thread.allocate_lock()
        self._done = _thread.allocate_lock()
        self._done.acquire()
        self._finished = False
        self._error: BaseException | None = None

    def run(self) -> None:
        if not self._claim.acquire(blocking=False):
            return
        try:
            self._result = self._function(self._item)
        except BaseException as error:
            self._error = error
        self._finished = True
        self._done.release()

    def _wait(self) -> None:
        # If an interrupt acquired the lock and lost it, the task is finished.
        if not self._finished:
            self._done.acquire()

    def wait(self, seconds: float) -> bool:
        """Wait for a while, beside other threads that may wait, too."""
        if not self._finished and self._done.acquire(timeout=seconds):
            # An interrupt may come before this: others who wait then go by `_finished`.
            self._done.release()
        return self._finished

    def result(self) -> _Result:
        self._wait()
        if self._error is None:
            return self._result
        try:
            raise self._error
        finally:
            del self  # the error's traceback has this frame

    def cancel(self) -> None:
        """Make sure that it never starts or, if it has started, wait until it ends."""
        if self._claim.acquire(blocking=False):
            self._finished = True
        else:
            self._wait()


class Background(Generic[_Result]):
    """A call of a function on a thread of its own, while the caller does something else.

    If no thread can be started, the caller that requests the result does the work.

    Examples
    --------
    >>> from pymosaic.threads import Background
    >>> Background(lambda: 6 * 7).result()
    42
    """

    def __init__(self, function: Callable[[], _Result]) -> None:
        self._task: _Task[None, _Result] = _Task(lambda _: function(), None)
        # The system may have no more threads, or the interpreter may be shutting down.
        with suppress(RuntimeError):
            _thread.start_new_thread(self._task.run, ())

    def wait(self, seconds: float) -> bool:
        """Wait until the call has ended, but not longer than this; tell whether it has."""
        return self._task.wait(seconds)

    def result(self) -> _Result:
        """Wait for the call, and return what it returned or raise what it raised."""
        self._task.run()
        while not self._task.wait(_POLL_SECONDS):
            pass
        return self._task.result()


def _work(tasks: SimpleQueue[_Task[Any, Any] | None], pool: str, number: int) -> None:
    threading.current_thread().name = f"{pool}_{number}"
    _current.pool = pool
    while (task := tasks.get()) is not None:
        task.run()
        del task  # it holds its result


class _Pool:
    """Threads that take tasks from a queue; ``size`` is how many could be started.

    They end when the pool is no longer referenced.
    """

    def __init__(self, name: str, wanted: int) -> None:
        self.wanted = wanted
        self.size = 0
        self._tasks: SimpleQueue[_Task[Any, Any] | None] = SimpleQueue()
        try:
            for number in range(wanted):
                _thread.start_new_thread(_work, (self._tasks, name, number))
                self.size += 1
        except RuntimeError:
            pass  # the system has no more threads, or the interpreter is shutting down

    def put(self, task: _Task[Any, Any]) -> None:
        self._tasks.put(task)

    def __del__(self) -> None:
        for _ in range(self.wanted):
            self._tasks.put(None)


# Which pool the current thread belongs to: what it maps over that pool, it must do by itself.
_current = threading.local()
_lock = threading.Lock()
_pools: dict[str, _Pool] = {}


def _forget_pools() -> None:
    # A forked child has the pools but none of their threads.
    global _lock
    _pools.clear()
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_forget_pools)


def num_threads() -> int:
    """The number of worker threads: as many as Arrow uses (``pyarrow.set_cpu_count``)."""
    return max(1, int(pa.cpu_count()))


def _pool(name: str, wanted: int) -> _Pool:
    with _lock:
        pool = _pools.get(name)
        if pool is None or pool.wanted != wanted:
            pool = _pools[name] = _Pool(name, wanted)
        return pool


def ordered_map(
    function: Callable[[_Item], _Result], items: Iterable[_Item], use_threads: bool
) -> Iterator[_Result]:
    """Results in the order of the items, with only a few in progress or waiting.

    An exception, or leaving the loop early, cancels calls that have not started and waits for
    those that have.
    """
    threads = num_threads() if use_threads else 1
    return _map("pymosaic", threads, 2 * threads, function, items)


def share_out(
    function: Callable[[_Item], object], items: Sequence[_Item], use_threads: bool
) -> None:
    """Call a function with each of the items, on several threads of which the caller's is one.

    Who is done with an item takes the next, so that nobody waits while there is work, and the
    caller starts without waiting for another thread to wake up. After an exception no further item
    is started, and the exception of the first item that failed is raised when all have ended.
    """
    threads = min(num_threads(), len(items)) if use_threads else 1
    pool = _usable_pool("pymosaic", num_threads()) if threads > 1 else None
    if pool is None:
        for item in items:
            function(item)
        return
    waiting = list(enumerate(items))
    waiting.reverse()
    failed: list[tuple[int, BaseException]] = []

    def work() -> None:
        while waiting:
            try:
                number, item = waiting.pop()
            except IndexError:  # another thread took the last
                return
            try:
                function(item)
            except Exception as error:
                # Items before this one were taken before: those that fail are seen, too.
                failed.append((number, error))
                waiting.clear()

    def help_out(_: None) -> None:
        try:
            work()
        except BaseException as error:  # as an interrupt of the caller, but here nobody sees it
            failed.append((len(items), error))
            waiting.clear()

    helpers: list[_Task[None, None]] = []
    try:
        for _ in range(threads - 1):
            helpers.append(_Task(help_out, None))  # first: it is cancelled or waited for
            pool.put(helpers[-1])
        work()
    finally:
        waiting.clear()
        _cancel_all(helpers)
    if failed:
        error = min(failed, key=lambda failure: failure[0])[1]
        try:
            raise error
        finally:
            del error, failed, work, help_out  # the error's traceback has this frame


def read_map(
    function: Callable[[_Item], _Result], items: Sequence[_Item], at_once: int
) -> list[_Result]:
    """Results in the order of the items, with several reads in progress at once."""
    threads = 1 if len(items) <= 1 else at_once
    return list(_map("pymosaic-read", threads, at_once - 1, function, items))


def request_map(
    function: Callable[[_Item], _Result], items: Sequence[_Item], at_once: int
) -> list[_Result]:
    """Results in the order of the items: short requests to a remote store, several at once."""
    threads = 1 if len(items) <= 1 else at_once
    return list(_map("pymosaic-request", threads, len(items), function, items))


def read_ahead(
    function: Callable[[_Item], _Result],
    items: Iterable[tuple[_Item, int]],
    workers: int,
    max_weight: int,
    pool: str = "pymosaic-scan",
) -> Generator[_Result, None, None]:
    """Results in the order of the items, worked on ahead of their consumer.

    Parameters
    ----------
    function : callable
    items : iterable of (item, weight)
    workers : int
        Threads; with 1 everything happens on the caller's.
    max_weight : int
        What items in progress or waiting may weigh together; one may weigh more on its own.
    pool : str
        Whose threads do it. Items may come from another such loop, which then needs other threads.

    Notes
    -----
    An exception, or leaving the loop early, cancels calls that have not started and waits for
    those that have.
    """
    threads = _usable_pool(pool, workers)
    if threads is None:
        for item, _ in items:
            yield function(item)
        return
    waiting: list[_Task[_Item, _Result]] = []
    weights: list[int] = []
    try:
        for item, weight in items:
            while waiting and (sum(weights) + weight > max_weight or len(waiting) > 2 * workers):
                yield waiting[0].result()
                del waiting[0], weights[0]
            weights.append(weight)
            waiting.append(_Task(function, item))  # first: it is cancelled or waited for
            threads.put(waiting[-1])
        while waiting:
            yield waiting[0].result()
            del waiting[0]
    finally:
        _cancel_all(waiting)


def read_ahead_if_slow(
    function: Callable[[_Item], _Result],
    items: Iterable[tuple[_Item, int]],
    workers: int,
    max_weight: int,
    pool: str = "pymosaic-scan",
    *,
    light: int = 1,
) -> Generator[_Result, None, None]:
    """As :func:`read_ahead`, but items that take next to no time are not handed to threads.

    The caller tries an item itself. If that takes long, be it to compute or to wait, threads do the
    next ones; then another is tried. Many small files that are in memory are read faster by one
    thread than by several, which wait for the interpreter most of the time.

    Parameters
    ----------
    function, items, workers, max_weight, pool
        As for :func:`read_ahead`.
    light : int
        Heavier items are handed over without trying.
    """
    stream = iter(items)
    run = _FEWEST_HANDED_OVER
    for item, weight in stream:
        if weight <= light:
            start = perf_counter()
            result = function(item)
            is_slow = perf_counter() - start > _WORTH_HANDING_OVER
            yield result
            del result
            if not is_slow:
                run = _FEWEST_HANDED_OVER
                continue
            handed_over: Iterable[tuple[_Item, int]] = islice(stream, run)
        else:
            handed_over = chain([(item, weight)], islice(stream, run))
        yield from read_ahead(function, handed_over, workers, max_weight, pool)
        run = min(2 * run, _MOST_HANDED_OVER)


def _usable_pool(name: str, threads: int) -> _Pool | None:
    """The pool, or None if the caller must do the work."""
    if threads <= 1 or sys.is_finalizing() or getattr(_current, "pool", None) == name:
        return None
    pool = _pool(name, threads)
    return pool if pool.size else None


def _cancel_all(tasks: list[_Task[_Item, _Result]]) -> None:
    for task in tasks:
        task.cancel()
    tasks.clear()  # the traceback of an error of theirs has the frame that has them


def _map(
    name: str,
    threads: int,
    ahead: int,
    function: Callable[[_Item], _Result],
    items: Iterable[_Item],
) -> Iterator[_Result]:
    pool = _usable_pool(name, threads)
    if pool is None:
        yield from map(function, items)
        return
    waiting: list[_Task[_Item, _Result]] = []
    try:
        for item in items:
            waiting.append(_Task(function, item))  # first: it is cancelled or waited for
            pool.put(waiting[-1])
            if len(waiting) > ahead:
                yield waiting[0].result()
                del waiting[0]
        while waiting:
            yield waiting[0].result()
            del waiting[0]
    finally:
        _cancel_all(waiting)


def split_evenly(
    items: Sequence[_Item], weights: Sequence[int], parts: int
) -> list[Sequence[_Item]]:
    """Split a sequence into at most ``parts`` runs of about equal weight."""
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
