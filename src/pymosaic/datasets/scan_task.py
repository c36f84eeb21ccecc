"""Reading pieces, on any machine: what every task of a scan shares."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import pyarrow as pa

from pymosaic.datasets.binding import BoundFile, ColumnBinding
from pymosaic.datasets.file_columns import FileColumns
from pymosaic.datasets.files import warn_skipped
from pymosaic.datasets.head_store import BROKEN_FILE, HeadStore, told_if_gone
from pymosaic.datasets.partitioning import Partition
from pymosaic.datasets.plan import Piece
from pymosaic.errors import DatasetError, LimitExceededError, located
from pymosaic.file.open_file import OpenFile, read_head
from pymosaic.file.original_schema import OriginalSchema
from pymosaic.file.restoration import Restoration
from pymosaic.file.row_group_reader import RowGroupReader
from pymosaic.filters.row_filter import Filter
from pymosaic.io import Source, open_source, resolve_location, status_of, time_of
from pymosaic.kernels.arrow_export import MemoryBudget
from pymosaic.keywords import checked_keywords
from pymosaic.limits import Limits
from pymosaic.threads import num_threads, read_ahead, read_ahead_if_slow

__all__ = ["BATCH_ROWS", "PartitionColumns", "ScanTask", "check_made_up", "read_pieces"]

BATCH_ROWS = 65_536
# Maximum compressed bytes in flight; decoded, they take a few times as much.
_AHEAD_BYTES = 64 << 20
_REMOTE_READERS = 8
# Compressed bytes that a thread might read in less time than it takes to hand them to another.
_LIGHT_BYTES = 64 << 10
# The width of the widest value of a partition column, except text.
_PARTITION_WIDTH = 16
# Files whose dictionaries a scan keeps.
_REMEMBERED_FILES = 64

_Unit: TypeAlias = "tuple[_File, int]"
_Result = TypeVar("_Result")
_UnitType = TypeVar("_UnitType")
_OutcomeType = TypeVar("_OutcomeType", covariant=True)
_PieceType = TypeVar("_PieceType", contravariant=True)


@dataclass(frozen=True)
class ScanTask:
    """Reads pieces of a plan; the same for all of them, and picklable.

    Parameters
    ----------
    schema : pyarrow.Schema
        Columns of the result, in order, in the types that are stored.
    partition_schema : pyarrow.Schema
        All columns that come from directories.
    row_filter : Filter or None
        Rows to keep.
    filter_schema : pyarrow.Schema
        The columns of the filter.
    filesystem : object
        Where the files are; None for the local file system.
    limits : Limits
        Limits that files must keep to.
    on_error : str
        ``"raise"``, or ``"skip"`` to skip row groups that cannot be read, with a warning.
    trust_statistics : bool
        Whether statistics that no checksum covers may rule out row groups.
    original : pyarrow.Schema, optional
        The columns of the result in the types that they were written from, if those differ.
    changed : tuple of int
        The columns, by number, whose types in it are not those of ``schema``.
    """

    schema: pa.Schema
    partition_schema: pa.Schema
    row_filter: Filter | None
    filter_schema: pa.Schema
    filesystem: Any
    limits: Limits
    on_error: str = "raise"
    trust_statistics: bool = False
    original: pa.Schema | None = None
    changed: tuple[int, ...] = ()

    @property
    def output_schema(self) -> pa.Schema:
        """The schema of the batches that are read."""
        return self.schema if self.original is None else self.original

    def selected(self, names: Sequence[str]) -> ScanTask:
        """The same rows with some of the columns, by their whole names."""
        places = [self.schema.get_field_index(name) for name in names]
        schema = pa.schema([self.schema.field(place) for place in places], self.schema.metadata)
        if self.original is None:
            return replace(self, schema=schema)
        original = [self.original.field(place) for place in places]
        known = set(self.changed)
        return replace(
            self,
            schema=schema,
            original=pa.schema(original, self.original.metadata),
            changed=tuple(number for number, place in enumerate(places) if place in known),
        )

    def constants(self, partition: Partition) -> dict[str, pa.Scalar]:
        """The values of a file's partition columns."""
        return {
            key: pa.scalar(value, self.partition_schema.field(key).type) for key, value in partition
        }

    @checked_keywords()
    def read(
        self,
        pieces: Iterable[Piece],
        *,
        batch_size: int = BATCH_ROWS,
        use_threads: bool = True,
        heads: HeadStore | None = None,
        budget: MemoryBudget | None = None,
        binding: ColumnBinding | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of these pieces that pass the filter, in order.

        Parameters
        ----------
        pieces : iterable of Piece
        batch_size : int
            Maximum number of rows in a batch.
        use_threads : bool
            Whether to read row groups ahead and decode buckets on several threads. Row groups of
            about 64 MiB (compressed) in total are in flight at a time.
        heads : HeadStore, optional
            Heads of files that were read before.
        budget : MemoryBudget, optional
            Arrow memory that all batches may take together.
        binding : ColumnBinding, optional
            The plan's binding, if it was made here: columns are then not looked up again.
        """
        completing = _Completing(self)
        for batch in self.visit(
            pieces,
            completing.read,
            use_threads=use_threads,
            heads=heads,
            budget=budget,
            binding=binding,
        ):
            if batch is not None:
                for start in range(0, batch.num_rows, batch_size):
                    yield batch.slice(start, batch_size)

    def visit(
        self,
        pieces: Iterable[Piece],
        visit: Callable[[RowGroupReader, BoundFile, Piece], _Result],
        *,
        use_threads: bool = True,
        heads: HeadStore | None = None,
        budget: MemoryBudget | None = None,
        binding: ColumnBinding | None = None,
    ) -> Iterator[_Result | None]:
        """What ``visit`` makes of each row group, in order; None for those that are skipped.

        Parameters
        ----------
        pieces : iterable of Piece
        visit : callable
            Called with a reader of the row group, the scan bound to its file, and its piece, on
            several threads.
        use_threads, heads, budget, binding
            As for :meth:`read`.
        """
        reading = _Reading(self, visit, use_threads, heads, budget, binding or ColumnBinding(self))
        for outcome in read_pieces(reading, pieces, use_threads, self.filesystem is None):
            if isinstance(outcome, Exception):
                warn_skipped(outcome, "a row group")
                yield None
            else:
                yield outcome


class Reading(Protocol[_UnitType, _OutcomeType, _PieceType]):
    """One pass over some pieces."""

    def units(self, pieces: Iterable[_PieceType]) -> Iterator[tuple[_UnitType, int]]:
        """What threads read, each with its weight in bytes."""
        ...

    def read(self, unit: _UnitType) -> _OutcomeType:
        """Read a unit, on any thread."""
        ...

    def close(self) -> None:
        """Close what is open."""


def read_pieces(
    reading: Reading[_UnitType, _OutcomeType, _PieceType],
    pieces: Iterable[_PieceType],
    use_threads: bool,
    is_local: bool,
) -> Iterator[_OutcomeType]:
    """Read pieces ahead of the consumer, in order; what is open is closed at the end."""
    read, units = reading.read, reading.units(pieces)
    if is_local:
        workers = num_threads() if use_threads else 1
        outcomes = read_ahead_if_slow(read, units, workers, _AHEAD_BYTES, light=_LIGHT_BYTES)
    else:
        outcomes = read_ahead(read, units, _REMOTE_READERS if use_threads else 1, _AHEAD_BYTES)
    try:
        yield from outcomes
    finally:
        outcomes.close()
        reading.close()


class PartitionColumns:
    """Adds the wanted columns that come from partitions.

    Parameters
    ----------
    schema : pyarrow.Schema
        All wanted columns.
    keys : iterable of str
        The partition columns.
    """

    def __init__(self, schema: pa.Schema, keys: Iterable[str]) -> None:
        places = {key: schema.get_field_index(key) for key in keys}
        self.added: dict[str, pa.Field] = {
            key: schema.field(place) for key, place in places.items() if place >= 0
        }
        self._order = _order(len(schema), [places[key] for key in self.added])

    def complete(self, batch: pa.RecordBatch, partition: Partition) -> pa.RecordBatch:
        """Add the values of a partition, and put columns in order."""
        for key, value in partition:
            field = self.added.get(key)
            if field is not None:
                array = pa.repeat(pa.scalar(value, field.type), batch.num_rows)
                batch = batch.append_column(field, array)
        return batch if self._order is None else batch.select(self._order)


class _File:
    """One piece while it is read; opened for its first row group, closed after its last."""

    def __init__(self, piece: Piece, reading: _Reading[Any]) -> None:
        self.piece = piece
        self._reading = reading
        self._lock = threading.Lock()
        self._left = len(piece.row_groups)
        self._source: Source | None = None
        self._opened: tuple[OpenFile, BoundFile] | None = None
        self._broken: Exception | None = None

    def open(self) -> tuple[OpenFile, BoundFile]:
        """Open the file, unless it is already open."""
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

    def _open(self) -> tuple[OpenFile, BoundFile]:
        task, path = self._reading.task, self.piece.path
        heads = self._reading.heads
        head = None if heads is None else heads.get(path)
        source = open_source(path, task.filesystem, None if head is None else head.size)
        self._source = source
        if head is None:
            head = read_head(source, task.limits)
            is_same = self._is_as_planned(source)
        else:
            is_same = head.is_of(source.size, source.version)
        if not is_same or self.piece.row_groups[-1] >= head.index.num_row_groups:
            raise DatasetError(f"{path} has changed since the scan was planned: plan it again")
        bound = self._reading.binding.bind(head, self.piece.partition, path)
        return head.open(source, task.limits), bound

    def _is_as_planned(self, source: Source) -> bool:
        """Whether a file, opened elsewhere than it was planned, is the same as far as known."""
        if self.piece.found is None:
            return True
        size, modified = self.piece.found
        version = source.version
        if version is None and modified is not None:
            status = status_of(resolve_location(self.piece.path, self._reading.task.filesystem))
            version = None if status is None else status.version
        return source.size == size and (None in (modified, version) or time_of(version) == modified)

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


class _Reading(Generic[_Result]):
    """One pass over some pieces."""

    def __init__(
        self,
        task: ScanTask,
        visit: Callable[[RowGroupReader, BoundFile, Piece], _Result],
        use_threads: bool,
        heads: HeadStore | None,
        budget: MemoryBudget | None,
        binding: ColumnBinding,
    ) -> None:
        self.task = task
        self.heads = heads
        self.binding = binding
        self._visit = visit
        self._use_threads = use_threads
        self._budget = budget
        self._files: dict[int, _File] = {}

    def units(self, pieces: Iterable[Piece]) -> Iterator[tuple[_Unit, int]]:
        """The row groups to read, each with its weight."""
        for piece in pieces:
            file = _File(piece, self)
            self._files[id(file)] = file
            weight = piece.num_bytes // max(1, len(piece.row_groups))
            for row_group in piece.row_groups:
                yield (file, row_group), weight

    def read(self, unit: _Unit) -> _Result | Exception:
        """What becomes of one row group."""
        file, row_group = unit
        path = file.piece.path
        try:
            with told_if_gone(path, self.task.filesystem):
                opened, bound = file.open()
                with located(path):
                    reader = RowGroupReader(opened, row_group, self._use_threads, self._budget)
                    return self._visit(reader, bound, file.piece)
        except BROKEN_FILE as error:
            if self.task.on_error == "raise":
                raise
            return error
        finally:
            file.finish_row_group()

    def close(self) -> None:
        """Close what is open."""
        for file in self._files.values():
            file.close()


class _Completing:
    """Makes batches of a scan from row groups of files."""

    def __init__(self, task: ScanTask) -> None:
        self._limits = task.limits
        self._schema = task.schema
        self._original = task.original
        self._changed = task.changed
        self._with_dictionary = [
            place
            for place in task.changed
            if pa.types.is_dictionary(task.output_schema.field(place).type)
        ]
        # By path; row groups of a file are often read one after the other.
        self._dictionaries: dict[str, dict[int, pa.Array]] = {}
        self._restoration: Restoration | None = None
        self._lock = threading.Lock()
        self._partitions = PartitionColumns(task.schema, task.partition_schema.names)

    def read(self, reader: RowGroupReader, bound: BoundFile, piece: Piece) -> pa.RecordBatch | None:
        """The rows of one row group that pass the filter, or None."""
        # The plan has skipped what statistics rule out. A partition in which no row can pass has
        # no filter to test.
        if not bound.any_row:
            return None
        wanted, tested = bound.columns.selection, bound.tested
        batch: pa.RecordBatch | None
        if tested is None or bound.row_filter is None:
            batch = reader.read(wanted)
        else:
            adapt = partial(tested.adapt, path=piece.path)
            batch = reader.read_matching(wanted, bound.row_filter, tested.selection, adapt)
        if batch is None:
            return None
        self._check_size(batch.num_rows, bound.columns, piece)
        batch = self._partitions.complete(bound.columns.adapt(batch, piece.path), piece.partition)
        if self._original is None:
            return batch
        return self._restored(batch, self._original, reader, piece.path)

    def _restored(
        self, batch: pa.RecordBatch, original: pa.Schema, reader: RowGroupReader, path: str
    ) -> pa.RecordBatch:
        """The batch in the types that it was written from."""
        restoration = self._restoration
        if restoration is None or not batch.schema.equals(restoration.stored):
            restoration = Restoration.between(batch.schema, original, self._changed)
            self._restoration = restoration
        dictionaries: dict[int, pa.Array] = {}
        if self._with_dictionary:
            with self._lock:
                if path not in self._dictionaries:
                    if len(self._dictionaries) >= _REMEMBERED_FILES:
                        self._dictionaries.clear()
                    self._dictionaries[path] = self._find_dictionaries(reader.file)
                dictionaries = self._dictionaries[path]
        limit = self._limits.max_row_group_bytes
        return restoration.restored(batch, dictionaries, limit)

    def _find_dictionaries(self, file: OpenFile) -> dict[int, pa.Array]:
        """Dictionaries of wanted columns, by number in the result."""
        names = [self._schema.field(place).name for place in self._with_dictionary]
        found = OriginalSchema(file).dictionaries(file.catalog.find_many(names))
        return {self._with_dictionary[number]: array for number, array in found.items()}

    def _check_size(self, num_rows: int, columns: FileColumns, piece: Piece) -> None:
        width = columns.null_width + sum(
            _PARTITION_WIDTH + len(str(value))
            for key, value in piece.partition
            if key in self._partitions.added
        )
        check_made_up(num_rows, width, self._limits, piece.path)


def check_made_up(num_rows: int, width: int, limits: Limits, path: str) -> None:
    """Apply the limit to columns that are made up, not read: a file may claim any row count."""
    limit = limits.max_row_group_bytes
    if num_rows * width > limit:
        raise LimitExceededError(
            f"{num_rows} rows, with columns that the file lacks, take more than "
            f"Limits.max_row_group_bytes ({limit})",
            path,
            "row group",
        )


def _order(num_columns: int, last: list[int]) -> list[int] | None:
    """The selection that moves the last columns to these places; None if they are there already."""
    kept = num_columns - len(last)
    if last == list(range(kept, num_columns)):
        return None
    sources = dict(zip(last, range(kept, num_columns), strict=True))
    others = iter(range(kept))
    return [sources[place] if place in sources else next(others) for place in range(num_columns)]
