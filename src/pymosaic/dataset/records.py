"""Which files of a directory belong to the dataset: job records, and how they are read.

A job that adds files puts its id, 32 hexadecimal digits, into their names, and keeps its state in
the *name* of a small file, its record::

    part-<task>-<job>-<number>.mosaic           a data file
    _mosaic/<job>.pending                       the job has begun
    _mosaic/<job>.replacing.json                published: {"adds": […], "removes": […]}
    _mosaic/<job>.committed.json                published and done: {"adds": […], "removed": […]}
    _mosaic/<job>.aborted                       it has given up
    _mosaic/<job>.claim                         it is about to replace files (see claim)
    _mosaic/staging/<job>/…                     its files before they get their final names

==================================================  ===========================================
a file                                              is part of the dataset
==================================================  ===========================================
that a job which is replacing files removes         no
of a job that has published                         if the job's record lists it
of a job that is pending or aborted                 no
of no job, or of a job without a record             yes: people may put files there
==================================================  ===========================================

Names with a leading ``_`` or ``.`` are hidden, directories with all that is in them, except that a
``key=value`` directory may begin with ``_``.

A job's state only moves forward, and the record of a job that wrote files under final names stays
for long after it ended. So a listing of files between two listings of records shows all files of
every job that had published at the first, unless one has replaced files since, which the second
shows; and whatever else it shows is of jobs that one of them knows.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pymosaic.dataset.storage import Entry, Storage
from pymosaic.errors import CorruptFileError, LimitExceededError, MosaicError

__all__ = [
    "RECORDS_DIRECTORY",
    "STAGING_DIRECTORY",
    "JobRecord",
    "Records",
    "Snapshot",
    "is_hidden",
    "job_of",
    "list_record_names",
    "load_records",
    "parse_record_name",
    "record_path",
    "take_snapshot",
]

RECORDS_DIRECTORY = "_mosaic"
STAGING_DIRECTORY = f"{RECORDS_DIRECTORY}/staging"
_VERSION = 1
_DATA_FILE = re.compile(r"part-.+-([0-9a-f]{32})-[0-9]+\.mosaic")
_RECORD = re.compile(r"([0-9a-f]{32})\.(pending|replacing\.json|committed\.json|aborted)")
_PUBLISHED = ("replacing.json", "committed.json")
_ID_LENGTH = 32
_MAX_RECORD_BYTES = 256 << 20
_ATTEMPTS = 100
_LONGEST_WAIT = 0.5


def job_of(path: str) -> str | None:
    """The job that a data file's name tells, if any.

    Examples
    --------
    >>> job_of("day=1/part-0-0123456789abcdef0123456789abcdef-7.mosaic")
    '0123456789abcdef0123456789abcdef'
    >>> job_of("mine.mosaic") is None
    True
    """
    match = _DATA_FILE.fullmatch(path.rpartition("/")[2])
    return None if match is None else match[1]


def parse_record_name(name: str) -> tuple[str, str] | None:
    """Job id and state of a record (``pending`` and so on)."""
    match = _RECORD.fullmatch(name)
    return None if match is None else (match[1], match[2])


def record_path(job: str, state: str) -> str:
    """Where a job's record of a state is."""
    return f"{RECORDS_DIRECTORY}/{job}.{state}"


def is_hidden(path: str) -> bool:
    """Whether a file is none of the dataset's by its name or that of a directory above it.

    Examples
    --------
    >>> is_hidden("_mosaic/staging/x.mosaic"), is_hidden("a/.x.mosaic"), is_hidden("_k=1/x.mosaic")
    (True, True, False)
    """
    return any(
        part.startswith(".") or (part.startswith("_") and "=" not in part)
        for part in path.split("/")
    )


@dataclass(frozen=True, slots=True)
class Records:
    """What the records of a dataset say.

    Parameters
    ----------
    names : frozenset of str
        The records' own names.
    unpublished : frozenset of str
        Ids of jobs that are pending or aborted.
    adds : mapping of str to frozenset of str
        For each job that has published, its files.
    removes : frozenset of str
        Files that such jobs take out.
    removed : frozenset of str
        Files that they have deleted; new ones of the same names are none of theirs.
    """

    names: frozenset[str] = frozenset()
    unpublished: frozenset[str] = frozenset()
    adds: Mapping[str, frozenset[str]] = field(default_factory=dict)
    removes: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()

    def is_visible(self, path: str) -> bool:
        """Whether a file, by its path below the base, is part of the dataset."""
        if is_hidden(path) or path in self.removes:
            return False
        job = job_of(path)
        if job is None:
            return True
        if path in self.removed:
            return False  # a listing saw it just before it was deleted
        published = self.adds.get(job)
        if published is not None:
            return path in published
        return job not in self.unpublished


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A dataset's files at one moment, by path, and the records of that moment."""

    records: Records
    files: tuple[Entry, ...]


def _is_safe(path: object) -> bool:
    return (
        isinstance(path, str)
        and path != ""
        and "\0" not in path
        and not any(part in ("", ".", "..") for part in path.split("/"))
    )


@dataclass(frozen=True, slots=True)
class JobRecord:
    """What a job that has published says: paths of files that it adds, takes out, has deleted."""

    adds: frozenset[str]
    removes: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, content: bytes, path: str) -> JobRecord:
        """Read a record. Checked: size, version, and that all paths stay below the base."""
        if len(content) > _MAX_RECORD_BYTES:
            raise LimitExceededError(f"{len(content)} bytes are too many for a job record", path)
        try:
            parsed = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise CorruptFileError(f"a job record must be JSON ({error})", path) from error
        if not isinstance(parsed, dict) or parsed.get("version") != _VERSION:
            raise CorruptFileError(f"not a job record of version {_VERSION}", path)
        lists = [parsed.get(key, []) for key in ("adds", "removes", "removed")]
        if not all(isinstance(paths, list) and all(map(_is_safe, paths)) for paths in lists):
            raise CorruptFileError("a job record must list paths below the base", path)
        return cls(*map(frozenset, lists))

    def emit(self) -> bytes:
        """The content of the record."""
        content: dict[str, object] = {"version": _VERSION, "adds": sorted(self.adds)}
        if self.removes:
            content["removes"] = sorted(self.removes)
        if self.removed:
            content["removed"] = sorted(self.removed)
        return json.dumps(content, indent=1).encode()


def load_records(storage: Storage, names: Iterable[str]) -> Records:
    """Read the records of these names; FileNotFoundError if one has gone meanwhile."""
    known = {name: parsed for name in names if (parsed := parse_record_name(name)) is not None}
    published = sorted(name for name, (_, state) in known.items() if state in _PUBLISHED)
    paths = [f"{RECORDS_DIRECTORY}/{name}" for name in published]
    adds: dict[str, frozenset[str]] = {}
    removes: set[str] = set()
    removed: set[str] = set()
    for name, path, content in zip(published, paths, storage.read_many(paths), strict=True):
        record = JobRecord.parse(content, storage.full_path(path))
        adds[known[name][0]] = record.adds
        removes |= record.removes
        removed |= record.removed
    jobs = {job for job, _ in known.values()}
    return Records(
        frozenset(known),
        frozenset(jobs - adds.keys()),
        adds,
        frozenset(removes),
        frozenset(removed),
    )


def list_record_names(storage: Storage) -> frozenset[str]:
    """The names of all records."""
    entries = storage.list_files(RECORDS_DIRECTORY, recursive=False)
    names = (entry.path.rpartition("/")[2] for entry in entries)
    return frozenset(name for name in names if parse_record_name(name) is not None)


def _list_everything(storage: Storage) -> tuple[frozenset[str], list[Entry]]:
    """Record names, and files that are not hidden by name, in one listing."""
    entries = storage.list_files()
    names = frozenset(
        name
        for directory, _, name in (entry.path.rpartition("/") for entry in entries)
        if directory == RECORDS_DIRECTORY and parse_record_name(name) is not None
    )
    return names, [entry for entry in entries if not is_hidden(entry.path)]


def take_snapshot(storage: Storage) -> Snapshot:
    """The files of a dataset, as of one moment, whatever jobs do meanwhile.

    The moment is that of a listing of records, which files are listed after, and records again: a
    job that began or published in between is hidden, and one that replaced files makes it all begin
    anew. Where there are no records, an object store is asked once. Otherwise it is asked for
    records and files in one go first. Some files are then listed before the records, and what does
    not fit these came in between: then, too, it begins anew, now with the records first.
    """
    names: frozenset[str] | None = None
    for attempt in range(_ATTEMPTS):
        ordered = names is not None or not storage.one_listing
        if not ordered:
            names, entries = _list_everything(storage)
            if not names and len(entries) <= storage.names_at_once:
                return _snapshot(Records(), entries)
        else:
            names = list_record_names(storage) if names is None else names
            entries = storage.list_files(skip=is_hidden)
        assert names is not None
        try:
            records = load_records(storage, names)
            after = list_record_names(storage)
            begun = _jobs_begun_since(storage, records, after)
        except FileNotFoundError:
            names = None  # a record has gone
            continue
        if begun is not None:
            records = replace(records, unpublished=records.unpublished | begun)
            snapshot = _snapshot(records, entries)
            if ordered or _fits(snapshot):
                return snapshot
        names = after
        time.sleep(min(_LONGEST_WAIT, 0.01 * attempt))
    raise MosaicError(
        f"{storage.name}: files were replaced during each of {_ATTEMPTS} listings; try again later"
    )


def _snapshot(records: Records, entries: list[Entry]) -> Snapshot:
    files = (entry for entry in entries if records.is_visible(entry.path))
    return Snapshot(records, tuple(sorted(files, key=lambda entry: entry.path)))


def _jobs_begun_since(
    storage: Storage, records: Records, after: frozenset[str]
) -> frozenset[str] | None:
    """Jobs that have begun, or published, since records were listed; None if one replaced files."""
    new = load_records(
        storage,
        [name for name in after - records.names if name[:_ID_LENGTH] not in records.adds],
    )
    if new.removes or new.removed:
        return None
    return new.unpublished | new.adds.keys()


def _fits(snapshot: Snapshot) -> bool:
    """Whether all published files are there, and none that was deleted."""
    records = snapshot.records
    visible = {entry.path for entry in snapshot.files}
    published = frozenset().union(*records.adds.values()) - records.removes - records.removed
    return published <= visible and visible.isdisjoint(records.removed)
