"""Reading: the plan of a dataset as Spark partitions, and its batches as Spark rows."""

from __future__ import annotations

import pickle
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from pymosaic.datasets.discovery import discover
from pymosaic.datasets.plan import Piece
from pymosaic.datasets.scan_task import ScanTask
from pymosaic.file.verify.file import verify
from pymosaic.spark.names import match_names
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.predicates import decode_filters, narrowed, renamed, translate
from pymosaic.spark.storage import locate
from pymosaic.spark.types import arrow_schema, spark_type

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from pymosaic.datasets.dataset import Dataset

__all__ = [
    "BatchReader",
    "MosaicReader",
    "Split",
    "has_files",
    "open_relation",
    "partition_columns",
    "partition_values",
    "start_worker",
]

# The cost of opening a file, in bytes read: a task gets no more small files than it can open in
# the time that another task takes to read its share.
_OPEN_COST = 1 << 20
# Large files are split, so that their row groups can be distributed.
_PIECE_BYTES = 8 << 20
_WHOLE_FILES = 1 << 62
_DEFAULT_PARALLELISM = 8
# Of datasets that were opened: how many are kept, and what the known ends of their files may take.
_KEPT_RELATIONS = 4
_KEPT_BYTES = 64 << 20


class Split(InputPartition):
    """The input of one task."""

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        super().__init__(None)
        self.pieces = pieces


class _OpenedRelations:
    """The datasets opened last: what was read of their files serves the next query as well.

    Files are listed for each query, and the end of a file is read again if it has changed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Dataset] = OrderedDict()

    def get(self, key: str) -> Dataset | None:
        """The dataset as it was opened last."""
        with self._lock:
            return self._kept.get(key)

    def put(self, key: str, dataset: Dataset) -> None:
        """Keep a dataset, unless what is known of its files takes much memory."""
        with self._lock:
            self._kept.pop(key, None)
            if dataset.known_bytes <= _KEPT_BYTES:
                self._kept[key] = dataset
            while len(self._kept) > _KEPT_RELATIONS:
                self._kept.popitem(last=False)


_opened = _OpenedRelations()


def open_relation(options: SourceOptions, schema: pa.Schema | None = None) -> Dataset:
    """Open the dataset that the options name, to read all columns or those of a schema."""
    # It imports pandas, through Arrow, which tasks do not need.
    from pymosaic.datasets.dataset import Dataset

    locations, filesystem = locate(options.locations, options.storage)
    key = repr((locations, sorted(options.storage.items()), options.partitioning))
    dataset = Dataset(
        tuple(locations) if len(locations) > 1 else locations[0],
        filesystem=filesystem,
        partitioning=options.partitioning,
        on_error="skip" if options.ignore_corrupt_files else "raise",
        opened_before=_opened.get(key),
        schema=schema,
        defer_conflicts=True,
    )
    if schema is None:
        _opened.put(key, dataset)
    if options.ignore_corrupt_files:
        total = len(discover(tuple(locations), filesystem, False).files)
        if len(dataset.files) < total:
            warnings.warn(
                f"ignoreCorruptFiles: {total - len(dataset.files)} of {total} files are skipped",
                stacklevel=2,
            )
    return dataset


def has_files(options: SourceOptions) -> bool:
    """Whether there is anything to read; a new table has no files yet."""
    locations, filesystem = locate(options.locations, options.storage)
    try:
        return bool(discover(tuple(locations), filesystem, False).files)
    except FileNotFoundError:
        return False


def partition_columns(options: SourceOptions) -> tuple[str, ...]:
    """The columns that directories make, as the options say, or else as the files tell."""
    if options.partition_by is not None:
        return options.partition_by
    first = next(iter(_partitions(options)), ())
    return tuple(key for key, _ in first)


def partition_values(options: SourceOptions) -> list[tuple[str | None, ...]]:
    """The values, as text, of all partitions that have files."""
    return sorted(
        {tuple(text for _, text in partition) for partition in _partitions(options)},
        key=lambda value: tuple((text is not None, text or "") for text in value),
    )


def _partitions(options: SourceOptions) -> Iterable[tuple[tuple[str, Any], ...]]:
    if options.partitioning is None or not (options.path or options.paths):
        return ()
    locations, filesystem = locate(options.locations, options.storage)
    try:
        files = discover(tuple(locations), filesystem, True).files
    except FileNotFoundError:
        return ()
    return (file.partition for file in files)


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
    """

    task: ScanTask | None
    target: pa.Schema
    max_batch_bytes: int
    limit: int | None
    names: tuple[str | None, ...] = ()
    sound_only: bool = False

    def read(self, pieces: tuple[Piece, ...]) -> Iterator[pa.RecordBatch]:
        """Read the rows of some pieces."""
        if self.task is None or not pieces:
            return
        left = self.limit
        for batch in self._batches(self.task, pieces):
            if left is not None:
                batch = batch.slice(0, left)
                left -= batch.num_rows
            yield from _sliced(self._converted(batch), self.max_batch_bytes)
            if left == 0:
                return

    def _batches(self, task: ScanTask, pieces: tuple[Piece, ...]) -> Iterator[pa.RecordBatch]:
        if not self.sound_only:
            yield from task.read(pieces)
            return
        for piece in pieces:
            # What is skipped must not depend on the columns that a query reads.
            findings = verify(piece.path, True, filesystem=task.filesystem, limits=task.limits)
            faults = [finding for finding in findings if finding.severity == "error"]
            if faults:
                warnings.warn(
                    f"ignoreCorruptFiles: {piece.path} is left out: {faults[0]}", stacklevel=2
                )
            else:
                yield from task.read([piece])

    def __call__(self, partitions: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the partition that a task's one input row holds; Spark runs this in tasks.

        Spark's own function compares every batch with the schema, in quadratic time.
        """
        for batch in partitions:
            for value in batch.column(0).to_pylist():
                yield from self.read(pickle.loads(value).pieces)

    def _converted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if batch.schema.equals(self.target, check_metadata=True):
            return batch
        found = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns = [
            _cast(None if name is None else found[name], data_type, batch.num_rows)
            for name, data_type in zip(self.names, self.target.types, strict=True)
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


def start_worker(partitions: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read nothing; a worker that runs this has imported everything that a read needs."""
    for _ in partitions:
        pass
    yield from ()


def _cast(column: pa.Array | None, data_type: pa.DataType, num_rows: int) -> pa.Array:
    if column is None:
        return pa.nulls(num_rows, data_type)
    if column.type == data_type:
        return column
    import pyarrow.compute as pc

    return pc.cast(column, options=pc.CastOptions(data_type, allow_time_truncate=True))


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
        self.num_rows = 0
        self.batches = BatchReader(None, arrow_schema(schema), options.max_batch_bytes, None)
        if not options.is_table or has_files(options):
            self._plan(options, schema)

    def _plan(self, options: SourceOptions, schema: StructType) -> None:
        dataset = open_relation(options)
        matches = match_names(
            schema.names,
            dataset.schema.names,
            options.case_sensitive,
            options.pushed.get("alike", ()),
        )
        if not dataset.conflicts.isdisjoint(matches):
            dataset = open_relation(options, _chosen(dataset, matches, self.batches.target))
        exact, spellings = {}, {}
        for field, name in zip(schema.fields, matches, strict=True):
            if name is not None:
                arrow_type = dataset.schema.field(name).type
                spellings[field.name] = name
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
        scan = dataset.scan(columns=names, filters=filters or None, limit=planned)
        pieces = () if filters == [] else scan.plan(piece_bytes).pieces
        self._splits = _split(pieces, options) or [Split(())]
        self.num_rows = sum(piece.num_rows for piece in pieces)
        self.batches = replace(
            self.batches,
            task=scan.task(),
            limit=limit,
            names=tuple(matches),
            sound_only=options.ignore_corrupt_files,
        )

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
        return self.batches.read(partition.pieces)


def _split(pieces: Iterable[Piece], options: SourceOptions) -> list[Split]:
    """Group pieces, in order, into tasks of about equal cost."""
    costs = [(piece, piece.num_bytes + _OPEN_COST) for piece in pieces]
    total = sum(cost for _, cost in costs)
    parallelism = min(options.pushed.get("parallelism", _DEFAULT_PARALLELISM), len(costs))
    count = max(parallelism, -(-total // options.max_partition_bytes))
    groups: dict[int, list[Piece]] = {}
    before = 0
    for piece, cost in costs:
        # A piece belongs to the task whose share contains its middle.
        groups.setdefault((2 * before + cost) * count // (2 * total), []).append(piece)
        before += cost
    return [Split(tuple(_joined(group))) for group in groups.values()]


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
