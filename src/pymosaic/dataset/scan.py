"""A question to a dataset: columns, filter, limit; its plan and its answers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pymosaic.dataset.plan import FilePlan, ScanPlan, Share, make_pieces, plan_file
from pymosaic.dataset.scan_task import ColumnBinding, ScanTask
from pymosaic.kernels.arrow_export import MemoryBudget

if TYPE_CHECKING:
    from pymosaic.dataset.dataset import Dataset

__all__ = ["Scan"]

_PIECE_BYTES = 128 << 20
_BATCH_ROWS = 65_536
_WHOLE_ROW_GROUPS = 1 << 40


class Scan:
    """Columns and rows of a dataset; nothing is read before it is asked for.

    Made by :meth:`pymosaic.Dataset.scan`.
    """

    def __init__(self, dataset: Dataset, task: ScanTask, limit: int | None) -> None:
        self._dataset = dataset
        self._task = task
        self._limit = limit

    @property
    def schema(self) -> pa.Schema:
        """The columns of the result."""
        return self._task.schema

    def task(self) -> ScanTask:
        """What reads the pieces of the plan, here or on another machine."""
        return self._task

    def plan(self, max_piece_bytes: int = _PIECE_BYTES) -> ScanPlan:
        """Choose what to read: from names, partition values and statistics, not from data.

        Parameters
        ----------
        max_piece_bytes : int
            A file of which more (compressed) bytes are wanted is cut into several pieces, a row
            group at least each.
        """
        binding = ColumnBinding(self._task)
        plans: list[FilePlan] = []
        row_groups = buckets = rows = 0
        possible = [
            file for file in self._dataset._files if binding.partition_passes(file.partition)
        ]
        for file, head in self._dataset._load(possible):
            bound = binding.bind(head, file.partition, file.path)
            row_groups += head.index.num_row_groups
            buckets += head.index.num_row_groups * head.catalog.num_buckets
            plan = plan_file(
                head, file.path, file.partition, bound.shares(), partial(bound.excludes, head)
            )
            if self._limit is not None and self._task.row_filter is None:
                plan = plan.first_rows(self._limit - rows)
            rows += plan.num_rows
            if plan.row_groups:
                plans.append(plan)
        pieces = tuple(make_pieces(plans, max_piece_bytes))
        return ScanPlan(
            pieces,
            Share(len(self._dataset.files), len(plans)),
            Share(row_groups, sum(len(plan.row_groups) for plan in plans)),
            Share(buckets, sum(item.num_buckets for plan in plans for item in plan.row_groups)),
            Share(self._dataset.num_bytes, sum(piece.num_bytes for piece in pieces)),
        )

    def to_batches(
        self, batch_size: int = _BATCH_ROWS, use_threads: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """Read in batches, file by file in the order of paths, rows as they were written."""
        return self._batches(batch_size, use_threads, None)

    def _batches(
        self, batch_size: int, use_threads: bool, budget: MemoryBudget | None
    ) -> Iterator[pa.RecordBatch]:
        left = self._limit
        if left == 0:
            return
        pieces = self.plan().pieces
        heads = self._dataset._heads
        for batch in self._task.read(
            pieces, batch_size=batch_size, use_threads=use_threads, heads=heads, budget=budget
        ):
            if left is None:
                yield batch
                continue
            yield batch.slice(0, left)
            left -= batch.num_rows
            if left <= 0:
                return

    def to_table(self, use_threads: bool = True) -> pa.Table:
        """Read everything into an Arrow table, a chunk per row group."""
        budget = MemoryBudget(self._task.limits.max_table_bytes)
        batches = self._batches(_WHOLE_ROW_GROUPS, use_threads, budget)
        return pa.Table.from_batches(list(batches), self.schema)

    def to_reader(self, batch_size: int = _BATCH_ROWS) -> pa.RecordBatchReader:
        """A stream of batches, for whatever takes Arrow streams."""
        return pa.RecordBatchReader.from_batches(self.schema, self.to_batches(batch_size))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_pandas(self, **options: Any) -> Any:
        """Read everything into a pandas frame; options go to :meth:`pyarrow.Table.to_pandas`."""
        return self.to_table().to_pandas(**options)

    def count_rows(self) -> int:
        """How many rows there are, from metadata as far as it tells."""
        count = self._dataset.count_rows(self._task.row_filter)
        return count if self._limit is None else min(count, self._limit)

    def explain(self) -> str:
        """What would be read, and what is spared."""
        plan = self.plan()
        lines = [
            f"Scan of {len(self.schema)} of {len(self._dataset.schema)} columns "
            f"in {self._dataset.base}"
        ]
        if self._task.row_filter is not None:
            lines.append(f"  filter: {self._task.row_filter}")
        if self._limit is not None:
            lines.append(f"  limit: {self._limit} rows")
        for name in ("files", "row_groups", "buckets", "bytes"):
            share: Share = getattr(plan, name)
            lines.append(
                f"  {name.replace('_', ' '):<11}{share.to_read:>15,} of {share.total:>15,}"
                f"  ({share.pruned:,} pruned)"
            )
        lines.append(f"  {len(plan.pieces)} pieces, {plan.num_rows:,} rows before filtering")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<pymosaic.Scan of {len(self.schema)} columns in {self._dataset.base}"
            f"{'' if self._task.row_filter is None else ', filtered'}"
            f"{'' if self._limit is None else f', {self._limit} rows at most'}>"
        )
