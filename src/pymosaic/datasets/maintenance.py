"""Upkeep: checkpoints, stored heads, files that were replaced long ago, records nobody needs.

Commits do it now and then, while holding the claim, and never fail because of it; ``vacuum`` does
it on request. What is deleted, and why no reader is misled:

- *Files that were replaced* stay hidden: every checkpoint lists them until they are gone. They stay
  while streams have not read them (see followers).
- *Records* are deleted one checkpoint after the one that covers them, and *checkpoints* once there
  are two newer ones: a listing that began before sees either the old or the new, and a reader that
  finds a different checkpoint than before starts over.
- *Marks of jobs that gave up*, which hide what such a job's tasks write late, become part of a
  checkpoint first.

Ages are computed from times of one file system: that of a file, and that of the claim, which was
written just now. This machine's clock is never used, and no clock decides whether a record or a
checkpoint still counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from pymosaic.datasets.checkpoint import Checkpoint, ReplacedFile
from pymosaic.datasets.claim import Claim
from pymosaic.datasets.followers import Holds, read_holds
from pymosaic.datasets.head_upkeep import new_files, store_all_heads, store_new_heads
from pymosaic.datasets.log import Log, read_log
from pymosaic.datasets.records import (
    DAY_SECONDS,
    RECORDS_DIRECTORY,
    STAGING_DIRECTORY,
    Listing,
    checkpoint_path,
    is_hidden,
    job_of,
    list_records,
    nested_datasets,
)
from pymosaic.errors import CommitConflictError, DatasetError, MosaicError
from pymosaic.io import Directory, Entry

__all__ = ["Upkeep", "is_due", "is_older", "maintain", "remove_files", "tidy_records"]

RECORDS_PER_CHECKPOINT = 64
# The maximum number of files that one commit deletes, so that no commit takes long.
_FILES_AT_ONCE = 1000
# How long a checkpoint lists jobs that have no files left.
_MEMORY_SECONDS = 7 * DAY_SECONDS


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What was deleted: data files, and their total size in bytes; how many streams still need."""

    files: tuple[str, ...] = ()
    num_bytes: int = 0
    num_held: int = 0


def is_due(listing: Listing, job: str, num_files: int = 0) -> bool:
    """Whether a commit should tidy the records, judging only by a listing made after it published.

    It should if many records are not covered by a checkpoint, if one of those is a day older than
    the job's own, or if the job added many files.
    """
    if num_files > RECORDS_PER_CHECKPOINT:
        return True
    number = listing.number
    open_records = [
        listing.entries[name]
        for sequence, name in listing.sequences.values()
        if sequence > number or not number
    ]
    if len(open_records) > RECORDS_PER_CHECKPOINT:
        return True
    mine = listing.sequences.get(job)
    now = None if mine is None else listing.entries[mine[1]].modified
    marks = [listing.entries[f"{aborted}.aborted"] for aborted in listing.aborted]
    return any(is_older(entry, now, DAY_SECONDS) for entry in (*open_records, *marks))


def maintain(storage: Directory, job: str) -> None:
    """Do what is due, unless another job is already doing it."""
    with suppress(CommitConflictError), Claim(storage, job, patience=0.0) as claim:
        listing = list_records(storage)
        old = any(is_older(entry, claim.moment, DAY_SECONDS) for entry in listing.entries.values())
        # Files left behind by tasks are searched for only occasionally: that is a long listing.
        entries = storage.list_files() if old else ()
        tidy_records(storage, claim, entries, limit=_FILES_AT_ONCE)


def tidy_records(
    storage: Directory,
    claim: Claim,
    entries: Iterable[Entry],
    *,
    older_than: float | None = None,
    limit: int | None = None,
    keep_unread: bool = True,
) -> Upkeep:
    """Delete what was replaced or left behind by jobs; write a checkpoint if worthwhile.

    Parameters
    ----------
    storage : Directory
    claim : Claim
        The claim, which must be held.
    entries : iterable of Entry
        All files, for their sizes and to find those that tasks left behind; may be empty.
    older_than : float, optional
        Replaced files are deleted if they were replaced at least this many seconds ago; by default
        the job that replaced them determines this. The same age applies to other files; by default
        a day.
    limit : int, optional
        The maximum number of files to delete.
    keep_unread : bool
        Whether replaced files that streams have not read stay.
    """
    now = claim.moment
    log = read_log(storage)
    entries = list(entries)
    sizes = {entry.path: entry.size for entry in entries}
    age = DAY_SECONDS if older_than is None else older_than
    due = [
        gone
        for gone in log.state.replaced
        if (gone if older_than is None else replace(gone, keep_seconds=older_than)).is_due(now)
    ]
    # The listing of the log shows followers that found these files before they were replaced.
    holds = read_holds(storage, log.listing, now) if due else Holds()
    held = [gone for gone in due if holds.keeps(gone)] if keep_unread else []
    if held:
        kept = frozenset(gone.file for gone in held)
        due = [gone for gone in due if gone.file not in kept]
    deleted = _delete_replaced(storage, log, due[:limit])
    storage.delete_many(holds.expired)
    known = log.known_paths
    # A copy of the dataset inside of it has files of the same jobs, and records of its own.
    nested = tuple(f"{directory}/" for directory in nested_datasets(entries))
    left = [
        entry.path
        for entry in entries
        if not entry.path.startswith(nested)
        and _is_left_over(entry, log, known)
        and is_older(entry, now, age)
    ][:limit]
    remove_files(storage, left)
    marks = {
        job: listing_entry
        for job in log.listing.aborted
        if is_older(listing_entry := log.listing.entries[f"{job}.aborted"], now, age)
    }
    is_written = _write_checkpoint(storage, claim, log, deleted, marks.keys())
    with suppress(OSError, MosaicError):  # nothing depends on what is stored of heads
        if limit is None:
            store_all_heads(storage, log, entries)
        elif is_written:
            store_new_heads(storage, log, entries)
    paths = [gone.file.path for gone in deleted if gone.file.path in sizes] + left
    return Upkeep(tuple(paths), sum(sizes.get(path, 0) for path in paths), len(held))


def _delete_replaced(
    storage: Directory, log: Log, due: Iterable[ReplacedFile]
) -> list[ReplacedFile]:
    """Delete files, except those behind a link; return those that are now gone."""
    due = list(due)
    foreign = {x.file.path for x in due if job_of(x.file.path) not in log.state.jobs}
    present = _present(storage, foreign)
    wanted: dict[str, None] = {}
    kept: set[str] = set()
    for item in due:
        path = item.file.path
        if path not in foreign or (path in present and _is_meant(item, present[path])):
            wanted[path] = None
    for path, is_deleted in zip(
        wanted, storage.each(partial(_delete, storage), wanted), strict=True
    ):
        if not is_deleted:
            kept.add(path)
    remove_directories(storage, wanted.keys() - kept)
    return [item for item in due if item.file.path not in kept]


def _is_meant(item: ReplacedFile, entry: Entry) -> bool:
    """Whether a file of no known job is the one that was replaced, not a new one of that name."""
    if item.file.size is None and None not in (item.since, entry.modified):
        return entry.modified <= item.since  # type: ignore[operator]
    return item.file.hides(entry)


def _delete(storage: Directory, path: str) -> bool:
    try:
        storage.delete(path)
    except DatasetError:
        return False  # behind a link: it stays, and stays hidden
    return True


def _present(storage: Directory, paths: Iterable[str]) -> dict[str, Entry]:
    """Those of these files that exist."""
    wanted = set(paths)
    directories = {path.rpartition("/")[0] for path in wanted}
    return {
        entry.path: entry
        for directory in sorted(directories)
        for entry in storage.list_files(directory, recursive=False)
        if entry.path in wanted
    }


def _is_left_over(entry: Entry, log: Log, known: frozenset[str]) -> bool:
    """Whether a file was left behind by a task of an ended job and never published."""
    job = job_of(entry.path)
    if is_hidden(entry.path) or job is None or entry.outside:
        return False
    if job in log.listing.aborted:
        return True
    return job in log.state.jobs and entry.path not in known


def _write_checkpoint(
    storage: Directory,
    claim: Claim,
    log: Log,
    deleted: Iterable[ReplacedFile],
    marks: Iterable[str],
) -> bool:
    """Write one if it covers enough or drops something, and delete what it makes unnecessary.

    Returns whether it wrote one.
    """
    gone = {item.file for item in deleted}
    marks = list(marks)
    open_records = [job for job in log.listing.sequences if job not in log.covered]
    if not gone and not marks and len(open_records) <= RECORDS_PER_CHECKPOINT:
        aged = [log.listing.entries[log.listing.sequences[job][1]] for job in open_records]
        is_old = any(is_older(entry, claim.moment, DAY_SECONDS) for entry in aged)
        if not is_old and len(new_files(log)) <= RECORDS_PER_CHECKPOINT:
            return False
    state = log.state
    replaced = tuple(item for item in state.replaced if item.file not in gone)
    listing = list_records(storage)
    claim.check(listing.entries.values())
    jobs = _remembered(log, replaced, claim.moment, marks)
    num_deleted = sum(job_of(file.path) not in state.jobs for file in gone)
    checkpoint = Checkpoint(
        listing.next_number,
        frozenset(log.listing.checkpoints),
        state.files,
        replaced,
        jobs,
        state.partition_types,
        state.transactions,
        state.history.trimmed(jobs, num_deleted),
    )
    storage.write(checkpoint_path(checkpoint.number, claim.job), checkpoint.emit())
    # Any listing that begins from here on shows the new checkpoint.
    needless = [name for name in log.listing.checkpoints if name in state.stands_for]
    for job in log.covered.intersection(log.listing.sequences):
        needless.append(log.listing.sequences[job][1])
        if storage.moves:
            storage.remove_tree(f"{STAGING_DIRECTORY}/{job}")
    storage.delete_many(f"{RECORDS_DIRECTORY}/{name}" for name in needless)
    listing = log.listing
    for job in {*(log.covered & (listing.pending | listing.publishing | listing.ending)), *marks}:
        # A record that was published after the job had given up must not outlive the mark.
        late = [x for x in log.listing.entries if x.startswith(job) and x.endswith(".json")]
        if job in marks:
            storage.delete_many(f"{RECORDS_DIRECTORY}/{name}" for name in late)
        present = (f"{job}.{state}" for state in ("pending", "publishing", "ending", "aborted"))
        storage.delete_many(
            f"{RECORDS_DIRECTORY}/{name}" for name in present if name in listing.entries
        )
    return True


def _remembered(
    log: Log, replaced: Iterable[ReplacedFile], now: float | None, marks: Iterable[str]
) -> dict[str, float | None]:
    """Jobs that the checkpoint lists, and since when."""
    jobs = {job: now if since is None else since for job, since in log.state.jobs.items()}
    jobs.update((job, now) for job in marks)
    needed = {job_of(file.path) for file in log.state.files}
    needed.update(job_of(item.file.path) for item in replaced)
    return {
        job: since
        for job, since in jobs.items()
        if job in needed
        or job in log.listing.sequences  # its record may survive this, and must stay covered
        or since is None
        or now is None
        or job not in log.covered
        or now - since < _MEMORY_SECONDS
    }


def remove_files(storage: Directory, paths: Iterable[str]) -> None:
    """Delete data files, and the directories that are then empty."""
    paths = list(paths)
    storage.delete_many(paths)
    remove_directories(storage, paths)


def remove_directories(storage: Directory, paths: Iterable[str]) -> None:
    """Delete the directories of deleted files if they are empty."""
    directories = {path.rpartition("/")[0] for path in paths}
    while directories := directories - {""}:
        for directory in sorted(directories, key=len, reverse=True):
            storage.remove_empty(directory)
        directories = {directory.rpartition("/")[0] for directory in directories}


def is_older(entry: Entry, now: float | None, seconds: float) -> bool:
    """Whether a file is older than ``seconds`` by its file system's clock; 0 matches all files."""
    if seconds == 0:
        return True
    return None not in (entry.modified, now) and now - entry.modified > seconds  # type: ignore[operator]
