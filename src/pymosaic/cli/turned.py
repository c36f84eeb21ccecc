"""Rows of a table that is wider than the terminal: one line for each column.

Of very many columns, only as many rows are shown as fit side by side, and columns are read a block
at a time: a pager that shows the first screen takes no more than the first blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pymosaic.cli.names import Affixes, common_affixes, distinct, widest
from pymosaic.cli.output import Cell, Excerpt, Field
from pymosaic.cli.tables import GAP, Painter, TablePrinter, aligned
from pymosaic.cli.text import cut
from pymosaic.cli.values import NULL, cell, plain_columns

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["VERY_MANY_COLUMNS", "WIDEST_VALUE", "RowReader", "TurnedRows"]

WIDEST_VALUE = 60
# A person who looks at this many lines does not look for more rows below them.
VERY_MANY_COLUMNS = 5000
# Columns in the first block; blocks grow, because neighbours share what is decompressed.
_FIRST_BLOCK = 250
_LARGEST_BLOCK = 16_000
_ROWS = 200
_WIDEST_NAME = 40
_WIDEST_TURNED_VALUE = 28
_NARROWEST = 6


class RowReader:
    """The rows of batches as columns of cells, a few rows at a time."""

    def __init__(self, num_columns: int, batches: Iterable[pa.RecordBatch]) -> None:
        self.taken: int = 0
        self._batches = iter(batches)
        self._batch: pa.RecordBatch | None = None
        self._width = num_columns

    def take(self, count: int) -> list[list[str]]:
        """The cells of up to ``count`` rows, by column; empty at the end."""
        part = self._next(count)
        if part is None or self._batch is None:
            return [[] for _ in range(self._width)]
        self._batch = self._batch.slice(part.num_rows)
        self.taken += part.num_rows
        return _cells(part)

    def peek(self, count: int) -> list[list[str]]:
        """What ``take`` would give now."""
        part = self._next(count)
        return [[] for _ in range(self._width)] if part is None else _cells(part)

    def _next(self, count: int) -> pa.RecordBatch | None:
        while self._batch is None or self._batch.num_rows == 0:
            self._batch = next(self._batches, None)
            if self._batch is None:
                return None
        return self._batch.slice(0, count)


class TurnedRows:
    """Shows rows side by side, with one line for each column; then the next rows below."""

    def __init__(
        self,
        table: TablePrinter,
        write: Callable[[str], None],
        paint: Painter,
        width: int,
        height: int,
    ) -> None:
        self._table = table
        self._write = write
        self._paint = paint
        self._width = width
        self._height = height

    def show(self, names: list[str], rows: RowReader, first_row: int) -> None:
        """Show all rows."""
        names, affixes, name_width = self._shortened(names)
        names = distinct(names, name_width)
        columns = rows.take(_ROWS)
        if not columns[0]:
            self._table.note(f"no rows, {len(names):,} columns")
            return
        if affixes:
            self._table.note(affixes.note())
        start = first_row
        shown_before = False
        while columns[0]:
            used = 0
            while used < len(columns[0]):
                widths = self._widths(columns, used, start, name_width)
                if shown_before:
                    self._write("")
                elif len(widths) < len(columns[0]) and len(names) > self._height:
                    # The next rows are so far down that no one would find them.
                    note = f"{len(names):,} columns, one per line; -c selects some; more rows below"
                    self._table.note(note)
                shown_before = True
                self._header(start, name_width, widths)
                self._lines(names, columns, used, name_width, widths)
                used += len(widths)
                start += len(widths)
            columns = rows.take(_ROWS)

    def show_some(self, names: list[str], excerpt: Excerpt) -> None:
        """Show the rows that fit side by side."""
        names, affixes, name_width = self._shortened(names)
        # One row more than could fit, to know whether there are more.
        wanted = 1 + max(1, (self._width - name_width) // (len("row 0") + len(GAP)))
        widths: list[int] = []
        for start, stop in _blocks(len(names)):
            columns = _first_cells(excerpt, excerpt.names[start:stop], wanted)
            if not columns[0]:
                self._table.note(f"no rows, {len(names):,} columns")
                return
            needed = self._widths(columns, 0, excerpt.first_row, name_width)
            if not widths:
                self._table.note(f"{len(names):,} columns, one per line; -c selects some")
                if affixes:
                    self._table.note(affixes.note())
            united = list(map(max, needed, widths))
            if (
                not widths
                or len(united) < len(widths)
                or name_width + sum(united) + len(GAP) * len(united) > self._width
            ):
                if widths:  # wider values than before
                    self._write("")
                if len(needed) < len(columns[0]):
                    self._table.note("more rows do not fit the width")
                united = needed
                self._header(excerpt.first_row, name_width, united)
            widths = united
            # A name is cut where it equals its neighbours, also those of other blocks.
            first = max(0, start - 1)
            near = distinct(names[first : stop + 1], name_width)[start - first :][: stop - start]
            self._lines(near, columns, 0, name_width, widths)

    def _shortened(self, names: list[str]) -> tuple[list[str], Affixes | None, int]:
        """Names without what all of them share, if they are too long; and their width."""
        most = min(max(_WIDEST_NAME, self._width // 3), self._width // 2)
        longest = widest(names)
        affixes = common_affixes(names) if longest > max(most, len("column")) else None
        if affixes:
            names = [affixes.without(name) for name in names]
            longest = widest(names)
        return names, affixes, max(min(longest, most), len("column"))

    def _widths(
        self, columns: list[list[str]], used: int, start: int, name_width: int
    ) -> list[int]:
        """The widths of the rows that fit beside the names."""
        widths: list[int] = []
        room = self._width - name_width
        for index in range(used, len(columns[0])):
            title = f"row {start + index - used:,}"
            widest_value = max(len(title), widest([column[index] for column in columns]))
            wanted = min(_WIDEST_TURNED_VALUE, widest_value)
            if widths and wanted + len(GAP) > room:
                break
            widths.append(min(wanted, max(_NARROWEST, room - len(GAP))))
            room -= widths[-1] + len(GAP)
        return widths

    def _header(self, start: int, name_width: int, widths: list[int]) -> None:
        header = ["column", *(f"row {start + index:,}" for index in range(len(widths)))]
        fields = [Field("", Cell.NAME), *(Field("", Cell.VALUE) for _ in widths)]
        self._table.header(header, fields, [name_width, *widths])

    def _lines(
        self,
        names: list[str],
        columns: list[list[str]],
        used: int,
        name_width: int,
        widths: list[int],
    ) -> None:
        paint = self._paint
        for name, column in zip(names, columns, strict=True):
            line = [paint(aligned(name, name_width, False), "name")]
            for text, width in zip(column[used:], widths, strict=False):
                value = aligned(cut(text, width), width, False)
                line.append(paint(value, "null") if text is NULL else value)
            self._write(GAP.join(line).rstrip())


def _blocks(num_columns: int) -> Iterator[tuple[int, int]]:
    """Ranges of columns, the first ones small."""
    start, size = 0, _FIRST_BLOCK
    while start < num_columns:
        yield start, min(num_columns, start + size)
        start, size = start + size, min(2 * size, _LARGEST_BLOCK)


def _first_cells(excerpt: Excerpt, names: list[str], count: int) -> list[list[str]]:
    """The cells of up to ``count`` rows, by column."""
    rows = RowReader(len(names), excerpt.batches(names))
    columns = rows.take(count)
    while columns[0] and rows.taken < count:
        more = rows.take(count - rows.taken)
        if not more[0]:
            break
        for column, cells in zip(columns, more, strict=True):
            column += cells
    return columns


def _cells(batch: pa.RecordBatch) -> list[list[str]]:
    return [list(map(_short, column)) for column in plain_columns(batch)]


def _short(value: Any) -> str:
    if isinstance(value, str) and len(value) > WIDEST_VALUE:
        # Enough to know that it will be cut; the rest does not matter.
        value = value[: WIDEST_VALUE + 1]
    return cut(cell(value), WIDEST_VALUE)
