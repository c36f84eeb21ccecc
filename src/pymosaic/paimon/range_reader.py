"""Reading a row range: its column files side by side."""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

import threading
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.arrow.restoring import relabelled
from pymosaic.arrow.statistics import ColumnStatistics
from pymosaic.filters.row_filter import Filter
from pymosaic.paimon.column_files import OpenColumnFile
from pymosaic.paimon.layout import ColumnLayout, FilePart

__all__ = ["RangeReader", "Span"]

# Up to this many columns are appended one by one, which is cheaper than listing all columns.
_FEW_COLUMNS = 64


@dataclass(frozen=True, slots=True)
class Span:
    """Rows that are read together: a row group of the file that has the most."""

    row_group: int
    start: int
    stop: int


class RangeReader:
    """Reads spans of a row range, from several threads.

    Row groups of the other files need not begin where those of the leading file do; such a row
    group is kept until every span that it overlaps was read.

    Parameters
    ----------
    num_rows : int
    files : dict
        The opened files that are needed, by number.
    wanted, tested : ColumnLayout
        The columns of the result, and those of the filter.
    row_filter : Filter or None
    deleted : numpy.ndarray or None
        Deleted rows, in ascending order.
    """

    def __init__(
        self,
        num_rows: int,
        files: dict[int, OpenColumnFile],
        wanted: ColumnLayout,
        tested: ColumnLayout,
        row_filter: Filter | None,
        deleted: npt.NDArray[np.int64] | None,
    ) -> None:
        self._num_rows = num_rows
        self._files = files
        self._wanted = wanted
        self._tested = tested
        self._filter = row_filter
        self._deleted = deleted
        self._lock = threading.Lock()
        self._leader = max(files, key=lambda number: len(files[number].bounds), default=None)
        self._kept: dict[tuple[int, int, int], _Kept] = {}
        self._left = 0

    def spans(self, first: int = 0, last: int | None = None) -> list[Span]:
        """The spans that begin at these rows, except those that statistics rule out."""
        last = self._num_rows if last is None else last
        if self._leader is None:
            spans = [Span(0, first, last)] if first < last else []
        else:
            bounds = self._files[self._leader].bounds.tolist()
            spans = [
                Span(number, start, stop)
                for number, (start, stop) in enumerate(pairwise(bounds))
                if first <= start < last
                and start < stop
                and not self._excludes(number, stop - start)
            ]
        self._left = len(spans)
        return spans

    def _excludes(self, row_group: int, num_rows: int) -> bool:
        if self._filter is None:
            return False
        names = self._tested.schema.names
        sources = {
            names[place]: part.schema.field(index)
            for part in self._tested.parts
            if part.file == self._leader
            for index, place in enumerate(part.places)
        }
        leader = self._files[self._leader]  # type: ignore[index]

        def statistics(name: str) -> ColumnStatistics | None:
            field = sources.get(name)
            if field is None or not field.type.equals(self._tested.schema.field(name).type):
                return None
            return leader.statistics(row_group, field.name, field.type)

        return self._filter.excludes(statistics, num_rows)

    def read(self, span: Span) -> pa.RecordBatch | None:
        """The wanted columns of the rows of a span that pass; None if none does."""
        mask = self._undeleted(span)
        if self._filter is not None:
            passed = self._filter.mask(self._columns(self._tested, span))
            mask = passed if mask is None else pc.and_(mask, passed)
        if mask is not None and mask.true_count == 0:
            return None
        batch = self._columns(self._wanted, span)
        if mask is None or mask.true_count == len(mask):
            return batch
        if batch.num_columns == 0:
            return _rows_only(mask.true_count)
        return batch.filter(mask)

    def finish(self) -> None:
        """Note that a span was read; closes the files after the last."""
        with self._lock:
            self._left -= 1
            if self._left > 0:
                return
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._kept.clear()
        for file in self._files.values():
            file.close()

    def _undeleted(self, span: Span) -> pa.BooleanArray | None:
        if self._deleted is None:
            return None
        first, last = np.searchsorted(self._deleted, (span.start, span.stop))
        if first == last:
            return None
        keep = np.ones(span.stop - span.start, bool)
        keep[self._deleted[first:last] - span.start] = False
        return pa.array(keep)

    def _columns(self, layout: ColumnLayout, span: Span) -> pa.RecordBatch:
        num_rows = span.stop - span.start
        if not len(layout.schema):
            return _rows_only(num_rows)
        parts = [(part, self._part(part, span)) for part in layout.parts]
        return _assembled(parts, layout, num_rows)

    def _part(self, part: FilePart, span: Span) -> pa.RecordBatch:
        """Columns of one file, for the rows of a span."""
        file = self._files[part.file]
        if part.file == self._leader:
            return file.read(span.row_group, part.schema)
        bounds = file.bounds
        first = int(np.searchsorted(bounds, span.start, "right")) - 1
        last = int(np.searchsorted(bounds, span.stop, "left"))
        slices = []
        for number in range(first, last):
            start, stop = int(bounds[number]), int(bounds[number + 1])
            if start == stop:
                continue
            batch = self._shared(part, number, start, stop)
            begin, end = max(start, span.start), min(stop, span.stop)
            slices.append(batch.slice(begin - start, end - begin))
        if len(slices) == 1:
            return slices[0]
        table = pa.Table.from_batches(slices, part.schema).combine_chunks()
        return table.to_batches()[0]

    def _shared(self, part: FilePart, row_group: int, start: int, stop: int) -> pa.RecordBatch:
        """A row group that several spans may need."""
        key = (part.file, id(part), row_group)
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                bounds = self._files[self._leader].bounds  # type: ignore[index]
                first = int(np.searchsorted(bounds, start, "right")) - 1
                last = int(np.searchsorted(bounds, stop, "left"))
                kept = self._kept[key] = _Kept(last - first)
        batch = kept.get(self._files[part.file], row_group, part.schema)
        with self._lock:
            kept.uses -= 1
            if kept.uses <= 0:
                self._kept.pop(key, None)
        return batch


class _Kept:
    """A decoded row group that several spans share."""

    def __init__(self, uses: int) -> None:
        self.uses = uses
        self._lock = threading.Lock()
        self._batch: pa.RecordBatch | None = None

    def get(self, file: OpenColumnFile, row_group: int, schema: pa.Schema) -> pa.RecordBatch:
        """The row group, decoded by whoever comes first."""
        with self._lock:
            if self._batch is None:
                self._batch = file.read(row_group, schema)
            return self._batch


def _rows_only(num_rows: int) -> pa.RecordBatch:
    """A batch without columns."""
    return pa.RecordBatch.from_arrays([pa.nulls(num_rows)], names=[""]).select([])


def _assembled(
    parts: list[tuple[FilePart, pa.RecordBatch]], layout: ColumnLayout, num_rows: int
) -> pa.RecordBatch:
    """Put the columns of all files together, under the names and types of the table."""
    schema = layout.schema
    parts = [(part, _cast(batch, part, schema)) for part, batch in parts]
    if not layout.missing and len(parts) == 1:
        batch = parts[0][1]
        return batch if batch.schema.equals(schema) else relabelled(batch, schema)
    others = len(schema) - max((len(part.places) for part, _ in parts), default=0)
    if others > _FEW_COLUMNS or not parts:
        columns: list[pa.Array | None] = [None] * len(schema)
        for part, batch in parts:
            for place, column in zip(part.places, batch.columns, strict=True):
                columns[place] = column
        for place in layout.missing:
            columns[place] = pa.nulls(num_rows, schema.field(place).type)
        return pa.RecordBatch.from_arrays(columns, schema=schema)
    parts.sort(key=lambda item: -len(item[0].places))
    main, batch = parts[0]
    places = list(main.places)
    for part, other in parts[1:]:
        for place, column in zip(part.places, other.columns, strict=True):
            batch = batch.append_column("", column)
            places.append(place)
    for place in layout.missing:
        batch = batch.append_column("", pa.nulls(num_rows, schema.field(place).type))
        places.append(place)
    order = np.argsort(np.array(places, np.int64)).tolist()
    return relabelled(batch.select(order), schema)


def _cast(batch: pa.RecordBatch, part: FilePart, schema: pa.Schema) -> pa.RecordBatch:
    """Convert the columns whose type has changed since the file was written."""
    if not part.changed:
        return batch
    from pypaimon.read.reader.data_file_batch_reader import cast_array_for_schema_evolution

    columns = batch.columns
    fields = list(part.schema)
    for index in part.changed:
        field = schema.field(part.places[index])
        columns[index] = cast_array_for_schema_evolution(columns[index], field.type)
        fields[index] = field
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
