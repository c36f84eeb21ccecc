"""The history of a dataset: what its commits were, for those who follow it.

A follower must know, of files that it has not seen, whether they hold new rows: compaction writes
files without any. It must also notice what it has missed: commits whose files are gone. So a
checkpoint keeps, for each job that it lists, what kind of commit it was and how many files it
added, and counts the jobs that it no longer lists. Its size is bounded by the jobs whose files
exist, and those of the last week.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from pymosaic.errors import CorruptFileError

__all__ = ["Commit", "CommitKind", "History", "merge_histories"]


class CommitKind(StrEnum):
    """What a commit did to the rows of a dataset."""

    APPEND = "append"
    CHANGE = "change"
    """It removed rows, and may have added some."""
    REARRANGEMENT = "rearrangement"
    """The rows are the same, in other files."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What followers know of a commit.

    Parameters
    ----------
    sequence : int
        The sequence of its record.
    kind : CommitKind
    num_files : int
        How many files it added.
    time : float or None
        When it was published, by the file system's clock.
    """

    sequence: int
    kind: CommitKind
    num_files: int
    time: float | None


@dataclass(frozen=True, slots=True)
class History:
    """Commits by job, and what is no longer known.

    Parameters
    ----------
    commits : mapping of str to Commit
    num_forgotten : int
        How many commits that changed rows were dropped, because their files are gone.
    num_deleted : int
        How many files of no job were replaced and then deleted.
    """

    commits: Mapping[str, Commit] = field(default_factory=dict)
    num_forgotten: int = 0
    num_deleted: int = 0

    def with_commits(self, commits: Mapping[str, Commit]) -> History:
        """The history after more commits."""
        return replace(self, commits={**self.commits, **commits})

    def trimmed(self, jobs: Collection[str], num_deleted: int) -> History:
        """The history of some jobs, after more files of no job were deleted."""
        kept = {job: commit for job, commit in self.commits.items() if job in jobs}
        forgotten = sum(
            commit.kind is not CommitKind.REARRANGEMENT
            for job, commit in self.commits.items()
            if job not in kept
        )
        return History(kept, self.num_forgotten + forgotten, self.num_deleted + num_deleted)

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "commits": {
                job: [commit.sequence, str(commit.kind), commit.num_files, commit.time]
                for job, commit in self.commits.items()
            },
            "forgotten": self.num_forgotten,
            "deleted": self.num_deleted,
        }

    @classmethod
    def parse(cls, parsed: object, path: str) -> History:
        """Read the JSON form; checkpoints of earlier versions have none."""
        if parsed is None:
            return cls()
        try:
            assert isinstance(parsed, dict)
            commits = {
                str(job): Commit(
                    _count(sequence),
                    CommitKind(kind),
                    _count(num_files),
                    None if time is None else float(time),
                )
                for job, (sequence, kind, num_files, time) in parsed["commits"].items()
            }
            return cls(commits, _count(parsed["forgotten"]), _count(parsed["deleted"]))
        except (AssertionError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise CorruptFileError(f"the history of a checkpoint is damaged ({error})", path) from (
                error
            )


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def merge_histories(histories: Iterable[History]) -> History:
    """Combine the histories of checkpoints that were written at the same time."""
    commits: dict[str, Commit] = {}
    forgotten = deleted = 0
    for history in histories:
        commits.update(history.commits)
        forgotten = max(forgotten, history.num_forgotten)
        deleted = max(deleted, history.num_deleted)
    return History(commits, forgotten, deleted)
