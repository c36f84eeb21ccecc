"""How a set of files appears all at once.

::

    start ── <job>.pending ─► files (staged, or at final names) ─► commit ─► record published
                                                                 └► abort ─► nothing remains

Where files can be moved at no cost (local disks, HDFS) they are written below
``_mosaic/staging/<job>`` and moved to their final names, where the pending record still hides them,
just before the commit. On object stores, where a move is a copy, they get their final names at
once. The one step that publishes is the appearance of the job's record; see
:mod:`pymosaic.dataset.records`. A job that replaces files holds a :class:`Claim` while it looks at
the dataset and publishes.

Death before that step: nothing is visible; ``vacuum`` removes what was left. Death after it: all is
visible and what was replaced is not; a later commit or ``vacuum`` deletes it.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

from pymosaic.dataset.claim import Claim
from pymosaic.dataset.modes import WriteMode
from pymosaic.dataset.records import (
    RECORDS_DIRECTORY,
    STAGING_DIRECTORY,
    JobRecord,
    is_hidden,
    job_of,
    parse_record_name,
    record_path,
    take_snapshot,
)
from pymosaic.dataset.replacement import Selection, partitions_of
from pymosaic.dataset.storage import Entry, Storage, open_storage
from pymosaic.dataset.sweep import DAY_SECONDS, finish, remove_files, sweep
from pymosaic.errors import (
    CommitConflictError,
    DatasetExistsError,
    InvalidOptionError,
    MosaicError,
)

__all__ = ["StagedFile", "WriteJob"]

_TASK = re.compile(r"[A-Za-z0-9_.]+(?:-[A-Za-z0-9_.]+)*")
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class StagedFile:
    """Where a file of a job is written, as its file system knows it, and its path in the base."""

    write_path: str
    final_path: str


@dataclass(frozen=True, slots=True)
class WriteJob:
    """A set of files that is published as a whole, or not at all.

    Picklable: tasks elsewhere ask it for file names; only its driver commits or aborts.

    Parameters
    ----------
    id : str
        32 hexadecimal digits, in the names of all its files.
    storage : Storage
        The dataset's directory.
    mode : {"error", "append", "overwrite", "overwrite_partitions"}
        What is done about files that are there: it is an error, nothing, all are replaced, or
        those of the partitions that the job adds files to.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> from pymosaic.dataset.commit import WriteJob
    >>> job = WriteJob.start("sensors", mode="append")
    >>> file = job.file("day=1", task=0, number=0)
    >>> pymosaic.write_table(pa.table({"n": [1]}), file.write_path, filesystem=job.filesystem)
    >>> job.commit([file])
    ()
    """

    id: str
    storage: Storage
    mode: WriteMode

    @classmethod
    def start(cls, base: Any, *, filesystem: object = None, mode: str = "append") -> WriteJob:
        """Begin a job: its pending record hides all files that it will write.

        Raises
        ------
        DatasetExistsError
            If ``mode`` is ``"error"`` and there are files.
        """
        mode = WriteMode.parse(mode, without=(WriteMode.IGNORE,))
        storage = base if isinstance(base, Storage) else open_storage(base, filesystem)
        if "=" in storage.base.rpartition("/")[2]:
            # Readers of the dataset would not find the records there.
            raise InvalidOptionError(
                f"{storage.name} looks like a partition of a dataset: give the dataset's directory"
            )
        job = cls(uuid.uuid4().hex, storage.absolute(), mode)
        if mode is not WriteMode.APPEND:
            job._check_replaceable(take_snapshot(storage).files)
        storage.make_directory(RECORDS_DIRECTORY)
        storage.write(job._record("pending"), b"{}")
        return job

    @property
    def filesystem(self) -> Any:
        """The file system that paths to write are in, None for the local one."""
        return self.storage.filesystem

    @property
    def staged(self) -> bool:
        """Whether files are written elsewhere first and moved."""
        return self.storage.moves

    def file(self, partition_directory: str, task: str | int, number: int) -> StagedFile:
        """Where to write a file.

        Parameters
        ----------
        partition_directory : str
            ``key=value/…``, or an empty string.
        task : str or int
            What tells the writers of one job apart, attempts of a task included.
        number : int
            What tells the files of one writer apart.
        """
        if not _TASK.fullmatch(str(task)):
            raise InvalidOptionError(f"task must be letters, digits, '_', '.', '-', got {task!r}")
        name = f"part-{task}-{self.id}-{number}.mosaic"
        path = f"{partition_directory}/{name}" if partition_directory else name
        if is_hidden(path):
            raise InvalidOptionError(
                f"files in {partition_directory!r} would be hidden: no name may begin with '.'"
            )
        if not self.staged:
            return StagedFile(self.storage.full_path(path), path)
        staged = f"{STAGING_DIRECTORY}/{self.id}/{path}"
        self.storage.make_directory(staged.rpartition("/")[0])
        return StagedFile(self.storage.full_path(staged), path)

    def commit(
        self, files: Iterable[StagedFile], removes: Iterable[str] | Selection = ()
    ) -> tuple[str, ...]:
        """Publish files, and take others out of the dataset in the same step.

        Parameters
        ----------
        files : iterable of StagedFile
            Files that are complete. Others of this job are never visible.
        removes : iterable of str, or function
            Paths in the base, or what chooses them when the job publishes, such as
            :func:`~pymosaic.dataset.replacement.partitions_where`. Not needed with mode
            ``"overwrite"``, which takes out all files there are, nor with
            ``"overwrite_partitions"``, which takes out those that are in the partitions
            (``key=value`` directories) of ``files``, and leaves all other partitions alone.

        Returns
        -------
        tuple of str
            What was taken out.

        Raises
        ------
        CommitConflictError
            If one of ``removes`` is not there any more, or others keep publishing.
        DatasetExistsError
            If ``mode`` is ``"error"`` and another job has published meanwhile.
        """
        files = list(files)
        chosen = removes if callable(removes) else frozenset(removes)
        adds = [file.final_path for file in files]
        self._check_alive()
        if self.staged:
            prefix = f"{STAGING_DIRECTORY}/{self.id}"
            self.storage.move_many((f"{prefix}/{path}", path) for path in adds)
            self.storage.sync(_directories_of(adds))
        with ExitStack() as stack:
            claim = None
            removed: frozenset[str] = frozenset()
            if self.mode is not WriteMode.APPEND or chosen:
                claim = stack.enter_context(Claim(self.storage, self.id))
                removed = self._check_removes(adds, chosen)
            entries = self._check_alive()
            if claim is not None:
                claim.check(entries)
            record = JobRecord(frozenset(adds), removed)
            self._publish(record)
        self._tidy(record)
        return tuple(sorted(removed))

    def abort(self) -> None:
        """Undo everything, unless it was published. Safe at any time, again, and half-way."""
        entries = self.storage.list_files()
        if self._is_published(entries):
            return
        written = [
            entry.path
            for entry in entries
            if job_of(entry.path) == self.id and not is_hidden(entry.path)
        ]
        # A listing of files may be under way that sees some of these, or a task that writes more.
        if written or not self.staged:
            self.storage.write(self._record("aborted"), b"{}")
        remove_files(self.storage, written)
        self._remove_staging()
        self.storage.delete(self._record("claim"))
        self.storage.delete(self._record("pending"))
        self._remove_empty_base()

    def _record(self, state: str) -> str:
        return record_path(self.id, state)

    def _records(self, entries: Iterable[Entry]) -> set[str]:
        """The states of which this job has records."""
        parsed = (parse_record_name(entry.path.rpartition("/")[2]) for entry in entries)
        return {record[1] for record in parsed if record is not None and record[0] == self.id}

    def _is_published(self, entries: Iterable[Entry]) -> bool:
        return bool(self._records(entries) & {"replacing.json", "committed.json"})

    def _list_records(self) -> list[Entry]:
        return self.storage.list_files(RECORDS_DIRECTORY, recursive=False)

    def _check_alive(self) -> list[Entry]:
        """List all records, among which this job must be pending."""
        entries = self._list_records()
        if self._records(entries) != {"pending"}:
            raise MosaicError(
                f"{self.storage.name}: job {self.id} cannot commit: it was committed, aborted or "
                "vacuumed before"
            )
        return entries

    def _check_replaceable(self, files: Iterable[Entry]) -> None:
        paths = [entry.path for entry in files]
        if self.mode is WriteMode.ERROR and paths:
            raise DatasetExistsError(
                f"{self.storage.name} holds {len(paths)} files already ({_some(paths)}); "
                "choose mode='append', 'overwrite' or 'ignore'"
            )
        foreign = [path for path in paths if not path.endswith(".mosaic")]
        if self.mode.replaces and foreign:
            raise InvalidOptionError(
                f"{self.storage.name} holds files that are not Mosaic files ({_some(foreign)}): "
                "it is not overwritten"
            )

    def _check_removes(
        self, adds: Iterable[str], removes: frozenset[str] | Selection
    ) -> frozenset[str]:
        files = take_snapshot(self.storage).files
        self._check_replaceable(files)
        present = frozenset(entry.path for entry in files)
        if self.mode is WriteMode.OVERWRITE:
            return present
        if self.mode is WriteMode.OVERWRITE_PARTITIONS:
            return frozenset(partitions_of(adds)(files))
        if callable(removes):
            return frozenset(removes(files))
        if missing := sorted(removes - present):
            raise CommitConflictError(
                f"{self.storage.name}: another job has replaced {_some(missing)} meanwhile"
            )
        return removes

    def _publish(self, record: JobRecord) -> None:
        path = self._record("replacing.json" if record.removes else "committed.json")
        try:
            self.storage.write(path, record.emit())
        except Exception:
            # The answer may have been lost on its way, not the record.
            if not self._is_published(self._list_records()):
                raise

    def _tidy(self, record: JobRecord) -> None:
        """Delete what is not needed any more; what fails here, a later sweep does."""
        with suppress(Exception):
            if record.removes:
                finish(self.storage, self.id, record, record.removes)
            self._remove_staging()
            self.storage.delete(self._record("pending"))
            sweep(self.storage, time.time() - DAY_SECONDS)

    def _remove_staging(self) -> None:
        if self.staged:
            self.storage.remove_tree(f"{STAGING_DIRECTORY}/{self.id}")
            self.storage.remove_empty(STAGING_DIRECTORY)

    def _remove_empty_base(self) -> None:
        self.storage.remove_empty(RECORDS_DIRECTORY)
        self.storage.remove_empty("")


def _directories_of(paths: Iterable[str]) -> list[str]:
    """All directories above files, the base included."""
    found = {""}
    for path in paths:
        while directory := path.rpartition("/")[0]:
            found.add(directory)
            path = directory
    return sorted(found)


def _some(paths: list[str]) -> str:
    shown = ", ".join(paths[:_SHOWN])
    return f"{shown}, …" if len(paths) > _SHOWN else shown
