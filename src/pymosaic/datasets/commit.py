"""Commits: a set of files becomes visible all at once.

::

    start ── <job>.pending ─► files (staged, or at final names) ─► commit ─► record published
                                                                 └► abort ─► nothing remains

If files can be moved at no cost (local disks, HDFS), they are written below
``_mosaic/staging/<job>`` and moved to their final names, where the pending record still hides them,
just before the commit. On object stores, where a move is a copy, they get their final names at
once. The one step that publishes is the appearance of the job's record; see
:mod:`pymosaic.datasets.records` and :mod:`pymosaic.datasets.publishing`. A job that replaces files
holds a :class:`Claim` while it looks at the dataset and publishes; one that only adds files never
waits for others.

If a job dies before that step, nothing is visible, and ``vacuum`` removes what is left. If it dies
after that step, everything is visible and what was replaced is not. Replaced files are kept for
``keep_replaced`` seconds, so that readers that already use them can finish; a later commit or
``vacuum`` deletes them.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from pymosaic.datasets.claim import Claim
from pymosaic.datasets.log import read_log
from pymosaic.datasets.maintenance import is_due, maintain, remove_files
from pymosaic.datasets.modes import WriteMode
from pymosaic.datasets.publishing import check_alive, end_job, publish
from pymosaic.datasets.records import (
    DAY_SECONDS,
    RECORDS_DIRECTORY,
    STAGING_DIRECTORY,
    AddedFile,
    JobRecord,
    Listing,
    RemovedFile,
    is_hidden,
    job_of,
    record_path,
    row_order,
)
from pymosaic.datasets.replacement import ReplacedPartitions, partitions_of
from pymosaic.datasets.snapshot import Snapshot, take_snapshot
from pymosaic.errors import (
    CommitConflictError,
    DatasetExistsError,
    InvalidOptionError,
)
from pymosaic.io import Directory, open_directory

__all__ = ["StagedFile", "WriteJob", "check_seconds", "is_committed"]

_TASK = re.compile(r"[A-Za-z0-9_.]+(?:-[A-Za-z0-9_.]+)*")
_SHOWN = 3


def check_seconds(name: str, duration: timedelta | float) -> float:
    """Check a duration passed by the caller, and return it in seconds."""
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    # Not every caller checks types.
    if not isinstance(seconds, int | float) or not seconds >= 0:  # type: ignore[redundant-expr]
        raise InvalidOptionError(
            f"{name} must be a timedelta or seconds, at least 0, got {duration!r}"
        )
    return float(seconds)


def is_committed(storage: Directory, transaction: tuple[str, int]) -> bool:
    """Whether a dataset has this transaction of an application, or a later one."""
    application, number = transaction
    return read_log(storage).state.transactions.get(application, -1) >= number


@dataclass(frozen=True, slots=True)
class StagedFile:
    """A file of a job.

    Parameters
    ----------
    write_path : str
        Where it is written: a path in its file system.
    final_path : str
        Its path relative to the base.
    size : int, optional
        Its size in bytes; if it is not given, ``commit`` looks it up.
    place : str, optional
        The file whose place in the order of rows it takes; by default it comes last.
    """

    write_path: str
    final_path: str
    size: int | None = None
    place: str | None = None


@dataclass(frozen=True, slots=True)
class WriteJob:
    """A set of files that is published as a whole, or not at all.

    Picklable: tasks in other processes get file names from it; only the driver commits or aborts.

    Parameters
    ----------
    id : str
        32 hexadecimal digits, in the names of all its files.
    storage : Directory
        The dataset's directory.
    mode : {"error", "append", "overwrite", "overwrite_partitions"}
        What to do if the dataset already has files: raise an error, keep them, replace all of
        them, or replace those in the partitions that the job adds files to.
    keep_replaced : float
        How many seconds replaced files are kept for readers that have already found them.
    partition_types : mapping of str to str
        The types of partition columns, as recorded for readers; see
        :attr:`Snapshot.partition_types <pymosaic.datasets.snapshot.Snapshot.partition_types>`.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> from pymosaic.datasets.commit import WriteJob
    >>> job = WriteJob.start("sensors", mode="append")
    >>> file = job.file("day=1", task=0, number=0)
    >>> pymosaic.write_table(pa.table({"n": [1]}), file.write_path, filesystem=job.filesystem)
    >>> job.commit([file])
    ()
    """

    id: str
    storage: Directory
    mode: WriteMode
    keep_replaced: float = DAY_SECONDS
    partition_types: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def start(
        cls,
        base: Any,
        *,
        filesystem: object = None,
        mode: str = "append",
        keep_replaced: timedelta | float = DAY_SECONDS,
        partition_types: Mapping[str, str] | None = None,
    ) -> WriteJob:
        """Begin a job: its pending record hides all files that it will write.

        Raises
        ------
        DatasetExistsError
            If ``mode`` is ``"error"`` and the dataset has files.
        """
        mode = WriteMode.parse(mode, without=(WriteMode.IGNORE,))
        seconds = check_seconds("keep_replaced", keep_replaced)
        storage = base if isinstance(base, Directory) else open_directory(base, filesystem)
        if "=" in storage.base.rpartition("/")[2]:
            # Readers of the dataset would not find the records there.
            raise InvalidOptionError(
                f"{storage.name} looks like a partition of a dataset: pass the dataset's directory"
            )
        types = dict(partition_types or {})
        job = cls(uuid.uuid4().hex, storage.absolute(), mode, seconds, types)
        if mode is not WriteMode.APPEND:
            job._check_replaceable(take_snapshot(storage, allow_missing=True))
        storage.make_directory(RECORDS_DIRECTORY)
        storage.write(job._record("pending"), b"{}")
        return job

    @property
    def filesystem(self) -> Any:
        """The file system of the paths to write to; None for the local file system."""
        return self.storage.filesystem

    @property
    def staged(self) -> bool:
        """Whether files are first written elsewhere and then moved."""
        return self.storage.moves

    def file(self, partition_directory: str, task: str | int, number: int) -> StagedFile:
        """Return where to write a file.

        Parameters
        ----------
        partition_directory : str
            ``key=value/…``, or an empty string.
        task : str or int
            Distinguishes the writers of one job, including attempts of the same task.
        number : int
            Distinguishes the files of one writer.
        """
        if not _TASK.fullmatch(str(task)):
            raise InvalidOptionError(f"task must be letters, digits, '_', '.', '-', got {task!r}")
        name = f"part-{task}-{self.id}-{number}.mosaic"
        path = f"{partition_directory}/{name}" if partition_directory else name
        if is_hidden(path):
            raise InvalidOptionError(
                f"files in {partition_directory!r} would be hidden: names must not start with '.'"
            )
        if not self.staged:
            return StagedFile(self.storage.full_path(path), path)
        staged = f"{STAGING_DIRECTORY}/{self.id}/{path}"
        self.storage.make_directory(staged.rpartition("/")[0])
        return StagedFile(self.storage.full_path(staged), path)

    def commit(
        self,
        files: Iterable[StagedFile],
        removes: Iterable[str] | ReplacedPartitions = (),
        *,
        transaction: tuple[str, int] | None = None,
        partition_types: Mapping[str, str] | None = None,
        rearranges: bool = False,
    ) -> tuple[str, ...]:
        """Publish files, and remove others from the dataset in the same step.

        Parameters
        ----------
        files : iterable of StagedFile
            The complete files. Other files of this job never become visible. Rows are ordered by
            task and number, compared as numbers.
        removes : iterable of str, or function
            Paths relative to the base, or a function that chooses them when the job publishes, such
            as :func:`~pymosaic.datasets.replacement.partitions_where`. Not needed with mode
            ``"overwrite"``, which removes all existing files, nor with
            ``"overwrite_partitions"``, which removes those in the partitions (``key=value``
            directories) of ``files`` and leaves all other partitions alone.
        transaction : (str, int), optional
            An application's id and its own number for this commit. The dataset remembers the
            highest number of each application. If it has this number or a higher one, nothing is
            published, and the files are removed: the same commit can be tried again until it
            succeeds, and takes effect once.
        partition_types : mapping of str to str, optional
            Replaces the types that the job was started with.
        rearranges : bool
            Whether ``files`` hold the rows of the removed files, and no others. Streams that read
            the dataset then take nothing here for new.

        Returns
        -------
        tuple of str
            The paths of the files that were removed.

        Raises
        ------
        CommitConflictError
            If one of ``removes`` no longer exists, or other jobs keep publishing.
        DatasetExistsError
            If ``mode`` is ``"error"`` and another job has published in the meantime.
        """
        files = sorted(files, key=lambda file: row_order(file.final_path))
        chosen = removes if callable(removes) else frozenset(removes)
        paths = [file.final_path for file in files]
        if self.staged:
            check_alive(self.storage, self.id)
            prefix = f"{STAGING_DIRECTORY}/{self.id}"
            self.storage.move_many((f"{prefix}/{path}", path) for path in paths)
            self.storage.sync(_directories_of(paths))
        adds = self.storage.each(self._added, files)
        with ExitStack() as stack:
            checks = []
            removed: tuple[RemovedFile, ...] = ()
            replaces = self.mode is not WriteMode.APPEND or bool(chosen)
            if replaces or transaction is not None:
                checks.append(stack.enter_context(Claim(self.storage, self.id)).check)
            if transaction is not None and is_committed(self.storage, transaction):
                self.abort()
                return ()
            if replaces:
                removed = self._check_removes(paths, chosen)
            types = self.partition_types if partition_types is None else partition_types

            def make_record(listing: Listing) -> JobRecord:
                return JobRecord(
                    listing.next_number,
                    tuple(adds),
                    removed,
                    self.keep_replaced,
                    types,
                    transaction,
                    listing.number,
                    rearranges,
                )

            record, listing = publish(self.storage, self.id, make_record, *checks)
        self._tidy(listing, record)
        return tuple(sorted(file.path for file in removed))

    def forget_missing(self) -> tuple[str, ...]:
        """Remove files from the dataset that no longer exist."""
        with Claim(self.storage, self.id) as claim:
            missing = take_snapshot(self.storage, allow_missing=True).missing
            removed = tuple(map(RemovedFile, missing))

            def make_record(listing: Listing) -> JobRecord:
                return JobRecord(
                    listing.next_number, removes=removed, follows=listing.number, rearranges=True
                )

            record, listing = publish(self.storage, self.id, make_record, claim.check)
        self._tidy(listing, record)
        return missing

    def abort(self) -> None:
        """Undo everything, unless it was published. Safe at any time, even when half aborted."""
        if self.id in read_log(self.storage).state.jobs:
            return
        # A listing that is under way may see some of these files, and a task may write more.
        written = self._written()
        if written or not self.staged:
            self.storage.write(self._record("aborted"), b"{}")
        self._undo(written)

    def end_if_dead(self, now: float | None) -> bool:
        """Undo everything for a job that seems dead; return False if it has published or may yet.

        Parameters
        ----------
        now : float or None
            The time by the file system's clock.
        """
        if not end_job(self.storage, self.id, now):
            return False
        self._undo(self._written())
        return True

    def _undo(self, written: list[str]) -> None:
        remove_files(self.storage, written)
        self._remove_staging()
        for state in ("claim", "publishing", "pending", "ending"):
            self.storage.delete(self._record(state))
        self._remove_empty_base()

    def _added(self, file: StagedFile) -> AddedFile:
        size = self.storage.size(file.final_path) if file.size is None else file.size
        return AddedFile(file.final_path, size, file.place)

    def _record(self, state: str) -> str:
        return record_path(self.id, state)

    def _written(self) -> list[str]:
        return [
            entry.path
            for entry in self.storage.list_files()
            if job_of(entry.path) == self.id and not is_hidden(entry.path)
        ]

    def _check_replaceable(self, snapshot: Snapshot) -> None:
        paths = [entry.path for entry in snapshot.files]
        if self.mode is WriteMode.ERROR and (paths or snapshot.nested):
            paths += [f"{directory}/" for directory in snapshot.nested]
            raise DatasetExistsError(
                f"{self.storage.name} already has {len(paths)} files ({_some(paths)}); "
                "choose mode='append', 'overwrite' or 'ignore'"
            )
        if self.mode is WriteMode.OVERWRITE and snapshot.nested:
            raise InvalidOptionError(
                f"{self.storage.name} holds datasets of their own ({_some(snapshot.nested)}): "
                "it is not overwritten"
            )
        foreign = [path for path in paths if not path.endswith(".mosaic")]
        if self.mode.replaces and foreign:
            raise InvalidOptionError(
                f"{self.storage.name} holds files that are not Mosaic files ({_some(foreign)}): "
                "it is not overwritten"
            )

    def _check_removes(
        self, adds: Iterable[str], removes: frozenset[str] | ReplacedPartitions
    ) -> tuple[RemovedFile, ...]:
        whole = self.mode is WriteMode.OVERWRITE
        snapshot = take_snapshot(self.storage, allow_missing=whole)
        self._check_replaceable(snapshot)
        present = [entry.path for entry in snapshot.files]
        chosen: Iterable[str]
        if whole:
            return (*snapshot.removal(present), *map(RemovedFile, snapshot.missing))
        if self.mode is WriteMode.OVERWRITE_PARTITIONS:
            chosen = partitions_of(adds)(snapshot)
        elif callable(removes):
            chosen = list(removes(snapshot))
        else:
            chosen = sorted(removes)
        if missing := sorted(frozenset(chosen).difference(present)):
            raise CommitConflictError(
                f"{self.storage.name}: another job has replaced {_some(missing)} meanwhile"
            )
        return snapshot.removal(chosen)

    def _tidy(self, listing: Listing | None, record: JobRecord) -> None:
        """Delete what is no longer needed; whatever fails here is left to a later job."""
        with suppress(Exception):
            self._remove_staging()
            if not self.staged:
                self.storage.delete(self._record("publishing"))
            self.storage.delete(self._record("pending"))
            if listing is None:
                return
            if (record.removes and not record.keep_seconds) or is_due(
                listing, self.id, len(record.adds)
            ):
                maintain(self.storage, self.id)

    def _remove_staging(self) -> None:
        if self.staged:
            self.storage.remove_tree(f"{STAGING_DIRECTORY}/{self.id}")
            self.storage.remove_empty(STAGING_DIRECTORY)

    def _remove_empty_base(self) -> None:
        self.storage.remove_empty(RECORDS_DIRECTORY)
        self.storage.remove_empty("")


def _directories_of(paths: Iterable[str]) -> list[str]:
    """All directories above files, including the base."""
    found = {""}
    for path in paths:
        while directory := path.rpartition("/")[0]:
            found.add(directory)
            path = directory
    return sorted(found)


def _some(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:_SHOWN])
    return f"{shown}, …" if len(paths) > _SHOWN else shown
