"""A checkpoint: the combined content of many job records, in one file.

Readers use the newest checkpoint and the records of jobs that it does not cover. A checkpoint names
the older ones that it stands for. If two were written at the same time and neither stands for the
other, both are read, and both count: a file is live if every checkpoint that knows its job says so.
So a checkpoint that is written late, with outdated content, loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pymosaic.datasets.history import History, merge_histories
from pymosaic.datasets.records import (
    AddedFile,
    RemovedFile,
    emit_document,
    job_of,
    parse_added,
    parse_document,
    parse_partition_types,
    parse_removed,
)
from pymosaic.errors import CorruptFileError

__all__ = ["Checkpoint", "ReplacedFile", "merge_checkpoints"]


@dataclass(frozen=True, slots=True)
class ReplacedFile:
    """A file that was removed from the dataset and may still exist.

    Parameters
    ----------
    file : RemovedFile
    since : float or None
        When the job that replaced it published, by the file system's clock.
    keep_seconds : float
        How long it is kept for readers that have already found it.
    """

    file: RemovedFile
    since: float | None
    keep_seconds: float

    def is_due(self, now: float | None) -> bool:
        """Whether it may be deleted at the time ``now``, by the same clock."""
        if self.keep_seconds == 0:
            return True
        return None not in (now, self.since) and now - self.since >= self.keep_seconds  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a set of jobs has published.

    Parameters
    ----------
    number : int
        The number in its name.
    stands_for : frozenset of str
        Names of checkpoints whose content is all in this one.
    files : tuple of AddedFile
        The live files, in the order of their rows.
    replaced : tuple of ReplacedFile
        Files that were removed from the dataset and are not deleted yet.
    jobs : mapping of str to float or None
        Jobs whose other files are not part of the dataset, and since when they are listed here.
    partition_types : mapping of str to str
    transactions : mapping of str to int
        The last transaction of each application.
    history : History
        What the commits were.
    """

    number: int
    stands_for: frozenset[str] = frozenset()
    files: tuple[AddedFile, ...] = ()
    replaced: tuple[ReplacedFile, ...] = ()
    jobs: Mapping[str, float | None] = field(default_factory=dict)
    partition_types: Mapping[str, str] = field(default_factory=dict)
    transactions: Mapping[str, int] = field(default_factory=dict)
    history: History = field(default_factory=History)

    def emit(self) -> bytes:
        """The content of the file."""
        return emit_document(
            {
                "version": 2,
                "number": self.number,
                "stands_for": sorted(self.stands_for),
                "files": [file.document() for file in self.files],
                "replaced": [
                    {**x.file.document(), "since": x.since, "keep_seconds": x.keep_seconds}
                    for x in self.replaced
                ],
                "jobs": dict(self.jobs),
                "partition_types": dict(self.partition_types),
                "transactions": dict(self.transactions),
                "history": self.history.document(),
            }
        )

    @classmethod
    def parse(cls, content: bytes, path: str) -> Checkpoint:
        """Read a checkpoint. Checked: checksum, version, and that all paths stay below the base."""
        parsed = parse_document(content, path)
        number = parsed.get("number")
        names = parsed.get("stands_for")
        if not isinstance(number, int) or not isinstance(names, list):
            raise CorruptFileError("a checkpoint must have a number, and names it stands for", path)
        files = parse_added(parsed, "files", path)
        jobs = _parse_values(parsed, "jobs", (int, float, type(None)), path)
        for file in files:
            if job_of(file.path) not in jobs:
                raise CorruptFileError(f"{file.path!r} is of a job that is not covered", path)
        removed = parse_removed(parsed, "replaced", path)
        replaced = []
        for gone, content_of in zip(removed, parsed["replaced"], strict=True):
            since, keep = content_of.get("since"), content_of.get("keep_seconds")
            if not isinstance(since, int | float | None) or not isinstance(keep, int | float):
                raise CorruptFileError(f"{gone.path!r} must have a time and a duration", path)
            replaced.append(ReplacedFile(gone, since, keep))
        return cls(
            number,
            frozenset(map(str, names)),
            files,
            tuple(replaced),
            jobs,
            parse_partition_types(parsed, path),
            _parse_values(parsed, "transactions", (int,), path),
            History.parse(parsed.get("history"), path),
        )


def _parse_values(
    parsed: dict[str, Any], key: str, types: tuple[type, ...], path: str
) -> dict[str, Any]:
    values = parsed.get(key)
    if not isinstance(values, dict) or not all(isinstance(x, types) for x in values.values()):
        raise CorruptFileError(f"{key!r} of a checkpoint must be numbers by name", path)
    return values


def merge_checkpoints(checkpoints: Sequence[Checkpoint]) -> Checkpoint:
    """Combine checkpoints; the first, which has the highest number, determines the order."""
    if len(checkpoints) == 1:
        return checkpoints[0]
    live = [{file.path for file in checkpoint.files} for checkpoint in checkpoints]
    files: dict[str, AddedFile] = {}
    replaced: dict[RemovedFile, ReplacedFile] = {}
    jobs: dict[str, float | None] = {}
    types: dict[str, str] = {}
    transactions: dict[str, int] = {}
    for checkpoint in checkpoints:
        for file in checkpoint.files:
            if all(
                file.path in paths or job_of(file.path) not in other.jobs
                for paths, other in zip(live, checkpoints, strict=True)
            ):
                files.setdefault(file.path, file)
        for gone in checkpoint.replaced:
            replaced.setdefault(gone.file, gone)
        jobs.update({job: since for job, since in checkpoint.jobs.items() if job not in jobs})
        types = {**checkpoint.partition_types, **types}
        for name, version in checkpoint.transactions.items():
            transactions[name] = max(version, transactions.get(name, version))
    return Checkpoint(
        checkpoints[0].number,
        frozenset().union(*(checkpoint.stands_for for checkpoint in checkpoints)),
        tuple(files.values()),
        tuple(replaced.values()),
        jobs,
        types,
        transactions,
        merge_histories(checkpoint.history for checkpoint in checkpoints),
    )
