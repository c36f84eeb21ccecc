"""Writing a DataFrame through a transformation in the tasks, as files of one write."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from pymosaic.datasets.records import job_of
from pymosaic.datasets.snapshot import take_snapshot
from pymosaic.spark.api import check_mode, option_text
from pymosaic.spark.jobs.scans import FrameScan, scan_of
from pymosaic.spark.jobs.tasks import Watch, collect
from pymosaic.spark.options import CASE_SENSITIVE, MODE, SourceOptions
from pymosaic.spark.writing import DatasetWriter, WrittenFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["Transformation", "Written", "open_writer", "write_by_tasks"]

Transformation: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterable[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class Written:
    """The input of tasks, and their committed output."""

    rows_in: int = 0
    bytes_in: int = 0
    rows: int = 0
    files: int = 0
    bytes_out: int = 0


def open_writer(
    target: str | os.PathLike[str],
    schema: StructType,
    *,
    mode: str,
    partition_by: Sequence[str] | None,
    options: Mapping[str, object],
    case_sensitive: bool = False,
) -> DatasetWriter:
    """Start a write, after checking everything.

    Parameters
    ----------
    target : str or path-like
        The dataset's directory.
    schema : pyspark.sql.types.StructType
        Schema of the output, which no Spark plan has.
    mode : {"error", "append", "overwrite", "ignore"}
        What to do if the target has files.
    partition_by : sequence of str, optional
        Columns that become directories.
    options : mapping
        Options of the `mosaic` source, by their names in Spark.
    case_sensitive : bool
        Whether names that differ only in case are different.
    """
    mode = check_mode(mode)
    given = {key: option_text(value) for key, value in options.items()}
    given["path"] = os.fspath(target)
    given[CASE_SENSITIVE] = option_text(case_sensitive)
    if partition_by is not None:
        given["partitionBy"] = json.dumps(list(partition_by))
    if mode in ("error", "ignore"):
        given[MODE] = mode
    return DatasetWriter(SourceOptions.parse(given), schema, mode == "overwrite")


def write_by_tasks(
    watch: Watch, frame: DataFrame, writer: DatasetWriter, transformation: Transformation
) -> Written:
    """Write the transformation of each partition, and commit everything at once.

    Rows that a frame only reads from Mosaic files are read by the tasks that write them.
    """
    job = writer.job
    if job is None:
        return Written()
    scan: FrameScan | None = None

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[WrittenFiles, Written]]:
        rows_in = bytes_in = rows = 0

        def taken() -> Iterator[pa.RecordBatch]:
            nonlocal rows_in, bytes_in
            for batch in batches if scan is None else scan(batches):
                rows_in += batch.num_rows
                bytes_in += batch.nbytes
                yield batch

        def made() -> Iterator[pa.RecordBatch]:
            nonlocal rows
            for batch in transformation(taken()):
                rows += batch.num_rows
                yield batch

        files = writer.write(made())
        yield files, Written(rows_in, bytes_in, rows)

    try:
        scan = scan_of(frame)
        tasks = frame if scan is None else scan.tasks(frame.sparkSession)
        messages = collect(watch, tasks, work)
        writer.commit([files for files, _ in messages])
    except BaseException:
        writer.abort([])
        raise
    counts = [count for _, count in messages]
    published = [x for x in take_snapshot(job.storage).files if job_of(x.path) == job.id]
    return Written(
        sum(count.rows_in for count in counts),
        sum(count.bytes_in for count in counts),
        sum(count.rows for count in counts),
        len(published),
        sum(file.size for file in published),
    )
