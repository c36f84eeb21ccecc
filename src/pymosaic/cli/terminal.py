"""Tables on a terminal.

A table that fits the width is shown as one. A wider table is transposed: one line for each column,
with as many rows side by side as fit. Widths come from the first rows, so that the first screen of
a table of any size appears at once.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.style import Style

from pymosaic.cli.output import Cell, Document, Field, Output
from pymosaic.cli.pager import Screen
from pymosaic.cli.text import cut, cut_middle, percent, width_of
from pymosaic.cli.values import NULL, cell
from pymosaic.errors import printable
from pymosaic.sizes import format_size

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TerminalOutput"]

_GAP = "  "
_MEASURED_ROWS = 200
_WIDEST_VALUE = 60
_NARROWEST = 6
_TURNED_NAME = 40
_TURNED_VALUE = 28
_STYLES = {
    "title": Style(bold=True),
    "header": Style(bold=True, color="cyan"),
    "rule": Style(dim=True),
    "name": Style(color="green"),
    "null": Style(dim=True),
    "note": Style(dim=True),
    "fact": Style(color="cyan"),
}
_RIGHT = (Cell.NUMBER, Cell.BYTES, Cell.SHARE)


class _Painter:
    """Text styles, if the terminal supports them and the user wants them."""

    def __init__(self, console: Console) -> None:
        self._system = None
        if console.color_system is not None and not console.no_color:
            self._system = console._color_system

    def __call__(self, text: str, style: str | None) -> str:
        if style is None or self._system is None or not text:
            return text
        return _STYLES[style].render(text, color_system=self._system)


class TerminalOutput(Output):
    """Tables for people."""

    def __init__(self, stream: TextIO, *, pager: bool) -> None:
        if isinstance(stream, io.TextIOWrapper):
            # Characters that the terminal cannot show are replaced.
            stream.reconfigure(errors="replace")
        console = Console(file=stream)
        self._width = console.width
        self._paint = _Painter(console)
        self._height = console.height
        self._screen = Screen(stream, self._height, pager=pager)
        self._shown = 0

    def close(self) -> None:
        """Wait for the pager."""
        self._screen.close()

    def answer(self, text: str, facts: dict[str, Any]) -> None:
        """Print one line."""
        self._line(printable(text))

    def _line(self, text: str = "", style: str | None = None) -> None:
        self._screen.write(self._paint(text, style))

    def document(self, document: Document) -> None:
        """Print a title, then facts or a table."""
        if self._shown:
            self._line()
        self._shown += 1
        self._line(cut(printable(document.title), self._width), "title")
        if document.fields:
            fields = [item for item in document.fields if item.on_terminal]
            rows = ([_shown(item, row) for item in fields] for row in document.rows)
            self._table(fields, rows, document.empty)
        else:
            self._facts(document)

    def _facts(self, document: Document) -> None:
        facts = {key: value for key, value in document.facts.items() if key != "file"}
        label_width = max(map(len, facts), default=0)
        for key, value in facts.items():
            text = cell(value)
            if key in document.sizes and isinstance(value, int):
                text = f"{value:,} ({format_size(value)})" if value >= 1024 else f"{value:,} bytes"
            elif isinstance(value, int) and not isinstance(value, bool):
                text = f"{value:,}"
            label = self._paint(key.replace("_", " ").ljust(label_width), "fact")
            self._line(f"{label}{_GAP}{cut(text, max(20, self._width - label_width - 2))}")

    def _table(self, fields: Sequence[Field], rows: Iterator[list[str]], empty: str) -> None:
        first = list(islice(rows, _MEASURED_ROWS))
        if not first:
            self._line(empty, "note")
            return
        headers = [item.title for item in fields]
        natural = [
            max(width_of(header), *(width_of(row[index]) for row in first))
            for index, header in enumerate(headers)
        ]
        shrinkable = [
            index
            for index, item in enumerate(fields)
            if item.cell in (Cell.NAME, Cell.TEXT, Cell.VALUE)
        ]
        widths = _fit(natural, shrinkable, self._width)
        self._header(headers, fields, widths)
        for chunk in (first, rows):
            for row in chunk:
                self._row(row, fields, widths)

    def _header(self, headers: list[str], fields: Sequence[Field], widths: list[int]) -> None:
        texts = [
            _aligned(cut(header, width), width, item.cell in _RIGHT)
            for header, item, width in zip(headers, fields, widths, strict=True)
        ]
        self._line(_GAP.join(texts).rstrip(), "header")
        self._line("─" * min(self._width, sum(widths) + len(_GAP) * (len(widths) - 1)), "rule")

    def _row(self, row: list[str], fields: Sequence[Field], widths: list[int]) -> None:
        texts = []
        for text, item, width in zip(row, fields, widths, strict=True):
            if item.cell in _RIGHT:
                shortened = text  # a number cut short would be a different number
            else:
                shortened = (cut_middle if item.cell is Cell.NAME else cut)(text, width)
            aligned = _aligned(shortened, width, item.cell in _RIGHT)
            style = "name" if item.cell is Cell.NAME else "null" if text is NULL else None
            texts.append(self._paint(aligned, style))
        self._line(_GAP.join(texts).rstrip())

    def rows(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], first_row: int) -> None:
        """Print a table, transposed if it is too wide."""
        rows = _Rows(schema, batches)
        first = rows.take(_MEASURED_ROWS)
        if not schema.names:
            self._line("no columns", "note")
            return
        fields = [
            Field("", Cell.NUMBER if right else Cell.VALUE, printable(name))
            for name, right in zip(schema.names, rows.right, strict=True)
        ]
        natural = [
            min(_WIDEST_VALUE, max([width_of(item.title), *map(width_of, column)]))
            for item, column in zip(fields, first, strict=True)
        ]
        if sum(natural) + len(_GAP) * (len(natural) - 1) <= self._width:
            self._header([item.title for item in fields], fields, natural)
            while first[0]:
                # Numbers may grow from screen to screen.
                natural = [
                    max([width, *map(width_of, column)]) if item.cell is Cell.NUMBER else width
                    for item, column, width in zip(fields, first, natural, strict=True)
                ]
                for row in zip(*first, strict=True):
                    self._row(list(row), fields, natural)
                first = rows.take(_MEASURED_ROWS)
            if rows.taken == 0:
                self._line("no rows", "note")
        elif not first[0]:
            self._line(f"no rows, {len(fields):,} columns", "note")
        else:
            self._turned(fields, rows, first, first_row)

    def _turned(
        self, fields: list[Field], rows: _Rows, first: list[list[str]], first_row: int
    ) -> None:
        """Print one line per column, with several rows side by side; then the next rows."""
        longest = max(width_of(item.title) for item in fields)
        name_width = min(_TURNED_NAME, self._width // 2, max(longest, len("column")))
        start = first_row
        columns = first
        while columns[0]:
            used = 0
            while used < len(columns[0]):
                shown, widths = self._columns_that_fit(columns, used, start, name_width)
                header = ["column", *(f"row {start + index:,}" for index in range(shown))]
                cells = [Field("", Cell.NAME), *(Field("", Cell.VALUE) for _ in range(shown))]
                all_widths = [name_width, *widths]
                if used or columns is not first:
                    self._line()
                elif shown < len(columns[0]) and len(fields) > self._height:
                    # The next rows are so far down that no one would find them.
                    note = (
                        f"{len(fields):,} columns, one per line; -c selects some; more rows below"
                    )
                    self._line(cut(note, self._width), "note")
                self._header(header, cells, all_widths)
                for item, column in zip(fields, columns, strict=True):
                    self._row([item.title, *column[used : used + shown]], cells, all_widths)
                used += shown
                start += shown
            columns = rows.take(_MEASURED_ROWS)

    def _columns_that_fit(
        self, columns: list[list[str]], used: int, start: int, name_width: int
    ) -> tuple[int, list[int]]:
        widths: list[int] = []
        room = self._width - name_width
        for index in range(used, len(columns[0])):
            title = f"row {start + index - used:,}"
            widest = max(map(width_of, (title, *(column[index] for column in columns))))
            wanted = min(_TURNED_VALUE, widest)
            if widths and wanted + len(_GAP) > room:
                break
            widths.append(min(wanted, max(_NARROWEST, room - len(_GAP))))
            room -= widths[-1] + len(_GAP)
        return len(widths), widths


class _Rows:
    """The rows of batches as columns of cells, a few rows at a time."""

    def __init__(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        import pyarrow as pa

        self.right = [
            pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
            for kind in schema.types
        ]
        self.taken = 0
        self._batches = iter(batches)
        self._batch: pa.RecordBatch | None = None
        self._width = len(schema)

    def take(self, count: int) -> list[list[str]]:
        """The cells of up to ``count`` rows, by column; empty at the end."""
        from pymosaic.cli.values import plain_values

        while self._batch is None or self._batch.num_rows == 0:
            self._batch = next(self._batches, None)
            if self._batch is None:
                return [[] for _ in range(self._width)]
        part, self._batch = self._batch.slice(0, count), self._batch.slice(count)
        self.taken += part.num_rows
        return [[_short(value) for value in plain_values(column)] for column in part.columns]


def _short(value: Any) -> str:
    if isinstance(value, str) and len(value) > _WIDEST_VALUE:
        # Enough to know that it will be cut; the rest does not matter.
        value = value[: _WIDEST_VALUE + 1]
    return cut(cell(value), _WIDEST_VALUE)


def _shown(item: Field, row: dict[str, Any]) -> str:
    if item.text is not None:
        return printable(item.text(row))
    kind, value = item.cell, row.get(item.key)
    if value is None:
        return NULL if kind is Cell.VALUE else ""
    if kind is Cell.BYTES:
        return format_size(value)
    if kind is Cell.SHARE:
        return percent(value)
    if kind is Cell.NUMBER and isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list):
        return printable(", ".join(map(str, value[:20])) + (", …" if len(value) > 20 else ""))
    return cell(value)


def _fit(natural: list[int], shrinkable: list[int], width: int) -> list[int]:
    """Widths that fit together; the widest columns that may shrink do so first."""
    widths = list(natural)
    excess = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    while excess > 0:
        candidates = [index for index in shrinkable if widths[index] > _NARROWEST]
        if not candidates:
            break
        widest = max(candidates, key=widths.__getitem__)
        others = [widths[index] for index in candidates if widths[index] < widths[widest]]
        step = min(excess, widths[widest] - max([_NARROWEST, *others]) or 1)
        widths[widest] -= max(1, step)
        excess -= max(1, step)
    return widths


def _aligned(text: str, width: int, right: bool) -> str:
    padding = " " * max(0, width - width_of(text))
    return padding + text if right else text + padding
