"""Paimon tables in Spark: found, opened in the state of a load, and written as one snapshot."""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from pymosaic.errors import DatasetExistsError, InvalidOptionError, UnsupportedFeatureError
from pymosaic.spark.moments import parse_moment
from pymosaic.spark.names import check_distinct
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.storage import locate
from pymosaic.spark.types import arrow_schema, check_storable, conform

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from pymosaic.paimon.dataset import PaimonDataset
    from pymosaic.paimon.scan import PaimonPlan
    from pymosaic.paimon.table import PaimonTable
    from pymosaic.paimon.task import PaimonPiece
    from pymosaic.paimon.write import TableWrite

__all__ = ["PaimonRelation", "PaimonWriter", "is_paimon", "open_paimon", "table_exists"]

# Datasets that were opened last: what a query asks about a load comes in several questions.
_KEPT = 8


def is_paimon(options: SourceOptions) -> bool:
    """Whether options name a Paimon table, by the option `table` or by what the path holds."""
    if options.table_format is not None:
        return options.table_format == "paimon"
    travels = [
        name for name in ("snapshot", "tag", "timestamp") if getattr(options, name) is not None
    ]
    if len(options.paths or ()) > 1 or not (options.path or options.paths):
        found = False
    else:
        found = _holds_table(options.locations[0], tuple(sorted(options.storage.items())))
    if travels and not found:
        raise InvalidOptionError(
            f"the option {travels[0]} is for Paimon tables, and {options.locations[0]} is not one"
        )
    return found


def _holds_table(location: str, storage: tuple[tuple[str, str], ...]) -> bool:
    if any(name.startswith("s3.") for name, _ in storage):
        return True  # PyPaimon's names of options
    if "*" in location:
        return False
    # It imports more than tasks need.
    from pymosaic.paimon.detection import holds_table

    [base], filesystem = locate([location], dict(storage))
    return holds_table(base, filesystem)


def _table(options: SourceOptions) -> PaimonTable:
    from pymosaic.paimon.table import open_table

    if len(options.locations) > 1:
        raise InvalidOptionError("a Paimon table is one path")
    [base], _ = locate(options.locations, {})
    return open_table(base, options.storage)


class PaimonRelation:
    """A table in the state that a load fixed.

    Parameters
    ----------
    options : SourceOptions
        How it is read.
    state : str
        The state, as JSON.
    """

    listing = None

    def __init__(self, options: SourceOptions, state: str) -> None:
        self.options = options
        self.state = state

    def open(
        self, schema: pa.Schema | None = None, declared: Mapping[str, pa.DataType] | None = None
    ) -> PaimonDataset:
        """Open the table; its columns have types, which declared ones are cast from."""
        key = _key(self.options, self.state)
        with _lock:
            known = _opened.get(key)
        if known is not None:
            return known
        from pymosaic.paimon.dataset import PaimonDataset, TableState

        state = TableState(*json.loads(self.state))
        return _keep(key, PaimonDataset(_table(self.options), None, None, None, None, state))

    def described(self, dataset: PaimonDataset, schema: pa.Schema) -> pa.Schema:
        """Columns of the table; files of a table say no more of them."""
        return schema

    def report(
        self,
        dataset: PaimonDataset,
        plan: PaimonPlan,
        pieces: Sequence[PaimonPiece],
        limit: int | None,
    ) -> dict[str, Any]:
        """What is read, and what is there; a row range counts as a row group."""
        read = len(pieces) > 0
        return {
            "rows": sum(piece.num_rows for piece in pieces),
            "files": (plan.files.to_read if read else 0, plan.files.total),
            "rowGroups": (plan.row_ranges.to_read if read else 0, plan.row_ranges.total),
            "bytes": (sum(piece.num_bytes for piece in pieces), plan.bytes.total),
            "partitions": (
                len({piece.rows.partition for piece in pieces}),
                dataset.num_partitions,
            ),
            "keys": dataset.partition_columns,
            "limit": limit,
        }


_Key: TypeAlias = tuple[str, tuple[tuple[str, str], ...], str]
_opened: OrderedDict[_Key, PaimonDataset] = OrderedDict()
_lock = threading.Lock()


def _key(options: SourceOptions, state: str) -> _Key:
    [base], _ = locate(options.locations, {})
    return base, tuple(sorted(options.storage.items())), state


def _keep(key: _Key, dataset: PaimonDataset) -> PaimonDataset:
    with _lock:
        _opened[key] = dataset
        _opened.move_to_end(key)
        while len(_opened) > _KEPT:
            _opened.popitem(last=False)
    return dataset


def open_paimon(options: SourceOptions) -> tuple[PaimonRelation, PaimonDataset]:
    """The table that options name, in the state that they fix, or else as it is now."""
    if options.state is not None:
        relation = PaimonRelation(options, options.state)
        return relation, relation.open()
    from pymosaic.paimon.dataset import PaimonDataset

    timestamp: int | None = None
    if options.timestamp is not None:
        if options.timestamp.strip().isdigit():
            timestamp = int(options.timestamp)
        else:
            timestamp = parse_moment("timestamp", options.timestamp, options.zone) // 1000
    dataset = PaimonDataset(_table(options), options.snapshot, options.tag, timestamp, None)
    state = json.dumps(dataset.state)
    # A table that was made anew has the numbers of the one before.
    return PaimonRelation(options, state), _keep(_key(options, state), dataset)


def table_exists(options: SourceOptions) -> bool:
    """Whether there is a table already."""
    return bool(_table(options).schema_ids())


@dataclass(frozen=True)
class WrittenRows(WriterCommitMessage):
    """The message of a task to the driver: PyPaimon's messages about its files."""

    messages: tuple[Any, ...] = ()


class PaimonWriter(DataSourceArrowWriter):
    """One write of a table; tasks write files, and the driver commits one snapshot.

    Files that reach the driver in a task's message are committed; those of attempts that failed are
    in no snapshot.

    Parameters
    ----------
    options : SourceOptions
        Where and how to write.
    schema : pyspark.sql.types.StructType
        Columns of the rows that come.
    overwrite : bool
        Whether the rows that are there are replaced.
    """

    def __init__(self, options: SourceOptions, schema: StructType, overwrite: bool) -> None:
        from pymosaic.paimon.write import TableWrite, create_table

        check_storable(schema, keeps_collations=False)
        check_distinct(schema.names, options.case_sensitive)
        if options.replace is not None:
            raise UnsupportedFeatureError(
                "partitions of a Paimon table are replaced by mode overwrite with "
                "partitionOverwriteMode dynamic"
            )
        if options.application is not None or options.batch is not None:
            raise UnsupportedFeatureError(
                "a Paimon table does not remember the writes of an application: streams, and the "
                "options txnAppId and txnVersion, need a Mosaic dataset"
            )
        if options.writer:
            raise InvalidOptionError(
                f"the option {next(iter(options.writer))} is for Mosaic files; a Paimon table has "
                "options of its own"
            )
        table = _table(options)
        exists = bool(table.schema_ids())
        self._schema = arrow_schema(schema)
        self._write: TableWrite | None = None
        mode = options.mode or ("overwrite" if overwrite else "append")
        if exists and mode == "ignore":
            return
        if exists and mode == "error":
            raise DatasetExistsError(f"{table.path} already is a Paimon table")
        if exists and options.partition_by not in (None, (), table.fields().partition_keys):
            raise InvalidOptionError(
                f"partitionBy is {', '.join(options.partition_by or ())}, but the table is "
                f"partitioned by {', '.join(table.fields().partition_keys) or 'nothing'}"
            )
        if exists and table.fields().primary_keys:
            raise UnsupportedFeatureError(
                f"{table.path} has a primary key: its rows are written by one process, with "
                "pymosaic.paimon.write"
            )
        if not exists:
            create_table(table, self._schema, options.partition_by or (), (), None)
        self._write = TableWrite(
            table,
            self._schema,
            mode == "overwrite",
            dynamic=options.partition_overwrite_mode == "dynamic",
        )

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenRows:
        """Write the rows of one task."""
        if self._write is None:
            return WrittenRows()
        batches = (conform(batch, self._schema) for batch in iterator if batch.num_rows)
        return WrittenRows(tuple(self._write.write(batches)))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit the files of all tasks, as one snapshot."""
        if self._write is not None:
            self._write.commit(_messages(messages))

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove the files that tasks told of."""
        if self._write is not None:
            self._write.abort(_messages(messages))


def _messages(messages: Sequence[WriterCommitMessage | None]) -> list[Any]:
    return [
        item
        for message in messages
        if isinstance(message, WrittenRows)
        for item in message.messages
    ]
