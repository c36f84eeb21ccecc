"""Matrices of scans: row groups of many files, decoded straight into rows of one matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pymosaic.datasets.binding import BoundFile, ColumnBinding
from pymosaic.datasets.head_store import HeadStore
from pymosaic.datasets.plan import Piece
from pymosaic.datasets.scan_task import ScanTask
from pymosaic.errors import InvalidOptionError
from pymosaic.file.matrix import Matrix, MatrixType, Rows, check_numbers
from pymosaic.file.row_group_reader import RowGroupReader
from pymosaic.kernels.arrow_source import catalog_from_arrow

__all__ = ["check_matrix", "read_matrix"]


@dataclass(slots=True)
class _Part:
    """A row group, and the rows of the matrix that it fills."""

    piece: Piece
    rows: Rows
    count: int
    first: int = 0


def check_matrix(task: ScanTask, kind: MatrixType) -> None:
    """Refuse columns of a scan that are not numbers, by name."""
    catalog = catalog_from_arrow(task.schema, 1)
    check_numbers(catalog, catalog.original_order(), kind.dtype)


def read_matrix(
    task: ScanTask,
    pieces: Sequence[Piece],
    kind: MatrixType,
    limit: int | None = None,
    out: npt.NDArray[Any] | None = None,
    use_threads: bool = True,
    heads: HeadStore | None = None,
) -> tuple[npt.NDArray[Any], list[str]]:
    """The rows of pieces, of one row group each, that pass the filter, as a matrix.

    With a filter, its columns are read first, so that the number of rows is known before the
    matrix is made.
    """
    check_matrix(task, kind)
    binding = ColumnBinding(task)
    parts = [_Part(piece, None, piece.num_rows) for piece in pieces]
    if task.row_filter is not None:
        found = task.visit(pieces, _matching, use_threads=use_threads, heads=heads, binding=binding)
        parts = [
            _Part(piece, *rows)
            for piece, rows in zip(pieces, found, strict=True)
            if rows is not None
        ]
    total = _arrange(parts, limit)
    if out is not None and task.on_error == "skip":
        raise InvalidOptionError("out cannot be given with on_error='skip'")
    matrix = Matrix(kind, task.schema.names, total, out, task.limits.max_table_bytes)
    places = {id(part.piece): part for part in parts if part.count}
    filling = _Filling(task, matrix, places)
    wanted = [part.piece for part in parts if part.count]
    done = task.visit(wanted, filling.fill, use_threads=use_threads, heads=heads, binding=binding)
    skipped = [places[id(piece)] for piece, ok in zip(wanted, done, strict=True) if ok is None]
    if skipped:
        matrix.remove([(part.first, part.count) for part in skipped])
    return matrix.result()


def _matching(reader: RowGroupReader, bound: BoundFile, piece: Piece) -> tuple[Rows, int]:
    if not bound.any_row:
        return None, 0
    if bound.tested is None or bound.row_filter is None:
        return None, reader.num_rows
    adapt = partial(bound.tested.adapt, path=piece.path)
    rows = reader.matching_rows(bound.row_filter, bound.tested.selection, adapt)
    return rows, reader.num_rows if rows is None else len(rows)


def _arrange(parts: Sequence[_Part], limit: int | None) -> int:
    """Give each part its rows of the matrix, and return how many there are in all."""
    total = 0
    for part in parts:
        left = part.count if limit is None else min(part.count, limit - total)
        if left < part.count:
            rows = np.arange(left, dtype=np.int64) if part.rows is None else part.rows[:left]
            part.rows, part.count = rows, left
        part.first = total
        total += part.count
    return total


class _Filling:
    """Fills a matrix from row groups, on any thread: no two have a row in common."""

    def __init__(self, task: ScanTask, matrix: Matrix, parts: dict[int, _Part]) -> None:
        self._matrix = matrix
        self._parts = parts
        names = task.schema.names
        keys = set(task.partition_schema.names)
        self._keys = {name: place for place, name in enumerate(names) if name in keys}
        # The column of the matrix for each column that files have.
        own = [place for place, name in enumerate(names) if name not in keys]
        self._columns = np.array(own, np.int64)

    def fill(self, reader: RowGroupReader, bound: BoundFile, piece: Piece) -> bool:
        """Fill the rows of one row group."""
        part = self._parts[id(piece)]
        matrix, columns = self._matrix, bound.columns
        if columns.is_plain:
            has = columns.has
            matrix.fill(
                reader,
                columns.selection.positions,
                self._columns[has],
                part.first,
                part.rows,
            )
            matrix.fill_nulls(self._columns[~has], part.first, part.count)
        else:
            batch = columns.adapt(reader.read(columns.selection), piece.path)
            batch = batch if part.rows is None else batch.take(part.rows)
            matrix.fill_batch(batch, self._columns, part.first)
        for key, value in piece.partition:
            if key in self._keys:
                matrix.fill_value(value, self._keys[key], part.first, part.count)
        return True
