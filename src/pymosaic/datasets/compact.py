"""Compaction: few large files instead of many small ones."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pyarrow as pa

from pymosaic.datasets.commit import WriteJob
from pymosaic.datasets.compaction_plan import CompactionGroup, group_files, summarize_files
from pymosaic.datasets.dataset import Dataset
from pymosaic.datasets.merge import merge
from pymosaic.datasets.options import MIN_ROW_GROUP_BYTES, TARGET_FILE_BYTES, CompactionOptions
from pymosaic.datasets.records import DAY_SECONDS
from pymosaic.datasets.rolling import PartitionedWriter, WrittenFile
from pymosaic.datasets.snapshot import PaimonTableError, take_snapshot
from pymosaic.errors import CommitConflictError, DatasetError, MosaicError
from pymosaic.file.open_file import read_head
from pymosaic.file.options import WRITER_OPTIONS, WriterOptions
from pymosaic.file.original_schema import OriginalSchema
from pymosaic.io import Directory, open_directory, open_source
from pymosaic.kernels.arrow_source import catalog_from_arrow
from pymosaic.keywords import checked_keywords
from pymosaic.limits import DEFAULT_LIMITS, Limits
from pymosaic.notebook import ShownFields
from pymosaic.progress import Meter, Progress

__all__ = ["CompactionReport", "compact", "compact_group", "plan_compaction"]

# Amount committed at a time: a killed compaction loses at most this much work.
_TARGETS_PER_JOB = 16


@dataclass(frozen=True, slots=True)
class CompactionReport(ShownFields):
    """The result of a compaction.

    Parameters
    ----------
    files_before, files_after : int
        Files of the dataset.
    files_copied, bytes_copied : int
        Files, and their bytes, that were merged by copying.
    files_reencoded, bytes_reencoded : int
        Files, and their bytes, that were rewritten.
    files_written, bytes_written : int
        The new files, and their bytes.
    conflicts : int
        Files that another job replaced in the meantime; they were left alone.
    """

    files_before: int
    files_after: int
    files_copied: int = 0
    bytes_copied: int = 0
    files_reencoded: int = 0
    bytes_reencoded: int = 0
    files_written: int = 0
    bytes_written: int = 0
    conflicts: int = 0


@checked_keywords(*WRITER_OPTIONS)
def compact(
    base: str | os.PathLike[str],
    *,
    target_file_bytes: int = TARGET_FILE_BYTES,
    min_row_group_bytes: int = MIN_ROW_GROUP_BYTES,
    verify: bool = False,
    filesystem: object = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
    keep_replaced: timedelta | float = DAY_SECONDS,
    **writer_options: Any,
) -> CompactionReport:
    """Combine the many small files of a dataset into a few large ones.

    Files with the same schema are merged by copying their bytes, see :func:`pymosaic.merge`. Files
    are rewritten only if their schemas differ, or if their row groups are too small to keep. Rows
    stay in their partitions. Readers see the dataset as it was before or as it is afterwards, and
    others may add files at the same time; it may be killed at any point.

    Parameters
    ----------
    base : str or path-like
        The dataset's directory.
    target_file_bytes : int
        Approximate size of the new files. Files of at least three quarters of it are left alone.
    min_row_group_bytes : int
        If the row groups of a file are smaller than this on average, the file is rewritten.
    verify : bool
        Check the checksums of copied data; see :func:`pymosaic.merge`.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of ``base``, which must then be a path.
    limits : Limits, optional
        Caps on what a file may demand.
    progress : callable, optional
        Called with bytes done, total bytes and ``"bytes"``.
    keep_replaced : timedelta or number of seconds
        How long the old files stay on disk, hidden, for readers that already use them. A later
        write or :func:`pymosaic.vacuum` deletes them.
    **writer_options
        For rewritten files, as for :func:`pymosaic.write_table`. By default they keep the
        compression, the number of buckets and the statistics of the old files.

    Returns
    -------
    CompactionReport

    Raises
    ------
    FileNotFoundError
        If there is no such directory.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> for day in range(5):
    ...     _ = pymosaic.write_dataset(pa.table({"day": [day]}), "days", mode="append")
    >>> report = pymosaic.compact("days")
    >>> report.files_before, report.files_after
    (5, 1)
    """
    limits = DEFAULT_LIMITS if limits is None else limits
    storage = open_directory(base, filesystem)
    if not storage.exists():
        raise FileNotFoundError(2, "No such file or directory", storage.name)
    num_files, groups = plan_compaction(
        storage,
        target_file_bytes=target_file_bytes,
        min_row_group_bytes=min_row_group_bytes,
        limits=limits,
        **writer_options,
    )
    report = CompactionReport(num_files, num_files)
    meter = Meter(progress, sum(group.num_bytes for group in groups), "bytes")
    for batch in _batches(groups, _TARGETS_PER_JOB * target_file_bytes):
        report = _compact_batch(
            storage,
            batch,
            report,
            meter,
            target_file_bytes=target_file_bytes,
            keep_replaced=keep_replaced,
            verify=verify,
            limits=limits,
            **writer_options,
        )
    meter.finish()
    return report


@checked_keywords(*WRITER_OPTIONS)
def plan_compaction(
    storage: Directory,
    *,
    target_file_bytes: int = TARGET_FILE_BYTES,
    min_row_group_bytes: int = MIN_ROW_GROUP_BYTES,
    limits: Limits | None = None,
    **writer_options: Any,
) -> tuple[int, list[CompactionGroup]]:
    """The number of files, and the groups of files to combine."""
    CompactionOptions(target_file_bytes=target_file_bytes, min_row_group_bytes=min_row_group_bytes)
    options = WriterOptions(**writer_options)
    try:
        files = summarize_files(
            storage, limits or DEFAULT_LIMITS, min_row_group_bytes, options.row_group_bytes
        )
    except PaimonTableError as error:
        raise DatasetError(
            f"{storage.name} is a Paimon table: use pymosaic.paimon.compact"
        ) from error
    return len(files), group_files(files, target_file_bytes, min_row_group_bytes)


def compact_group(
    job: WriteJob,
    group: CompactionGroup,
    task: str | int,
    *,
    target_file_bytes: int = TARGET_FILE_BYTES,
    verify: bool = False,
    limits: Limits | None = None,
    meter: Meter | None = None,
    **writer_options: Any,
) -> list[WrittenFile]:
    """Write the result of a group, as files of a job. Can run anywhere, for groups in parallel.

    The files take the place of the group's first file in the order of rows.

    Raises
    ------
    CommitConflictError
        If another job has replaced files of the group, and they are gone.
    """
    limits = DEFAULT_LIMITS if limits is None else limits
    meter = Meter(None, None, "bytes") if meter is None else meter
    paths = [job.storage.full_path(path) for path in group.files]
    end = meter.done + group.num_bytes
    try:
        written = _write_group(
            job, group, paths, task, target_file_bytes, verify, limits, meter, writer_options
        )
    except (OSError, MosaicError) as error:
        # Stores report a missing file in many ways, some of them misleading.
        present = {entry.path for entry in take_snapshot(job.storage).files}
        if gone := [path for path in group.files if path not in present]:
            raise CommitConflictError(
                f"{job.storage.name}: another job has replaced {gone[0]} meanwhile"
            ) from error
        raise
    meter.add(end - meter.done)
    return [
        replace(file, staged=replace(file.staged, size=file.bytes, place=group.files[0]))
        for file in written
    ]


def _write_group(
    job: WriteJob,
    group: CompactionGroup,
    paths: list[str],
    task: str | int,
    target_file_bytes: int,
    verify: bool,
    limits: Limits,
    meter: Meter,
    writer_options: dict[str, Any],
) -> list[WrittenFile]:
    if group.copies:
        staged = job.file(group.directory, task, 0)
        glued = merge(
            paths,
            staged.write_path,
            verify=verify,
            filesystem=job.filesystem,
            limits=limits,
            progress=_Part(meter),
        )
        return [WrittenFile(staged, glued.num_rows, glued.num_bytes)]
    return _reencode(job, group.directory, paths, task, target_file_bytes, limits, writer_options)


class _Part:
    """Reports the progress of a part of the work as progress of the whole."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._done = 0

    def __call__(self, done: int, total: int | None, unit: str, /) -> None:
        if done > self._done:
            self._meter.add(done - self._done)
            self._done = done


def _reencode(
    job: WriteJob,
    directory: str,
    paths: list[str],
    task: str | int,
    target_file_bytes: int,
    limits: Limits,
    writer_options: dict[str, Any],
) -> list[WrittenFile]:
    dataset = Dataset(tuple(paths), filesystem=job.filesystem, partitioning=None, limits=limits)
    found = _options_of(paths, dataset.schema, job.filesystem, limits, writer_options)
    options = {**found, **writer_options}
    writer = PartitionedWriter(
        job,
        task,
        dataset.schema,
        directory=directory,
        target_file_bytes=target_file_bytes,
        **options,
    )
    try:
        for batch in dataset.scan().to_batches():
            writer.write(batch)
        return writer.close()
    except BaseException:
        writer.abort()
        raise


def _options_of(
    paths: Iterable[str],
    schema: pa.Schema,
    filesystem: Any,
    limits: Limits,
    writer_options: dict[str, Any],
) -> dict[str, Any]:
    """The options that files were written with, as far as the files show them."""
    num_buckets = num_columns = 0
    compression = "none"
    statistics: set[str] = set()
    metadata: dict[str, str] | None = None
    for path in paths:
        source = open_source(path, filesystem)
        try:
            head = read_head(source, limits, keeps_metadata=True)
            user = dict(OriginalSchema.of_head(head, limits).key_values.user)
        finally:
            source.close()
        known = user if metadata is None else metadata
        metadata = {key: value for key, value in known.items() if user.get(key) == value}
        catalog = head.catalog
        if compression == "none":
            compression = head.compression.name
        if catalog.num_columns > num_columns:
            num_buckets, num_columns = catalog.num_buckets, catalog.num_columns
        if head.index.num_row_groups:
            # Only names: Python cannot represent every value of an old file.
            positions = [entry[0] for entry in head.index.statistics(0)]
            statistics.update(map(catalog.name, positions))
    # A widened column may have a type without statistics.
    catalog = catalog_from_arrow(schema, 1)
    options: dict[str, Any] = {
        "compression": compression,
        "statistics": [x for x in sorted(statistics) if catalog.has_statistics(catalog.find(x))],
    }
    if metadata and writer_options.get("checksum", True):
        options["metadata"] = metadata
    # With as many buckets as columns, the requested number is unknown.
    if 0 < num_buckets < num_columns:
        options["num_buckets"] = num_buckets
    return options


def _batches(groups: list[CompactionGroup], max_bytes: int) -> Iterator[list[CompactionGroup]]:
    batch: list[CompactionGroup] = []
    size = 0
    for group in groups:
        batch.append(group)
        size += group.num_bytes
        if size >= max_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _compact_batch(
    storage: Directory,
    groups: list[CompactionGroup],
    report: CompactionReport,
    meter: Meter,
    keep_replaced: timedelta | float,
    **options: Any,
) -> CompactionReport:
    job = WriteJob.start(storage, mode="append", keep_replaced=keep_replaced)
    written: list[WrittenFile] = []
    removes = [path for group in groups for path in group.files]
    end = meter.done + sum(group.num_bytes for group in groups)
    try:
        for number, group in enumerate(groups):
            written += compact_group(job, group, number, meter=meter, **options)
        job.commit((file.staged for file in written), removes, rearranges=True)
    except CommitConflictError:
        # Another job has replaced some of these files, which are now its responsibility.
        job.abort()
        meter.add(end - meter.done)
        return replace(report, conflicts=report.conflicts + len(removes))
    except BaseException:
        job.abort()
        raise
    copied = [group for group in groups if group.copies]
    reencoded = [group for group in groups if not group.copies]
    return replace(
        report,
        files_after=report.files_after + len(written) - len(removes),
        files_copied=report.files_copied + sum(len(group.files) for group in copied),
        bytes_copied=report.bytes_copied + sum(group.num_bytes for group in copied),
        files_reencoded=report.files_reencoded + sum(len(group.files) for group in reencoded),
        bytes_reencoded=report.bytes_reencoded + sum(group.num_bytes for group in reencoded),
        files_written=report.files_written + len(written),
        bytes_written=report.bytes_written + sum(file.bytes for file in written),
    )
