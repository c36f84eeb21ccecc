"""Reading pieces of a table, on any machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import pyarrow as pa

from pymosaic.arrow.statistics import ColumnStatistics
from pymosaic.datasets.partitioning import Partition
from pymosaic.datasets.scan_task import BATCH_ROWS, PartitionColumns, read_pieces
from pymosaic.filters.residual import residual_filter
from pymosaic.filters.row_filter import Filter
from pymosaic.kernels.arrow_export import MemoryBudget
from pymosaic.keywords import checked_keywords
from pymosaic.limits import Limits
from pymosaic.paimon.column_files import ColumnBinder, open_column_file
from pymosaic.paimon.layout import ColumnLayout, LayoutKey, layout_key, make_layout
from pymosaic.paimon.merged import deleted_rows, read_merged
from pymosaic.paimon.range_reader import RangeReader, Span
from pymosaic.paimon.row_ranges import MergedRows, RowRange, Rows
from pymosaic.paimon.schema import TableFields
from pymosaic.paimon.statistics import manifest_statistics
from pymosaic.paimon.table import PaimonTable

__all__ = ["PaimonPiece", "PaimonTask"]

_Unit: TypeAlias = "tuple[RangeReader | None, Span | None, Rows]"


@dataclass(frozen=True, slots=True)
class PaimonPiece:
    """Rows of a table that are read together.

    Parameters
    ----------
    rows : RowRange or MergedRows
    num_rows : int
        Number of rows, before filtering.
    num_bytes : int
        About how many bytes are read, at most.
    start, stop : int, int or None
        Of a row range, only the row groups that begin at these rows.
    """

    rows: Rows
    num_rows: int
    num_bytes: int
    start: int = 0
    stop: int | None = None


@dataclass(frozen=True)
class PaimonTask:
    """Reads pieces of a plan; the same for all of them, and picklable.

    Parameters
    ----------
    table : PaimonTable
    schema_id : int
        The schema that the table is read by.
    schema : pyarrow.Schema
        Columns of the result, in order.
    row_filter : Filter or None
        Rows to keep.
    filter_schema : pyarrow.Schema
        The columns of the filter.
    limits : Limits
    """

    table: PaimonTable
    schema_id: int
    schema: pa.Schema
    row_filter: Filter | None
    filter_schema: pa.Schema
    limits: Limits

    def __getstate__(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @property
    def output_schema(self) -> pa.Schema:
        """The schema of the batches that are read."""
        return self.schema

    def selected(self, names: Sequence[str]) -> PaimonTask:
        """The same rows with some of the columns, by their whole names."""
        return replace(self, schema=pa.schema([self.schema.field(name) for name in names]))

    @cached_property
    def _fields(self) -> TableFields:
        return self.table.fields(self.schema_id)

    @cached_property
    def stored_schema(self) -> pa.Schema:
        """The wanted columns without those of partitions."""
        keys = set(self._fields.partition_keys)
        if not keys.intersection(self.schema.names):
            return self.schema
        return pa.schema([field for field in self.schema if field.name not in keys])

    @cached_property
    def _layouts(self) -> dict[tuple[LayoutKey, tuple[str, ...] | None], ColumnLayout]:
        return {}

    def layout(self, rows: RowRange, tested: Filter | None = None) -> ColumnLayout:
        """Where the wanted columns are, or with a filter, its columns."""
        key = layout_key(rows), None if tested is None else tested.columns
        known = self._layouts.get(key)
        if known is None:
            schema = self.stored_schema
            if tested is not None:
                schema = pa.schema([self.filter_schema.field(name) for name in tested.columns])
            known = self._layouts[key] = make_layout(self.table, self._fields, schema, key[0])
        return known

    def constants(self, partition: Partition) -> dict[str, pa.Scalar]:
        """The values of partition columns."""
        fields = self._fields
        return {
            key: pa.scalar(value, fields.field(fields.place_of[key]).type)
            for key, value in partition
        }

    def residual(self, rows: Rows) -> tuple[bool, Filter | None]:
        """Whether any row may pass, and what is left to test.

        Partition values, columns that no file has and the statistics of manifests decide.
        """
        if self.row_filter is None:
            return True, None
        constants = self.constants(rows.partition)
        any_row, left = residual_filter(self.row_filter, constants)
        if left is None or isinstance(rows, MergedRows):
            return any_row, left
        tested = self.layout(rows, left)
        if tested.missing:
            names = tested.schema.names
            for place in tested.missing:
                constants[names[place]] = pa.scalar(None, tested.schema.field(place).type)
            any_row, left = residual_filter(self.row_filter, constants)
            if left is None:
                return any_row, None
        if any_row and left.excludes(self.statistics(rows, left), rows.num_rows):
            any_row = False
        return any_row, left

    def statistics(
        self, rows: RowRange, tested: Filter
    ) -> Callable[[str], ColumnStatistics | None]:
        """Statistics of the filter's columns, from the manifest."""
        layout = self.layout(rows, tested)
        names = layout.schema.names
        sources = {
            names[place]: (rows.files[part.file], part.schema.field(index).name)
            for part in layout.parts
            for index, place in enumerate(part.places)
            if index not in part.changed
        }

        def statistics(name: str) -> ColumnStatistics | None:
            if name not in sources:
                return None
            file, own_name = sources[name]
            return manifest_statistics(file, self.table.fields(file.schema_id), own_name)

        return statistics

    @checked_keywords()
    def read(
        self,
        pieces: Iterable[PaimonPiece],
        *,
        batch_size: int = BATCH_ROWS,
        use_threads: bool = True,
        budget: MemoryBudget | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The rows of these pieces that pass the filter, in order.

        Parameters
        ----------
        pieces : iterable of PaimonPiece
        batch_size : int
            Maximum number of rows in a batch.
        use_threads : bool
            Whether to read ahead, and to decode on several threads.
        budget : MemoryBudget, optional
            Arrow memory that all batches may take together.
        """
        reading = _Reading(self, use_threads, budget)
        is_local = self.table.filesystem is None
        for batches in read_pieces(reading, pieces, use_threads, is_local):
            for batch in batches:
                for start in range(0, batch.num_rows, batch_size):
                    yield batch.slice(start, batch_size)


class _Reading:
    """One pass over some pieces."""

    def __init__(self, task: PaimonTask, use_threads: bool, budget: MemoryBudget | None) -> None:
        self._task = task
        self._use_threads = use_threads
        self._budget = budget
        self._binder = ColumnBinder()
        self._partitions = PartitionColumns(task.schema, task._fields.partition_keys)
        self._open: list[RangeReader] = []

    def units(self, pieces: Iterable[PaimonPiece]) -> Iterator[tuple[_Unit, int]]:
        """What threads read, each with its weight."""
        for piece in pieces:
            any_row, tested = self._task.residual(piece.rows)
            if not any_row:
                continue
            if isinstance(piece.rows, MergedRows):
                yield (None, None, piece.rows), piece.num_bytes
                continue
            reader = self._opened(piece.rows, tested)
            self._open.append(reader)
            spans = reader.spans(piece.start, piece.stop)
            if not spans:
                reader.close()
            for span in spans:
                yield (reader, span, piece.rows), piece.num_bytes // len(spans)

    def _opened(self, rows: RowRange, tested: Filter | None) -> RangeReader:
        task = self._task
        wanted = task.layout(rows)
        filtered = (
            ColumnLayout(pa.schema([]), (), ()) if tested is None else task.layout(rows, tested)
        )
        deleted = None
        if rows.deletions is not None:
            deleted = deleted_rows(task.table, rows.deletions, rows.num_rows)
        files = {}
        try:
            for part in (*wanted.parts, *filtered.parts):
                if part.file not in files:
                    files[part.file] = open_column_file(
                        rows.files[part.file],
                        task.table.filesystem,
                        task.limits,
                        self._binder,
                        self._use_threads,
                        self._budget,
                    )
        except BaseException:
            for file in files.values():
                file.close()
            raise
        return RangeReader(rows.num_rows, files, wanted, filtered, tested, deleted)

    def read(self, unit: _Unit) -> list[pa.RecordBatch]:
        """The rows of one unit that pass the filter."""
        reader, span, rows = unit
        if reader is None or span is None:
            assert isinstance(rows, MergedRows)
            return self._merged(rows)
        try:
            batch = reader.read(span)
        finally:
            reader.finish()
        return [] if batch is None else [self._partitions.complete(batch, rows.partition)]

    def _merged(self, rows: MergedRows) -> list[pa.RecordBatch]:
        """Rows that PyPaimon reads, filtered here."""
        task = self._task
        if task.row_filter is None:
            return read_merged(task.table, task.schema_id, rows, task.schema)
        known = set(task.schema.names)
        extra = [field for field in task.filter_schema if field.name not in known]
        schema = pa.schema([*task.schema, *extra])
        result = []
        for batch in read_merged(task.table, task.schema_id, rows, schema):
            mask = task.row_filter.mask(batch)
            if mask.true_count:
                result.append(batch.filter(mask).select(range(len(task.schema))))
        return result

    def close(self) -> None:
        """Close what is open."""
        for reader in self._open:
            reader.close()
