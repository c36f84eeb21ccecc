"""Writing a dataset: any Arrow source to files of about equal size, committed together."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain
from typing import Any, TypeAlias, Unpack, cast

import pyarrow as pa

from pymosaic.arrow.input import ArrowData, batches_of, open_data
from pymosaic.arrow.structs import Flattening, check_separator
from pymosaic.datasets.appending import check_appendable, recorded_types
from pymosaic.datasets.commit import WriteJob
from pymosaic.datasets.dataset import Dataset
from pymosaic.datasets.modes import Mode, WriteMode
from pymosaic.datasets.options import MAX_OPEN_FILES, TARGET_FILE_BYTES, DatasetOptions
from pymosaic.datasets.partition_types import united_types
from pymosaic.datasets.records import DAY_SECONDS
from pymosaic.datasets.rolling import (
    PartitionedWriter,
    file_schema,
)
from pymosaic.errors import DatasetExistsError, InvalidDataError, InvalidOptionError
from pymosaic.file.options import WRITER_OPTIONS, WriterKeywords, WriterOptions
from pymosaic.file.schema_recorder import check_user_metadata
from pymosaic.io import open_directory
from pymosaic.keywords import checked_keywords
from pymosaic.notebook import ShownFields
from pymosaic.progress import Meter, Progress
from pymosaic.suggestions import did_you_mean

__all__ = ["WrittenDataset", "write_dataset"]

_Batches: TypeAlias = "list[pa.RecordBatch] | tuple[pa.RecordBatch, ...] | Iterator[pa.RecordBatch]"


@dataclass(frozen=True, slots=True)
class WrittenDataset(ShownFields):
    """The result of a write.

    Parameters
    ----------
    files : tuple of str
        Paths of the new files in their file system.
    num_rows, num_bytes : int
        Total rows and size of the new files.
    removed : tuple of str
        Files that were replaced.
    """

    files: tuple[str, ...]
    num_rows: int
    num_bytes: int
    removed: tuple[str, ...] = ()


@checked_keywords(*WRITER_OPTIONS)
def write_dataset(
    data: ArrowData | _Batches,
    base: str | os.PathLike[str],
    *,
    partition_by: str | Sequence[str] | None = None,
    target_file_bytes: int = TARGET_FILE_BYTES,
    mode: Mode = "error",
    filesystem: object = None,
    progress: Progress | None = None,
    max_open_files: int = MAX_OPEN_FILES,
    keep_replaced: timedelta | float = DAY_SECONDS,
    metadata: Mapping[str, str] | None = None,
    flatten: str | None = None,
    **writer_options: Unpack[WriterKeywords],
) -> WrittenDataset:
    """Write data as a directory of Mosaic files.

    All files appear at once: readers see the dataset as it was before, or with all of them, even
    if this process fails or is killed. Others may read and write at the same time.

    Parameters
    ----------
    data : Arrow data
        A pyarrow Table, RecordBatch, RecordBatchReader, Dataset or Scanner; an iterable of
        batches; a Mosaic dataset or a scan of one; anything that supports the Arrow protocols:
        Polars and pandas DataFrames, DuckDB relations.
    base : str or path-like
        Path or URI of the directory; it need not exist.
    partition_by : str or list of str, optional
        Columns whose values become ``key=value`` directories. When appending to a dataset with such
        directories, its keys are the default.
    target_file_bytes : int
        Approximate size at which a file ends.
    mode : {"error", "append", "overwrite", "overwrite_partitions", "ignore"}
        What to do if the directory has data: raise :class:`pymosaic.DatasetExistsError`, add to it,
        replace all of it, replace only the partitions that ``data`` has rows for, or do nothing.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of ``base``, which must then be a path.
    progress : callable, optional
        Called with rows done, total rows (None if unknown) and ``"rows"``.
    max_open_files : int
        Maximum number of partitions written at once. Data sorted by partition needs few.
    keep_replaced : timedelta or number of seconds
        How long replaced files stay on disk, hidden, for readers that already use them. A later
        write or :func:`pymosaic.vacuum` deletes them.
    metadata : dict of str, optional
        Keys and values of your own, kept in each file; see :func:`pymosaic.write_table`.
    flatten : str, optional
        Make columns of the fields of structs; see :func:`pymosaic.write_table`. ``partition_by``
        may name them.
    **writer_options
        As for :func:`pymosaic.write_table`.

    Returns
    -------
    WrittenDataset

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> table = pa.table({"day": ["mon", "mon", "tue"], "temp": [3, 4, 5]})
    >>> pymosaic.write_dataset(table, "weather", partition_by="day").num_rows
    3
    >>> more = pa.table({"day": ["tue"], "temp": [6]})
    >>> len(pymosaic.write_dataset(more, "weather", mode="append").files)
    1
    """
    mode = WriteMode.parse(mode)
    options = cast("dict[str, Any]", writer_options)
    schema, batches, num_rows = open_batches(data)
    check_separator(flatten)
    if flatten is not None:
        flattening = Flattening(schema, flatten)
        schema, batches = flattening.schema, map(flattening.flattened, batches)
    storage = open_directory(base, filesystem)
    keys = _partition_keys(partition_by)
    # Before a job starts, so that most mistakes leave nothing behind.
    keeps_files = mode in (WriteMode.APPEND, WriteMode.OVERWRITE_PARTITIONS)
    if keeps_files:
        keys = check_appendable(storage, schema, keys)
    keys = keys or ()
    DatasetOptions(target_file_bytes=target_file_bytes, max_open_files=max_open_files)
    file_schema(schema, keys, options)
    check_user_metadata(metadata, WriterOptions(**options).checksum)
    # The keys of a replaced dataset no longer matter.
    known = recorded_types(storage) if keeps_files and keys else {}
    types = united_types(storage.name, known, schema, keys)
    try:
        job = WriteJob.start(
            storage,
            mode=WriteMode.ERROR if mode is WriteMode.IGNORE else mode,
            keep_replaced=keep_replaced,
            partition_types=types,
        )
        files, removed = _write(
            job,
            schema,
            batches,
            Meter(progress, num_rows, "rows"),
            partition_by=keys,
            target_file_bytes=target_file_bytes,
            max_open_files=max_open_files,
            metadata=metadata,
            **writer_options,
        )
    except DatasetExistsError:
        if mode is not WriteMode.IGNORE:
            raise
        return WrittenDataset((), 0, 0)
    return WrittenDataset(
        tuple(storage.full_path(file.staged.final_path) for file in files),
        sum(file.rows for file in files),
        sum(file.bytes for file in files),
        tuple(storage.full_path(path) for path in removed),
    )


def _write(
    job: WriteJob, schema: pa.Schema, batches: Iterable[Any], meter: Meter, **options: Any
) -> tuple[list[Any], tuple[str, ...]]:
    writer = None
    try:
        writer = PartitionedWriter(job, 0, schema, **options)
        for batch in batches:
            writer.write(batch)
            meter.add(batch.num_rows)
        files = writer.close()
        meter.finish()
        return files, job.commit(file.staged for file in files)
    except BaseException:
        if writer is not None:
            writer.abort()
        job.abort()
        raise


def open_batches(data: Any) -> tuple[pa.Schema, Iterable[pa.RecordBatch], int | None]:
    """Schema, batches and, if known, number of rows of anything that supports Arrow."""
    data = _unwrap(data)
    if isinstance(data, Iterator) or (isinstance(data, list | tuple) and data):
        return _open_iterable(iter(data))
    opened = open_data(data)
    known = None if isinstance(opened, pa.RecordBatchReader) else opened.num_rows
    return opened.schema, batches_of(opened), known


def _unwrap(data: Any) -> Any:
    """Objects with their own way to return rows."""
    if isinstance(data, Dataset):
        return data.scan()
    arrow = sys.modules.get("pyarrow.dataset")
    if arrow is not None and isinstance(data, arrow.Dataset):
        data = data.scanner()
    if arrow is not None and isinstance(data, arrow.Scanner):
        return data.to_reader()
    polars = sys.modules.get("polars")
    if polars is not None and isinstance(data, polars.LazyFrame):
        return data.collect(engine="streaming")
    return data


def _open_iterable(
    items: Iterator[Any],
) -> tuple[pa.Schema, Iterable[pa.RecordBatch], int | None]:
    first = next(items, None)
    if first is None:
        raise InvalidDataError("cannot write an empty iterator: without a batch there is no schema")
    if not isinstance(first, pa.RecordBatch | pa.Table):
        raise InvalidDataError(
            f"cannot write an iterable of {type(first).__name__}: give record batches or tables"
        )

    def generate() -> Iterator[pa.RecordBatch]:
        for item in chain([first], items):
            if not isinstance(item, pa.RecordBatch | pa.Table):
                raise InvalidDataError(f"cannot write {type(item).__name__} among record batches")
            if item.schema is not first.schema and item.schema != first.schema:
                missing = set(first.schema.names) - set(item.schema.names)
                if missing:
                    lacking = min(missing)
                    hint = did_you_mean(lacking, item.schema.names)
                    raise InvalidDataError(f"a batch does not have the column {lacking!r}{hint}")
            yield from item.to_batches() if isinstance(item, pa.Table) else [item]

    return first.schema, generate(), None


def _partition_keys(partition_by: object) -> tuple[str, ...] | None:
    if partition_by is None:
        return None
    names = [partition_by] if isinstance(partition_by, str) else partition_by
    if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
        raise InvalidOptionError(f"partition_by must be column names, got {partition_by!r}")
    return tuple(names)
