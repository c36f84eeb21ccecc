"""Writing: tasks write files of a job, and the driver commits all of them or none."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from pymosaic.datasets.appending import any_file, check_appendable, recorded_types
from pymosaic.datasets.commit import StagedFile, WriteJob, is_committed
from pymosaic.datasets.options import DATASET_OPTIONS, DatasetOptions
from pymosaic.datasets.partition_types import united_types
from pymosaic.datasets.partitioning import split_partition
from pymosaic.datasets.records import list_records
from pymosaic.datasets.replacement import ReplacedPartitions
from pymosaic.datasets.rolling import PartitionedWriter, file_schema
from pymosaic.datasets.splitting import partition_directory
from pymosaic.errors import InvalidOptionError
from pymosaic.file.reader import MosaicFile
from pymosaic.io import Directory, open_directory
from pymosaic.spark.field_metadata import kept_metadata
from pymosaic.spark.names import check_distinct, match_names
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.paimon_tables import PaimonWriter
from pymosaic.spark.partition_directory import PartitionDirectory
from pymosaic.spark.partitions import partitions_that
from pymosaic.spark.storage import locate
from pymosaic.spark.types import check_storable, conform, stored_schema

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["DatasetWriter", "TaskWriter", "WrittenFiles", "is_written"]


def is_written(options: SourceOptions) -> bool:
    """Whether the write that the options identify was done before."""
    if options.transaction is None:
        return False
    [base], filesystem = locate([options.target], options.storage)
    storage = open_directory(PartitionDirectory.of(base).base, filesystem)
    return storage.exists() and is_committed(storage, options.transaction)


@dataclass(frozen=True)
class WrittenFiles(WriterCommitMessage):
    """The message of a task to the driver: its complete files."""

    files: tuple[StagedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class TaskWriter:
    """What a task runs: it writes its rows and answers with its message, in a column of a name."""

    writer: DatasetWriter | PaimonWriter
    column: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows of one task."""
        message = self.writer.write(batches)
        yield pa.record_batch([pa.array([pickle.dumps(message)])], names=[self.column])


class DatasetWriter(DataSourceArrowWriter):
    """One write; created on the driver, where everything that can be checked is checked.

    The copies in tasks write files with names unique to their attempt. Only files that reach the
    driver in a task's message are committed.

    Parameters
    ----------
    options : SourceOptions
        Where and how to write.
    schema : pyspark.sql.types.StructType
        Columns of the rows that come.
    overwrite : bool
        Whether the files that are there are replaced.
    """

    def __init__(self, options: SourceOptions, schema: StructType, overwrite: bool) -> None:
        has_annex = bool(options.writer.get("checksum", True))
        check_storable(schema, keeps_collations=options.is_table or has_annex)
        check_distinct(schema.names, options.case_sensitive)
        [base], filesystem = locate([options.target], options.storage)
        self._place = place = PartitionDirectory.of(base)
        storage = open_directory(place.base, filesystem)
        self._application = options.application
        self._transaction = None if options.is_stream else options.transaction
        # What else is in the directory above a partition is no concern, unless it has records.
        known_dataset = not place.path or bool(list_records(storage).entries)
        existing = _existing_partitions(storage) if known_dataset else None
        mode = options.mode or ("overwrite" if overwrite else "append")
        self._job: WriteJob | None = None
        self._replaced = options if options.replace is not None else None
        self._replaces_place = self._needs_empty_place = False
        exists = place.has_files(storage) if place.path else existing is not None
        if mode == "ignore" and exists:
            return
        keys = options.partition_by
        # The directory tells the values of its keys, whatever the rows say.
        self._columns = _columns_apart_from(place.keys, schema.names, options.case_sensitive)
        names = [schema.names[column] for column in self._columns]
        if place.path:
            mode = self._mode_in_partition(mode, exists, options)
        if mode == "overwrite" and options.partition_overwrite_mode == "dynamic":
            # A dataset without partitions is one partition.
            mode = "overwrite" if (keys or existing or ()) == () else "overwrite_partitions"
        if mode == "error" or (mode == "overwrite" and not (options.is_table and keys is None)):
            existing = None
        fields = list(stored_schema(schema))
        self._schema = pa.schema([fields[column] for column in self._columns])
        if keys is not None:
            keys = _named_alike(keys, names, options.case_sensitive)
        if existing is not None:
            place.check_keys(existing)
            inner = existing[len(place.keys) :]
            keys = _check_keys(keys, inner, names, options.case_sensitive)
        if existing is not None and mode in ("append", "overwrite_partitions"):
            known = _known_names(storage, names)
            names = list(_named_alike(names, known, options.case_sensitive))
            self._schema = pa.schema(
                [field.with_name(name) for field, name in zip(self._schema, names, strict=True)]
            )
            of_place = [pa.field(key, pa.string()) for key in place.keys]
            keys = check_appendable(storage, pa.schema([*self._schema, *of_place]), existing)
            keys = keys[len(place.keys) :]
        self._partition_by = keys or ()
        if not options.is_table:
            _check_described(schema, {*self._partition_by, *place.keys}, has_annex)
        self._options = options.writer
        self._max_rows = options.max_records_per_file
        of_files = dict(options.writer)
        of_dataset = {key: of_files.pop(key) for key in DATASET_OPTIONS if key in of_files}
        DatasetOptions(**of_dataset)
        file_schema(self._schema, self._partition_by, of_files)
        adds = mode in ("append", "overwrite_partitions") and (self._partition_by or place.keys)
        recorded = recorded_types(storage) if adds else {}
        united = united_types(storage.name, recorded, self._schema, self._partition_by)
        of_keys = {key: recorded[key] for key in place.keys if key in recorded}
        self._job = WriteJob.start(
            storage,
            mode="error" if mode == "ignore" else mode,
            partition_types=of_keys | united,
        )

    def number(self, batch: int) -> None:
        """Tell the number of the batch, which a stream knows when it commits."""
        assert self._application is not None
        self._transaction = self._application, batch

    def _mode_in_partition(self, mode: str, exists: bool, options: SourceOptions) -> str:
        """The mode of the job that writes to one partition."""
        if mode in ("error", "ignore"):
            if exists:
                raise self._place.exists_error()
            self._needs_empty_place = True
        if mode == "overwrite":
            if options.partition_by and options.partition_overwrite_mode == "dynamic":
                return "overwrite_partitions"
            self._replaces_place = True
        return "append"

    @property
    def job(self) -> WriteJob | None:
        """The job whose files these are; None if nothing is written."""
        return self._job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WrittenFiles:
        """Write the rows of one task."""
        if self._job is None:
            return WrittenFiles()
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        # Attempts of one task may run at the same time.
        task = f"{context.partitionId():05d}-{context.taskAttemptId()}"
        batches = (batch for batch in iterator if batch.num_rows)
        first = next(batches, None)
        if first is None:
            return WrittenFiles()
        writer = self._open(self._job, task)
        try:
            for batch in chain([first], batches):
                if len(self._columns) < batch.num_columns:
                    batch = batch.select(self._columns)
                writer.write(conform(batch, self._schema))
            files = writer.close()
        except BaseException:
            writer.abort()
            raise
        return WrittenFiles(tuple(file.staged for file in files))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Commit the files of all tasks."""
        if self._job is None:
            return
        files = [
            file
            for message in messages
            if isinstance(message, WrittenFiles)
            for file in message.files
        ]
        if not files:
            files = self._write_empty(self._job)
        self._job.commit(files, self._removes(), transaction=self._transaction)

    def _removes(self) -> Iterable[str] | ReplacedPartitions:
        """The partitions that are replaced, if a condition selects them."""
        if self._replaces_place:
            return self._place.files
        if self._needs_empty_place:
            return self._place.nothing
        if self._replaced is None:
            return ()
        from pyspark.sql.types import StructType

        schema = StructType.fromJson(self._replaced.partition_schema or {})
        condition = self._replaced.replace or []
        options = self._replaced
        return partitions_that(condition, schema, options.case_sensitive, options.zone)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Remove the files of all tasks, including those that sent no message."""
        if self._job is not None:
            self._job.abort()

    def _open(self, job: WriteJob, task: str) -> PartitionedWriter:
        return PartitionedWriter(
            job,
            task,
            self._schema,
            partition_by=self._partition_by,
            directory=self._place.path,
            max_file_rows=self._max_rows,
            **self._options,
        )

    def _write_empty(self, job: WriteJob) -> list[StagedFile]:
        """A file without rows keeps the columns of a dataset that has no other file."""
        place = self._place
        if (
            job.mode in ("append", "overwrite_partitions")
            and _existing_partitions(job.storage) is not None
            and not (self._replaces_place and not self._partition_by)
        ):
            return []
        keys = self._partition_by
        schema = pa.schema([field for field in self._schema if field.name not in keys])
        inner = partition_directory([(key, None) for key in keys])
        directory = "/".join(part for part in (place.path, inner) if part)
        writer = PartitionedWriter(job, "empty", schema, directory=directory, **self._options)
        writer.write(pa.RecordBatch.from_pylist([], schema))
        return [file.staged for file in writer.close()]


def _columns_apart_from(
    keys: Sequence[str], names: Sequence[str], case_sensitive: bool
) -> list[int]:
    """The places of the columns that have none of these names."""
    matches = match_names(keys, names, case_sensitive)
    return [place for place, name in enumerate(names) if name not in matches]


def _check_described(schema: StructType, keys: set[str], has_annex: bool) -> None:
    """Refuse collations, and tell of metadata, of columns that are not described in files."""
    from pyspark.sql.types import StructType

    outside = [field for field in schema.fields if field.name in keys]
    if outside:
        check_storable(StructType(outside))
    lost = outside if has_annex else schema.fields
    names = [field.name for field in lost if field.metadata and kept_metadata(field)]
    if names:
        where = "names of directories" if has_annex else "files without checksums"
        warnings.warn(
            f"{where} do not keep comments and metadata of columns, of which {len(names)} have "
            f"some (such as {names[0]!r}); a table of the catalog keeps them",
            stacklevel=3,
        )


def _existing_partitions(storage: Directory) -> tuple[str, ...] | None:
    """The columns that the dataset's directories make; None if there is no file."""
    file = any_file(storage)
    if file is None:
        return None
    return tuple(key for key, _ in split_partition(file.path.split("/")[:-1]))


def _named_alike(
    wanted: Sequence[str], known: Sequence[str], case_sensitive: bool
) -> tuple[str, ...]:
    """Names in the spelling in which they are known; others as they are."""
    found = match_names(wanted, known, case_sensitive)
    return tuple(
        name if match is None else match for name, match in zip(wanted, found, strict=True)
    )


def _check_keys(
    wanted: tuple[str, ...] | None,
    existing: tuple[str, ...],
    columns: Sequence[str],
    case_sensitive: bool,
) -> tuple[str, ...]:
    """The partition columns of a write into a dataset, in the spelling of the rows that come."""
    present = _named_alike(existing, columns, case_sensitive)
    if wanted is None or wanted == present:
        return present
    raise InvalidOptionError(
        f"partitionBy is {', '.join(wanted) or 'empty'}, but the dataset is "
        + (f"partitioned by {', '.join(existing)}" if existing else "not partitioned")
    )


def _known_names(storage: Directory, wanted: Sequence[str]) -> list[str]:
    """The columns of a dataset; one file tells, if it has all that are wanted."""
    newest = any_file(storage)
    if newest is not None:
        keys = [key for key, _ in split_partition(newest.path.split("/")[:-1])]
        with (
            suppress(FileNotFoundError),  # it was replaced just now
            MosaicFile(
                storage.full_path(newest.path), filesystem=storage.filesystem, types="mosaic"
            ) as file,
        ):
            names = [*file.schema.names, *keys]
            if set(wanted).issubset(names):
                return names
    from pymosaic.datasets.dataset import Dataset

    return list(Dataset(storage.base, filesystem=storage.filesystem, types="mosaic").schema.names)
