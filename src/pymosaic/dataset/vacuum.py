"""Removing what dead jobs left."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import timedelta

from pymosaic.dataset.commit import WriteJob
from pymosaic.dataset.modes import WriteMode
from pymosaic.dataset.records import (
    RECORDS_DIRECTORY,
    STAGING_DIRECTORY,
    is_hidden,
    job_of,
    parse_record_name,
)
from pymosaic.dataset.storage import Entry, Storage, open_storage
from pymosaic.dataset.sweep import DAY_SECONDS, sweep
from pymosaic.errors import InvalidOptionError

__all__ = ["VacuumReport", "vacuum"]


@dataclass(frozen=True, slots=True)
class VacuumReport:
    """What was removed.

    Parameters
    ----------
    jobs : tuple of str
        Ids of jobs that had begun and never ended.
    files : tuple of str
        Data files, as their file system knows them.
    num_bytes : int
        Their size.
    """

    jobs: tuple[str, ...]
    files: tuple[str, ...]
    num_bytes: int


def vacuum(
    base: str | os.PathLike[str],
    *,
    older_than: timedelta | float = DAY_SECONDS,
    filesystem: object = None,
) -> VacuumReport:
    """Remove what jobs that died have left in a dataset's directory; nothing that readers see.

    These are files of jobs that never published, files that a published job replaced and did not
    come to delete, and records that are not needed any more.

    Parameters
    ----------
    base : str or path-like
        The dataset's directory.
    older_than : timedelta or number of seconds
        Leave jobs alone that did something since. A job that is at work and idle for longer than
        this loses what it has written, and then fails; so 0 is for when no job is at work.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        Where ``base``, then a path, is looked up.

    Returns
    -------
    VacuumReport

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> _ = pymosaic.write_dataset(pa.table({"n": [1]}), "tidy")
    >>> pymosaic.vacuum("tidy").files
    ()
    """
    seconds = older_than.total_seconds() if isinstance(older_than, timedelta) else older_than
    # Not every caller checks types.
    if not isinstance(seconds, int | float) or not seconds >= 0:  # type: ignore[redundant-expr]
        raise InvalidOptionError(
            f"older_than must be a timedelta or seconds, at least 0, got {older_than!r}"
        )
    storage = open_storage(base, filesystem)
    # 0 means everything, though the file system's clock may be a little ahead.
    before = time.time() - seconds if seconds else time.time() + 1.0
    entries = storage.list_files()
    removed: list[Entry] = []
    dead = _dead_jobs(entries, before)
    for job, files in dead.items():
        WriteJob(job, storage, WriteMode.APPEND).abort()
        removed += files
    removed += sweep(storage, before, entries)
    _remove_temporaries(storage, entries, before)
    storage.remove_empty(STAGING_DIRECTORY)
    storage.remove_empty(RECORDS_DIRECTORY)
    return VacuumReport(
        tuple(sorted(dead)),
        tuple(sorted(storage.full_path(entry.path) for entry in removed)),
        sum(entry.size for entry in removed),
    )


def _dead_jobs(entries: list[Entry], before: float) -> dict[str, list[Entry]]:
    """Jobs that have not ended and did nothing since, each with its files."""
    states: dict[str, set[str]] = {}
    files: dict[str, list[Entry]] = {}
    active: set[str] = set()
    for entry in entries:
        directory, _, name = entry.path.rpartition("/")
        parts = entry.path.split("/")
        record = parse_record_name(name) if directory == RECORDS_DIRECTORY else None
        if record is not None:
            job, state = record
            states.setdefault(job, set()).add(state)
        elif entry.path.startswith(f"{STAGING_DIRECTORY}/") and len(parts) > 3:
            job = parts[2]
            states.setdefault(job, set())
            files.setdefault(job, []).append(entry)
        elif not is_hidden(entry.path) and (found := job_of(entry.path)) is not None:
            job = found
            files.setdefault(job, []).append(entry)
        else:
            continue
        if entry.modified is None or entry.modified >= before:
            active.add(job)
    return {
        job: files.get(job, [])
        for job in sorted(states)
        if states[job] <= {"pending"} and job not in active
    }


def _remove_temporaries(storage: Storage, entries: list[Entry], before: float) -> None:
    """Records that a killed process was about to write."""
    storage.delete_many(
        entry.path
        for entry in entries
        if entry.path.startswith(f"{RECORDS_DIRECTORY}/.")
        and entry.modified is not None
        and entry.modified < before
    )
