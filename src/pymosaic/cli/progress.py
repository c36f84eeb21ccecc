"""A progress bar for long-running work, if standard error is a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pymosaic.cli.text import cut_middle
from pymosaic.errors import printable
from pymosaic.sizes import format_size

if TYPE_CHECKING:
    from pymosaic.progress import Progress

__all__ = ["progress_bar"]

_TITLE_WIDTH = 24


@contextmanager
def progress_bar(title: str) -> Iterator[Progress | None]:
    """A callback that drives a bar with rate and time left; None if no one would see it."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        yield _Bar(bar, title)


class _Bar:
    """The callback: done, total, unit."""

    def __init__(self, bar: Any, title: str) -> None:
        self._bar = bar
        shown = cut_middle(printable(os.path.basename(title.rstrip("/"))), _TITLE_WIDTH)
        self._task = bar.add_task(shown, total=None, rate="", left="")

    def __call__(self, done: int, total: int | None, unit: str, /) -> None:
        task = self._bar.tasks[0]
        seconds = task.elapsed or 0.0
        speed = done / seconds if seconds > 0 else 0.0
        self._bar.update(
            self._task,
            completed=done,
            total=total,
            rate=_rate(speed, unit) if speed else "",
            left=_left((total - done) / speed) if speed and total is not None else "",
        )


def _rate(speed: float, unit: str) -> str:
    return f"{format_size(int(speed))}/s" if unit == "bytes" else f"{speed:,.0f} {unit}/s"


def _left(seconds: float) -> str:
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02} left" if hours else f"{minutes}:{rest:02} left"
