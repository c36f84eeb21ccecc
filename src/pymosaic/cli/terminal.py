"""Results for people, on a terminal.

Rows that fit the width are shown as a table. A wider table is turned: one line for each column,
with as many rows side by side as fit.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console

from pymosaic.cli.names import common_affixes, distinct, widest
from pymosaic.cli.output import Cell, Document, Excerpt, Field, Output
from pymosaic.cli.pager import Screen
from pymosaic.cli.tables import GAP, Painter, TablePrinter
from pymosaic.cli.text import percent, wrap
from pymosaic.cli.turned import VERY_MANY_COLUMNS, WIDEST_VALUE, RowReader, TurnedRows
from pymosaic.cli.values import NULL, cell
from pymosaic.errors import printable
from pymosaic.sizes import format_size

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TerminalOutput"]

_ROWS = 200


class TerminalOutput(Output):
    """Tables for people."""

    def __init__(self, stream: TextIO, *, pager: bool) -> None:
        if isinstance(stream, io.TextIOWrapper):
            # Characters that the terminal cannot show are replaced.
            stream.reconfigure(errors="replace")
        console = Console(file=stream)
        self._width = console.width
        self._height = console.height
        self._paint = Painter(console)
        self._screen = Screen(stream, self._height, pager=pager)
        self._table = TablePrinter(self._screen.write, self._paint, self._width)
        self._shown = 0

    def close(self) -> None:
        """Wait for the pager."""
        self._screen.close()

    def answer(self, text: str, facts: dict[str, Any]) -> None:
        """Print one line."""
        self._screen.write(printable(text))

    def total(self, text: str, verdict: bool | None = None) -> None:
        """Print a closing line."""
        self._screen.write("")
        self._title(text, verdict)

    def _title(self, text: str, verdict: bool | None) -> None:
        style = "title" if verdict is None else "good" if verdict else "bad"
        for line in wrap(printable(text), self._width):
            self._screen.write(self._paint(line, style))

    def document(self, document: Document) -> None:
        """Print a title, then facts or a table."""
        if self._shown:
            self._screen.write("")
        self._shown += 1
        self._title(document.title, document.verdict)
        if not document.fields:
            self._facts(document)
            return
        fields = [item for item in document.fields if item.on_terminal]
        rows = iter(document.rows)
        first = next(rows, None)
        if first is None:
            self._table.note(document.empty)
            return
        texts = ([_shown(item, row) for item in fields] for row in _chain(first, rows))
        self._table.table(fields, texts)

    def _facts(self, document: Document) -> None:
        facts = {
            key: value for key, value in document.facts.items() if key != "file" and value != ""
        }
        label_width = max(map(len, facts), default=0)
        room = self._width - label_width - len(GAP)
        for key, value in facts.items():
            text = cell(value)
            if key in document.sizes and isinstance(value, int):
                text = f"{value:,} ({format_size(value)})" if value >= 1024 else f"{value:,} bytes"
            elif isinstance(value, int) and not isinstance(value, bool):
                text = f"{value:,}"
            label = self._paint(key.replace("_", " ").ljust(label_width), "fact")
            texts = list(map(str, value)) if isinstance(value, list) else [text]
            lines = [line for part in texts for line in wrap(printable(part), max(20, room))]
            first, *others = lines or [""]
            self._screen.write(f"{label}{GAP}{first}".rstrip())
            for line in others:
                self._screen.write(" " * (label_width + len(GAP)) + line)

    def rows(self, excerpt: Excerpt) -> None:
        """Print a table, turned if it is too wide."""
        names = list(map(printable, excerpt.names))
        turned = TurnedRows(self._table, self._screen.write, self._paint, self._width, self._height)
        if len(names) > VERY_MANY_COLUMNS:
            turned.show_some(names, excerpt)
            return
        rows = RowReader(len(names), excerpt.batches())
        if not names:
            rows.take(_ROWS)
            self._table.note("no columns")
        elif (1 + len(GAP)) * len(names) > self._width + len(GAP) or not self._across(
            excerpt.schema, names, rows
        ):
            turned.show(names, rows, excerpt.first_row)

    def _across(self, schema: pa.Schema, names: list[str], rows: RowReader) -> bool:
        """Print rows as lines, if they fit; else nothing."""
        first = rows.peek(_ROWS)
        affixes = None
        for attempt in (None, common_affixes(names)):
            headers = names if not attempt else [attempt.without(name) for name in names]
            widths = [
                min(WIDEST_VALUE, max(widest([header]), widest(column)))
                for header, column in zip(headers, first, strict=True)
            ]
            affixes = attempt
            if sum(widths) + len(GAP) * (len(widths) - 1) <= self._width:
                break
        else:
            return False
        if affixes:
            self._table.note(affixes.note())
        headers = distinct(headers, WIDEST_VALUE)
        fields = [
            Field("", Cell.NUMBER if _is_number(kind) else Cell.VALUE) for kind in schema.types
        ]
        self._table.header(headers, fields, widths)
        while (columns := rows.take(_ROWS))[0]:
            # Numbers may grow from screen to screen.
            widths = [
                max(width, widest(column)) if item.cell is Cell.NUMBER else width
                for item, column, width in zip(fields, columns, widths, strict=True)
            ]
            for row in zip(*columns, strict=True):
                self._table.row(row, fields, widths)
        if rows.taken == 0:
            self._table.note("no rows")
        return True


def _chain(first: dict[str, Any], rows: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    yield first
    yield from rows


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


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
