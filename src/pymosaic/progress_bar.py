"""A progress bar for people: in a notebook, or on a terminal."""

from __future__ import annotations

import html
import sys
import time
from typing import Any

from pymosaic.errors import printable
from pymosaic.sizes import format_size

__all__ = ["ProgressBar"]

# Notebooks keep every change until they have shown it.
_SECONDS_BETWEEN = 0.1
_WIDTH = 30


class ProgressBar:
    """A bar for ``progress=``: notebooks show it below the cell, terminals in one line.

    Where no one would see it, as in scripts whose messages go to a file, it shows nothing. It may
    be used for several calls, one after another.

    Parameters
    ----------
    title : str
        Shown before the bar.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> bar = pymosaic.ProgressBar("writing")
    >>> written = pymosaic.write_dataset(pa.table({"n": [1, 2, 3]}), "numbers", progress=bar)
    """

    def __init__(self, title: str = "") -> None:
        self._title = printable(str(title))
        self._shown: _Notebook | _Terminal | None = None
        self._started = 0.0
        self._drawn = 0.0
        self._last = 0
        self._finished = -1

    def __call__(self, done: int, total: int | None, unit: str, /) -> None:
        """Draw the state of the work, if the last drawing is a while ago."""
        now = time.monotonic()
        if done == total == self._finished:
            pass  # told again, as by a write that has taken all rows and now has stored them, too
        elif done == 0 and (self._last > 0 or self._shown is None):
            self._end_line()
            self._shown = _place()
            self._started, self._finished = now, -1
        elif done != total and now - self._drawn < _SECONDS_BETWEEN:
            return
        self._drawn, self._last = now, done
        if self._shown is None:
            return
        self._shown.draw(self._title, done, total, _state(done, total, unit, now - self._started))
        if done == total:
            self._finished = done
            self._end_line()

    def _end_line(self) -> None:
        """What is drawn next on a terminal comes on a new line."""
        if isinstance(self._shown, _Terminal):
            self._shown.end()
            self._shown = None


def _state(done: int, total: int | None, unit: str, seconds: float) -> str:
    """How far the work is, for people."""

    def amount(count: int) -> str:
        return format_size(count) if unit == "bytes" else f"{count:,}"

    of = "" if total is None else f" of {amount(total)}"
    counted = f"{amount(done)}{of}" if unit == "bytes" else f"{amount(done)}{of} {unit}"
    left = ""
    if total is not None and 0 < done < total:
        left = f", {seconds * (total - done) / done:,.0f} s left"
    elif done == total:
        left = f" in {seconds:,.1f} s"
    return counted + left


def _place() -> _Notebook | _Terminal | None:
    """Where bars are seen: a notebook's cell, a terminal, or nowhere."""
    # A notebook has imported it; others need not.
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        return _Notebook()
    return _Terminal() if sys.stderr is not None and sys.stderr.isatty() else None


class _Notebook:
    """A bar below the cell that runs, in the colours of the page."""

    def __init__(self) -> None:
        self._display: Any = None

    def draw(self, title: str, done: int, total: int | None, text: str) -> None:
        full = "" if total is None else f' value="{done}" max="{max(1, total)}"'
        if total == 0:
            full = ' value="1" max="1"'
        shown = _Html(
            '<div style="color:inherit">'
            f'<progress{full} style="width:20em;vertical-align:middle"></progress> '
            f"{html.escape(title)} {html.escape(text)}</div>",
            f"{title} {text}".strip(),
        )
        if self._display is None:
            self._display = sys.modules["IPython"].display.display(shown, display_id=True)
        else:
            self._display.update(shown)


class _Html:
    """What notebooks show, and what is left of it as text."""

    def __init__(self, content: str, text: str) -> None:
        self._content = content
        self._text = text

    def _repr_html_(self) -> str:
        return self._content

    def __repr__(self) -> str:
        return self._text


class _Terminal:
    """One line of standard error, written over and over."""

    def __init__(self) -> None:
        self._length = 0

    def draw(self, title: str, done: int, total: int | None, text: str) -> None:
        bar = ""
        if total is not None:
            filled = _WIDTH if total == 0 else _WIDTH * min(done, total) // total
            bar = f"[{'#' * filled}{'.' * (_WIDTH - filled)}] "
        line = f"{title} {bar}{text}".strip()
        sys.stderr.write(f"\r{line.ljust(self._length)}")
        sys.stderr.flush()
        self._length = len(line)

    def end(self) -> None:
        """Leave the line as it is."""
        if self._length:
            sys.stderr.write("\n")
            sys.stderr.flush()
        self._length = 0
