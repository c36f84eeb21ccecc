"""Compaction on executors: groups are planned on the driver, and committed at once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pymosaic.datasets.commit import WriteJob
from pymosaic.datasets.compact import compact_group, plan_compaction
from pymosaic.datasets.options import MIN_ROW_GROUP_BYTES, TARGET_FILE_BYTES
from pymosaic.datasets.rolling import WrittenFile
from pymosaic.errors import CommitConflictError, DatasetError, InvalidOptionError
from pymosaic.file.reader import MosaicFile
from pymosaic.io import Directory, open_directory
from pymosaic.progress import Progress
from pymosaic.spark.jobs.report import JobReport, Stopwatch
from pymosaic.spark.jobs.tasks import Watch, map_items
from pymosaic.spark.options import SourceOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from pymosaic.datasets.compaction_plan import CompactionGroup

__all__ = ["CompactReport", "compact"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactReport(JobReport):
    """The result of a compaction.

    Parameters
    ----------
    files_before, files_after : int
        Number of files of the dataset.
    files_copied, files_reencoded : int
        Number of files merged by copying their bytes, and by rewriting them.
    conflicts : int
        Number of files that another job replaced in the meantime; then nothing was changed.
    """

    files_before: int
    files_after: int
    files_copied: int
    files_reencoded: int
    conflicts: int


def compact(
    spark: SparkSession,
    target: str | os.PathLike[str],
    *,
    target_file_bytes: int = TARGET_FILE_BYTES,
    min_row_group_bytes: int = MIN_ROW_GROUP_BYTES,
    verify: bool = False,
    progress: Progress | None = None,
    **options: object,
) -> CompactReport:
    """Combine many small files of a dataset into a few large ones, like :func:`pymosaic.compact`.

    A Paimon table is compacted as by :func:`pymosaic.paimon.compact`.

    The driver decides which files to combine; each group is a task, which copies bytes if the
    schemas are the same. Everything is committed in one step: readers see the dataset as it was
    before or as it is afterwards. If another job has replaced some of the files in the meantime,
    nothing is changed and the report counts ``conflicts``.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session.
    target : str or path-like
        The dataset's directory.
    target_file_bytes, min_row_group_bytes, verify
        As for :func:`pymosaic.compact`.
    progress : callable, optional
        Called with tasks done, total tasks and ``"tasks"``.
    **options
        Options for rewritten files, by their names in Spark: ``compressionLevel=9``; and
        ``storage.*``.

    Returns
    -------
    CompactReport

    Examples
    --------
    >>> import pymosaic.spark
    >>> from pymosaic.spark import jobs
    >>> pymosaic.spark.write(spark.range(12, numPartitions=3), "small")
    >>> report = jobs.compact(spark, "small")
    >>> report.files_before, report.files_after
    (3, 1)
    """
    from pymosaic.paimon.detection import holds_table
    from pymosaic.spark.api import option_text
    from pymosaic.spark.storage import locate

    stopwatch = Stopwatch()
    parsed = SourceOptions.parse({key: option_text(value) for key, value in options.items()})
    [base], filesystem = locate([os.fspath(target)], parsed.storage)
    storage = open_directory(base, filesystem)
    if holds_table(base, filesystem):
        if parsed.writer or target_file_bytes != TARGET_FILE_BYTES:
            raise InvalidOptionError(
                f"{base} is a Paimon table: its own options tell how its files are written"
            )
        return _compact_table(spark, target, parsed, progress, stopwatch)
    num_files, groups = plan_compaction(
        storage,
        target_file_bytes=target_file_bytes,
        min_row_group_bytes=min_row_group_bytes,
        **parsed.writer,
    )
    if not num_files:
        raise DatasetError(f"{storage.name} has no Mosaic files")
    watch = Watch(spark, progress)
    written: list[WrittenFile] = []
    removes = [path for group in groups for path in group.files]
    conflicts = 0
    if groups:
        job = WriteJob.start(storage, mode="append")
        settings = {"target_file_bytes": target_file_bytes, "verify": verify}
        work = _work(job, settings | parsed.writer)
        try:
            messages = map_items(watch, spark, groups, work)
            if any(message is None for message in messages):
                raise CommitConflictError(f"{storage.name}: another job has replaced files")
            written = [file for message in messages for file in message or ()]
            job.commit((file.staged for file in written), removes, rearranges=True)
        except CommitConflictError:
            job.abort()
            written, groups, conflicts = [], [], len(removes)
        except BaseException:
            job.abort()
            raise
    watch.finish()
    copied = [group for group in groups if group.copies]
    replaced = sum(len(group.files) for group in groups)
    return CompactReport(
        job="compact",
        rows=sum(file.rows for file in written),
        columns=_num_columns(storage, written),
        files=len(written),
        bytes_in=sum(group.num_bytes for group in groups),
        bytes_out=sum(file.bytes for file in written),
        seconds=stopwatch.seconds,
        files_before=num_files,
        files_after=num_files - replaced + len(written),
        files_copied=sum(len(group.files) for group in copied),
        files_reencoded=replaced - sum(len(group.files) for group in copied),
        conflicts=conflicts,
    )


def _compact_table(
    spark: SparkSession,
    target: str | os.PathLike[str],
    options: SourceOptions,
    progress: Progress | None,
    stopwatch: Stopwatch,
) -> CompactReport:
    """The same for a Paimon table, whose own options tell what is small."""
    from pymosaic.paimon.compaction import Compaction
    from pymosaic.paimon.table import open_table
    from pymosaic.spark.storage import locate

    [base], _ = locate([os.fspath(target)], {})
    compaction = Compaction(open_table(base, options.storage))

    def write_group(number: int, name: str) -> Any:
        return compaction.write(number)

    watch = Watch(spark, progress)
    written = map_items(watch, spark, range(len(compaction.groups)), write_group)
    report = compaction.commit(written)
    watch.finish()
    return CompactReport(
        job="compact",
        rows=report.rows_written,
        columns=compaction.num_columns if report.files_written else 0,
        files=report.files_written,
        bytes_in=sum(rows.size for group in compaction.groups for rows in group),
        bytes_out=report.bytes_written,
        seconds=stopwatch.seconds,
        files_before=report.files_before,
        files_after=report.files_after,
        files_copied=0,
        files_reencoded=report.files_before - report.files_after + report.files_written,
        conflicts=0,
    )


def _work(
    job: WriteJob, options: dict[str, Any]
) -> Callable[[CompactionGroup, str], list[WrittenFile] | None]:
    def work(group: CompactionGroup, name: str) -> list[WrittenFile] | None:
        try:
            return compact_group(job, group, name, **options)
        except FileNotFoundError:
            return None  # another job has replaced them

    return work


def _num_columns(storage: Directory, written: list[WrittenFile]) -> int:
    if not written:
        return 0
    path = storage.full_path(written[0].staged.final_path)
    with MosaicFile(path, filesystem=storage.filesystem, types="mosaic") as file:
        return file.num_columns
