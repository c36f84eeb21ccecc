"""Which files of a directory belong to the dataset: job records, and how they are read.

A job that adds files puts its id, 32 hexadecimal digits, into their names, and keeps its state in
the *name* of a small file, its record::

    part-<task>-<job>-<number>.mosaic           a data file
    _mosaic/<job>.pending                       the job has begun
    _mosaic/<job>.replacing.json                published: {"adds": […], "removes": […]}
    _mosaic/<job>.committed.json                published, and removed: {"adds": […], "removed": […]}
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
for long after it ended. So a listing of files between two equal listings of records shows all
files of every job that had published, and whatever else it shows is known to be hidden.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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
_MAX_RECORD_BYTES = 256 << 20
# A listing of up to this many names is one answer of an object store.
_PAGE = 1000
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


def _list_everything(storage: Storage) -> tuple[frozenset[str], list[Entry], bool]:
    """Record names, files that are not hidden by name, and whether the names need a second look."""
    if not storage.one_listing:
        names = list_record_names(storage)
        return names, storage.list_files(skip=is_hidden), True
    entries = storage.list_files()
    names = frozenset(
        name
        for directory, _, name in (entry.path.rpartition("/") for entry in entries)
        if directory == RECORDS_DIRECTORY and parse_record_name(name) is not None
    )
    files = [entry for entry in entries if not is_hidden(entry.path)]
    return names, files, bool(names) or len(entries) > _PAGE


def take_snapshot(storage: Storage) -> Snapshot:
    """The files of a dataset, as of one moment, whatever jobs do meanwhile.

    Where there are no records, an object store is asked once. Otherwise records are read, and
    listed again after the files; if they changed, all begins anew. An object store lists records
    and files in one go, in the order of names, so that files may be listed before the records: a
    published file that is missing then means the listing came too early, unless it is missing
    again.
    """
    missing: frozenset[str] = frozenset()
    for attempt in range(_ATTEMPTS):
        names, entries, unsure = _list_everything(storage)
        try:
            records = load_records(storage, names)
        except FileNotFoundError:
            continue
        if unsure and list_record_names(storage) != names:
            time.sleep(min(_LONGEST_WAIT, 0.01 * attempt))
            continue
        listed = {entry.path for entry in entries}
        published = frozenset().union(*records.adds.values()) - records.removes - records.removed
        if (absent := published - listed) and absent != missing:
            missing = absent
            continue
        files = sorted(
            (entry for entry in entries if records.is_visible(entry.path)),
            key=lambda entry: entry.path,
        )
        return Snapshot(records, tuple(files))
    raise MosaicError(
        f"{storage.name}: jobs began or ended during each of {_ATTEMPTS} listings; try again later"
    )
