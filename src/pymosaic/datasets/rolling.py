"""Writing many files: one open file per partition, and a new file when one is large enough.

How large a file will be is estimated from what compression has left of the bytes of all files so
far. Before anything was compressed, a row group ends when its serialised values reach the target,
so that the first file already goes by a measured ratio.

Rows wait, up to a number of bytes, before they are split by partition: batches in which many
partitions take turns would otherwise end a file for each partition and batch.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from pymosaic.arrow.row_sizes import num_bytes
from pymosaic.datasets.commit import StagedFile, WriteJob
from pymosaic.datasets.options import MAX_OPEN_FILES, TARGET_FILE_BYTES, DatasetOptions
from pymosaic.datasets.splitting import (
    check_name_lengths,
    check_partition_columns,
    split_batch,
)
from pymosaic.file.options import WRITER_OPTIONS, WriterOptions
from pymosaic.file.writer import MosaicWriter, check_writable
from pymosaic.keywords import checked_keywords

__all__ = ["PartitionedWriter", "WrittenFile", "file_schema"]

# A file this close to its target is full: only a few more rows would fit.
_FULL = 0.95
# The first piece of a batch, while the size of a row is unknown.
_FIRST_VALUES = 1 << 20
_BYTES_PER_VALUE = 16
# Rows buffered in all open files together, in row groups.
_BUFFERED_ROW_GROUPS = 2
# Rows that wait to be split; while they are, there are three copies of them.
_WAITING_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that is complete but not yet committed."""

    staged: StagedFile
    rows: int
    bytes: int


def file_schema(
    schema: pa.Schema, partition_by: Sequence[str], writer_options: dict[str, Any]
) -> pa.Schema:
    """The checked schema of the files, without key columns."""
    schema = check_partition_columns(schema, partition_by)
    check_writable(schema, **writer_options)
    return schema


class _OpenFile:
    def __init__(self, number: int, writer: MosaicWriter, staged: StagedFile) -> None:
        self.number = number
        self.writer = writer
        self.staged = staged
        self.rows = 0


class PartitionedWriter:
    """Writes batches as files of a job, by partition and up to a target size.

    Parameters
    ----------
    job : WriteJob
        The job that the files belong to; its driver commits them.
    task : str or int
        Distinguishes the writers of one job, including attempts of the same task.
    schema : pyarrow.Schema
        Schema of the batches, including key columns.
    partition_by : sequence of str
        Key columns, outermost directory first.
    directory : str
        Directory of the files, which those of key columns are in.
    target_file_bytes : int
        Approximate size at which a file ends.
    max_open_files : int
        With more partitions than this, the least recently written file ends.
    max_file_rows : int, optional
        A file ends when it has as many rows.
    **writer_options
        As for :func:`pymosaic.write_table`.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> from pymosaic.datasets.commit import WriteJob
    >>> batch = pa.record_batch({"day": [1, 1, 2], "n": [5, 6, 7]})
    >>> job = WriteJob.start("days")
    >>> writer = PartitionedWriter(job, 0, batch.schema, partition_by=["day"])
    >>> writer.write(batch)
    >>> written = writer.close()
    >>> [(file.staged.final_path.split("/")[0], file.rows) for file in written]
    [('day=1', 2), ('day=2', 1)]
    >>> job.commit(file.staged for file in written)
    ()
    """

    @checked_keywords(*WRITER_OPTIONS)
    def __init__(
        self,
        job: WriteJob,
        task: str | int,
        schema: pa.Schema,
        *,
        partition_by: Sequence[str] = (),
        directory: str = "",
        target_file_bytes: int = TARGET_FILE_BYTES,
        max_open_files: int = MAX_OPEN_FILES,
        max_file_rows: int | None = None,
        metadata: Mapping[str, str] | None = None,
        **writer_options: Any,
    ) -> None:
        DatasetOptions(target_file_bytes=target_file_bytes, max_open_files=max_open_files)
        self._job = job
        self._task = task
        self._partition_by = tuple(partition_by)
        self._directory = directory
        self._schema = file_schema(schema, self._partition_by, writer_options)
        self._options = writer_options
        self._metadata = metadata
        self._row_group_bytes = WriterOptions(**writer_options).row_group_bytes
        self._target = target_file_bytes
        self._max_open = max_open_files
        self._max_rows = max_file_rows
        self._open: OrderedDict[str, _OpenFile] = OrderedDict()
        self._written: dict[int, WrittenFile] = {}
        self._number = 0
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._most_waiting = min(_WAITING_BYTES, self._row_group_bytes)
        # Totals of complete files.
        self._raw_bytes = self._compressed_bytes = 0
        self._rows = self._serialised_bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows to the files of their partitions."""
        if not self._partition_by:
            self._append(self._directory, batch)
            return
        if self._waiting and batch.schema != self._waiting[0].schema:
            self._split_waiting()
        self._waiting.append(batch)
        self._waiting_bytes += num_bytes(batch)
        if self._waiting_bytes >= self._most_waiting:
            self._split_waiting()

    def _split_waiting(self) -> None:
        """Append the rows that wait to the files of their partitions."""
        batches, self._waiting, self._waiting_bytes = self._waiting, [], 0
        for batch in _joined(batches):
            pieces: dict[str, list[pa.RecordBatch]] = {}
            for directory, rows in split_batch(batch, self._partition_by):
                inside = f"{self._directory}/{directory}" if self._directory else directory
                pieces.setdefault(inside, []).append(rows)
            # Those first whose files are open: the others would end these.
            for directory in sorted(pieces, key=lambda name: name not in self._open):
                for rows in pieces[directory]:
                    self._append(directory, rows)

    def close(self) -> list[WrittenFile]:
        """Complete all files, and return them in the order in which they were started.

        Without partitions there is always at least one file, to store the schema.
        """
        self._split_waiting()
        if not self._partition_by and not self._written and not self._open:
            self._file(self._directory)
        while self._open:
            self._complete(next(iter(self._open)))
        return [self._written[number] for number in sorted(self._written)]

    def abort(self) -> None:
        """Delete everything that was written."""
        self._waiting.clear()
        for file in self._open.values():
            file.writer.abort()
        self._open.clear()
        storage = self._job.storage
        written = [storage.relative_path(file.staged.write_path) for file in self._written.values()]
        self._written.clear()
        with suppress(Exception):  # they are hidden; the job's abort and vacuum also remove them
            storage.delete_many(written)

    def _append(self, directory: str, rows: pa.RecordBatch) -> None:
        start = 0
        while start < rows.num_rows:
            file = self._file(directory)
            piece = rows.slice(start, self._piece_rows(file))
            if self._max_rows is not None:
                piece = piece.slice(0, self._max_rows - file.rows)
            before = file.writer.buffered_bytes
            written = file.writer.written_bytes
            file.writer.write(piece)
            file.rows += piece.num_rows
            start += piece.num_rows
            if file.writer.written_bytes == written:
                self._rows += piece.num_rows
                self._serialised_bytes += file.writer.buffered_bytes - before
            if self._ratio is None and file.writer.buffered_bytes >= self._target:
                file.writer.end_row_group()
            if file.rows == self._max_rows or self._estimate(file) >= _FULL * self._target:
                self._complete(directory)
            self._bound_memory()

    def _piece_rows(self, file: _OpenFile) -> int:
        """The number of rows that should fill the file, or a row group."""
        if not self._rows:
            values = min(_FIRST_VALUES, self._target // _BYTES_PER_VALUE)
            return max(1, values // max(1, len(self._schema)))
        left = max(0, self._target - self._estimate(file)) / (self._ratio or 1.0)
        left = min(left, self._row_group_bytes)
        return max(1, int(left * self._rows / max(1, self._serialised_bytes)))

    @property
    def _ratio(self) -> float | None:
        """Compressed size divided by serialised size so far, over complete and open files."""
        if self._raw_bytes:
            return self._compressed_bytes / self._raw_bytes
        ratios = (file.writer.compression_ratio for file in self._open.values())
        return next((ratio for ratio in ratios if ratio is not None), None)

    def _estimate(self, file: _OpenFile) -> int:
        ratio = file.writer.compression_ratio or self._ratio
        if ratio is None:
            return file.writer.estimated_size
        return file.writer.written_bytes + int(file.writer.buffered_bytes * ratio)

    def _file(self, directory: str) -> _OpenFile:
        file = self._open.get(directory)
        if file is None:
            while len(self._open) >= self._max_open:
                self._complete(next(iter(self._open)))
            if self._partition_by and self._job.filesystem is None:
                check_name_lengths(directory)
            staged = self._job.file(directory, self._task, self._number)
            writer = MosaicWriter(
                staged.write_path,
                self._schema,
                filesystem=self._job.filesystem,
                metadata=self._metadata,
                **self._options,
            )
            file = self._open[directory] = _OpenFile(self._number, writer, staged)
            self._number += 1
        self._open.move_to_end(directory)
        return file

    def _complete(self, directory: str) -> None:
        file = self._open.pop(directory)
        try:
            file.writer.end_row_group()
            ratio = file.writer.compression_ratio
            if ratio is not None:
                self._compressed_bytes += file.writer.written_bytes
                self._raw_bytes += int(file.writer.written_bytes / ratio) if ratio else 0
            file.writer.close()
        except BaseException:
            file.writer.abort()
            raise
        written = WrittenFile(file.staged, file.rows, file.writer.written_bytes)
        self._written[file.number] = written

    def _bound_memory(self) -> None:
        if len(self._open) <= _BUFFERED_ROW_GROUPS:
            return  # a row group ends by itself
        writers = [file.writer for file in self._open.values()]
        limit = _BUFFERED_ROW_GROUPS * self._row_group_bytes
        if sum(writer.buffered_bytes for writer in writers) > limit:
            max(writers, key=lambda writer: writer.buffered_bytes).end_row_group()


def _joined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The same rows in one batch, where Arrow can join them."""
    if len(batches) < 2:
        return batches
    try:
        return [pa.concat_batches(batches)]
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return batches
