"""A table that a page looks at: some cells of some rows at a time.

Every question is bounded, and stops between row groups when nobody waits for the answer any more.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from pymosaic.datasets.dataset import Dataset
from pymosaic.errors import InvalidOptionError
from pymosaic.filters.text import parse_filter
from pymosaic.report.values import shown_text

__all__ = ["MAX_COLUMNS", "MAX_ROWS", "BrowsedTable", "Cancelled"]

MAX_ROWS = 500
MAX_COLUMNS = 100
_KEPT_BYTES = 64 << 20
_KEPT_PARTS = 16
_KEPT_FILTERS = 8
_CELL_CHARACTERS = 200


class Cancelled(Exception):
    """Nobody waits for the answer any more."""


class BrowsedTable:
    """A file or dataset, asked by several threads at once."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.dataset: Dataset = Dataset((path,), types="mosaic")
        self.schema: pa.Schema = self.dataset.schema
        self.names: list[str] = list(self.schema.names)
        self.num_rows: int = self.dataset.count_rows()
        # One for each row group. Any scan reads them, so that all questions count rows alike.
        self._pieces = self.dataset.scan().plan(max_piece_bytes=1).pieces
        self._lock = threading.Lock()
        self._parts: OrderedDict[Any, pa.Table] = OrderedDict()
        self._counts: OrderedDict[str, list[int]] = OrderedDict()

    def types(self) -> tuple[list[str], list[int]]:
        """The distinct types as text, and for each column the number of its type."""
        known: dict[str, int] = {}
        numbers = [known.setdefault(str(kind), len(known)) for kind in self.schema.types]
        return list(known), numbers

    def count(self, where: str, cancelled: Callable[[], bool]) -> int:
        """The number of rows that match a filter; all rows if it is empty."""
        return sum(self._matches(where, cancelled)) if where else self.num_rows

    def cells(
        self, first: int, count: int, names: list[str], where: str, cancelled: Callable[[], bool]
    ) -> list[list[str | None]]:
        """These columns of up to ``count`` rows from row ``first``, as texts; None for null."""
        if not 0 < count <= MAX_ROWS or not 0 < len(names) <= MAX_COLUMNS or first < 0:
            raise InvalidOptionError(
                f"a request is for 1 to {MAX_ROWS} rows and 1 to {MAX_COLUMNS} columns"
            )
        counts = self._matches(where, cancelled)
        found: list[list[str | None]] = [[] for _ in names]
        for number, rows in enumerate(counts):
            if first >= rows:
                first -= rows
                continue
            part = self._part(number, names, where, cancelled).slice(first, count)
            for texts, column in zip(found, part.columns, strict=True):
                texts.extend(
                    shown_text(value, _CELL_CHARACTERS) if value.is_valid else None
                    for value in column
                )
            first, count = 0, count - part.num_rows
            if count <= 0:
                break
        return found

    def _matches(self, where: str, cancelled: Callable[[], bool]) -> list[int]:
        """For each row group, the number of rows that match."""
        with self._lock:
            if where in self._counts:
                self._counts.move_to_end(where)
                return self._counts[where]
        if not where:
            return [piece.num_rows for piece in self._pieces]
        task = self.dataset.scan([], parse_filter(where)).task()
        counts = []
        for piece in self._pieces:
            if cancelled():
                raise Cancelled
            counts.append(sum(batch.num_rows for batch in task.read([piece])))
        with self._lock:
            self._counts[where] = counts
            while len(self._counts) > _KEPT_FILTERS:
                self._counts.popitem(last=False)
        return counts

    def _part(
        self, number: int, names: list[str], where: str, cancelled: Callable[[], bool]
    ) -> pa.Table:
        """These columns of the matching rows of a row group; the last few are kept."""
        key = (number, tuple(names), where)
        with self._lock:
            if key in self._parts:
                self._parts.move_to_end(key)
                return self._parts[key]
        if cancelled():
            raise Cancelled
        scan = self.dataset.scan(names, parse_filter(where) if where else None)
        batches = list(scan.task().read([self._pieces[number]]))
        part = pa.Table.from_batches(batches, scan.schema)
        with self._lock:
            self._parts[key] = part
            while self._parts and (
                len(self._parts) > _KEPT_PARTS
                or sum(kept.nbytes for kept in self._parts.values()) > _KEPT_BYTES
            ):
                self._parts.popitem(last=False)
        return part

    def column(
        self, name: str, where: str, most: int, cancelled: Callable[[], bool]
    ) -> tuple[pa.ChunkedArray, bool]:
        """A column of the matching rows, and whether it is complete; at most ``most`` rows."""
        if name not in self.names:
            raise InvalidOptionError(f"there is no column {name!r}")
        scan = self.dataset.scan([name], parse_filter(where) if where else None)
        chunks: list[pa.Array] = []
        rows = 0
        task = scan.task()
        for piece in self._pieces:
            if cancelled():
                raise Cancelled
            for batch in task.read([piece]):
                chunks.append(batch.column(0))
                rows += batch.num_rows
            if rows >= most:
                return pa.chunked_array(chunks, scan.schema.field(0).type).slice(0, most), False
        return pa.chunked_array(chunks, scan.schema.field(0).type), True
