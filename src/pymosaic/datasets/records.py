"""Job records: what file names mean, and what a job records when it publishes.

A job that adds files puts its id, 32 hexadecimal digits, into their names, and shows its state with
small files in ``_mosaic``::

    part-<task>-<job>-<number>.mosaic           a data file
    _mosaic/<job>.pending                       the job has begun
    _mosaic/<job>.publishing                    it is about to publish (see publishing)
    _mosaic/<job>.ending                        it seems dead, and vacuum is ending it
    _mosaic/<job>.<sequence>.committed.json     it has published: a :class:`JobRecord`
    _mosaic/<job>.aborted                       it has given up
    _mosaic/<job>.claim                         it is about to replace files (see claim)
    _mosaic/checkpoint-<number>-<id>.json       what many jobs have published (see checkpoint)
    _mosaic/heads-<count>-<id>.pack             the ends of many files (see stored_heads)
    _mosaic/<id>.follower                       what a stream has not read (see followers)
    _mosaic/staging/<job>/…                     its files before they get their final names

A single name shows that a job has published. It appears once, as a whole, and stays until a
checkpoint covers it. ``sequence`` is one more than the highest number of a record or checkpoint
that its writer saw (a Lamport clock), so a job comes after all those it knew of.

==================================================  ===========================================
a file                                              is part of the dataset
==================================================  ===========================================
of a job that has published                         if a record lists it, and none removes it
of a job that is pending, ending or has given up    no
of no job, or of a job that nothing is known of     yes, unless a record removes it
==================================================  ===========================================

A record removes files of jobs by their paths, which are never used again, and other files by path,
size and time, so that a new file under an old name is seen.

Names with a leading ``_`` or ``.`` are hidden, and so is everything in such a directory, except
that a ``key=value`` directory may begin with ``_``.

Records of version 1 (``<job>.replacing.json``, ``<job>.committed.json``), which early development
versions wrote, are read too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pymosaic.errors import CorruptFileError, LimitExceededError
from pymosaic.io import Directory, Entry

__all__ = [
    "DAY_SECONDS",
    "RECORDS_DIRECTORY",
    "STAGING_DIRECTORY",
    "AddedFile",
    "JobRecord",
    "Listing",
    "RemovedFile",
    "checkpoint_path",
    "emit_document",
    "is_hidden",
    "is_same_time",
    "job_of",
    "list_records",
    "natural_order",
    "nested_datasets",
    "parse_added",
    "parse_document",
    "parse_partition_types",
    "parse_removed",
    "record_path",
    "row_order",
]

RECORDS_DIRECTORY = "_mosaic"
STAGING_DIRECTORY = f"{RECORDS_DIRECTORY}/staging"
DAY_SECONDS = 86400.0
_VERSION = 2
# A part of a path that begins with a dot, or with "_" if it is not "_key=value".
_HIDDEN = re.compile(r"(?:^|/)(?:\.|_[^/=]*(?:/|\Z))")
_DATA_FILE = re.compile(r"part-.+-([0-9a-f]{32})-[0-9]+\.mosaic")
_RECORD = re.compile(
    r"([0-9a-f]{32})\.(?:([0-9]{1,18})\.)?"
    r"(pending|publishing|ending|aborted|replacing\.json|committed\.json)"
)
_MARKS = ("pending", "publishing", "ending", "aborted")
_CHECKPOINT = re.compile(r"checkpoint-([0-9]{1,18})-[0-9a-f]{32}\.json")
_NUMBER = re.compile(r"([0-9]+)")
_MAX_DOCUMENT_BYTES = 1 << 30
# Of sequences, sizes, seconds and times.
_MAX_NUMBER = 10**18
# Two clients of one store may cut a time off at different places.
_SAME_TIME_SECONDS = 0.001


def job_of(path: str) -> str | None:
    """The job in a data file's name, if any.

    Examples
    --------
    >>> job_of("day=1/part-0-0123456789abcdef0123456789abcdef-7.mosaic")
    '0123456789abcdef0123456789abcdef'
    >>> job_of("mine.mosaic") is None
    True
    """
    match = _DATA_FILE.fullmatch(path.rpartition("/")[2])
    return None if match is None else match[1]


def record_path(job: str, state: str) -> str:
    """The path of the file that shows a state of a job."""
    return f"{RECORDS_DIRECTORY}/{job}.{state}"


def checkpoint_path(number: int, identifier: str) -> str:
    """The path of a checkpoint; the identifier distinguishes those with the same number."""
    return f"{RECORDS_DIRECTORY}/checkpoint-{number}-{identifier}.json"


def is_hidden(path: str) -> bool:
    """Whether a file's name, or that of a directory above it, excludes it from the dataset.

    Examples
    --------
    >>> is_hidden("_mosaic/staging/x.mosaic"), is_hidden("a/.x.mosaic"), is_hidden("_k=1/x.mosaic")
    (True, True, False)
    """
    return _HIDDEN.search(path) is not None


def natural_order(text: str) -> tuple[tuple[str | int, ...], ...]:
    """A key that sorts paths as people do: numbers in names compare as numbers.

    Examples
    --------
    >>> sorted(["x-10", "x-9", "w"], key=natural_order)
    ['w', 'x-9', 'x-10']
    """
    return tuple(
        tuple(int(piece) if index % 2 else piece for index, piece in enumerate(_NUMBER.split(part)))
        for part in text.split("/")
    )


def row_order(path: str) -> tuple[Any, ...]:
    """A key that sorts the files of a job by task and number, compared as numbers."""
    name = path.rpartition("/")[2]
    task, _, number = name.rpartition(f"-{job_of(path)}-")
    return natural_order(task), natural_order(number), path


def nested_datasets(entries: Iterable[Entry]) -> tuple[str, ...]:
    """Directories with records, but for those inside of others."""
    marker = f"/{RECORDS_DIRECTORY}/"
    found = {path.partition(marker)[0] for path in (x.path for x in entries) if marker in path}
    outer: list[str] = []
    for directory in sorted(found):
        if not any(directory.startswith(f"{above}/") for above in outer):
            outer.append(directory)
    return tuple(sorted(outer, key=natural_order))


@dataclass(frozen=True, slots=True)
class Listing:
    """What one listing of ``_mosaic`` shows.

    Parameters
    ----------
    entries : mapping of str to Entry
        Everything in the directory itself, by name.
    sequences : mapping of str to (int, str)
        For each job that has published, the sequence and name of its record.
    pending, publishing, ending, aborted : frozenset of str
        Ids of jobs with such a file.
    checkpoints : tuple of str
        Names, newest first.
    """

    entries: Mapping[str, Entry]
    sequences: Mapping[str, tuple[int, str]]
    pending: frozenset[str]
    publishing: frozenset[str]
    ending: frozenset[str]
    aborted: frozenset[str]
    checkpoints: tuple[str, ...]

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> Listing:
        """Classify entries; those that are elsewhere or have no meaning are skipped."""
        by_name: dict[str, Entry] = {}
        sequences: dict[str, tuple[int, str]] = {}
        marks: dict[str, set[str]] = {state: set() for state in _MARKS}
        checkpoints: list[tuple[int, str]] = []
        for entry in entries:
            directory, _, name = entry.path.rpartition("/")
            if directory != RECORDS_DIRECTORY:
                continue
            by_name[name] = entry
            if (checkpoint := _CHECKPOINT.fullmatch(name)) is not None:
                checkpoints.append((int(checkpoint[1]), name))
            elif (record := _RECORD.fullmatch(name)) is not None:
                job, sequence, state = record.groups()
                if state in marks and sequence is None:
                    marks[state].add(job)
                elif state == "committed.json" or (state == "replacing.json" and sequence is None):
                    # Of the two of version 1, "committed" is the later, and the first by name.
                    found = (int(sequence or 0), name)
                    sequences[job] = min(found, sequences.get(job, found))
        for job in marks["aborted"]:
            sequences.pop(job, None)  # its files are being deleted
        ordered = tuple(name for _, name in sorted(checkpoints, reverse=True))
        states = {state: frozenset(jobs) for state, jobs in marks.items()}
        return cls(by_name, sequences, **states, checkpoints=ordered)

    @property
    def number(self) -> int:
        """The number of the newest checkpoint; 0 if there is none."""
        return _checkpoint_number(self.checkpoints[0]) if self.checkpoints else 0

    @property
    def highest(self) -> int:
        """The highest number of a record or checkpoint."""
        return max([self.number, *(sequence for sequence, _ in self.sequences.values())])

    @property
    def next_number(self) -> int:
        """The number of the next record or checkpoint."""
        number = self.highest + 1
        if number >= _MAX_NUMBER:
            raise CorruptFileError(
                f"a name claims the number {self.highest}, above which there is none",
                RECORDS_DIRECTORY,
            )
        return number

    @property
    def published(self) -> frozenset[str]:
        """Names that show what has been published: while they are the same, so is that."""
        return frozenset(name for _, name in self.sequences.values()).union(self.checkpoints)

    @property
    def unpublished(self) -> frozenset[str]:
        """Ids of jobs that have begun or given up and have not published."""
        return (self.pending | self.ending | self.aborted) - self.sequences.keys()


def _checkpoint_number(name: str) -> int:
    match = _CHECKPOINT.fullmatch(name)
    assert match is not None
    return int(match[1])


def list_records(storage: Directory) -> Listing:
    """List ``_mosaic``; its subdirectories are skipped."""
    return Listing.of(storage.list_files(RECORDS_DIRECTORY, recursive=False))


@dataclass(frozen=True, slots=True)
class AddedFile:
    """A file that a job adds.

    Parameters
    ----------
    path : str
        Relative to the base.
    size : int or None
        In bytes; None, in version 1, for a file that is part of the dataset if it exists.
    place : str or None
        The file whose place in the order of rows it takes.
    """

    path: str
    size: int | None
    place: str | None = None

    def in_order(self) -> AddedFile:
        """The same file, for a list whose order is that of the rows."""
        return self if self.place is None else AddedFile(self.path, self.size)

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        content: dict[str, Any] = {"path": self.path, "size": self.size}
        if self.place is not None:
            content["place"] = self.place
        return content


def is_same_time(left: float, right: float) -> bool:
    """Whether two times of a file are the same, as told by clients that may cut them off.

    Examples
    --------
    >>> is_same_time(3.0, 3.25), is_same_time(3.5, 3.25)
    (True, False)
    """
    if abs(left - right) < _SAME_TIME_SECONDS:
        return True
    return (float(left).is_integer() or float(right).is_integer()) and int(left) == int(right)


@dataclass(frozen=True, slots=True)
class RemovedFile:
    """A file that a job removes: a job's file by path, any other also by size and time."""

    path: str
    size: int | None = None
    modified: float | None = None

    def hides(self, entry: Entry) -> bool:
        """Whether a file at this path is the one that was removed."""
        if self.size is not None and self.size != entry.size:
            return False
        if self.modified is None or entry.modified is None:
            return True
        return is_same_time(self.modified, entry.modified)

    def document(self) -> dict[str, Any]:
        """The JSON form."""
        content: dict[str, Any] = {"path": self.path}
        if self.size is not None:
            content.update(size=self.size, modified=self.modified)
        return content


@dataclass(frozen=True, slots=True)
class JobRecord:
    """What a job records when it publishes.

    Parameters
    ----------
    sequence : int
        The sequence in its name.
    adds : tuple of AddedFile
        In the order of their rows.
    removes : tuple of RemovedFile
    keep_seconds : float
        How long replaced files are kept for readers that have already found them.
    partition_types : mapping of str to str
        Types of partition columns, for readers of the dataset.
    transaction : (str, int), optional
        An application's own number for what the job did.
    follows : int
        The number of the newest checkpoint at the time.
    rearranges : bool
        Whether the files it adds hold the rows of those it removes, and no others.
    """

    sequence: int
    adds: tuple[AddedFile, ...] = ()
    removes: tuple[RemovedFile, ...] = ()
    keep_seconds: float = DAY_SECONDS
    partition_types: Mapping[str, str] = field(default_factory=dict)
    transaction: tuple[str, int] | None = None
    follows: int = 0
    rearranges: bool = False

    def emit(self) -> bytes:
        """The content of the file."""
        content: dict[str, Any] = {
            "version": _VERSION,
            "sequence": self.sequence,
            "adds": [file.document() for file in self.adds],
            "removes": [file.document() for file in self.removes],
            "keep_seconds": self.keep_seconds,
            "follows": self.follows,
        }
        if self.partition_types:
            content["partition_types"] = dict(self.partition_types)
        if self.transaction is not None:
            content["transaction"] = list(self.transaction)
        if self.rearranges:
            content["rearranges"] = True
        return emit_document(content)

    @classmethod
    def parse(cls, content: bytes, path: str) -> JobRecord:
        """Read a record. Checked: checksum, version, and that all paths stay below the base."""
        job, sequence, state = _parse_name(path)
        if sequence is None:
            return _parse_first_version(content, state, path)
        parsed = parse_document(content, path)
        adds = parse_added(parsed, "adds", path)
        if strangers := [file.path for file in adds if job_of(file.path) != job]:
            raise CorruptFileError(f"{strangers[0]!r} is not a file of this job", path)
        transaction = parsed.get("transaction")
        if transaction is not None and not (
            isinstance(transaction, list) and [type(item) for item in transaction] == [str, int]
        ):
            raise CorruptFileError("a transaction must be a name and a number", path)
        numbers = [parsed.get("sequence"), parsed.get("follows"), parsed.get("keep_seconds")]
        if not all(_is_number(number) for number in numbers) or numbers[0] != sequence:
            raise CorruptFileError("a job record must have the sequence of its name", path)
        return cls(
            sequence,
            adds,
            parse_removed(parsed, "removes", path),
            float(parsed["keep_seconds"]),
            parse_partition_types(parsed, path),
            None if transaction is None else (transaction[0], transaction[1]),
            int(parsed["follows"]),
            bool(parsed.get("rearranges", False)),
        )


def _parse_name(path: str) -> tuple[str, int | None, str]:
    match = _RECORD.fullmatch(path.rpartition("/")[2])
    assert match is not None
    return match[1], None if match[2] is None else int(match[2]), match[3]


def _parse_first_version(content: bytes, state: str, path: str) -> JobRecord:
    """Parse a record of version 1: lists of added paths, and of paths to remove or removed."""
    parsed = _parse_json(content, path)
    if parsed.get("version") != 1:
        raise CorruptFileError("not a job record of version 1", path)
    adds, removes, removed = (parsed.get(key, []) for key in ("adds", "removes", "removed"))
    for paths in (adds, removes, removed):
        if not isinstance(paths, list) or not all(map(_is_safe, paths)):
            raise CorruptFileError("a job record must list paths below the base", path)
    gone = removes if state == "replacing.json" else []
    # Names of jobs' files are never used again; others may have been.
    gone += [name for name in removed if job_of(name) is not None]
    return JobRecord(
        0,
        tuple(AddedFile(name, None) for name in sorted(adds, key=natural_order)),
        tuple(RemovedFile(name) for name in gone),
    )


def emit_document(content: dict[str, Any]) -> bytes:
    """JSON with a checksum of itself."""
    return json.dumps({**content, "sha256": _checksum(content)}, indent=1).encode()


def parse_document(content: bytes, path: str) -> dict[str, Any]:
    """Read a record or checkpoint. Checked: size, checksum and version."""
    parsed = _parse_json(content, path)
    checksum = parsed.pop("sha256", None)
    if parsed.get("version") != _VERSION:
        raise CorruptFileError(
            f"version {parsed.get('version')!r} is not one that this software reads", path
        )
    if checksum != _checksum(parsed):
        raise CorruptFileError("the checksum does not match: the file is damaged", path)
    return parsed


def _parse_json(content: bytes, path: str) -> dict[str, Any]:
    if len(content) > _MAX_DOCUMENT_BYTES:
        raise LimitExceededError(f"{len(content)} bytes are too many for a job record", path)
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"a job record must be JSON ({error})", path) from error
    if not isinstance(parsed, dict):
        raise CorruptFileError("a job record must be a JSON object", path)
    return parsed


def _checksum(content: dict[str, Any]) -> str:
    try:
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        return ""
    return hashlib.sha256(text.encode()).hexdigest()


def _is_safe(path: object) -> bool:
    return (
        isinstance(path, str)
        and path != ""
        and "\0" not in path
        and not any(part in ("", ".", "..") for part in path.split("/"))
    )


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MAX_NUMBER
    )


def _parse_files(parsed: dict[str, Any], key: str, path: str) -> list[dict[str, Any]]:
    files = parsed.get(key)
    if not isinstance(files, list) or not all(
        isinstance(file, dict)
        and _is_safe(file.get("path"))
        and not is_hidden(file["path"])
        and (file.get("size") is None or _is_number(file["size"]))
        for file in files
    ):
        raise CorruptFileError(f"{key!r} must be a list of files below the base", path)
    return files


def parse_added(parsed: dict[str, Any], key: str, path: str) -> tuple[AddedFile, ...]:
    """Parse files with path and size."""
    files = _parse_files(parsed, key, path)
    if not all(file.get("place") is None or _is_safe(file["place"]) for file in files):
        raise CorruptFileError(f"{key!r} must have places that are paths", path)
    return tuple(AddedFile(file["path"], file.get("size"), file.get("place")) for file in files)


def parse_removed(parsed: dict[str, Any], key: str, path: str) -> tuple[RemovedFile, ...]:
    """Parse files with path and, for those of no job, size and time."""
    files = _parse_files(parsed, key, path)
    times = [file.get("modified") for file in files]
    if not all(time is None or _is_number(time) for time in times):
        raise CorruptFileError(f"{key!r} must have times that are numbers", path)
    return tuple(
        RemovedFile(file["path"], file.get("size"), time)
        for file, time in zip(files, times, strict=True)
    )


def parse_partition_types(parsed: dict[str, Any], path: str) -> dict[str, str]:
    """Parse the types of partition columns, as text."""
    types = parsed.get("partition_types", {})
    if not isinstance(types, dict) or not all(isinstance(text, str) for text in types.values()):
        raise CorruptFileError("partition types must be text", path)
    return types
