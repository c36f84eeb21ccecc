"""Timing: interleaved rounds, results checked once, medians."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

__all__ = ["REPEATED_BELOW_SECONDS", "Measurement", "Measurements", "interleave", "stopwatch"]

# An action that takes longer than this is not repeated: its first run counts.
REPEATED_BELOW_SECONDS = 5.0
_MIN_ROUNDS = 3
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number: the result of one peer for one case on one table.

    Parameters
    ----------
    table, case, peer : str
        What was measured, and on which format.
    metric : str
        ``seconds``, ``bytes`` or ``ranges``.
    value : float or None
        Median of the samples; None if there is no number.
    samples : tuple of float
        All samples, in the order in which they were taken.
    note : str
        Why there is no number.
    """

    table: str
    case: str
    peer: str
    metric: str
    value: float | None
    samples: tuple[float, ...] = ()
    note: str = ""


class Measurements:
    """The measurements of a run so far."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, str, str], Measurement] = {}

    def __iter__(self) -> Any:
        return iter(self._items.values())

    def __len__(self) -> int:
        return len(self._items)

    def add(
        self, table: str, case: str, peer: str, metric: str, *samples: float, note: str = ""
    ) -> None:
        """Add the samples of one peer; without samples the note says why."""
        value = statistics.median(samples) if samples else None
        self._items[table, case, peer] = Measurement(
            table, case, peer, metric, value, samples, note
        )

    def restore(self, items: list[dict[str, Any]]) -> None:
        """Restore measurements from the result of :meth:`as_json`."""
        for item in items:
            fields = {**item, "samples": tuple(item["samples"])}
            self._items[item["table"], item["case"], item["peer"]] = Measurement(**fields)

    def as_json(self) -> list[dict[str, Any]]:
        """Everything as plain values."""
        return [asdict(item) for item in self._items.values()]

    def get(self, table: str, case: str, peer: str) -> Measurement | None:
        """One measurement, if there is one."""
        return self._items.get((table, case, peer))

    def value(self, table: str, case: str, peer: str) -> float | None:
        """Its median, if there is one."""
        item = self.get(table, case, peer)
        return None if item is None else item.value

    def ratio(self, table: str, case: str, peer: str, ours: str = "pymosaic") -> float | None:
        """The peer's value divided by ours."""
        other, own = self.value(table, case, peer), self.value(table, case, ours)
        return None if other is None or not own else other / own

    def tables(self) -> list[str]:
        """Tables in order of appearance."""
        return list(dict.fromkeys(item.table for item in self._items.values()))

    def cases(self, table: str) -> list[str]:
        """Cases of a table in order of appearance."""
        items = self._items.values()
        return list(dict.fromkeys(item.case for item in items if item.table == table))

    def peers(self) -> list[str]:
        """Peers in order of appearance."""
        return list(dict.fromkeys(item.peer for item in self._items.values()))


def stopwatch(action: Callable[[], _Result]) -> tuple[float, _Result]:
    """Duration of an action in seconds, and its result, which is freed outside the timing."""
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def _rounds(first: float, max_rounds: int, seconds: float) -> int:
    if first > REPEATED_BELOW_SECONDS:
        return 0
    return min(max_rounds, max(_MIN_ROUNDS, int(seconds / first)))


def interleave(
    actions: Mapping[str, Callable[[], object]],
    max_rounds: int,
    seconds: float,
    check: Callable[[str, object], None] | None = None,
    before: Callable[[], None] | None = None,
) -> dict[str, list[float]]:
    """Time several actions in turns, A B C A B C, so that noise affects all of them.

    Parameters
    ----------
    actions : mapping of str to callable
        What to time, by name.
    max_rounds : int
        Maximum number of samples of an action.
    seconds : float
        Approximate time limit for all samples of one action; at least three are taken. An action of
        more than 5 seconds is run once.
    check : callable, optional
        Called with the name and result of each action once, outside the timing.
    before : callable, optional
        Called before each action, outside the timing.

    Returns
    -------
    dict of str to list of float
        Seconds, by name. A first run, which warms the caches, counts only if it is the only one.
    """
    samples: dict[str, list[float]] = {name: [] for name in actions}
    first: dict[str, float] = {}
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        for name, action in actions.items():
            if before is not None:
                before()
            first[name], result = stopwatch(action)
            if check is not None:
                check(name, result)
            del result
            gc.collect()
        rounds = {name: _rounds(first[name], max_rounds, seconds) for name in actions}
        for number in range(max(rounds.values(), default=0)):
            for name, action in actions.items():
                if number < rounds[name]:
                    if before is not None:
                        before()
                    samples[name].append(stopwatch(action)[0])
            gc.collect()
    finally:
        if was_enabled:
            gc.enable()
    return {name: taken or [first[name]] for name, taken in samples.items()}
