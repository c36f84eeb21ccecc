"""Columns of a Paimon table: added and updated without rewriting others, dropped, renamed."""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.arrow.input import open_data
from pymosaic.errors import (
    ColumnNotFoundError,
    DatasetError,
    InvalidDataError,
    InvalidOptionError,
    UnsupportedFeatureError,
)
from pymosaic.keywords import checked_keywords
from pymosaic.paimon.commit import commit_messages, told
from pymosaic.paimon.dataset import PaimonDataset
from pymosaic.paimon.expressions import Expression
from pymosaic.paimon.row_ranges import MergedRows, RowRange
from pymosaic.paimon.storage import writing_table
from pymosaic.paimon.table import PaimonTable, open_table
from pymosaic.paimon.task import PaimonPiece
from pymosaic.paimon.write import WrittenTable, stored_schema
from pymosaic.suggestions import did_you_mean, quote
from pymosaic.threads import num_threads, read_ahead

__all__ = ["add_columns", "drop_columns", "rename_columns", "update_columns"]

_Function: TypeAlias = Callable[[pa.RecordBatch], Any]
_Computed: TypeAlias = tuple[_Function, list[str] | None]


@checked_keywords()
def add_columns(
    table: object,
    values: object,
    *,
    key: str | None = None,
    columns: Iterable[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> WrittenTable:
    """Add columns to a table; only the new columns are written, in one snapshot.

    The table must have ``row-tracking.enabled`` and ``data-evolution.enabled``, as tables made by
    :func:`write` have.

    Parameters
    ----------
    table : str, path-like, or table of PyPaimon
    values : dict, callable, or anything that speaks Arrow
        - a dict of names to expressions, such as ``{"ratio": "a / b"}``;
        - a function from a record batch to the new columns (a table, batch or dict) of its rows;
        - a table or frame that has the new columns, and a ``key`` to find rows by. Rows that it
          does not have are null.
    key : str, optional
        The column that the frame and the table have in common.
    columns : list of str, optional
        Columns that the function gets; all, unless given.
    options : mapping, optional
        Options of PyPaimon's storage, for a path.

    Returns
    -------
    WrittenTable
        What was written: one file for each range of rows.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic.paimon
    >>> table = pa.table({"id": [1, 2], "price": [0.5, 1.5], "count": [4, 2]})
    >>> _ = pymosaic.paimon.write(table, "shop.db/orders", create=True)
    >>> _ = pymosaic.paimon.add_columns("shop.db/orders", {"total": "price * count"})
    >>> scores = pa.table({"id": [2], "score": ["good"]})
    >>> _ = pymosaic.paimon.add_columns("shop.db/orders", scores, key="id")
    >>> orders = pymosaic.paimon.dataset("shop.db/orders")
    >>> orders.scan(columns=["total", "score"]).to_table().to_pydict()
    {'total': [2.0, 3.0], 'score': [None, 'good']}
    """
    return _grow(open_table(table, options), values, key, columns, new=True)


@checked_keywords()
def update_columns(
    table: object,
    values: object,
    *,
    key: str | None = None,
    columns: Iterable[str] | None = None,
    options: Mapping[str, str] | None = None,
) -> WrittenTable:
    """Give columns of a table new values; only these columns are written, in one snapshot.

    Parameters
    ----------
    table, key, columns, options
        As for :func:`add_columns`.
    values : dict, callable, or anything that speaks Arrow
        As for :func:`add_columns`; the columns must be there. Rows that a frame does not have keep
        their values.

    Returns
    -------
    WrittenTable

    Examples
    --------
    >>> import pyarrow as pa, pymosaic.paimon
    >>> _ = pymosaic.paimon.write(pa.table({"id": [1], "price": [2.0]}), "u.db/t", create=True)
    >>> _ = pymosaic.paimon.update_columns("u.db/t", {"price": "price * 1.5"})
    >>> pymosaic.paimon.dataset("u.db/t").to_table().to_pydict()
    {'id': [1], 'price': [3.0]}
    """
    return _grow(open_table(table, options), values, key, columns, new=False)


@checked_keywords()
def drop_columns(
    table: object, names: Iterable[str], *, options: Mapping[str, str] | None = None
) -> None:
    """Drop columns of a table: its schema changes, no file does.

    Parameters
    ----------
    table : str, path-like, or table of PyPaimon
    names : list of str
    options : mapping, optional
        Options of PyPaimon's storage, for a path.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic.paimon
    >>> _ = pymosaic.paimon.write(pa.table({"a": [1], "b": [2]}), "d.db/t", create=True)
    >>> pymosaic.paimon.drop_columns("d.db/t", ["b"])
    >>> pymosaic.paimon.dataset("d.db/t").schema.names
    ['a']
    """
    from pypaimon.schema.schema_change import SchemaChange

    if isinstance(names, str):
        raise InvalidOptionError("names must be a list of column names")
    opened = open_table(table, options)
    wanted = list(names)
    _check_known(opened, wanted)
    _alter(opened, [SchemaChange.drop_column(name) for name in wanted])


@checked_keywords()
def rename_columns(
    table: object, names: Mapping[str, str], *, options: Mapping[str, str] | None = None
) -> None:
    """Rename columns of a table: its schema changes, no file does.

    Parameters
    ----------
    table : str, path-like, or table of PyPaimon
    names : mapping of str to str
        Old names to new ones.
    options : mapping, optional
        Options of PyPaimon's storage, for a path.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic.paimon
    >>> _ = pymosaic.paimon.write(pa.table({"a": [1]}), "r.db/t", create=True)
    >>> pymosaic.paimon.rename_columns("r.db/t", {"a": "first"})
    >>> pymosaic.paimon.dataset("r.db/t").to_table().to_pydict()
    {'first': [1]}
    """
    from pypaimon.schema.schema_change import SchemaChange

    opened = open_table(table, options)
    _check_known(opened, list(names))
    _alter(opened, [SchemaChange.rename_column(old, new) for old, new in names.items()])


def _check_known(table: PaimonTable, names: list[str]) -> None:
    fields = table.fields()
    for name in names:
        if name not in fields.place_of:
            hint = did_you_mean(name, fields.names)
            raise ColumnNotFoundError(f"{table.path} has no column {quote(name)}{hint}")


def _alter(table: PaimonTable, changes: list[Any]) -> None:
    """Make a new schema."""
    from pypaimon.schema.schema_manager import SchemaManager

    if not changes:
        return
    with told(table.path):
        try:
            SchemaManager(table.file_io, table.path).commit_changes(changes)
        except (RuntimeError, ValueError):
            raise
        except Exception as error:  # PyPaimon's own errors of columns have no base of their own
            raise DatasetError(f"{table.path}: {error}") from error


def _grow(
    table: PaimonTable, values: object, key: str | None, columns: Iterable[str] | None, new: bool
) -> WrittenTable:
    fields = table.fields()
    for option in ("row-tracking.enabled", "data-evolution.enabled"):
        if fields.options.get(option) != "true":
            raise UnsupportedFeatureError(
                f"{table.path}: columns are added only to tables with {option} = true"
            )
    before = PaimonDataset(table, None, None, None, None)
    function, needed = _computed(values, key, columns, before, new)
    ranges = [rows for rows in before._rows if isinstance(rows, RowRange)]
    if len(ranges) != len(before._rows):
        merged = next(rows for rows in before._rows if isinstance(rows, MergedRows))
        raise UnsupportedFeatureError(
            f"{table.path}: columns cannot be added to {merged.split.files[0].file_name}"
        )
    # The first range tells names and types, before the schema changes.
    if ranges:
        sample = _compute(before, ranges[0], function, needed)
    else:
        sample = _empty(before, function, needed)
    names = sample.schema.names
    _check_names(names, table, new)
    if not new:
        return _write(table, before, ranges, sample, function, needed)
    _add_fields(table, sample.schema)
    try:
        return _write(table, before, ranges, sample, function, needed)
    except BaseException:
        drop_columns(table, names)
        raise


def _computed(
    values: object,
    key: str | None,
    columns: Iterable[str] | None,
    before: PaimonDataset,
    new: bool,
) -> _Computed:
    """A function from batches to new columns, and the columns it needs."""
    if isinstance(values, Mapping):
        parsed = {name: Expression(text) for name, text in values.items()}
        if not parsed:
            raise InvalidOptionError("give at least one column")
        needed = list(dict.fromkeys(name for item in parsed.values() for name in item.columns))

        def by_expressions(batch: pa.RecordBatch) -> pa.RecordBatch:
            arrays = [item.evaluate(batch) for item in parsed.values()]
            return pa.RecordBatch.from_arrays(arrays, names=list(parsed))

        return by_expressions, needed
    if callable(values):
        return values, None if columns is None else list(columns)
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


def _by_key(frame: pa.Table, key: str, before: PaimonDataset, new: bool) -> _Computed:
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

    return by_key, [key, *([] if new else rows.schema.names)]


def _compute(
    before: PaimonDataset, rows: RowRange, function: _Function, needed: list[str] | None
) -> pa.RecordBatch:
    """The new columns of a range of rows; deleted rows are computed too, and stay deleted."""
    scan = before.scan(needed)
    piece = PaimonPiece(replace(rows, deletions=None), rows.num_rows, rows.size)
    results = [
        _as_batch(function(batch), batch.num_rows)
        for batch in scan.task().read([piece], use_threads=False)
    ]
    if not results:
        return _empty(before, function, needed)
    return pa.Table.from_batches(results).combine_chunks().to_batches()[0]


def _empty(before: PaimonDataset, function: _Function, needed: list[str] | None) -> pa.RecordBatch:
    schema = before.scan(needed).schema
    arrays = [pa.nulls(0, field.type) for field in schema]
    return _as_batch(function(pa.RecordBatch.from_arrays(arrays, schema=schema)), 0)


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


def _check_names(names: list[str], table: PaimonTable, new: bool) -> None:
    fields = table.fields()
    if not names or len(set(names)) != len(names):
        raise InvalidDataError("give at least one column, and each once")
    if not new:
        _check_known(table, names)
        for name in names:
            if name in fields.partition_keys:
                raise InvalidOptionError(f"{quote(name)} is a partition key: it cannot be updated")
        return
    for name in names:
        if name in fields.place_of:
            raise InvalidDataError(
                f"{table.path} has a column {quote(name)} already: use update_columns"
            )


def _add_fields(table: PaimonTable, schema: pa.Schema) -> None:
    from pypaimon.schema.data_types import PyarrowFieldParser
    from pypaimon.schema.schema_change import SchemaChange

    changes = []
    for field in stored_schema(schema):
        with told(table.path):
            described = PyarrowFieldParser.to_paimon_type(field.type, True)
        changes.append(SchemaChange.add_column(field.name, described))
    _alter(table, changes)


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = []
    for field in schema:
        try:
            arrays.append(batch.column(field.name).cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InvalidDataError(f"column {quote(field.name)}: {error}") from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _write(
    table: PaimonTable,
    before: PaimonDataset,
    ranges: list[RowRange],
    sample: pa.RecordBatch,
    function: _Function,
    needed: list[str] | None,
) -> WrittenTable:
    """Write the new columns of every range, several at a time, and commit them together."""
    from pypaimon.write.commit_message import CommitMessage
    from pypaimon.write.writer.append_only_data_writer import AppendOnlyDataWriter

    fields = table.fields()
    names = sample.schema.names
    schema = pa.schema([fields.field(fields.place_of[name]) for name in names])
    whole = writing_table(table)

    def write_range(numbered: tuple[int, RowRange]) -> tuple[RowRange, Any]:
        number, rows = numbered
        batch = sample if number == 0 else _compute(before, rows, function, needed)
        if batch.num_rows != rows.num_rows:
            raise DatasetError(f"{table.path}: {batch.num_rows} rows of {rows.num_rows} were read")
        partition = tuple(value for _, value in rows.partition)
        writer = AppendOnlyDataWriter(whole, partition, rows.bucket, 0, whole.options, names)
        # One range is one file, whatever its size.
        writer.target_file_size = 1 << 62
        writer.target_file_row_num = 1 << 62
        writer.write(_cast(batch, schema))
        (file,) = writer.prepare_commit()
        return rows, file.assign_first_row_id(rows.first_row_id)

    messages: dict[tuple[Any, int], Any] = {}
    files = []
    numbered = ((item, 1) for item in enumerate(ranges))
    for rows, file in read_ahead(
        write_range, numbered, num_threads(), 2 * num_threads(), "pymosaic-grow"
    ):
        key = tuple(value for _, value in rows.partition), rows.bucket
        if key not in messages:
            messages[key] = CommitMessage(*key, [], before.snapshot_id)
        messages[key].new_files.append(file)
        files.append(file)
    if files:
        commit_messages(whole.new_batch_write_builder(), list(messages.values()), table.path)
    snapshot = table.snapshot()
    return WrittenTable(
        table.path,
        None if snapshot is None else snapshot.id,
        sum(file.row_count for file in files),
        len(files),
        sum(file.file_size for file in files),
    )
