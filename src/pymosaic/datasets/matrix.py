"""Matrices of scans: row groups of many files, decoded straight into rows of one matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pymosaic.datasets.binding import BoundFile, ColumnBinding
from pymosaic.datasets.head_store import HeadStore
from pymosaic.datasets.plan import Piece
from pymosaic.datasets.scan_task import ScanTask, check_made_up
from pymosaic.errors import DatasetError, InvalidOptionError
from pymosaic.file.matrix import (
    Matrix,
    MatrixType,
    Rows,
    check_numbers,
    first_known_null,
    refuse_nulls,
)
from pymosaic.file.row_group_reader import RowGroupReader
from pymosaic.kernels.arrow_source import catalog_from_arrow

__all__ = ["RowGroup", "check_matrix", "limited", "read_blocks", "read_matrix", "row_groups"]


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows of a row group that a matrix has.

    Parameters
    ----------
    piece : Piece
        A piece of one row group.
    rows : numpy array of int64 or None
        The numbers of its rows, in the order of the matrix; None for all.
    count : int
        How many they are.
    choose : callable, optional
        Which of ``rows`` are wanted, by their places among them; called when they are read, so that
        only the places of row groups that are being read take memory.
    """

    piece: Piece
    rows: Rows
    count: int
    choose: Callable[[], npt.NDArray[np.int64]] | None = None

    def chosen(self, places: npt.NDArray[np.int64]) -> RowGroup:
        """Some of these rows, by their places among them."""
        rows = places if self.rows is None else self.rows[places]
        return RowGroup(self.piece, rows, len(rows))

    def wanted(self) -> Rows:
        """The numbers of the rows that are wanted; None for all."""
        return self.rows if self.choose is None else self.chosen(self.choose()).rows


def check_matrix(task: ScanTask, kind: MatrixType) -> None:
    """Refuse columns of a scan that are not numbers, by name."""
    catalog = catalog_from_arrow(task.schema, 1)
    check_numbers(catalog, catalog.original_order(), kind.dtype)


def row_groups(
    task: ScanTask,
    pieces: Sequence[Piece],
    use_threads: bool = True,
    heads: HeadStore | None = None,
    binding: ColumnBinding | None = None,
) -> list[RowGroup]:
    """The rows of pieces, of one row group each, that pass the filter.

    Only the columns of the filter are read, if there is one. Row groups that cannot be read are
    left out, if the task skips them.
    """
    if task.row_filter is None:
        return [RowGroup(piece, None, piece.num_rows) for piece in pieces]
    found = task.visit(pieces, _matching, use_threads=use_threads, heads=heads, binding=binding)
    return [
        RowGroup(piece, *rows)
        for piece, rows in zip(pieces, found, strict=True)
        if rows is not None and rows[1]
    ]


def _matching(reader: RowGroupReader, bound: BoundFile, piece: Piece) -> tuple[Rows, int]:
    if not bound.any_row:
        return None, 0
    if bound.tested is None or bound.row_filter is None:
        return None, reader.num_rows
    adapt = partial(bound.tested.adapt, path=piece.path)
    rows = reader.matching_rows(bound.row_filter, bound.tested.selection, adapt)
    return rows, reader.num_rows if rows is None else len(rows)


def _refuse_known_nulls(reader: RowGroupReader, bound: BoundFile, piece: Piece) -> bool:
    """Refuse a row group that has nulls as far as is known without its data."""
    columns, names = bound.columns, bound.columns.names
    missing = np.flatnonzero(~columns.has)
    if len(missing):
        refuse_nulls(names[missing[0]])
    [row_group] = piece.row_groups
    place = first_known_null(reader.file, row_group, columns.selection.positions)
    if place >= 0:
        refuse_nulls(names[np.flatnonzero(columns.has)[place]])
    return True


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
    if out is not None and task.on_error == "skip":
        raise InvalidOptionError("out cannot be given with on_error='skip'")
    binding = ColumnBinding(task)
    found = limited(row_groups(task, pieces, use_threads, heads, binding), limit)
    total = sum(item.count for item in found)
    if kind.nulls == "error" and task.on_error == "raise":
        whole = [item.piece for item in found if item.rows is None and item.count]
        for _ in task.visit(
            whole, _refuse_known_nulls, use_threads=False, heads=heads, binding=binding
        ):
            pass
    matrix = Matrix(kind, task.schema.names, total, out, task.limits.max_table_bytes)
    firsts = np.cumsum([0, *(item.count for item in found)]).tolist()
    places = {id(item.piece): place for place, item in enumerate(found)}
    columns = _Columns(task)

    def fill(reader: RowGroupReader, bound: BoundFile, piece: Piece) -> bool:
        place = places[id(piece)]
        columns.fill(matrix, firsts[place], found[place], reader, bound)
        return True

    wanted = [item.piece for item in found]
    done = task.visit(wanted, fill, use_threads=use_threads, heads=heads, binding=binding)
    skipped = [place for place, ok in enumerate(done) if ok is None]
    if skipped:
        matrix.remove([(firsts[place], found[place].count) for place in skipped])
    return matrix.result()


def read_blocks(
    task: ScanTask,
    wanted: Sequence[RowGroup],
    kind: MatrixType,
    use_threads: bool = True,
    heads: HeadStore | None = None,
) -> Iterator[npt.NDArray[Any]]:
    """A matrix of each row group, read ahead of the consumer, in order."""
    names = task.schema.names
    columns = _Columns(task)
    of_piece = {id(item.piece): item for item in wanted}

    def read(reader: RowGroupReader, bound: BoundFile, piece: Piece) -> npt.NDArray[Any]:
        item = of_piece[id(piece)]
        block = Matrix(kind, names, item.count, None, task.limits.max_table_bytes)
        columns.fill(block, 0, item, reader, bound)
        return block.result()[0]

    pieces = [item.piece for item in wanted]
    for block in task.visit(pieces, read, use_threads=use_threads, heads=heads):
        if block is not None:
            yield block


def limited(found: Sequence[RowGroup], limit: int | None) -> list[RowGroup]:
    """The first rows, as many as the limit says."""
    if limit is None:
        return list(found)
    kept = []
    for item in found:
        if limit <= 0:
            break
        if item.count > limit:
            item = item.chosen(np.arange(limit, dtype=np.int64))
        kept.append(item)
        limit -= item.count
    return kept


class _Columns:
    """Fills rows of matrices from row groups, on any thread."""

    def __init__(self, task: ScanTask) -> None:
        names = task.schema.names
        self._limits = task.limits
        keys = set(task.partition_schema.names)
        self._keys = {name: place for place, name in enumerate(names) if name in keys}
        # The column of the matrix for each column that files have.
        own = [place for place, name in enumerate(names) if name not in keys]
        self._columns = np.array(own, np.int64)

    def fill(
        self, matrix: Matrix, first: int, item: RowGroup, reader: RowGroupReader, bound: BoundFile
    ) -> None:
        """Fill rows of a matrix, from ``first`` on, from a row group."""
        columns, piece = bound.columns, item.piece
        if reader.num_rows != piece.num_rows:
            # Rows would be left as they are in memory, or not fit.
            raise DatasetError(
                f"{piece.path} has changed since the scan was planned: plan it again"
            )
        made_up = len(self._keys) + int(np.count_nonzero(~columns.has))
        width = made_up * matrix.kind.dtype.itemsize
        check_made_up(piece.num_rows, max(width, columns.null_width), self._limits, piece.path)
        rows = item.wanted()
        if columns.is_plain:
            has = columns.has
            positions = columns.selection.positions
            matrix.fill(reader, positions, self._columns[has], first, rows)
            matrix.fill_nulls(self._columns[~has], first, item.count)
        else:
            batch = columns.adapt(reader.read(columns.selection), piece.path)
            batch = batch if rows is None else batch.take(rows)
            matrix.fill_batch(batch, self._columns, first)
        for key, value in piece.partition:
            if key in self._keys:
                matrix.fill_value(value, self._keys[key], first, item.count)
