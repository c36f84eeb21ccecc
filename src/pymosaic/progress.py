"""How long work tells how far it is: one callback, ``progress(done, total, unit)``.

``done`` never falls, ``total`` is None where nobody knows it, ``unit`` is what is counted
(``"rows"``, ``"bytes"``, ``"files"``). It is called on the thread that called the function, first
with 0, and at last, if the work succeeds, with ``done == total``. What it raises ends the work like
any other failure, so that a user interface can cancel.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["Meter", "Progress"]


class Progress(Protocol):
    """Anything that can be called with how much is done, of how much, and of what.

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
        """Hear how far the work is."""


class Meter:
    """Counts what is done and tells a callback, if there is one."""

    def __init__(self, progress: Progress | None, total: int | None, unit: str) -> None:
        self._progress = progress
        self._total = total
        self._unit = unit
        self.done = 0
        self.add(0)

    def add(self, count: int) -> None:
        """So much more is done."""
        self.done += count
        if self._progress is not None:
            self._progress(self.done, self._total, self._unit)

    def finish(self) -> None:
        """All is done, whatever the total was thought to be."""
        self._total = self.done
        self.add(0)
