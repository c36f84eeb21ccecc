"""Columns that are added to a table, or updated: planned, written range by range, committed.

Files are written first, under a schema that nobody sees; then the schema and the snapshot are
published one right after the other. Paimon has no step that publishes both: a process that ends
between the two leaves columns that are empty, and that the same call fills when it is made again.
"""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from pymosaic.errors import (
    ColumnNotFoundError,
    CommitConflictError,
    DatasetError,
    InvalidDataError,
    InvalidOptionError,
    UnsupportedFeatureError,
)
from pymosaic.paimon.commit import NewSchema, SchemaTaken, commit_messages, published_by
from pymosaic.paimon.computing import computation
from pymosaic.paimon.dataset import PaimonDataset
from pymosaic.paimon.row_ranges import MergedRows, RowRange
from pymosaic.paimon.schema_changes import added_columns, alter, changed_schema
from pymosaic.paimon.storage import writing_table
from pymosaic.paimon.table import PaimonTable
from pymosaic.paimon.write import WrittenTable, stored_schema
from pymosaic.suggestions import did_you_mean, quote

__all__ = ["Growth", "check_known"]

_ATTEMPTS = 10


class Growth:
    """New columns, or new values of columns, of all rows that a table has now.

    Picklable, so that ranges can be written on other machines.

    Parameters
    ----------
    table : PaimonTable
    values, key, columns
        As for :func:`pymosaic.paimon.add_columns`.
    new : bool
        Whether columns are added; they are updated otherwise.

    Attributes
    ----------
    ranges : list of RowRange
        The ranges of rows; each becomes one file.
    names : list of str
        The columns.
    """

    def __init__(
        self,
        table: PaimonTable,
        values: object,
        key: str | None,
        columns: Iterable[str] | None,
        new: bool,
    ) -> None:
        before = PaimonDataset(table, None, None, None, None)
        for option in ("row-tracking.enabled", "data-evolution.enabled"):
            if before._fields.options.get(option) != "true":
                raise UnsupportedFeatureError(
                    f"{table.path}: columns are added only to tables with {option} = true"
                )
        self._table = table
        self._before = before
        self._computation = computation(values, key, columns, before, new)
        self.ranges: list[RowRange] = [rows for rows in before._rows if isinstance(rows, RowRange)]
        if len(self.ranges) != len(before._rows):
            merged = next(rows for rows in before._rows if isinstance(rows, MergedRows))
            raise UnsupportedFeatureError(
                f"{table.path}: columns cannot be added to {merged.split.files[0].file_name}"
            )
        # The first range tells names and types.
        if self.ranges:
            sample = self._computation.of_range(before, self.ranges[0])
        else:
            sample = self._computation.of_nothing(before)
        self._sample: pa.RecordBatch | None = sample
        self.names: list[str] = sample.schema.names
        if not self.names or len(set(self.names)) != len(self.names):
            raise InvalidDataError("give at least one column, and each once")
        self._added = self._new_columns(sample.schema) if new else pa.schema([])
        if not new:
            self._check_updated()
        changes = added_columns(table, self._added)
        self._schema = changed_schema(table, changes, before._fields.schema_id)
        self._whole: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_whole": None, "_sample": None}

    def _new_columns(self, schema: pa.Schema) -> pa.Schema:
        """The columns that the table does not have; an empty one of the same type is filled."""
        table, fields = self._table, self._before._fields
        snapshot = table.snapshot()
        filled = fields if snapshot is None else table.fields(snapshot.schema_id)
        added = []
        for field in stored_schema(schema):
            place = fields.place_of.get(field.name)
            if place is None:
                added.append(field)
            elif fields.ids[place] in filled.place_of_id:
                raise InvalidDataError(
                    f"{table.path} has a column {quote(field.name)} already: use update_columns"
                )
            elif not fields.field(place).type.equals(field.type):
                raise InvalidDataError(
                    f"{table.path} has a column {quote(field.name)} of type "
                    f"{fields.field(place).type} that was never filled: drop it to add it as "
                    f"{field.type}"
                )
        return pa.schema(added)

    def _check_updated(self) -> None:
        check_known(self._table, self.names)
        for name in self.names:
            if name in self._before._fields.partition_keys:
                raise InvalidOptionError(f"{quote(name)} is a partition key: it cannot be updated")

    def _writing(self) -> Any:
        if self._whole is None:
            self._whole = writing_table(self._table, schema=self._schema)
        return self._whole

    def write(self, number: int) -> Any:
        """Write the new columns of a range; the result goes to :meth:`commit`."""
        from pypaimon.schema.data_types import PyarrowFieldParser
        from pypaimon.write.writer.append_only_data_writer import AppendOnlyDataWriter

        rows = self.ranges[number]
        batch = self._sample if number == 0 else None
        if batch is None:
            batch = self._computation.of_range(self._before, rows)
        if batch.num_rows != rows.num_rows:
            raise DatasetError(
                f"{self._table.path}: {batch.num_rows} rows of {rows.num_rows} were read"
            )
        whole = self._writing()
        types = {field.name: field for field in whole.table_schema.fields}
        schema = pa.schema(
            [PyarrowFieldParser.from_paimon_field(types[name]) for name in self.names]
        )
        partition = tuple(value for _, value in rows.partition)
        writer = AppendOnlyDataWriter(whole, partition, rows.bucket, 0, whole.options, self.names)
        # One range is one file, whatever its size.
        writer.target_file_size = 1 << 62
        writer.target_file_row_num = 1 << 62
        writer.write(_cast(batch, schema))
        (file,) = writer.prepare_commit()
        return file.assign_first_row_id(rows.first_row_id)

    def commit(self, files: list[Any]) -> WrittenTable:
        """Publish the columns: one file for each range, in their order.

        Raises
        ------
        CommitConflictError
            If rows or columns of the table were changed meanwhile.
        """
        if files:
            snapshot_id = self._publish(files)
        else:
            alter(self._table, added_columns(self._table, self._added))
            snapshot_id = self._before.snapshot_id
        return WrittenTable(
            self._table.path,
            snapshot_id,
            sum(file.row_count for file in files),
            len(files),
            sum(file.file_size for file in files),
        )

    def _publish(self, files: list[Any]) -> int | None:
        path = self._table.path
        for _ in range(_ATTEMPTS):
            for file in files:
                file.schema_id = self._schema.id
            builder = self._writing().new_batch_write_builder()
            messages = self._messages(files)
            new_schema = NewSchema(self._schema) if len(self._added) else None
            try:
                return commit_messages(builder, messages, path, new_schema)
            except SchemaTaken:
                self._follow_schema()
            except CommitConflictError:
                since = self._before.snapshot_id or 0
                published = published_by(self._table, since, builder.commit_user)
                if published is not None:
                    return published
                if new_schema is not None and new_schema.is_published:
                    self._withdraw()
                raise
        raise CommitConflictError(f"{path}: its schema is changed again and again by others")

    def _follow_schema(self) -> None:
        """Another schema came first: ours follows it, if it still can."""
        changes = added_columns(self._table, self._added)
        try:
            self._schema = changed_schema(self._table, changes)
        except DatasetError as error:
            raise CommitConflictError(f"{error}: another writer has added it meanwhile") from error
        self._whole = None

    def _withdraw(self) -> None:
        """Remove columns whose schema was published, but whose files were not."""
        from pypaimon.schema.schema_change import SchemaChange

        fields = self._table.fields()
        added = {field.id for field in self._schema.fields if field.name in self._added.names}
        places = [place for place, number in enumerate(fields.ids) if number in added]
        alter(self._table, [SchemaChange.drop_column(fields.names[place]) for place in places])

    def _messages(self, files: list[Any]) -> list[Any]:
        from pypaimon.write.commit_message import CommitMessage

        messages: dict[tuple[Any, int], Any] = {}
        for rows, file in zip(self.ranges, files, strict=True):
            key = tuple(value for _, value in rows.partition), rows.bucket
            if key not in messages:
                messages[key] = CommitMessage(*key, [], self._before.snapshot_id)
            messages[key].new_files.append(file)
        return list(messages.values())


def check_known(table: PaimonTable, names: list[str]) -> None:
    """Raise if the table lacks a column."""
    fields = table.fields()
    for name in names:
        if name not in fields.place_of:
            hint = did_you_mean(name, fields.names)
            raise ColumnNotFoundError(f"{table.path} has no column {quote(name)}{hint}")


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = []
    for field in schema:
        try:
            arrays.append(batch.column(field.name).cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InvalidDataError(f"column {quote(field.name)}: {error}") from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
