"""Writing Paimon tables: rows appended or replaced, in one snapshot."""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pymosaic.arrow.input import batches_of, open_data
from pymosaic.errors import (
    DatasetError,
    InvalidDataError,
    InvalidOptionError,
    UnsupportedFeatureError,
)
from pymosaic.file.row_group_reader import Selection
from pymosaic.kernels.arrow_source import catalog_from_arrow
from pymosaic.keywords import checked_keywords
from pymosaic.paimon.commit import commit_messages, told
from pymosaic.paimon.storage import writing_table
from pymosaic.paimon.table import PaimonTable, open_table
from pymosaic.suggestions import did_you_mean, quote

__all__ = ["TableWrite", "WrittenTable", "create_table", "fitted", "stored_schema", "write"]

_DEFAULTS = {"file.format": "mosaic", "bucket": "-1"}
# So that columns can be added without rewriting; tables with a primary key merge rows instead.
_EVOLVING = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
_FORMATS = ("mosaic", "parquet", "orc", "avro")
_BATCH_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class WrittenTable:
    """What a write has done.

    Parameters
    ----------
    path : str
        The table.
    snapshot_id : int or None
        The snapshot after the write.
    num_rows : int
        Rows that were written.
    num_files, num_bytes : int
        Data files that were written, and their size.
    """

    path: str
    snapshot_id: int | None
    num_rows: int
    num_files: int
    num_bytes: int


@checked_keywords()
def write(
    data: object,
    table: object,
    *,
    mode: str = "append",
    partition: Mapping[str, Any] | None = None,
    create: bool = False,
    partition_by: Iterable[str] = (),
    primary_key: Iterable[str] = (),
    table_options: Mapping[str, str] | None = None,
    options: Mapping[str, str] | None = None,
) -> WrittenTable:
    """Write rows to a Paimon table, as one snapshot.

    Files are written as the table's options say: ``mosaic.*``, ``file.compression.zstd-level``,
    ``target-file-size``, ``metadata.stats-mode``.

    Parameters
    ----------
    data : pyarrow.Table, RecordBatchReader, or anything that speaks Arrow
        Rows, whose columns are found by name. A column that is missing is null.
    table : str, path-like, or table of PyPaimon
        The table to write to.
    mode : {"append", "overwrite"}
        Whether to add to the rows that are there, or to replace them.
    partition : mapping, optional
        With ``mode="overwrite"``, the partition to replace, such as ``{"day": "2024-05-01"}``.
    create : bool
        Make the table if there is none.
    partition_by, primary_key : list of str
        Keys of a new table.
    table_options : mapping, optional
        Options of a new table; by default its files are Mosaic, and columns can be added to it.
    options : mapping, optional
        Options of PyPaimon's storage, for a path.

    Returns
    -------
    WrittenTable

    Raises
    ------
    CommitConflictError
        If another writer changed the same rows meanwhile.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic.paimon
    >>> pymosaic.paimon.write(pa.table({"id": [1, 2]}), "shop.db/items", create=True).num_rows
    2
    >>> pymosaic.paimon.write(pa.table({"id": [3]}), "shop.db/items").snapshot_id
    2
    """
    if mode not in ("append", "overwrite"):
        raise InvalidOptionError(f"mode must be 'append' or 'overwrite', got {mode!r}")
    if partition is not None and mode != "overwrite":
        raise InvalidOptionError("partition is for mode='overwrite'")
    opened = open_table(table, options)
    rows = open_data(data)
    described = (tuple(partition_by), tuple(primary_key), table_options)
    if not opened.schema_ids():
        if not create:
            raise DatasetError(
                f"{opened.path} is not a Paimon table; pass create=True to make it one"
            )
        create_table(opened, rows.schema, *described)
    elif any(described) and not create:
        raise InvalidOptionError("partition_by, primary_key and table_options need create=True")
    job = TableWrite(opened, rows.schema, mode == "overwrite", partition)
    messages = job.write(batches_of(rows))
    return job.commit(messages)


class TableWrite:
    """One write: rows become files, here or in tasks elsewhere, and all files one snapshot.

    Picklable, for tasks.

    Parameters
    ----------
    table : PaimonTable
    schema : pyarrow.Schema
        Columns of the rows.
    overwrite : bool
        Whether rows that are there are replaced.
    partition : mapping, optional
        Which partition is replaced; all, unless given.
    dynamic : bool
        Whether those partitions are replaced that rows are written to.
    """

    def __init__(
        self,
        table: PaimonTable,
        schema: pa.Schema,
        overwrite: bool = False,
        partition: Mapping[str, Any] | None = None,
        dynamic: bool = False,
    ) -> None:
        fields = table.fields()
        _check_columns(schema, fields.arrow, table.path)
        for key in partition or ():
            if key not in fields.partition_keys:
                raise InvalidOptionError(f"partition: {quote(key)} is not a partition key")
        self._table = table
        self._overwritten = dict(partition or {}) if overwrite else None
        self._dynamic = dynamic
        # By which a snapshot of this write is recognised, whatever became of the answer.
        self._user = str(uuid.uuid4())
        newest = table.snapshot()
        self._since = 0 if newest is None else int(newest.id)

    def _builder(self) -> Any:
        options = None
        if self._overwritten is not None:
            options = {"dynamic-partition-overwrite": str(self._dynamic).lower()}
        builder = writing_table(self._table, options).new_batch_write_builder()
        builder.commit_user = self._user
        if self._overwritten is not None:
            builder.overwrite(dict(self._overwritten))
        return builder

    def write(self, batches: Iterable[pa.RecordBatch]) -> list[Any]:
        """Write files; the result goes to :meth:`commit`."""
        path, schema = self._table.path, self._table.fields().arrow
        with told(path):
            writer = self._builder().new_write()
        try:
            with told(path):
                for batch in batches:
                    for start in range(0, batch.num_rows, _BATCH_ROWS):
                        writer.write_arrow_batch(
                            fitted(batch.slice(start, _BATCH_ROWS), schema, path)
                        )
                return list(writer.prepare_commit())
        except BaseException:
            writer.abort()
            raise
        finally:
            writer.close()

    def commit(self, messages: list[Any]) -> WrittenTable:
        """Make one snapshot of all files."""
        snapshot_id = commit_messages(self._builder(), messages, self._table.path)
        if snapshot_id is None:
            newest = self._table.snapshot()
            snapshot_id = None if newest is None else newest.id
        files = [file for message in messages for file in message.new_files]
        return WrittenTable(
            self._table.path,
            snapshot_id,
            sum(file.row_count for file in files),
            len(files),
            sum(file.file_size for file in files),
        )

    def abort(self, messages: list[Any]) -> None:
        """Delete the files, unless a snapshot has them, or may have had them.

        Spark calls this also after a commit that failed. That one may have been published all the
        same, before the connection was lost.
        """
        newest = self._table.snapshot()
        since = [x for x in self._table.snapshots() if x.id > self._since]
        is_known = len(since) == (0 if newest is None else newest.id) - self._since
        if not is_known or any(x.commit_user == self._user for x in since):
            return
        commit = self._builder().new_commit()
        try:
            commit.abort(messages)
        finally:
            commit.close()


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """The types that the format stores: Paimon has no unsigned numbers, for example."""
    catalog = catalog_from_arrow(schema, 1)
    return Selection(catalog, catalog.original_order()).import_schema()


def create_table(
    table: PaimonTable,
    schema: pa.Schema,
    partition_by: tuple[str, ...],
    primary_key: tuple[str, ...],
    table_options: Mapping[str, str] | None,
) -> None:
    """Make a table of Mosaic files, to which columns can be added."""
    from pypaimon import Schema

    for name in (*partition_by, *primary_key):
        if name not in schema.names:
            hint = did_you_mean(name, schema.names)
            raise InvalidOptionError(f"no column is named {quote(name)}{hint}")
    fields = [field.with_nullable(field.name not in primary_key) for field in stored_schema(schema)]
    options = _DEFAULTS | ({} if primary_key else _EVOLVING) | dict(table_options or {})
    if primary_key and "bucket" not in (table_options or {}):
        options["bucket"] = "1"
    with told(table.path):
        described = Schema.from_pyarrow_schema(
            pa.schema(fields), list(partition_by), list(primary_key), options
        )
        _check_options(table, described)
        table.schema_manager().create_table(described)


def _check_options(table: PaimonTable, described: Any) -> None:
    """Refuse a table that nothing could be written to, before there is anything of it."""
    from pypaimon.schema.table_schema import TableSchema

    whole = table.whole(TableSchema.from_schema(0, described))
    kind = whole.options.file_format()
    if kind not in _FORMATS:
        raise UnsupportedFeatureError(
            f"{table.path}: file.format = {kind!r} is not supported; use one of "
            f"{', '.join(_FORMATS)}"
        )
    whole.options.merge_engine()
    whole.new_batch_write_builder().new_write().close()


def _check_columns(given: pa.Schema, wanted: pa.Schema, path: str) -> None:
    known = set(wanted.names)
    if len(set(given.names)) != len(given.names):
        raise InvalidDataError("column names of the data must be unique")
    for name in given.names:
        if name not in known:
            hint = did_you_mean(name, wanted.names)
            raise InvalidDataError(f"{path} has no column {quote(name)}{hint}")
    held = set(given.names)
    for field in wanted:
        if not field.nullable and field.name not in held:
            raise InvalidDataError(f"column {quote(field.name)} must not be null, but is missing")


def fitted(batch: pa.RecordBatch, schema: pa.Schema, path: str) -> pa.RecordBatch:
    """The rows with the columns of the table."""
    if batch.schema.equals(schema):
        return batch
    place_of = {name: place for place, name in enumerate(batch.schema.names)}
    columns = []
    for field in schema:
        place = place_of.get(field.name)
        if place is None:
            columns.append(pa.nulls(batch.num_rows, field.type))
            continue
        column = batch.column(place)
        if not column.type.equals(field.type):
            try:
                column = column.cast(field.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise InvalidDataError(
                    f"column {quote(field.name)} does not fit {field.type} of {path}: {error}"
                ) from error
        if not field.nullable and column.null_count:
            raise InvalidDataError(f"column {quote(field.name)} must not be null")
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)
