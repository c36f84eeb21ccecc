"""Scans of a dataset: columns, filter, limit; the plan and the results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from pymosaic.datasets.binding import BoundFile, ColumnBinding
from pymosaic.datasets.discovery import DataFile
from pymosaic.datasets.file_columns import select_fields
from pymosaic.datasets.files import DatasetFiles
from pymosaic.datasets.plan import (
    FilePlan,
    Piece,
    ScanPlan,
    Share,
    found_as,
    make_pieces,
    plan_file,
)
from pymosaic.datasets.scan_task import BATCH_ROWS, ScanTask
from pymosaic.datasets.summary import ScanSummary, summarize
from pymosaic.errors import InvalidOptionError
from pymosaic.file.open_file import FileHead
from pymosaic.file.projection import Columns, named
from pymosaic.kernels.arrow_export import MemoryBudget
from pymosaic.kernels.arrow_source import catalog_from_arrow
from pymosaic.keywords import checked_keywords

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

    from pymosaic.file.matrix import Nulls
    from pymosaic.file.taking import Indices
    from pymosaic.profiling.profile import Profile
    from pymosaic.progress import Progress

__all__ = ["PIECE_BYTES", "Scan", "check_positive"]

PIECE_BYTES = 128 << 20
_WHOLE_ROW_GROUPS = 1 << 40


def check_positive(option: str, value: int) -> None:
    """Raise unless an option is a whole number of at least 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise InvalidOptionError(f"{option} must be an int of at least 1, got {value!r}")


class _Totals:
    """Totals of the files that were visited."""

    def __init__(self) -> None:
        self.row_groups = 0
        self.buckets = 0


class Scan:
    """A selection of columns and rows of a dataset; nothing is read until requested.

    Made by :meth:`pymosaic.Dataset.scan`.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> pymosaic.write_table(pa.table({"n": range(5), "text": ["x"] * 5}), "five.mosaic")
    >>> scan = pymosaic.dataset("five.mosaic").scan(columns=["n"], filters=[("n", ">", 2)])
    >>> print(scan.explain())
    Scan of 1 of 2 columns in five.mosaic
      filter: n > 2
      files                    1 of               1  (0 pruned)
      row groups               1 of               1  (0 pruned)
      buckets                  1 of               2  (1 pruned)
      bytes ...
    >>> pieces = scan.plan().pieces
    >>> [batch.to_pydict() for batch in scan.task().read(pieces)]
    [{'n': [3, 4]}]
    """

    def __init__(
        self, files: DatasetFiles, num_columns: int, task: ScanTask, limit: int | None
    ) -> None:
        self._files = files
        self._num_columns = num_columns
        self._task = task
        self._limit = limit
        self._binding = ColumnBinding(task)

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return self._task.output_schema

    def task(self) -> ScanTask:
        """The task that reads pieces of the plan, here or on another machine."""
        return self._task

    @checked_keywords()
    def plan(self, max_piece_bytes: int = PIECE_BYTES) -> ScanPlan:
        """Choose what to read, based on names, partition values and statistics, not on data.

        Parameters
        ----------
        max_piece_bytes : int
            A file with more wanted (compressed) bytes is split into several pieces, of at least one
            row group each.
        """
        check_positive("max_piece_bytes", max_piece_bytes)
        totals = _Totals()
        plans = [plan for plan in self._plan_files(totals) if plan.row_groups]
        pieces = tuple(make_pieces(plans, max_piece_bytes))
        return ScanPlan(
            pieces,
            Share(len(self._files.files), len(plans)),
            Share(totals.row_groups, sum(len(plan.row_groups) for plan in plans)),
            Share(
                totals.buckets, sum(item.num_buckets for plan in plans for item in plan.row_groups)
            ),
            Share(self._files.num_bytes, sum(piece.num_bytes for piece in pieces)),
        )

    def _bind(self, counts: bool) -> Iterator[tuple[DataFile, FileHead, BoundFile]]:
        """Files that partition values do not rule out, one after the other.

        Where heads alone decide about rows, they must be those of the files as they are.
        """
        binding = self._binding
        possible = (file for file in self._files.files if binding.partition_passes(file.partition))
        check = counts or self._task.row_filter is not None
        for file, head in self._files.load(possible, check):
            yield file, head, binding.bind(head, file.partition, file.path)

    def _plan_files(self, totals: _Totals | None = None) -> Iterator[FilePlan]:
        left = None if self._task.row_filter is not None else self._limit
        for file, head, bound in self._bind(counts=False):
            if totals is not None:
                totals.row_groups += head.index.num_row_groups
                totals.buckets += head.index.num_row_groups * head.catalog.num_buckets
            if left is not None and left <= 0:
                if totals is None:
                    return
                continue
            plan = plan_file(
                head, file.path, file.partition, bound.shares, partial(bound.excludes, head)
            )
            if left is not None:
                plan = plan.first_rows(left)
                left -= plan.num_rows
            yield plan

    @checked_keywords()
    def to_batches(
        self, batch_size: int = BATCH_ROWS, use_threads: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """Read in batches, file by file in the order of :attr:`Dataset.files`.

        Parameters
        ----------
        batch_size : int
            Maximum number of rows in a batch.
        use_threads : bool
            Read ahead, and decode on several threads.
        """
        check_positive("batch_size", batch_size)
        return self._batches(batch_size, use_threads, None)

    def _batches(
        self, batch_size: int, use_threads: bool, budget: MemoryBudget | None
    ) -> Iterator[pa.RecordBatch]:
        left = self._limit
        if left == 0:
            return
        for batch in self._read(batch_size, use_threads, budget):
            if left is None:
                yield batch
                continue
            yield batch.slice(0, left)
            left -= batch.num_rows
            if left <= 0:
                return

    def _read(
        self, batch_size: int, use_threads: bool, budget: MemoryBudget | None
    ) -> Iterator[pa.RecordBatch]:
        """All rows that pass; at least as many as the limit."""
        return self._task.read(
            # Files are planned as they are reached: the first rows need not wait for the last file.
            make_pieces(self._plan_files(), PIECE_BYTES),
            batch_size=batch_size,
            use_threads=use_threads,
            heads=self._files.heads,
            budget=budget,
            binding=self._binding,
        )

    @checked_keywords()
    def to_table(self, use_threads: bool = True) -> pa.Table:
        """Read everything into an Arrow table with one chunk per row group."""
        budget = MemoryBudget(self._task.limits.max_table_bytes)
        batches = self._batches(_WHOLE_ROW_GROUPS, use_threads, budget)
        return pa.Table.from_batches(list(batches), self.schema)

    @checked_keywords()
    def to_reader(self, batch_size: int = BATCH_ROWS) -> pa.RecordBatchReader:
        """A stream of batches, for consumers of Arrow streams."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches(batch_size))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_pandas(
        self,
        index: str | Iterable[str] | None = None,
        dtype_backend: str | None = None,
        **options: Any,
    ) -> pd.DataFrame:
        """Read everything into a pandas DataFrame.

        Parameters
        ----------
        index, dtype_backend
            As for :func:`pymosaic.read_pandas`.
        **options
            Passed to :meth:`pyarrow.Table.to_pandas`.
        """
        from pymosaic.arrow.frames import table_to_frame

        return table_to_frame(self.to_table(), index, dtype_backend, **options)

    @checked_keywords()
    def to_numpy(
        self,
        columns: Columns | None = None,
        *,
        dtype: npt.DTypeLike = "float32",
        nulls: Nulls = "nan",
        order: Literal["C", "F"] = "C",
        out: npt.NDArray[Any] | None = None,
        use_threads: bool = True,
    ) -> tuple[npt.NDArray[Any], list[str]]:
        """Read columns of numbers into a matrix; see :meth:`pymosaic.MosaicFile.to_numpy`.

        Parameters
        ----------
        columns : list of str or callable, optional
            Columns of the scan, in the order of the matrix; all by default.
        dtype, nulls, order, out, use_threads
            As for :meth:`pymosaic.MosaicFile.to_numpy`. Columns that a file does not have are null
            there.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> table = pa.table({"x": [1, 2, 3], "day": [1, 1, 2]})
        >>> _ = pymosaic.write_dataset(table, "days", partition_by=["day"])
        >>> matrix, names = pymosaic.dataset("days").scan(filters=[("x", ">", 1)]).to_numpy()
        >>> matrix.tolist(), names
        ([[2.0, 1.0], [3.0, 2.0]], ['x', 'day'])
        """
        from pymosaic.datasets.matrix import read_matrix
        from pymosaic.file.matrix import MatrixType

        kind = MatrixType.of(dtype, nulls, order)
        task = self._task
        names = named(columns, lambda: self.schema)
        if names is not None:
            catalog = catalog_from_arrow(task.schema, 1)
            schema = select_fields(task.schema, catalog, names, "columns")
            task = replace(task, schema=schema, original=None, changed=())
        # One row group each, so that each knows its rows of the matrix.
        pieces = tuple(make_pieces(self._plan_files(), 0))
        return read_matrix(task, pieces, kind, self._limit, out, use_threads, self._files.heads)

    @checked_keywords()
    def take(self, indices: Indices, use_threads: bool = True) -> pa.Table:
        """Read rows by their number among those of the scan, in the order given.

        Only the row groups that hold them are read; with a filter, its columns everywhere.

        Parameters
        ----------
        indices : list of int, numpy array or Arrow array
            Numbers of rows, from 0; a number may be repeated.
        use_threads : bool
            Read ahead, and decode on several threads.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"n": range(6)}), "six.mosaic")
        >>> pymosaic.dataset("six.mosaic").scan(filters="n > 2").take([2, 0])["n"].to_pylist()
        [5, 3]
        """
        from pymosaic.datasets.matrix import limited, row_groups
        from pymosaic.file.taking import find_rows, taken

        if self._task.on_error == "skip":
            raise InvalidOptionError("take is not possible with on_error='skip'")
        heads = self._files.heads
        pieces = tuple(make_pieces(self._plan_files(), 0))
        found = limited(row_groups(self._task, pieces, use_threads, heads), self._limit)
        places = find_rows(indices, [item.count for item in found])
        batches = self._task.read(
            [found[group].piece for group, _ in places.groups],
            batch_size=_WHOLE_ROW_GROUPS,
            use_threads=use_threads,
            heads=heads,
            budget=MemoryBudget(self._task.limits.max_table_bytes),
        )
        return taken(batches, places, self.schema)

    @checked_keywords()
    def describe(
        self,
        *,
        quantiles: Iterable[float] = (0.25, 0.5, 0.75),
        progress: Progress | None = None,
        use_threads: bool = True,
    ) -> Profile:
        """Count, nulls, range, mean, quantiles and distinct values of each column, in one pass.

        Parameters
        ----------
        quantiles, progress
            As for :meth:`pymosaic.MosaicFile.describe`.
        use_threads : bool
            Read ahead, and decode and compute on several threads.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"n": range(1000)}), "numbers.mosaic")
        >>> profile = pymosaic.dataset("numbers.mosaic").scan(filters="n < 100").describe()
        >>> profile["n"]["mean"], profile["n"]["maximum"]
        (49.5, '99')
        """
        from pymosaic.profiling.columns import check_quantiles
        from pymosaic.profiling.profile import profile_batches
        from pymosaic.progress import Meter

        wanted = check_quantiles(quantiles)
        stored = self._stored()
        return profile_batches(
            stored._batches(_WHOLE_ROW_GROUPS, use_threads, None),
            stored.schema,
            self.schema,
            wanted,
            Meter(progress, None, "rows"),
            use_threads,
        )

    def _stored(self) -> Scan:
        """The scan in the types that are stored."""
        if self._task.original is None:
            return self
        task = replace(self._task, original=None, changed=())
        return Scan(self._files, self._num_columns, task, self._limit)

    def count_rows(self) -> int:
        """Count rows, without reading data if partition values and statistics suffice."""
        count = 0
        open_questions: list[Piece] = []
        for file, head, bound in self._bind(counts=True):
            undecided = []
            for row_group in range(head.index.num_row_groups):
                if bound.excludes(head, row_group):
                    continue
                num_rows = head.index.row_count(row_group)
                if bound.covers(head, row_group):
                    count += num_rows
                elif num_rows:
                    undecided.append((row_group, num_rows))
            if undecided:
                row_groups, rows = zip(*undecided, strict=True)
                found = found_as(head, file.path)
                open_questions.append(
                    Piece(file.path, row_groups, sum(rows), 0, file.partition, found)
                )
        if open_questions:
            task = replace(self._task, schema=pa.schema([]), original=None, changed=())
            batches = task.read(open_questions, heads=self._files.heads)
            count += sum(batch.num_rows for batch in batches)
        return count if self._limit is None else min(count, self._limit)

    def summary(self) -> ScanSummary | None:
        """What metadata alone tells about the columns: see :mod:`pymosaic.datasets.summary`."""
        return (
            None
            if self._limit is not None
            else summarize(self._task.schema, self._bind(counts=True))
        )

    @property
    def _base(self) -> str:
        """Where the rows come from, for messages."""
        return self._files.base

    def explain(self) -> str:
        """Describe what would be read and what is pruned."""
        plan = self.plan()
        return self._described(
            plan, ("files", "row_groups", "buckets", "bytes"), f"{len(plan.pieces)} pieces"
        )

    def _described(self, plan: Any, shares: Iterable[str], pieces: str) -> str:
        lines = [f"Scan of {len(self.schema)} of {self._num_columns} columns in {self._base}"]
        if self._task.row_filter is not None:
            lines.append(f"  filter: {self._task.row_filter}")
        if self._limit is not None:
            lines.append(f"  limit: {self._limit} rows")
        for name in shares:
            share: Share = getattr(plan, name)
            lines.append(
                f"  {name.replace('_', ' '):<11}{share.to_read:>15,} of {share.total:>15,}"
                f"  ({share.pruned:,} pruned)"
            )
        lines.append(f"  {pieces}, {plan.num_rows:,} rows before filtering")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from pymosaic.notebook import facts_html, schema_summary

        row_filter = self._task.row_filter
        return facts_html(
            f"Scan of {self._base}",
            [
                *schema_summary(self.schema.names, self.schema.types),
                ("of", f"{self._num_columns:,} columns"),
                ("filter", "none" if row_filter is None else str(row_filter)[:1000]),
                ("limit", "none" if self._limit is None else f"{self._limit:,} rows"),
            ],
        )

    def __repr__(self) -> str:
        module = type(self).__module__.rsplit(".", 1)[0].removesuffix(".datasets")
        return (
            f"<{module}.{type(self).__name__} of {len(self.schema)} columns in {self._base}"
            f"{'' if self._task.row_filter is None else ', filtered'}"
            f"{'' if self._limit is None else f', at most {self._limit} rows'}>"
        )
