"""The combined content of a dataset's records at one moment.

A listing does not show one moment: names that come and go while it runs may or may not be in it.
Two successive listings with the same published names show what had been published when the first
ended: everything from before is in the second, and nothing from after is in the first.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pymosaic.datasets.checkpoint import Checkpoint, ReplacedFile, merge_checkpoints
from pymosaic.datasets.history import Commit, CommitKind
from pymosaic.datasets.partition_types import parse_type
from pymosaic.datasets.records import (
    RECORDS_DIRECTORY,
    AddedFile,
    JobRecord,
    Listing,
    RemovedFile,
    is_hidden,
    job_of,
    list_records,
)
from pymosaic.datasets.widening import widened
from pymosaic.errors import CorruptFileError, MosaicError
from pymosaic.io import Directory, Entry

__all__ = ["ATTEMPTS", "Log", "RecordsChangedError", "load_log", "pause", "read_log", "settle"]

ATTEMPTS = 100
_LONGEST_WAIT = 0.5


class RecordsChangedError(Exception):
    """Records that a listing showed no longer exist: list them again."""


@dataclass(frozen=True, slots=True)
class Log:
    """What has been published.

    Parameters
    ----------
    listing : Listing
        The listing that this was read from.
    state : Checkpoint
        All of it, in the form of a checkpoint.
    covered : frozenset of str
        Jobs that are covered by checkpoints.
    hidden : mapping of str to tuple of RemovedFile
        By path, the files of no known job that were removed from the dataset.
    """

    listing: Listing
    state: Checkpoint
    covered: frozenset[str]
    hidden: Mapping[str, tuple[RemovedFile, ...]]

    @property
    def live(self) -> dict[str, AddedFile]:
        """The files of jobs that are part of the dataset, in the order of their rows."""
        return {file.path: file for file in self.state.files}

    @property
    def known_paths(self) -> frozenset[str]:
        """Files that are live, or were live and may still exist."""
        gone = (item.file.path for item in self.state.replaced)
        return frozenset(file.path for file in self.state.files).union(gone)

    def is_foreign(self, entry: Entry) -> bool:
        """Whether a file that belongs to no known job is part of the dataset."""
        if is_hidden(entry.path) or job_of(entry.path) in self.state.jobs:
            return False
        return not any(file.hides(entry) for file in self.hidden.get(entry.path, ()))


def settle(storage: Directory, listing: Listing, unpublished: set[str] | None = None) -> Listing:
    """List records until two successive listings show the same published names.

    Jobs that any of them shows as unpublished are added to ``unpublished``.
    """
    for attempt in range(ATTEMPTS):
        following = list_records(storage)
        if unpublished is not None:
            unpublished |= following.unpublished
        if following.published == listing.published:
            return following
        listing = following
        pause(attempt)
    raise MosaicError(
        f"{storage.name}: jobs published during each of {ATTEMPTS} listings; try again later"
    )


def pause(attempt: int) -> None:
    """Wait before the next attempt: not at first, then longer, and for a random time."""
    if attempt:
        time.sleep(min(_LONGEST_WAIT, 0.005 * attempt) * random.uniform(0.5, 1.0))


def read_log(storage: Directory) -> Log:
    """Read what had been published at one moment; data files are not examined."""
    problem: Exception | None = None
    for attempt in range(ATTEMPTS):
        listing = settle(storage, list_records(storage))
        try:
            return load_log(storage, listing)
        except RecordsChangedError as error:
            problem = error
            pause(attempt)
    raise _unreadable(storage, problem)


def _unreadable(storage: Directory, problem: Exception | None) -> MosaicError:
    return CorruptFileError(
        f"the records do not fit each other: {problem}", f"{storage.name}/{RECORDS_DIRECTORY}"
    )


def load_log(storage: Directory, listing: Listing) -> Log:
    """Read what a listing shows.

    Raises
    ------
    RecordsChangedError
        If the listing is already out of date.
    CorruptFileError
        If a record or a checkpoint is damaged.
    """
    base = _load_checkpoints(storage, listing)
    covered = frozenset(base.jobs)
    names = [name for job, (_, name) in listing.sequences.items() if job not in covered]
    contents = _read_many(storage, names)
    records: list[tuple[int, str, Entry, JobRecord]] = []
    for name, content in zip(names, contents, strict=True):
        entry = listing.entries[name]
        record = JobRecord.parse(content, storage.full_path(entry.path))
        if record.follows > base.number:
            raise RecordsChangedError(f"{name} follows checkpoint {record.follows}, which is gone")
        records.append((record.sequence, name[:32], entry, record))
    records.sort(key=lambda item: item[:2])
    state = _apply(base, records)
    hidden: dict[str, tuple[RemovedFile, ...]] = {}
    for gone in state.replaced:
        path = gone.file.path
        if job_of(path) not in state.jobs:
            hidden[path] = (*hidden.get(path, ()), gone.file)
    return Log(listing, state, covered, hidden)


def _load_checkpoints(storage: Directory, listing: Listing) -> Checkpoint:
    if not listing.checkpoints:
        return Checkpoint(0)
    read: list[Checkpoint] = []
    known: set[str] = set()
    # Most often the newest stands for all others.
    for name in listing.checkpoints:
        if name not in known:
            [content] = _read_many(storage, [name])
            read.append(Checkpoint.parse(content, storage.full_path(f"{RECORDS_DIRECTORY}/{name}")))
            known |= read[-1].stands_for
    return merge_checkpoints(read)


def _read_many(storage: Directory, names: list[str]) -> list[bytes]:
    try:
        return storage.read_many(f"{RECORDS_DIRECTORY}/{name}" for name in names)
    except OSError as error:
        # Stores report a missing file in many ways.
        if missing := set(names) - list_records(storage).entries.keys():
            raise RecordsChangedError(f"{min(missing)} is gone") from error
        raise


def _united(known: Mapping[str, str], new: Mapping[str, str]) -> dict[str, str]:
    """Types of partition columns that hold the values of several jobs, which may not have met."""
    united = {**known, **new}
    for key in known.keys() & new.keys():
        before, after = parse_type(known[key]), parse_type(new[key])
        if before is not None and after is not None:
            united[key] = str(widened(before, after) or after)
    return united


def _apply(base: Checkpoint, records: list[tuple[int, str, Entry, JobRecord]]) -> Checkpoint:
    """Apply the records that follow a checkpoint to it, in order."""
    if not records:
        return base
    # A file that takes another's place sorts right after it, and so before what followed.
    places: dict[str, tuple[Any, ...]] = {
        file.path: (1, index) for index, file in enumerate(base.files)
    }
    files = {file.path: file for file in base.files}
    replaced = {gone.file: gone for gone in base.replaced}
    jobs = dict(base.jobs)
    types = dict(base.partition_types)
    transactions = dict(base.transactions)
    commits: dict[str, Commit] = {}
    removed: set[str] = set()
    num_live = len(files)
    for sequence, job, entry, record in records:
        jobs[job] = None
        commits[job] = Commit(sequence, _kind(record), len(record.adds), entry.modified)
        num_live -= sum(x.path in files and x.path not in removed for x in record.removes)
        if record.partition_types:
            # The types of a dataset that was replaced as a whole no longer matter.
            known = types if num_live or not record.removes else {}
            types = _united(known, record.partition_types)
        num_live += len(record.adds)
        for index, file in enumerate(record.adds):
            files[file.path] = file
            # A file that takes the place of one of no known job comes right after all of those.
            place = (2,) if file.place is None else places.get(file.place, (0,))
            places[file.path] = (*place, sequence, job, index)
        for gone in record.removes:
            removed.add(gone.path)
            replaced[gone] = ReplacedFile(gone, entry.modified, record.keep_seconds)
        if record.transaction is not None:
            name, version = record.transaction
            transactions[name] = max(version, transactions.get(name, version))
    live = sorted(files.keys() - removed, key=places.__getitem__)
    return replace(
        base,
        files=tuple(files[path].in_order() for path in live),
        replaced=tuple(replaced.values()),
        jobs=jobs,
        partition_types=types,
        transactions=transactions,
        history=base.history.with_commits(commits),
    )


def _kind(record: JobRecord) -> CommitKind:
    if record.rearranges:
        return CommitKind.REARRANGEMENT
    return CommitKind.CHANGE if record.removes else CommitKind.APPEND
