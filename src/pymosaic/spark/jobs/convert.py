"""Conversion between Mosaic and any format that Spark reads and writes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pymosaic.file.options import check_int
from pymosaic.progress import Progress
from pymosaic.spark.api import check_mode, option_text
from pymosaic.spark.jobs.frames import (
    Source,
    check_apart,
    column,
    is_case_sensitive,
    load,
    names_of,
    resolve_columns,
)
from pymosaic.spark.jobs.report import JobReport, Stopwatch
from pymosaic.spark.jobs.tasks import Watch
from pymosaic.spark.jobs.writing import Written, open_writer, write_by_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["ConvertReport", "convert"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertReport(JobReport):
    """The result of a conversion, with its format."""

    format: str


def convert(
    spark: SparkSession,
    source: Source,
    target: str | os.PathLike[str],
    *,
    format: str | None = None,
    read_options: Mapping[str, object] | None = None,
    target_format: str = "mosaic",
    mode: str = "error",
    partition_by: str | Sequence[str] | None = None,
    cluster_by: str | Sequence[str] | None = None,
    partitions: int | None = None,
    progress: Progress | None = None,
    **options: object,
) -> ConvertReport:
    """Convert any format that Spark reads to Mosaic files, or Mosaic files to another format.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session.
    source : DataFrame, str or path-like
        A DataFrame, a path, or with ``format="table"`` the name of a table.
    target : str or path-like
        Directory of the files.
    format : str, optional
        Format of the source; by default taken from its extension, or that of its files.
    read_options : mapping, optional
        Options of the reader, by their names in Spark; ``{"columns": "id,temp_*"}`` selects
        columns of Mosaic files.
    target_format : str
        ``"mosaic"``, or any format that Spark writes.
    mode : {"error", "append", "overwrite", "ignore"}
        What to do if the target has files.
    partition_by : str or list of str, optional
        Columns that become ``key=value`` directories.
    cluster_by : str or list of str, optional
        Sort the whole dataset by these columns: each file holds a range of values, and filters on
        them skip files and row groups. Mosaic files get statistics for these columns.
    partitions : int, optional
        Number of tasks that write; by default as many as read, or with ``cluster_by`` the value of
        ``spark.sql.shuffle.partitions``.
    progress : callable, optional
        Called with tasks done, total tasks and ``"tasks"``.
    **options
        Options of the writer, by their names in Spark: ``compressionLevel=9``.

    Returns
    -------
    ConvertReport
        ``rows`` and ``bytes_in`` are known for conversions to Mosaic; for others, ``rows`` are
        those of the source and ``bytes_in`` is 0.

    Examples
    --------
    >>> from pymosaic.spark import jobs
    >>> spark.range(100).write.parquet("ids.parquet")
    >>> jobs.convert(spark, "ids.parquet", "ids", cluster_by="id", compressionLevel=3).rows
    100
    """
    from pymosaic.spark.session import enable

    stopwatch = Stopwatch()
    check_mode(mode)
    enable(spark)
    frame = load(spark, source, format, read_options)
    check_apart([frame], target, target_format, mode)
    keys = resolve_columns(frame, "cluster_by", names_of("cluster_by", cluster_by))
    directories = resolve_columns(frame, "partition_by", names_of("partition_by", partition_by))
    frame = _arranged(frame, keys, directories, partitions)
    schema = frame.schema  # parsed each time, which takes long for 10,000 columns
    watch = Watch(spark, progress)
    if target_format == "mosaic":
        if keys:
            options.setdefault("statistics", [key for key in keys if key not in directories])
        writer = open_writer(
            target,
            schema,
            mode=mode,
            partition_by=directories or None,
            options=options,
            case_sensitive=is_case_sensitive(spark),
        )
        written = write_by_tasks(watch, frame, writer, lambda batches: batches)
    else:
        written = _write_otherwise(
            watch, frame, os.fspath(target), target_format, mode, directories, options
        )
    watch.finish()
    return ConvertReport(
        job="convert",
        rows=written.rows,
        columns=len(schema),
        files=written.files,
        bytes_in=written.bytes_in,
        bytes_out=written.bytes_out,
        seconds=stopwatch.seconds,
        format=target_format,
    )


def _arranged(
    frame: DataFrame,
    keys: tuple[str, ...],
    directories: tuple[str, ...],
    partitions: int | None,
) -> DataFrame:
    if partitions is not None:
        check_int("partitions", partitions, 1, 1 << 20)
    order = [column(name) for name in (*directories, *(x for x in keys if x not in directories))]
    if keys:
        ranged = (
            frame.repartitionByRange(*order)
            if partitions is None
            else frame.repartitionByRange(partitions, *order)
        )
        return ranged.sortWithinPartitions(*order)
    return frame if partitions is None else frame.repartition(partitions)


def _write_otherwise(
    watch: Watch,
    frame: DataFrame,
    target: str,
    target_format: str,
    mode: str,
    directories: tuple[str, ...],
    options: Mapping[str, object],
) -> Written:
    """Write with Spark's own writer, and count the resulting files."""
    before = _sizes(target)
    if mode == "ignore" and before:
        return Written()
    writer = frame.write.format(target_format).mode(mode)
    writer = writer.options(**{key: option_text(value) for key, value in options.items()})
    if directories:
        writer = writer.partitionBy(*directories)
    watch.run(lambda: writer.save(target))
    made = {path: size for path, size in _sizes(target).items() if path not in before}
    rows = watch.run(frame.count)
    return Written(rows=rows, files=len(made), bytes_out=sum(made.values()))


def _sizes(target: str) -> dict[str, int]:
    from pymosaic.datasets.records import is_hidden
    from pymosaic.io import open_directory
    from pymosaic.spark.storage import locate

    [base], filesystem = locate([target], {})
    entries = open_directory(base, filesystem).list_files()
    return {entry.path: entry.size for entry in entries if not is_hidden(entry.path)}
