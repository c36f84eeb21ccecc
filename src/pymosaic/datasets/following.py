"""Following a dataset: which files hold rows that a follower has not seen yet.

A follower looks at the dataset now and then. What it has seen is a set of jobs, and of files that
no job wrote; :func:`look` compares it with a snapshot. A single number would not do: a commit that
was slow to publish may sort before one that was seen earlier.

Files that compaction or an overwrite has replaced since are still there for a while
(``keep_replaced``), and are found by their names. If they are gone, rows are missing, which
:func:`look` notices: a commit has fewer files than it added, or the dataset has forgotten more
commits than the follower has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pymosaic.datasets.history import Commit, CommitKind, History
from pymosaic.datasets.records import RemovedFile, is_same_time, job_of, natural_order, row_order
from pymosaic.datasets.snapshot import Snapshot
from pymosaic.errors import DatasetError
from pymosaic.io import Entry

__all__ = ["FileVersion", "Seen", "look", "look_first", "replaced_in_place"]


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A file of a dataset: its path relative to the base, size, and time of its last change.

    The size is None for a file that was replaced and is kept for readers; a look-up tells it.
    """

    path: str
    size: int | None = None
    modified: float | None = None

    def document(self) -> list[Any]:
        """The JSON form."""
        return [self.path, self.size, self.modified]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a follower has seen.

    Parameters
    ----------
    jobs : frozenset of str
        Those whose commits it has seen and the dataset still remembers, without those that only
        rearranged rows.
    others : frozenset of FileVersion
        Files of no job that it has seen and that still exist.
    num_forgotten, num_deleted : int
        The counts of the dataset's :class:`~pymosaic.datasets.history.History` at the time.
    """

    jobs: frozenset[str] = frozenset()
    others: frozenset[FileVersion] = frozenset()
    num_forgotten: int = 0
    num_deleted: int = 0


def _all_seen(snapshot: Snapshot) -> Seen:
    history = snapshot.log.state.history
    return Seen(
        frozenset(
            job
            for job, commit in history.commits.items()
            if commit.kind is not CommitKind.REARRANGEMENT
        ),
        frozenset(_others(snapshot)),
        history.num_forgotten,
        history.num_deleted,
    )


def look_first(
    snapshot: Snapshot,
    since: float | None = None,
    *,
    latest: bool = False,
    on_change: str = "error",
    allow_missing: bool = False,
) -> tuple[Seen, tuple[FileVersion, ...]]:
    """Begin to follow a dataset.

    Parameters
    ----------
    snapshot : Snapshot
    since : float, optional
        Only commits at or after this time (Unix time, by the clock of the file system) are new.
    latest : bool
        Nothing that is there is new.
    on_change, allow_missing
        What to do about commits since then, as for :func:`look`.

    Returns
    -------
    (Seen, tuple of FileVersion)
        What is seen from then on, and the files to read: by default all of the dataset.

    Raises
    ------
    DatasetError
        As for :func:`look`, of commits since then.
    """
    seen = _all_seen(snapshot)
    if latest:
        return seen, ()
    if since is None:
        return seen, tuple(map(_version, snapshot.files))
    commits = snapshot.log.state.history.commits
    before = Seen(
        frozenset(job for job, commit in commits.items() if (commit.time or 0.0) < since),
        frozenset(file for file in seen.others if (file.modified or 0.0) < since),
        seen.num_forgotten,
        seen.num_deleted,
    )
    return look(snapshot, before, on_change=on_change, allow_missing=allow_missing)


def look(
    snapshot: Snapshot,
    seen: Seen,
    *,
    on_change: str = "error",
    allow_missing: bool = False,
    is_read: Callable[[str], bool] = lambda path: True,
) -> tuple[Seen, tuple[FileVersion, ...]]:
    """Find what is new since the last look.

    Parameters
    ----------
    snapshot : Snapshot
        The dataset now.
    seen : Seen
        What was seen before.
    on_change : {"error", "skip", "read"}
        What to do about commits that removed rows, and about files of no job that were replaced by
        others of the same name: raise an error, skip what was added, or read it.
    allow_missing : bool
        Skip rows whose files are gone, instead of raising an error.
    is_read : callable
        Whether the follower reads the file of a path; that another is replaced is no change.

    Returns
    -------
    (Seen, tuple of FileVersion)
        What is seen now, and the new files: those of commits in their order, each with its rows in
        order; then files of no job, the oldest first.

    Raises
    ------
    DatasetError
        If rows that were not seen are gone, a commit removed rows, a file of no job was replaced
        by another of its name, or this is another dataset.
    """
    history = snapshot.log.state.history
    after = _all_seen(snapshot)
    if not allow_missing:
        _check_memory(history, seen, after)
        if on_change == "error":
            _check_identity(history, seen, after)
    new = {job: commit for job, commit in history.commits.items() if job not in seen.jobs}
    files: dict[str, list[FileVersion]] = {job: [] for job in new}
    for file in _files_of_jobs(snapshot):
        if (job := job_of(file.path)) in files:
            files[job].append(file)
    found: list[FileVersion] = []
    for job, commit in sorted(new.items(), key=lambda item: (item[1].sequence, item[0])):
        if not _is_wanted(job, commit, on_change):
            continue
        if len(files[job]) < commit.num_files and not allow_missing:
            raise DatasetError(
                f"{commit.num_files - len(files[job])} of {commit.num_files} files of job {job} "
                "were replaced and deleted before they were read"
            )
        found += sorted(files[job], key=lambda file: row_order(file.path))
    others = _without(after.others, seen.others)
    if on_change != "read":
        changed = frozenset(filter(is_read, _changed(snapshot, seen, after)))
        if changed and on_change == "error":
            raise DatasetError(
                f"{min(changed)}, which no job wrote, was replaced by another file of its name, or "
                "found before it was complete; move files there when they are complete, each under "
                "a new name"
            )
        others = [file for file in others if file.path not in changed]
    found += sorted(others, key=lambda file: (file.modified or 0.0, natural_order(file.path)))
    return after, tuple(found)


def replaced_in_place(
    snapshot: Snapshot, files: Iterable[FileVersion]
) -> dict[FileVersion, FileVersion]:
    """Of files of no job, those that are now others of the same name, and what they are now."""
    present: dict[str, FileVersion] = {}
    for file in _others(snapshot):
        present.setdefault(file.path, file)  # before those that a job has replaced
    return {
        file: present[file.path]
        for file in files
        if file.size is not None and file.path in present and not _is_same(file, present[file.path])
    }


def _changed(snapshot: Snapshot, seen: Seen, after: Seen) -> frozenset[str]:
    """Paths of files that were replaced in place, by no job of the dataset."""
    deleted = snapshot.log.state.history.num_deleted - seen.num_deleted
    if deleted >= len(seen.others - after.others):
        return frozenset()  # jobs have replaced and deleted all that are gone
    # A file that a job has replaced is still known, and its name is free for another.
    gone = _without(seen.others, after.others)
    return frozenset(file.path for file in replaced_in_place(snapshot, gone))


def _without(files: Iterable[FileVersion], known: Iterable[FileVersion]) -> list[FileVersion]:
    """The files that are not known."""
    by_path: dict[str, list[FileVersion]] = {}
    for file in known:
        by_path.setdefault(file.path, []).append(file)
    return [
        file
        for file in files
        if not any(_is_same(file, other) for other in by_path.get(file.path, ()))
    ]


def _is_wanted(job: str, commit: Commit, on_change: str) -> bool:
    if commit.kind is not CommitKind.CHANGE:
        return commit.kind is CommitKind.APPEND
    if on_change == "error":
        raise DatasetError(
            f"job {job} removed or replaced rows, which rows that were read before cannot reflect"
        )
    return on_change == "read"


def _check_memory(history: History, seen: Seen, after: Seen) -> None:
    """Raise if the dataset has forgotten, or deleted, more than what was seen."""
    forgotten = history.num_forgotten - seen.num_forgotten
    deleted = history.num_deleted - seen.num_deleted
    if forgotten > len(seen.jobs - after.jobs) or deleted > len(seen.others - after.others):
        raise DatasetError(
            "commits since the last look were replaced, and their files deleted, before they "
            "were read"
        )


def _check_identity(history: History, seen: Seen, after: Seen) -> None:
    """Raise if more commits are unknown than the dataset says that it has forgotten."""
    if len(seen.jobs - after.jobs) > history.num_forgotten - seen.num_forgotten:
        raise DatasetError(
            "it is another dataset than the one that was read before, or its records were deleted"
        )


def _version(entry: Entry) -> FileVersion:
    return FileVersion(entry.path, entry.size, entry.modified)


def _is_same(left: FileVersion, right: FileVersion) -> bool:
    if left.path != right.path or left.size != right.size:
        return False
    if left.modified is None or right.modified is None:
        return True
    return is_same_time(left.modified, right.modified)


def _others(snapshot: Snapshot) -> Iterable[FileVersion]:
    """Files of no job, those that were replaced and still exist included."""
    live = snapshot.log.live
    yield from (_version(entry) for entry in snapshot.files if entry.path not in live)
    for removed in snapshot.log.hidden.values():
        yield from (_removed_version(file) for file in removed if file.size is not None)


def _removed_version(file: RemovedFile) -> FileVersion:
    return FileVersion(file.path, file.size, file.modified)


def _files_of_jobs(snapshot: Snapshot) -> Iterable[FileVersion]:
    live = snapshot.log.live
    yield from (_version(entry) for entry in snapshot.files if entry.path in live)
    jobs = snapshot.log.state.jobs
    for gone in snapshot.log.state.replaced:
        if job_of(gone.file.path) in jobs:
            yield FileVersion(gone.file.path)
