"""Very many columns on a terminal: what is not looked at is neither read nor formatted."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

import pyarrow as pa
import pytest
from rich.console import Console

import pymosaic
from pymosaic.cli import tables
from pymosaic.cli.output import Cell, Excerpt, Field
from pymosaic.cli.rows import Window, open_rows
from pymosaic.cli.tables import Painter, TablePrinter
from pymosaic.cli.turned import TurnedRows

WIDTH = 80


class Recorded(Excerpt):
    """Rows in several batches, which records the columns that are asked for."""

    def __init__(self, table: pa.Table, rows_per_batch: int = 2) -> None:
        self._table = table
        self._rows_per_batch = rows_per_batch
        self.names = table.column_names
        self.asked: list[str] = []

    @property
    def schema(self) -> pa.Schema:
        return self._table.schema

    def batches(self, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        assert names is not None
        self.asked += names
        return iter(self._table.select(names).to_batches(self._rows_per_batch))


def shown(excerpt: Recorded, lines: int | None = None) -> list[str]:
    """The lines on a screen; with ``lines``, the pager is left after so many."""
    written: list[str] = []

    def write(line: str) -> None:
        if len(written) == lines:
            raise BrokenPipeError
        written.append(line)

    paint = Painter(Console(file=StringIO()))
    turned = TurnedRows(TablePrinter(write, paint, WIDTH), write, paint, WIDTH, 24)
    turned.show_some(excerpt.names, excerpt)
    return written


def numbers(num_columns: int, num_rows: int = 3) -> pa.Table:
    return pa.table(
        {f"c{n:05}": [n * 10 + row for row in range(num_rows)] for n in range(num_columns)}
    )


def test_only_columns_near_the_screen_are_read():
    excerpt = Recorded(numbers(20_000))
    with pytest.raises(BrokenPipeError):
        shown(excerpt, lines=24)
    assert excerpt.asked == excerpt.names[:250]


def test_all_columns_are_shown_once_with_rows_of_all_batches():
    excerpt = Recorded(numbers(6000))
    lines = shown(excerpt)
    assert excerpt.asked == excerpt.names
    assert lines[1].split() == ["column", "row", "0", "row", "1", "row", "2"]
    found = [line.split() for line in lines[3:]]
    assert found == [[f"c{n:05}", *(str(n * 10 + row) for row in range(3))] for n in range(6000)]


def test_values_that_are_wider_than_those_before_start_a_table_of_fewer_rows():
    table = numbers(1500, 9)
    wide = pa.array([f"{row}" * 20 for row in range(9)])
    table = table.set_column(1200, "c01200", wide)
    lines = shown(Recorded(table))
    assert max(map(len, lines)) <= WIDTH
    headers = [line.split().count("row") for line in lines if line.startswith("column")]
    assert len(headers) == 2
    assert headers[0] > headers[1] > 0
    assert any("0" * 20 in line for line in lines)
    assert lines.count("more rows do not fit the width") == 1


def test_a_table_without_rows_says_so():
    lines = shown(Recorded(numbers(10).slice(0, 0)))
    assert lines == ["no rows, 10 columns"]


def test_a_window_reads_only_the_columns_asked_for(tmp_path):
    pymosaic.write_table(numbers(300, 40), tmp_path / "t.mosaic", num_buckets=30)
    with open_rows([str(tmp_path / "t.mosaic")]) as rows:
        window = Window(rows, ["c001*"], "c00100 >= 1005", 2, 4)
        assert window.names == [f"c{n:05}" for n in range(100, 200)]
        part = pa.Table.from_batches(window.batches(["c00101"]))
    assert part.to_pydict() == {"c00101": [1017, 1018, 1019, 1020]}


def test_what_names_share_is_told_for_each_part_of_a_long_table(monkeypatch):
    monkeypatch.setattr(tables, "_MEASURED_ROWS", 3)
    lines: list[str] = []
    paint = Painter(Console(file=StringIO()))
    printer = TablePrinter(lines.append, paint, 20)
    names = [
        f"{side}_hand_finger_{n}_last_reported_value"
        for side in ("left", "right")
        for n in range(3)
    ]
    printer.table([Field("column", Cell.NAME)], ([name] for name in names))
    text = " ".join(lines)
    assert "these names start with left_hand_finger_ and" in text
    assert "these names start with right_hand_finger_ and" in text
    assert "all names" not in text
