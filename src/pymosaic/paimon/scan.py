"""Scans of a Paimon table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NoReturn, cast

import pyarrow as pa

from pymosaic.datasets.plan import Share
from pymosaic.datasets.scan import PIECE_BYTES, Scan, check_positive
from pymosaic.errors import UnsupportedFeatureError
from pymosaic.kernels.arrow_export import MemoryBudget
from pymosaic.keywords import checked_keywords
from pymosaic.paimon.merged import deleted_rows
from pymosaic.paimon.row_ranges import MergedRows, RowRange, Rows
from pymosaic.paimon.task import PaimonPiece, PaimonTask

__all__ = ["PaimonPlan", "PaimonScan"]

_WHOLE_RANGES = 1 << 62


@dataclass(frozen=True, slots=True)
class PaimonPlan:
    """What a scan of a table reads.

    Parameters
    ----------
    pieces : tuple of PaimonPiece
        In the order of the resulting rows.
    files : Share
        Column files; the others are pruned, or hold no wanted column.
    row_ranges : Share
        Ranges of rows; the others are pruned by partitions and statistics of manifests.
    bytes : Share
        Sizes of all files, and of those to read.
    """

    pieces: tuple[PaimonPiece, ...]
    files: Share
    row_ranges: Share
    bytes: Share

    @property
    def num_rows(self) -> int:
        """Number of rows in the pieces, before filtering."""
        return sum(piece.num_rows for piece in self.pieces)


class PaimonScan(Scan):
    """A selection of columns and rows of a table; nothing is read until requested.

    Has the methods of :class:`pymosaic.Scan`.
    """

    def __init__(
        self,
        path: str,
        rows: tuple[Rows, ...],
        num_columns: int,
        task: PaimonTask,
        limit: int | None,
    ) -> None:
        self._table_path = path
        self._rows = rows
        self._num_columns = num_columns
        self._task = task  # type: ignore[assignment]
        self._limit = limit

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return self.task().schema

    def task(self) -> PaimonTask:  # type: ignore[override]
        """The task that reads pieces of the plan, here or on another machine."""
        return cast(PaimonTask, cast(object, self._task))

    @checked_keywords()
    def plan(self, max_piece_bytes: int = PIECE_BYTES) -> PaimonPlan:  # type: ignore[override]
        """Choose what to read, by partitions and statistics of manifests; no file is opened.

        Parameters
        ----------
        max_piece_bytes : int
            A row range whose files are larger is split into several pieces, by row groups.
        """
        check_positive("max_piece_bytes", max_piece_bytes)
        task = self.task()
        left = None if task.row_filter is not None else self._limit
        pieces = []
        num_files = num_ranges = 0
        for rows in self._rows:
            if left is not None and left <= 0:
                break
            any_row, tested = task.residual(rows)
            if not any_row:
                continue
            num_ranges += 1
            if isinstance(rows, MergedRows):
                num_files += len(rows.split.files)
                pieces.append(PaimonPiece(rows, rows.num_rows, rows.size))
                left = None
                continue
            needed = {part.file for part in task.layout(rows).parts}
            if tested is not None:
                needed |= {part.file for part in task.layout(rows, tested).parts}
            num_files += len(needed)
            size = sum(rows.files[number].size for number in needed)
            pieces.extend(_parts(rows, size, max_piece_bytes))
            if left is not None and rows.deletions is None:
                left -= rows.num_rows
        all_files = sum(
            len(rows.split.files if isinstance(rows, MergedRows) else rows.files)
            for rows in self._rows
        )
        return PaimonPlan(
            tuple(pieces),
            Share(all_files, num_files),
            Share(len(self._rows), num_ranges),
            Share(sum(rows.size for rows in self._rows), sum(piece.num_bytes for piece in pieces)),
        )

    def _read(
        self, batch_size: int, use_threads: bool, budget: MemoryBudget | None
    ) -> Iterator[pa.RecordBatch]:
        return self.task().read(
            self.plan(_WHOLE_RANGES).pieces,
            batch_size=batch_size,
            use_threads=use_threads,
            budget=budget,
        )

    def count_rows(self) -> int:
        """Count rows, without reading data if partition values and statistics suffice."""
        task = self.task()
        count = 0
        open_questions = []
        for rows in self._rows:
            any_row, tested = task.residual(rows)
            if not any_row:
                continue
            if isinstance(rows, RowRange) and (tested is None or self._covers(rows)):
                count += rows.num_rows - self._num_deleted(rows)
            else:
                open_questions.append(PaimonPiece(rows, rows.num_rows, 0))
        if open_questions:
            task = replace(task, schema=pa.schema([]))
            count += sum(batch.num_rows for batch in task.read(open_questions))
        return count if self._limit is None else min(count, self._limit)

    def _covers(self, rows: RowRange) -> bool:
        tested = self.task().residual(rows)[1]
        if tested is None:
            return True
        statistics = self.task().statistics(rows, tested)
        return bool(tested.covers(statistics, rows.num_rows))

    def _num_deleted(self, rows: RowRange) -> int:
        if rows.deletions is None:
            return 0
        if rows.deletions.count is not None:
            return rows.deletions.count
        return len(deleted_rows(self.task().table, rows.deletions, rows.num_rows))

    def to_numpy(self, *arguments: Any, **options: Any) -> NoReturn:
        """Not supported: the columns of a row range are in several files."""
        raise UnsupportedFeatureError(
            "to_numpy is not supported for Paimon tables: use to_table, to_batches or to_pandas"
        )

    def take(self, *arguments: Any, **options: Any) -> NoReturn:
        """Not supported: the columns of a row range are in several files."""
        raise UnsupportedFeatureError(
            "take is not supported for Paimon tables: read a table with to_table(), and take there"
        )

    def _stored(self) -> PaimonScan:
        return self

    def summary(self) -> None:
        """None: statistics of manifests are not gathered for whole tables."""

    @property
    def _base(self) -> str:
        return self._table_path

    def explain(self) -> str:
        """Describe what would be read and what is pruned."""
        plan = self.plan()
        merged = sum(isinstance(piece.rows, MergedRows) for piece in plan.pieces)
        through = f", {merged} through PyPaimon" if merged else ""
        pieces = f"{len(plan.pieces)} pieces{through}"
        return self._described(plan, ("row_ranges", "files", "bytes"), pieces)


def _parts(rows: RowRange, size: int, max_bytes: int) -> Iterator[PaimonPiece]:
    """A row range in pieces of about equal size."""
    count = max(1, min(-(-size // max_bytes), rows.num_rows))
    bounds = [number * rows.num_rows // count for number in range(count + 1)]
    for start, stop in pairwise(bounds):
        yield PaimonPiece(rows, stop - start, size // count, start, stop)
