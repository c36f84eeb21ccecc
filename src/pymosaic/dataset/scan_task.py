"""Reading pieces, on any machine: what every task of a scan shares."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from pymosaic.dataset.file_columns import FileColumns
from pymosaic.dataset.heads import BROKEN_FILE, FileHead, HeadStore, open_parts, read_head
from pymosaic.dataset.partitioning import Partition
from pymosaic.dataset.plan import BucketShares, Piece, excluded, residual_filter
from pymosaic.dataset.read_ahead import read_ahead
from pymosaic.errors import DatasetError, located
from pymosaic.filters import Filter
from pymosaic.kernels.arrow_export import MemoryBudget
from pymosaic.kernels.catalog import Catalog
from pymosaic.limits import Limits
from pymosaic.row_group_reader import FileParts, RowGroupReader
from pymosaic.source import Source, open_source
from pymosaic.threads import num_threads

__all__ = ["BoundFile", "ColumnBinding", "ScanTask", "warn_skipped"]

_BATCH_ROWS = 65_536
# Compressed bytes that may be on their way; decoded they are a few times as much.
_AHEAD_BYTES = 64 << 20
_REMOTE_READERS = 8

_Unit: TypeAlias = "tuple[_File, int]"
_Outcome: TypeAlias = "pa.RecordBatch | Exception | None"


def warn_skipped(error: Exception, what: str) -> None:
    """Tell that something was left out."""
    warnings.warn(f"skipped {what}: {error}", UserWarning, stacklevel=4)


@dataclass(frozen=True)
class ScanTask:
    """Reads pieces of a plan; the same for all of them, and picklable.

    Parameters
    ----------
    schema : pyarrow.Schema
        Columns of the result, in order.
    partition_schema : pyarrow.Schema
        All columns that come from directories.
    row_filter : Filter or None
        Rows to keep.
    filter_schema : pyarrow.Schema
        The columns of the filter.
    filesystem : object
        Where the files are; None for the local file system.
    limits : Limits
        Caps that files are held to.
    on_error : str
        ``"raise"``, or ``"skip"`` to leave out, with a warning, row groups that cannot be read.
    """

    schema: pa.Schema
    partition_schema: pa.Schema
    row_filter: Filter | None
    filter_schema: pa.Schema
    filesystem: Any
    limits: Limits
    on_error: str = "raise"

    def constants(self, partition: Partition) -> dict[str, pa.Scalar]:
        """The values of a file's partition columns."""
        return {
            key: pa.scalar(value, self.partition_schema.field(key).type) for key, value in partition
        }

    def read(
        self,
        pieces: Iterable[Piece],
        *,
        batch_size: int = _BATCH_ROWS,
        use_threads: bool = True,
        heads: HeadStore | None = None,
        budget: MemoryBudget | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of these pieces that pass the filter, in order.

        Parameters
        ----------
        pieces : iterable of Piece
        batch_size : int
            Rows in a batch, at most.
        use_threads : bool
            Read row groups ahead, and decode buckets on several threads. Row groups of some
            64 MiB (compressed) in all are on their way at a time.
        heads : HeadStore, optional
            Files whose end is known already.
        budget : MemoryBudget, optional
            Arrow memory that all batches may take together.
        """
        reading = _Reading(self, use_threads, heads, budget)
        workers = 1
        if use_threads:
            workers = num_threads() if self.filesystem is None else _REMOTE_READERS
        outcomes = read_ahead(reading.read, reading.units(pieces), workers, _AHEAD_BYTES)
        try:
            for outcome in outcomes:
                if isinstance(outcome, Exception):
                    warn_skipped(outcome, "a row group")
                elif outcome is not None:
                    for start in range(0, outcome.num_rows, batch_size):
                        yield outcome.slice(start, batch_size)
        finally:
            outcomes.close()
            reading.close()


class BoundFile:
    """A scan bound to the catalog and partition of a file.

    Attributes
    ----------
    columns : FileColumns
        The wanted columns that files have.
    any_row : bool
        Whether a row can pass the filter, as far as partition and missing columns tell.
    row_filter : Filter or None
        What is left to test.
    tested : FileColumns or None
        The columns that this looks at.
    """

    def __init__(self, task: ScanTask, columns: FileColumns, partition: Partition) -> None:
        self.columns = columns
        self.any_row, self.row_filter, self.tested = True, None, None
        if task.row_filter is None:
            return
        constants = task.constants(partition)
        catalog = columns.catalog
        for field in task.filter_schema:
            if field.name not in constants and catalog.find(field.name) < 0:
                constants[field.name] = pa.scalar(None, field.type)
        self.any_row, self.row_filter = residual_filter(task.row_filter, constants)
        if self.row_filter is not None:
            schema = pa.schema([task.filter_schema.field(x) for x in self.row_filter.columns])
            self.tested = FileColumns(catalog, schema, columns.path)

    def shares(self) -> BucketShares:
        """How much of each bucket must be read."""
        positions = [self.columns.selection.positions]
        if self.tested is not None:
            positions.append(self.tested.selection.positions)
        return BucketShares(self.columns.catalog, positions)

    def excludes(self, head: FileHead, row_group: int) -> bool:
        """Whether partition or statistics tell that no row of a row group passes."""
        if not self.any_row:
            return True
        if self.row_filter is None or self.tested is None:
            return False
        return excluded(head, row_group, self.row_filter, self.tested.ordered_types)


class ColumnBinding:
    """Binds a scan to files; what files of one catalog share is worked out once."""

    def __init__(self, task: ScanTask) -> None:
        self._task = task
        names = set(task.partition_schema.names)
        self._schema = task.schema
        if names.intersection(task.schema.names):
            self._schema = pa.schema([item for item in task.schema if item.name not in names])
        self._columns: dict[Catalog, FileColumns] = {}
        self._passes: dict[Partition, bool] = {}
        self._lock = threading.Lock()

    def partition_passes(self, partition: Partition) -> bool:
        """Whether the values of a partition leave a chance to the filter."""
        if self._task.row_filter is None:
            return True
        passes = self._passes.get(partition)
        if passes is None:
            passes = residual_filter(self._task.row_filter, self._task.constants(partition))[0]
            self._passes[partition] = passes
        return passes

    def bind(self, head: FileHead, partition: Partition, path: str) -> BoundFile:
        """Find the scan's columns in a file."""
        with self._lock:
            columns = self._columns.get(head.catalog)
            if columns is None:
                columns = FileColumns(head.catalog, self._schema, path)
                self._columns[head.catalog] = columns
        return BoundFile(self._task, columns, partition)


class _File:
    """One piece while it is read; opened by the first of its row groups, closed by the last."""

    def __init__(self, piece: Piece, reading: _Reading) -> None:
        self.piece = piece
        self._reading = reading
        self._lock = threading.Lock()
        self._left = len(piece.row_groups)
        self._source: Source | None = None
        self._opened: tuple[FileHead, FileParts, BoundFile] | None = None
        self._broken: Exception | None = None

    def open(self) -> tuple[FileHead, FileParts, BoundFile]:
        """Open the file, unless that is done."""
        with self._lock:
            if self._opened is None:
                if self._broken is not None:
                    raise self._broken
                try:
                    self._opened = self._open()
                except BROKEN_FILE as error:
                    self._broken = error
                    raise
            return self._opened

    def _open(self) -> tuple[FileHead, FileParts, BoundFile]:
        task, path = self._reading.task, self.piece.path
        heads = self._reading.heads
        head = None if heads is None else heads.get(path)
        source = open_source(path, task.filesystem, None if head is None else head.size)
        self._source = source
        if head is None:
            head = read_head(source, task.limits)
        if head.size != source.size or self.piece.row_groups[-1] >= head.index.num_row_groups:
            raise DatasetError(f"{path} has changed since the scan was planned: plan it again")
        bound = self._reading.binding.bind(head, self.piece.partition, path)
        return head, open_parts(head, source, task.limits), bound

    def finish_row_group(self) -> None:
        """Close the file if this was the last row group."""
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self._close()

    def close(self) -> None:
        """Close the file if it is open."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        self._opened = None
        if self._source is not None:
            self._source.close()


class _Reading:
    """One pass over some pieces."""

    def __init__(
        self,
        task: ScanTask,
        use_threads: bool,
        heads: HeadStore | None,
        budget: MemoryBudget | None,
    ) -> None:
        self.task = task
        self.heads = heads
        self.binding = ColumnBinding(task)
        self._use_threads = use_threads
        self._budget = budget
        self._files: dict[int, _File] = {}

    def units(self, pieces: Iterable[Piece]) -> Iterator[tuple[_Unit, int]]:
        """Row groups to read, each with what it weighs."""
        for piece in pieces:
            file = _File(piece, self)
            self._files[id(file)] = file
            weight = piece.num_bytes // max(1, len(piece.row_groups))
            for row_group in piece.row_groups:
                yield (file, row_group), weight

    def read(self, unit: _Unit) -> _Outcome:
        """The rows of one row group that pass, or None."""
        file, row_group = unit
        try:
            return self._read(file, row_group)
        except BROKEN_FILE as error:
            if self.task.on_error == "raise":
                raise
            return error
        finally:
            file.finish_row_group()

    def _read(self, file: _File, row_group: int) -> pa.RecordBatch | None:
        head, parts, bound = file.open()
        path = file.piece.path
        if bound.excludes(head, row_group):
            return None
        with located(path):
            reader = RowGroupReader(parts, row_group, self._use_threads, self._budget)
            mask = None
            if bound.tested is not None and bound.row_filter is not None:
                tested = reader.read(bound.tested.selection, keep_buckets=True)
                mask = bound.row_filter.mask(bound.tested.adapt(tested, path))
                if mask.true_count == 0:
                    return None
            batch = reader.read(bound.columns.selection)
        if mask is not None and mask.true_count < reader.num_rows:
            batch = batch.filter(mask)
        return self._complete(bound.columns.adapt(batch, path), file.piece.partition)

    def _complete(self, batch: pa.RecordBatch, partition: Partition) -> pa.RecordBatch:
        """Add the columns that come from directories."""
        schema = self.task.schema
        if len(batch.schema) == len(schema):
            return batch
        for key, value in partition:
            place = schema.get_field_index(key)
            if place >= 0:
                item = schema.field(place)
                batch = batch.append_column(
                    item, pa.repeat(pa.scalar(value, item.type), batch.num_rows)
                )
        if batch.schema.names != schema.names:
            batch = batch.select(schema.names)
        return batch

    def close(self) -> None:
        """Close what is open."""
        for file in self._files.values():
            file.close()
