"""Vacuum: removal of leftovers of dead jobs, and of replaced files."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, replace
from datetime import timedelta

from pymosaic.datasets.claim import Claim
from pymosaic.datasets.commit import WriteJob, check_seconds
from pymosaic.datasets.log import Log, read_log
from pymosaic.datasets.maintenance import is_older, tidy_records
from pymosaic.datasets.modes import WriteMode
from pymosaic.datasets.records import (
    DAY_SECONDS,
    RECORDS_DIRECTORY,
    STAGING_DIRECTORY,
    Listing,
    is_hidden,
    job_of,
)
from pymosaic.io import Directory, Entry, open_directory
from pymosaic.keywords import checked_keywords
from pymosaic.notebook import ShownFields

__all__ = ["VacuumReport", "vacuum", "vacuum_storage"]


@dataclass(frozen=True, slots=True)
class VacuumReport(ShownFields):
    """What was removed.

    Parameters
    ----------
    jobs : tuple of str
        Ids of jobs that started and never ended.
    files : tuple of str
        Data files, as paths in their file system.
    num_bytes : int
        Total size of the files.
    forgotten : tuple of str
        Missing files that are no longer part of the dataset.
    files_unread : int
        Replaced files that stay, because a stream has not read them.
    """

    jobs: tuple[str, ...]
    files: tuple[str, ...]
    num_bytes: int
    forgotten: tuple[str, ...] = ()
    files_unread: int = 0


@checked_keywords()
def vacuum(
    base: str | os.PathLike[str],
    *,
    older_than: timedelta | float = DAY_SECONDS,
    filesystem: object = None,
    forget_missing: bool = False,
    keep_unread: bool = True,
) -> VacuumReport:
    """Remove files of a dataset's directory that readers do not see.

    These are replaced files, files of jobs that died before their commit, and records that are no
    longer needed.

    Parameters
    ----------
    base : str or path-like
        The dataset's directory.
    older_than : timedelta or number of seconds
        Minimum age: files replaced more recently, and jobs active more recently, are left alone. A
        reader that still uses removed files fails when it opens them, and a running job that was
        idle for longer loses what it has written and fails. Use 0 only when nobody is at work.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of ``base``, which must then be a path.
    forget_missing : bool
        Remove missing files from the records of the dataset. Otherwise, reading a dataset with
        missing files is an error.
    keep_unread : bool
        Whether replaced files stay that a stream of Spark has not read, for up to a week after the
        stream was stopped. If they are removed, such a stream ends with an error.

    Returns
    -------
    VacuumReport

    Raises
    ------
    FileNotFoundError
        If there is no such directory.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> _ = pymosaic.write_dataset(pa.table({"n": [1]}), "tidy")
    >>> _ = pymosaic.write_dataset(pa.table({"n": [2]}), "tidy", mode="overwrite")
    >>> pymosaic.vacuum("tidy").files  # replaced files stay for a day
    ()
    >>> len(pymosaic.vacuum("tidy", older_than=0).files)
    1
    """
    seconds = check_seconds("older_than", older_than)
    storage = open_directory(base, filesystem)
    if not storage.exists():
        raise FileNotFoundError(2, "No such file or directory", storage.name)
    report = vacuum_storage(storage, seconds, keep_unread=keep_unread)
    if not forget_missing:
        return report
    forgotten = WriteJob.start(storage).forget_missing()
    return replace(report, forgotten=tuple(storage.full_path(path) for path in forgotten))


def vacuum_storage(storage: Directory, seconds: float, *, keep_unread: bool = True) -> VacuumReport:
    """Remove files of at least this age, in seconds, that readers do not see."""
    if not storage.list_files(RECORDS_DIRECTORY):
        storage.remove_empty(STAGING_DIRECTORY)
        storage.remove_empty(RECORDS_DIRECTORY)
        return VacuumReport((), (), 0)
    with Claim(storage, uuid.uuid4().hex) as claim:
        entries = storage.list_files()
        log = read_log(storage)
        dead = {
            job: files
            for job, files in _dead_jobs(entries, log, claim.moment, seconds).items()
            if WriteJob(job, storage, WriteMode.APPEND).end_if_dead(claim.moment)
        }
        if storage.moves:
            for job in {*log.listing.sequences, *log.listing.aborted}:
                storage.remove_tree(f"{STAGING_DIRECTORY}/{job}")
        upkeep = tidy_records(storage, claim, entries, older_than=seconds, keep_unread=keep_unread)
        _remove_temporaries(storage, entries, claim.moment, seconds)
    storage.remove_empty(STAGING_DIRECTORY)
    storage.remove_empty(RECORDS_DIRECTORY)
    if dead:
        storage.remove_empty("")
    removed = [entry for files in dead.values() for entry in files]
    gone = sorted({*(entry.path for entry in removed), *upkeep.files})
    return VacuumReport(
        tuple(sorted(dead)),
        tuple(storage.full_path(path) for path in gone),
        sum(entry.size for entry in removed) + upkeep.num_bytes,
        files_unread=upkeep.num_held,
    )


def _dead_jobs(
    entries: list[Entry], log: Log, now: float | None, seconds: float
) -> dict[str, list[Entry]]:
    """Jobs that have not ended and were idle for this long, each with its files."""
    # From the same listing as everything else: a job that started since is in the log and active.
    listing = Listing.of(entries)
    begun: set[str] = {*listing.pending, *listing.ending}
    files: dict[str, list[Entry]] = {}
    active: set[str] = set()
    for entry in entries:
        parts = entry.path.split("/")
        name = entry.path.removeprefix(f"{RECORDS_DIRECTORY}/")
        if name.endswith((".pending", ".publishing")) and name.partition(".")[0] in begun:
            job = name.partition(".")[0]
        elif entry.path.startswith(f"{STAGING_DIRECTORY}/") and len(parts) > 3:
            job = parts[2]
            begun.add(job)
            files.setdefault(job, []).append(entry)
        elif not is_hidden(entry.path) and (found := job_of(entry.path)) is not None:
            job = found
            files.setdefault(job, []).append(entry)
        else:
            continue
        if not is_older(entry, now, seconds):
            active.add(job)
    ended = active | log.state.jobs.keys() | log.listing.aborted
    return {job: files.get(job, []) for job in sorted(begun - ended)}


def _remove_temporaries(
    storage: Directory, entries: list[Entry], now: float | None, seconds: float
) -> None:
    """Unfinished records of a killed process."""
    storage.delete_many(
        entry.path
        for entry in entries
        if entry.path.startswith(f"{RECORDS_DIRECTORY}/.") and is_older(entry, now, seconds)
    )
