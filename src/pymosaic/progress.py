"""Progress reporting for long-running work: one callback, ``progress(done, total, unit)``.

``done`` never decreases, ``total`` is None if it is unknown, and ``unit`` is what is counted
(``"rows"``, ``"bytes"``, ``"files"``). The callback runs on the thread that called the function:
first with 0 and last, if the work succeeds, with ``done == total``. An exception that it raises
ends the work like any other failure, so that a user interface can cancel.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["Meter", "Progress"]


class Progress(Protocol):
    """A progress callback, called with the amount done, the total, and the unit.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> def show(done, total, unit):
    ...     print(f"{done} of {total} {unit}")
    >>> written = pymosaic.write_dataset(pa.table({"n": [1, 2, 3]}), "numbers", progress=show)
    0 of 3 rows
    3 of 3 rows
    3 of 3 rows
    """

    def __call__(self, done: int, total: int | None, unit: str, /) -> None:
        """Receive the state of the work."""


class Meter:
    """Counts the work done and reports it to a callback, if there is one."""

    def __init__(self, progress: Progress | None, total: int | None, unit: str) -> None:
        self._progress = progress
        self._total = total
        self._unit = unit
        self.done: int = 0
        self.add(0)

    def add(self, count: int) -> None:
        """Report that ``count`` more is done."""
        self.done += count
        if self._progress is not None:
            self._progress(self.done, self._total, self._unit)

    def finish(self) -> None:
        """Report that everything is done, whatever the expected total was."""
        self._total = self.done
        self.add(0)
