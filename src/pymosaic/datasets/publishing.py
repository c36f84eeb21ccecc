"""The step that publishes a job, and the end of a job that seems dead: never both.

A job and ``vacuum`` each write a mark before they look for the other's mark. So at least one of
them notices the other::

    the job                                     vacuum
    1. writes <job>.publishing                  1. writes <job>.ending, which hides the job's files
    2. lists: without <job>.pending it was      2. deletes <job>.pending
       ended, and fails                         3. lists: a record means that the job has
    3. its record appears                          published, and is left alone

Without a record, but with ``<job>.publishing``, the job is about to publish, or died just then:

- Where files can be moved, ``<job>.publishing`` holds the record, and its move to the record's name
  publishes. ``vacuum`` moves the same file to another name. One of the two moves fails.
- Elsewhere the mark says which process wrote it. ``vacuum`` ends the job if that process is gone,
  or if the mark is too old to publish under, as a claim is (:mod:`pymosaic.datasets.claim`).
  Otherwise it writes ``<job>.pending`` again, and leaves the job alone.

Readers ignore ``publishing``. The mark of having given up, ``<job>.aborted``, appears when it is
certain that the job does not publish.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from pymosaic.datasets import claim
from pymosaic.datasets.log import read_log
from pymosaic.datasets.records import (
    RECORDS_DIRECTORY,
    JobRecord,
    Listing,
    list_records,
    record_path,
)
from pymosaic.errors import MosaicError
from pymosaic.io import Directory, Entry

__all__ = ["check_alive", "end_job", "publish"]

_ATTEMPTS = 4


def check_alive(storage: Directory, job: str) -> Listing:
    """List all records, and check that a job is still pending."""
    listing = list_records(storage)
    if job not in listing.pending or job in {*listing.sequences, *listing.aborted}:
        raise _ended(storage, job)
    return listing


def _ended(storage: Directory, job: str) -> MosaicError:
    return MosaicError(
        f"{storage.name}: job {job} cannot commit: it was committed, aborted or vacuumed before"
    )


def publish(
    storage: Directory,
    job: str,
    make_record: Callable[[Listing], JobRecord],
    check: Callable[[Iterable[Entry]], None] = lambda entries: None,
) -> tuple[JobRecord, Listing | None]:
    """Publish a job; raise an error if it is certain that it was not published.

    Parameters
    ----------
    storage : Directory
    job : str
    make_record : callable
        Makes the record, given a listing of the others.
    check : callable
        Called with a listing just before the record appears; an exception that it raises prevents
        that.

    Returns
    -------
    (JobRecord, Listing or None)
        The record, and a listing made afterwards, if that was possible.

    Raises
    ------
    MosaicError
        If the job was ended; or if the store does not answer, so that it cannot be known: the
        message says so.
    """
    since = time.monotonic()
    mark = record_path(job, "publishing")
    if storage.moves:
        record = make_record(check_alive(storage, job))
        storage.write(mark, record.emit())
        listing = check_alive(storage, job)
    else:
        storage.write(mark, claim.holder())
        listing = check_alive(storage, job)
        record = make_record(listing)
    check(listing.entries.values())
    if time.monotonic() - since > claim.HOLD_SECONDS:
        raise MosaicError(
            f"{storage.name}: job {job} took over {claim.HOLD_SECONDS:.0f} seconds to publish, "
            "and others may have ended it meanwhile"
        )
    path = record_path(job, f"{record.sequence}.committed.json")
    if storage.moves:
        _move_record(storage, job, mark, path)
    else:
        _write_record(storage, job, path, record.emit())
    return record, _confirm(storage, job, path, since)


def _move_record(storage: Directory, job: str, mark: str, path: str) -> None:
    try:
        storage.move(mark, path)
        storage.sync([RECORDS_DIRECTORY])
    except OSError as error:
        if _is_published(storage, job):
            return
        if isinstance(error, FileNotFoundError):
            raise _ended(storage, job) from error
        raise


def _write_record(storage: Directory, job: str, path: str, content: bytes) -> None:
    """Write the record; after an error it may have been written, and the same is written again."""
    for attempt in range(_ATTEMPTS):
        try:
            storage.write(path, content)
            return
        except Exception as error:  # each store has its own
            with suppress(Exception):
                if _is_published(storage, job):
                    return
            if attempt == _ATTEMPTS - 1:
                raise _unknown(storage, job, error) from error
            time.sleep(0.1 * 2**attempt)


def _is_published(storage: Directory, job: str) -> bool:
    # Checkpoints also name jobs that have given up.
    return job in list_records(storage).sequences


def _unknown(storage: Directory, job: str, error: Exception) -> MosaicError:
    return MosaicError(
        f"{storage.name}: job {job} may have been published, which could not be confirmed "
        f"({error}): look before you write its rows again"
    )


def _confirm(storage: Directory, job: str, path: str, since: float) -> Listing | None:
    """Make sure that nobody took the job for dead, in spite of all, and return a listing."""
    problem: Exception | None = None
    for attempt in range(_ATTEMPTS):
        try:
            listing = list_records(storage)
        except Exception as error:  # each store has its own
            problem = error
            # Nobody takes a job for dead as early as this.
            if storage.moves or time.monotonic() - since < claim.HOLD_SECONDS:
                return None
            time.sleep(0.1 * 2**attempt)
            continue
        if job not in listing.aborted:
            return listing
        storage.delete(path)
        raise MosaicError(
            f"{storage.name}: job {job} was aborted or vacuumed while it was committed"
        )
    assert problem is not None
    raise _unknown(storage, job, problem) from problem


def end_job(storage: Directory, job: str, now: float | None) -> bool:
    """End a job that seems dead, unless it has published or is about to.

    Parameters
    ----------
    storage : Directory
    job : str
    now : float or None
        The time by the file system's clock.

    Returns
    -------
    bool
        Whether it was ended: it has the mark of having given up, and its files can be deleted.
    """
    storage.write(record_path(job, "ending"), b"{}")
    storage.delete(record_path(job, "pending"))
    # From here on, a job that has not written its mark yet cannot publish. A single listing might
    # miss both the mark and the record that comes after it.
    log = read_log(storage)
    if job not in log.state.jobs and job in log.listing.publishing:
        mark = record_path(job, "publishing")
        if storage.moves:
            with suppress(OSError):  # the job has published, or given up
                storage.move(mark, record_path(job, "aborted"))
            log = read_log(storage)
        elif not _is_void(storage, log.listing.entries[mark.rpartition("/")[2]], now):
            storage.write(record_path(job, "pending"), b"{}")
            storage.delete(record_path(job, "ending"))
            return False
    if job in log.state.jobs:
        storage.delete(record_path(job, "ending"))
        return False
    storage.write(record_path(job, "aborted"), b"{}")
    return True


def _is_void(storage: Directory, mark: Entry, now: float | None) -> bool:
    """Whether the process that is about to publish is gone, or too late to do it."""
    if None not in (now, mark.modified) and now - mark.modified > claim.VOID_SECONDS:  # type: ignore[operator]
        return True
    try:
        return claim.is_gone(storage.read(mark.path))
    except OSError:
        return False  # it has ended by itself, which stores report in many ways
