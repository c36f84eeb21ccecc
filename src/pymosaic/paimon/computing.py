"""New columns of rows: by expressions, by a function of batches, or from a frame with a key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.arrow.input import open_data
from pymosaic.errors import ColumnNotFoundError, InvalidDataError, InvalidOptionError
from pymosaic.paimon.dataset import PaimonDataset
from pymosaic.paimon.expressions import Expression
from pymosaic.paimon.row_ranges import RowRange
from pymosaic.paimon.scan import PaimonScan
from pymosaic.paimon.task import PaimonPiece
from pymosaic.suggestions import quote

__all__ = ["Computation", "computation"]

_Function: TypeAlias = Callable[[pa.RecordBatch], Any]


@dataclass(frozen=True, slots=True)
class Computation:
    """A function from batches to new columns, and the columns that it needs (None: all)."""

    function: _Function
    columns: list[str] | None

    def of_range(self, before: PaimonDataset, rows: RowRange) -> pa.RecordBatch:
        """The new columns of a range of rows; deleted rows are computed too, and stay deleted."""
        piece = PaimonPiece(replace(rows, deletions=None), rows.num_rows, rows.size)
        task = cast(PaimonScan, before.scan(self.columns)).task()
        results = [
            _as_batch(self.function(batch), batch.num_rows)
            for batch in task.read([piece], use_threads=False)
        ]
        if not results:
            return self.of_nothing(before)
        return pa.Table.from_batches(results).combine_chunks().to_batches()[0]

    def of_nothing(self, before: PaimonDataset) -> pa.RecordBatch:
        """The new columns of no rows: their names and types."""
        schema = before.scan(self.columns).schema
        arrays = [pa.nulls(0, field.type) for field in schema]
        return _as_batch(self.function(pa.RecordBatch.from_arrays(arrays, schema=schema)), 0)


def computation(
    values: object,
    key: str | None,
    columns: Iterable[str] | None,
    before: PaimonDataset,
    new: bool,
) -> Computation:
    """What a caller gave, as a computation.

    Parameters
    ----------
    values, key, columns
        As for :func:`pymosaic.paimon.add_columns`.
    before : PaimonDataset
        The table as it is.
    new : bool
        Whether the columns are new; rows that a frame lacks keep their values otherwise.
    """
    if isinstance(values, Mapping):
        parsed = {name: Expression(text) for name, text in values.items()}
        if not parsed:
            raise InvalidOptionError("give at least one column")
        needed = list(dict.fromkeys(name for item in parsed.values() for name in item.columns))

        def by_expressions(batch: pa.RecordBatch) -> pa.RecordBatch:
            arrays = [item.evaluate(batch) for item in parsed.values()]
            return pa.RecordBatch.from_arrays(arrays, names=list(parsed))

        return Computation(by_expressions, needed)
    if callable(values):
        return Computation(values, None if columns is None else list(columns))
    frame = open_data(values)
    if isinstance(frame, pa.RecordBatchReader):
        frame = frame.read_all()
    if isinstance(frame, pa.RecordBatch):
        frame = pa.Table.from_batches([frame])
    if key is None or key not in frame.schema.names:
        raise InvalidOptionError(
            "a frame needs key=, a column that it has in common with the table"
        )
    return _by_key(frame.combine_chunks(), key, before, new)


def _by_key(frame: pa.Table, key: str, before: PaimonDataset, new: bool) -> Computation:
    place = before._fields.place_of.get(key)
    if place is None:
        raise ColumnNotFoundError(f"{before.base} has no column {quote(key)}")
    keys = frame.column(key).cast(before._fields.field(place).type).combine_chunks()
    if keys.null_count or pc.count_distinct(keys).as_py() != len(keys):
        raise InvalidDataError(f"values of the key {quote(key)} must be unique and not null")
    added = frame.drop_columns([key])
    if not added.num_columns:
        raise InvalidOptionError("the frame has no column beside its key")
    chunks = added.combine_chunks().to_batches()
    rows = chunks[0] if chunks else pa.RecordBatch.from_pylist([], schema=added.schema)

    def by_key(batch: pa.RecordBatch) -> pa.RecordBatch:
        found = pc.index_in(batch.column(key), value_set=keys)
        taken = [column.take(found) for column in rows.columns]
        if not new:
            known = pc.is_valid(found)
            taken = [
                pc.if_else(known, column.cast(batch.column(name).type), batch.column(name))
                for name, column in zip(rows.schema.names, taken, strict=True)
            ]
        return pa.RecordBatch.from_arrays(taken, names=rows.schema.names)

    return Computation(by_key, [key, *([] if new else rows.schema.names)])


def _as_batch(result: Any, num_rows: int) -> pa.RecordBatch:
    if isinstance(result, Mapping):
        result = pa.table(dict(result))
    table = open_data(result)
    if isinstance(table, pa.RecordBatchReader):
        table = table.read_all()
    if table.num_rows != num_rows:
        raise InvalidDataError(
            f"the function must give as many rows as it gets: {num_rows}, not {table.num_rows}"
        )
    if isinstance(table, pa.RecordBatch):
        return table
    chunks = table.combine_chunks().to_batches()
    return chunks[0] if chunks else pa.RecordBatch.from_pylist([], schema=table.schema)
