"""Tables on a terminal: how wide their columns are, and how long names and messages are shown.

Numbers and headers are never cut, and messages wrap. What all names share is told once, and names
are cut where they equal their neighbours. A table that is too wide all the same becomes a list of
cards: a name, and below it the other values with their headers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from rich.console import Console
from rich.style import Style

from pymosaic.cli.names import Affixes, common_affixes, distinct, widest
from pymosaic.cli.output import Cell, Field
from pymosaic.cli.text import cut, width_of, wrap
from pymosaic.cli.values import NULL

__all__ = ["GAP", "Painter", "TablePrinter", "aligned"]

GAP = "  "
# Rows whose widths are found before the first is shown; later ones may widen a column. A pager that
# shows the first screen waits for them.
_MEASURED_ROWS = 5000
_NARROWEST_NAME = 12
_NARROWEST_TEXT = 8
_NARROWEST_MESSAGE = 30
_STYLES = {
    "title": Style(bold=True),
    "good": Style(bold=True, color="green"),
    "bad": Style(bold=True, color="red"),
    "header": Style(bold=True, color="cyan"),
    "rule": Style(dim=True),
    "name": Style(color="green"),
    "null": Style(dim=True),
    "note": Style(dim=True),
    "fact": Style(color="cyan"),
}
_RIGHT = (Cell.NUMBER, Cell.BYTES, Cell.SHARE)
_WHOLE = (*_RIGHT, Cell.MESSAGE)


class Painter:
    """Text styles, if the terminal supports them and the user wants them."""

    def __init__(self, console: Console) -> None:
        self._codes: dict[str, tuple[str, str]] = {}
        if console.color_system is None or console.no_color:
            return
        for name, style in _STYLES.items():
            start, _, end = style.render("|", color_system=console._color_system).partition("|")
            self._codes[name] = (start, end)

    def __call__(self, text: str, style: str | None) -> str:
        """The text with the codes of a style around it."""
        if style is None or not text or not self._codes:
            return text
        start, end = self._codes[style]
        return f"{start}{text}{end}"


class TablePrinter:
    """Prints rows of text under headers, within a width."""

    def __init__(self, write: Callable[[str], None], paint: Painter, width: int) -> None:
        self._write = write
        self._paint = paint
        self._width = width

    def note(self, text: str) -> None:
        """Print a remark, on as many lines as it needs."""
        for line in wrap(text, self._width):
            self._write(self._paint(line, "note"))

    def header(self, headers: list[str], fields: Sequence[Field], widths: list[int]) -> None:
        """Print the headers and a rule."""
        texts = [
            aligned(header, width, item.cell in _RIGHT)
            for header, item, width in zip(headers, fields, widths, strict=True)
        ]
        self._write(self._paint(GAP.join(texts).rstrip(), "header"))
        self._write(self._paint("─" * min(self._width, _total(widths)), "rule"))

    def row(self, row: Sequence[str], fields: Sequence[Field], widths: list[int]) -> None:
        """Print a row on one line; its messages on more."""
        texts = []
        below: list[str] = []
        for text, item, width in zip(row, fields, widths, strict=True):
            if item.cell is Cell.MESSAGE:
                first, *below = wrap(text, width)
                text = first
            elif item.cell not in _WHOLE:
                text = cut(text, width)
            style = "name" if item.cell is Cell.NAME else "null" if text is NULL else None
            texts.append(self._paint(aligned(text, width, item.cell in _RIGHT), style))
        self._write(GAP.join(texts).rstrip())
        indent = " " * (_total(widths) - widths[-1])
        for line in below:
            self._write(indent + line)

    def table(self, fields: Sequence[Field], rows: Iterator[list[str]]) -> None:
        """Print a table; rows are lists of printable text."""
        affixes = Affixes()
        widths: list[int] | None = None
        shown = 0
        while chunk := list(islice(rows, _MEASURED_ROWS)):
            found = self._shorten(fields, chunk)
            changed = found != affixes
            if changed:
                affixes = found
                if shown:
                    self._write("")
                if affixes:
                    every = not shown and len(chunk) < _MEASURED_ROWS
                    self.note(affixes.note("all names" if every else "these names"))
            shown += len(chunk)
            _apply(affixes, fields, chunk)
            natural = self._natural(fields, chunk, None if changed else widths)
            fitted = self._fitted(fields, natural)
            if fitted is None:
                self._cards(fields, chunk)
                continue
            if widths is None or changed:
                self.header([item.title for item in fields], fields, fitted)
            widths = natural
            _cut_names(fields, chunk, fitted)
            for row in chunk:
                self.row(row, fields, fitted)

    def _natural(
        self, fields: Sequence[Field], rows: list[list[str]], least: list[int] | None
    ) -> list[int]:
        found = [
            max(width_of(item.title), widest([row[index] for row in rows]))
            for index, item in enumerate(fields)
        ]
        return found if least is None else list(map(max, found, least))

    def _shorten(self, fields: Sequence[Field], rows: list[list[str]]) -> Affixes:
        """What the names share, if the table is too wide with whole names."""
        if _total(self._natural(fields, rows, None)) <= self._width:
            return Affixes()
        for index, item in enumerate(fields):
            if item.cell is Cell.NAME:
                return common_affixes([row[index] for row in rows])
        return Affixes()

    def _fitted(self, fields: Sequence[Field], natural: list[int]) -> list[int] | None:
        """Widths that fit together; None if there are none.

        The widest columns that may shrink do so first.
        """
        least = []
        for item, width in zip(fields, natural, strict=True):
            floor = {
                Cell.NAME: _NARROWEST_NAME,
                Cell.TEXT: _NARROWEST_TEXT,
                Cell.VALUE: _NARROWEST_TEXT,
                Cell.MESSAGE: _NARROWEST_MESSAGE,
            }.get(item.cell, width)
            least.append(min(width, max(floor, width_of(item.title))))
        widths = list(natural)
        excess = _total(widths) - self._width
        while excess > 0:
            spare = [width - floor for width, floor in zip(widths, least, strict=True)]
            candidates = [index for index, more in enumerate(spare) if more > 0]
            if not candidates:
                return None
            index = max(candidates, key=widths.__getitem__)
            others = [widths[other] for other in candidates if widths[other] < widths[index]]
            step = max(1, min(excess, spare[index], widths[index] - max([0, *others])))
            widths[index] -= step
            excess -= step
        return widths

    def _cards(self, fields: Sequence[Field], rows: list[list[str]]) -> None:
        names = next((i for i, item in enumerate(fields) if item.cell is Cell.NAME), None)
        if names is not None and any(row[names] for row in rows):
            for row, name in zip(
                rows, distinct([row[names] for row in rows], self._width), strict=True
            ):
                row[names] = name
        else:
            names = None
        for row in rows:
            if names is not None and row[names]:
                self._write(self._paint(row[names], "name"))
            facts = [
                f"{item.title} {text}"
                for index, (item, text) in enumerate(zip(fields, row, strict=True))
                if text and index != names and item.cell is not Cell.MESSAGE
            ]
            lines = _flow(facts, self._width - 2)
            for item, text in zip(fields, row, strict=True):
                if item.cell is Cell.MESSAGE:
                    lines += wrap(text, self._width - 2)
            for line in lines:
                self._write("  " + line)


def aligned(text: str, width: int, right: bool) -> str:
    """The text, padded to a width."""
    if text.isascii():
        return text.rjust(width) if right else text.ljust(width)
    padding = " " * max(0, width - width_of(text))
    return padding + text if right else text + padding


def _total(widths: list[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _apply(affixes: Affixes, fields: Sequence[Field], rows: list[list[str]]) -> None:
    if not affixes:
        return
    for index, item in enumerate(fields):
        if item.cell is Cell.NAME:
            for row in rows:
                row[index] = affixes.without(row[index])
            return


def _cut_names(fields: Sequence[Field], rows: list[list[str]], widths: list[int]) -> None:
    for index, item in enumerate(fields):
        if item.cell is Cell.NAME:
            names = distinct([row[index] for row in rows], widths[index])
            for row, name in zip(rows, names, strict=True):
                row[index] = name


def _flow(facts: list[str], width: int) -> list[str]:
    """Facts side by side, none of them broken unless it is wider than a line."""
    lines: list[str] = []
    for fact in facts:
        if lines and width_of(lines[-1]) + 2 + width_of(fact) <= width:
            lines[-1] += GAP + fact
        else:
            lines += wrap(fact, width)
    return lines
