"""Rows of a table that is wider than the terminal: one line for each column."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pymosaic.cli.names import common_affixes, distinct, widest
from pymosaic.cli.output import Cell, Field
from pymosaic.cli.tables import GAP, Painter, TablePrinter, aligned
from pymosaic.cli.text import cut
from pymosaic.cli.values import NULL, cell, plain_columns

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["WIDEST_VALUE", "RowReader", "TurnedRows"]

WIDEST_VALUE = 60
# A person who looks at this many lines does not look for more rows below them.
_VERY_MANY_COLUMNS = 5000
_ROWS = 200
_WIDEST_NAME = 40
_WIDEST_TURNED_VALUE = 28
_NARROWEST = 6


class RowReader:
    """The rows of batches as columns of cells, a few rows at a time."""

    def __init__(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        self.taken = 0
        self._batches = iter(batches)
        self._batch: pa.RecordBatch | None = None
        self._width = len(schema)

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
        """Show all rows; of very many columns, those that fit side by side."""
        few = len(names) > _VERY_MANY_COLUMNS
        most = min(max(_WIDEST_NAME, self._width // 3), self._width // 2)
        name_width = max(min(widest(names), most), len("column"))
        affixes = common_affixes(names) if widest(names) > name_width else None
        if affixes:
            names = [affixes.without(name) for name in names]
            name_width = max(min(widest(names), most), len("column"))
        names = distinct(names, name_width)
        # Of few rows, one more than could fit, to know whether there are more.
        fitting = max(1, (self._width - name_width) // (len("row 0") + len(GAP)))
        columns = rows.take(fitting + 1 if few else _ROWS)
        if not columns[0]:
            self._table.note(f"no rows, {len(names):,} columns")
            return
        if few:
            shown = len(self._widths(columns, 0, first_row, name_width))
            columns = [column[:shown] for column in columns]
            note = f"{len(names):,} columns, one per line; -c selects some"
            if rows.taken > len(columns[0]):
                following = first_row + len(columns[0])
                note += f". More rows do not fit; --offset {following} shows the next"
            self._table.note(note)
        if affixes:
            self._table.note(str(affixes))
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
                self._block(names, columns, used, start, name_width, widths)
                used += len(widths)
                start += len(widths)
            if few:
                return
            columns = rows.take(_ROWS)

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

    def _block(
        self,
        names: list[str],
        columns: list[list[str]],
        used: int,
        start: int,
        name_width: int,
        widths: list[int],
    ) -> None:
        header = ["column", *(f"row {start + index:,}" for index in range(len(widths)))]
        fields = [Field("", Cell.NAME), *(Field("", Cell.VALUE) for _ in widths)]
        self._table.header(header, fields, [name_width, *widths])
        paint = self._paint
        for name, column in zip(names, columns, strict=True):
            line = [paint(aligned(name, name_width, False), "name")]
            for text, width in zip(column[used:], widths, strict=False):
                value = aligned(cut(text, width), width, False)
                line.append(paint(value, "null") if text is NULL else value)
            self._write(GAP.join(line).rstrip())


def _cells(batch: pa.RecordBatch) -> list[list[str]]:
    return [list(map(_short, column)) for column in plain_columns(batch)]


def _short(value: Any) -> str:
    if isinstance(value, str) and len(value) > WIDEST_VALUE:
        # Enough to know that it will be cut; the rest does not matter.
        value = value[: WIDEST_VALUE + 1]
    return cut(cell(value), WIDEST_VALUE)
