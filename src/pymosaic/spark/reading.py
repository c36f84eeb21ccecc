"""Reading: the plan of a dataset as Spark partitions, and its batches as Spark rows."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from pymosaic.datasets.plan import Piece
from pymosaic.datasets.scan_task import ScanTask
from pymosaic.errors import DatasetError, UnsupportedFeatureError
from pymosaic.file.verify.file import verify
from pymosaic.spark.file_metadata import METADATA, FileFacts, read_with_metadata
from pymosaic.spark.names import match_names
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.paimon_tables import PaimonRelation
from pymosaic.spark.predicates import decode_filters, narrowed, renamed, translate
from pymosaic.spark.relations import open_relation
from pymosaic.spark.types import arrow_schema, spark_type

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from pymosaic.datasets.dataset import Dataset

__all__ = ["BatchReader", "MosaicReader", "Split", "start_worker"]

# The cost of opening a file, in bytes read: a task gets no more small files than it can open in
# the time that another task takes to read its share.
_OPEN_COST = 1 << 20
# Large files are split, so that their row groups can be distributed.
_PIECE_BYTES = 8 << 20
_WHOLE_FILES = 1 << 62
_DEFAULT_PARALLELISM = 8
# Smaller batches are joined, until they have so many rows or bytes.
_JOINED_ROWS = 1 << 12
_JOINED_BYTES = 1 << 20


_BatchWithMetadata: TypeAlias = tuple[pa.RecordBatch, pa.StructArray | None]


class Split(InputPartition):
    """The input of one task: pieces, and facts about their files if these are wanted."""

    def __init__(
        self, pieces: tuple[Piece, ...], facts: Mapping[str, FileFacts] | None = None
    ) -> None:
        super().__init__(None)
        self.pieces = pieces
        self.facts: Mapping[str, FileFacts] = facts or {}


@dataclass(frozen=True, slots=True)
class BatchReader:
    """Reads the pieces of a task as batches of exactly the schema that Spark expects.

    Parameters
    ----------
    task : ScanTask or None
        Shared by all tasks of a scan; None if there is nothing to read.
    target : pyarrow.Schema
        The batches' schema.
    max_batch_bytes : int
        Larger batches are passed on in slices.
    limit : int or None
        Number of rows after which a task may stop.
    names : tuple of (str or None)
        For each column of the target, what it is called in the dataset; None if it is not there.
    sound_only : bool
        Whether files with a fault, in any column, are left out as a whole.
    skip_missing : bool
        Whether files that are gone are left out.
    metadata : pyarrow.StructType or None
        The fields of the column that tells where rows come from, if it is wanted.
    """

    task: ScanTask | None
    target: pa.Schema
    max_batch_bytes: int
    limit: int | None
    names: tuple[str | None, ...] = ()
    sound_only: bool = False
    skip_missing: bool = False
    metadata: pa.StructType | None = None

    def read(self, split: Split) -> Iterator[pa.RecordBatch]:
        """Read the rows of a task."""
        if self.task is None or not split.pieces:
            return
        converted = (self._converted(*found) for found in self._batches(self.task, split))
        left = self.limit
        for batch in _joined_batches(converted) if left is None else converted:
            if left is not None:
                batch = batch.slice(0, left)
                left -= batch.num_rows
            yield from _sliced(batch, self.max_batch_bytes)
            if left == 0:
                return

    def _batches(self, task: ScanTask, split: Split) -> Iterator[_BatchWithMetadata]:
        if not (self.sound_only or self.skip_missing or self.metadata is not None):
            yield from ((batch, None) for batch in task.read(split.pieces))
            return
        for piece in split.pieces:
            try:
                if not self._is_sound(task, piece):
                    continue
                if self.metadata is None:
                    yield from ((batch, None) for batch in task.read([piece]))
                else:
                    facts = split.facts[piece.path]
                    yield from read_with_metadata(task, piece, self.metadata, facts)
            except FileNotFoundError:
                if not self.skip_missing:
                    raise
                warnings.warn(f"ignoreMissingFiles: {piece.path} is gone", stacklevel=2)

    def _is_sound(self, task: ScanTask, piece: Piece) -> bool:
        """Whether a file may be read: what is skipped must not depend on the columns wanted."""
        if not self.sound_only:
            return True
        findings = verify(piece.path, True, filesystem=task.filesystem, limits=task.limits)
        faults = [finding for finding in findings if finding.severity == "error"]
        if faults:
            warnings.warn(
                f"ignoreCorruptFiles: {piece.path} is left out: {faults[0]}", stacklevel=2
            )
        return not faults

    def __call__(self, partitions: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the partition that a task's one input row holds; Spark runs this in tasks.

        Spark's own function compares every batch with the schema, in quadratic time.
        """
        for batch in partitions:
            for value in batch.column(0).to_pylist():
                yield from self.read(pickle.loads(value))

    def _converted(self, batch: pa.RecordBatch, metadata: pa.StructArray | None) -> pa.RecordBatch:
        if batch.schema.equals(self.target, check_metadata=True):
            return batch
        found = dict(zip(batch.schema.names, batch.columns, strict=True))
        if metadata is not None:
            found[METADATA] = metadata
        columns = [
            _cast(None if name is None else found[name], field, batch.num_rows)
            for name, field in zip(self.names, self.target, strict=True)
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.target)


def _chosen(dataset: Dataset, names: Sequence[str | None], target: pa.Schema) -> pa.Schema:
    """Columns as the dataset has them; where its files differ, as the user has declared them."""
    schema = dataset.schema
    fields = {
        name: field.with_name(name) if name in dataset.conflicts else schema.field(name)
        for name, field in zip(names, target, strict=True)
        if name is not None
    }
    return pa.schema(list(fields.values()))


def _check_readable(name: str, own: pa.DataType, wanted: pa.DataType) -> None:
    """Refuse to read text as something else: each row would have to be tried."""
    kinds = pa.types
    if (kinds.is_string(own) or kinds.is_binary(own)) and not (
        kinds.is_string(wanted) or kinds.is_binary(wanted)
    ):
        raise DatasetError(
            f"column {name!r} is {own} in the files, and the schema says {wanted}: declare it as "
            f"{own}, and cast it in the query"
        )


def _declared(
    dataset: Dataset, names: Sequence[str | None], target: pa.Schema
) -> dict[str, pa.DataType]:
    """Types of partition columns that the user has declared, whose values are read as these."""
    keys = set(dataset.partition_columns)
    return {
        name: field.type
        for name, field in zip(names, target, strict=True)
        if name in keys and spark_type(dataset.schema.field(name).type) != spark_type(field.type)
    }


def start_worker(partitions: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read nothing; a worker that runs this has imported everything that a read needs."""
    for _ in partitions:
        pass
    yield from ()


def _cast(column: pa.Array | None, field: pa.Field, num_rows: int) -> pa.Array:
    if column is None:
        return pa.nulls(num_rows, field.type)
    if column.type == field.type:
        return column
    import pyarrow.compute as pc

    try:
        return pc.cast(column, options=pc.CastOptions(field.type, allow_time_truncate=True))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DatasetError(
            f"column {field.name!r} is {column.type} and cannot be read as {field.type}: {error}"
        ) from error


def _joined_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join small batches, as of many small files: each costs Spark a step for every column."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        is_small = batch.num_rows < _JOINED_ROWS and batch.nbytes < _JOINED_BYTES
        if is_small:
            held.append(batch)
            rows, size = rows + batch.num_rows, size + batch.nbytes
        if held and (not is_small or rows >= _JOINED_ROWS or size >= _JOINED_BYTES):
            yield pa.concat_batches(held)
            held, rows, size = [], 0, 0
        if not is_small:
            yield batch
    if held:
        yield pa.concat_batches(held)


def _sliced(batch: pa.RecordBatch, max_bytes: int) -> Iterator[pa.RecordBatch]:
    parts = max(1, min(batch.num_rows, -(-batch.nbytes // max_bytes)))
    rows = -(-batch.num_rows // parts)
    if parts == 1:
        yield batch
        return
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


class MosaicReader(DataSourceReader):
    """Plans a scan on the driver when created, and reads it in tasks.

    Parameters
    ----------
    options : SourceOptions
        What to read.
    schema : pyspark.sql.types.StructType
        The columns to read: those of the relation, or fewer.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._splits = [Split(())]
        self.num_rows: int = 0
        self._report: dict[str, Any] = {
            "rows": 0,
            "files": (0, 0),
            "rowGroups": (0, 0),
            "bytes": (0, 0),
            "partitions": (0, 0),
            "keys": (),
            "filters": "",
            "limit": None,
        }
        wanted = arrow_schema(schema)
        self.batches: BatchReader = BatchReader(None, wanted, options.max_batch_bytes, None)
        names = [name for name in schema.names if name != METADATA]
        relation, dataset = open_relation(options, names)
        if dataset is not None:
            self._plan(relation, dataset, schema)

    def _plan(self, relation: Any, dataset: Any, schema: StructType) -> None:
        options = relation.options
        matches = match_names(
            schema.names,
            dataset.schema.names,
            options.case_sensitive,
            options.pushed.get("alike", ()),
        )
        metadata = None
        if METADATA in schema.names and dataset.schema.get_field_index(METADATA) < 0:
            place = schema.names.index(METADATA)
            matches[place], metadata = METADATA, self.batches.target.field(place).type
            if isinstance(relation, PaimonRelation):
                raise UnsupportedFeatureError(f"{METADATA} of a Paimon table is not supported")
        declared = _declared(dataset, matches, self.batches.target)
        if declared:
            dataset = relation.open(declared=declared)
        if not dataset.conflicts.isdisjoint(matches):
            dataset = relation.open(_chosen(dataset, matches, self.batches.target), declared)
        exact, spellings = {}, {}
        known = dataset.schema
        for field, name in zip(schema.fields, matches, strict=True):
            if name is not None and known.get_field_index(name) >= 0:
                arrow_type = known.field(name).type
                spellings[field.name] = name
                _check_readable(name, arrow_type, self.batches.target.field(field.name).type)
                # Literals have Spark's types: nothing is pushed down for a column that it casts.
                if spark_type(arrow_type) == field.dataType:
                    exact[field.name] = arrow_type
        pushed = translate(options.pushed.get("filters", ()), exact)
        filters = narrowed(decode_filters(options.filters), renamed(pushed, spellings))
        names = list(dict.fromkeys(spellings.values()))
        limit = options.pushed.get("limit")
        piece_bytes = min(_PIECE_BYTES, options.max_partition_bytes)
        planned = limit
        if options.ignore_corrupt_files:
            # Any file may turn out to have no rows, and is one piece, since it is verified whole.
            planned, piece_bytes = None, _WHOLE_FILES
        is_table = isinstance(relation, PaimonRelation)
        scan = dataset.scan(columns=names, filters=filters or None, limit=planned)
        plan = scan.plan(piece_bytes)
        pieces = () if filters == [] else plan.pieces
        self._report |= relation.report(dataset, plan, pieces, limit)
        self._report["filters"] = str(scan.task().row_filter or "") if pieces else "nothing"
        facts = None
        if metadata is not None:
            location = options.locations[0]
            facts = {file.path: FileFacts.of(file, location) for file in relation.listing.files}
        self._splits = _split(pieces, options, facts) or [Split(())]
        self.num_rows = sum(piece.num_rows for piece in pieces)
        self.batches = replace(
            self.batches,
            task=scan.task(),
            limit=limit,
            names=tuple(matches),
            # Files of a Paimon table are all there, or it is not whole.
            sound_only=options.ignore_corrupt_files and not is_table,
            skip_missing=options.ignore_missing_files and not is_table,
            metadata=metadata,
        )

    def report(self) -> dict[str, Any]:
        """What the scan reads, from metadata alone, for plans and metrics."""
        return self._report

    def __getstate__(self) -> dict[str, Any]:
        # Each task gets only its own split.
        return {"batches": self.batches}

    def partitions(self) -> list[Split]:
        """The inputs of tasks; at least one, because Spark would otherwise invent one."""
        return self._splits

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the input of one task."""
        assert isinstance(partition, Split)
        _skip_checks(len(self.batches.target))
        return self.batches.read(partition)


def _split(
    pieces: Iterable[Any], options: SourceOptions, facts: Mapping[str, FileFacts] | None = None
) -> list[Split]:
    """Group pieces, in order, into tasks of about equal cost."""
    costs = [(piece, piece.num_bytes + _OPEN_COST) for piece in pieces]
    total = sum(cost for _, cost in costs)
    parallelism = min(options.pushed.get("parallelism", _DEFAULT_PARALLELISM), len(costs))
    count = max(parallelism, -(-total // options.max_partition_bytes))
    groups: dict[int, list[Any]] = {}
    before = 0
    for piece, cost in costs:
        # A piece belongs to the task whose share contains its middle.
        groups.setdefault((2 * before + cost) * count // (2 * total), []).append(piece)
        before += cost
    splits = []
    for group in groups.values():
        joined = tuple(_joined(group)) if isinstance(group[0], Piece) else tuple(group)
        wanted = facts and {piece.path: facts[piece.path] for piece in joined}
        splits.append(Split(joined, wanted))
    return splits


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Merge adjacent pieces of one file, so that it is opened once."""
    for _, group in groupby(pieces, key=lambda piece: piece.path):
        first, *others = group
        if others:
            parts = (first, *others)
            first = replace(
                first,
                row_groups=tuple(number for part in parts for number in part.row_groups),
                num_rows=sum(part.num_rows for part in parts),
                num_bytes=sum(part.num_bytes for part in parts),
            )
        yield first


def _skip_checks(num_columns: int) -> None:
    """Spare a wide task PySpark's check of names, which is quadratic in the columns.

    The batches have the exact schema. The function that checks is found in the globals of the
    task's own copy of PySpark's read function, the caller's caller, and only replaced there.
    """
    if num_columns > 100:
        import sys

        task_globals = sys._getframe(2).f_globals
        if "records_to_arrow_batches" in task_globals:
            task_globals["records_to_arrow_batches"] = lambda batches, *_: batches
