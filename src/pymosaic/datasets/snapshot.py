"""The files of a dataset at one moment, whatever jobs do in the meantime.

::

    records (first) ─► files ─► records, until two listings agree (last) ─► what these say
          ▲                                   │
          └──── begin anew: another checkpoint, a record that is gone, a file that is not there

The files of jobs are those that the last records list; the listing of files must show them, unless
their job has published since the first. Files of no known job are part of the dataset if they are
in the listing of files and no record hides them. Only a new checkpoint drops what hides them, after
they were deleted, and likewise drops a job whose files were deleted: with the same checkpoint
before and after, nothing in the listing of files is a leftover that is no longer recorded.

A directory below with its own records is a separate dataset: its files are not part of this one.
:func:`visible_files` returns them as well, each dataset at a moment of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from pymosaic.datasets.log import (
    ATTEMPTS,
    Log,
    RecordsChangedError,
    load_log,
    pause,
    settle,
)
from pymosaic.datasets.records import (
    RECORDS_DIRECTORY,
    AddedFile,
    Listing,
    RemovedFile,
    is_hidden,
    job_of,
    list_records,
    natural_order,
    nested_datasets,
)
from pymosaic.datasets.stored_heads import pack_names
from pymosaic.errors import DatasetError, MosaicError
from pymosaic.io import Directory, Entry

__all__ = [
    "PaimonTableError",
    "Snapshot",
    "missing_files_error",
    "take_snapshot",
    "visible_files",
]

_SHOWN = 3


class PaimonTableError(DatasetError):
    """A directory is a Paimon table."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A dataset at one moment.

    Parameters
    ----------
    log : Log
        What its records say.
    files : tuple of Entry
        Its files, in the order of their rows: first those of no known job, by path, then those of
        jobs in the order in which the jobs published, and within a job by task and number.
    missing : tuple of str
        Files that records list but that do not exist.
    nested : tuple of str
        Directories below that are separate datasets.
    packs : tuple of (str, mapping of str to int)
        Packs of stored heads: the directory of a dataset, and their names with their sizes.
    """

    log: Log
    files: tuple[Entry, ...]
    missing: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    packs: tuple[tuple[str, Mapping[str, int]], ...] = ()

    @property
    def partition_types(self) -> dict[str, str]:
        """The types of the partition columns, as recorded by the jobs that wrote the dataset."""
        return dict(self.log.state.partition_types)

    @property
    def transactions(self) -> dict[str, int]:
        """The last transaction of each application."""
        return dict(self.log.state.transactions)

    def removal(self, paths: Iterable[str]) -> tuple[RemovedFile, ...]:
        """What a record says about files of this snapshot to remove them."""
        live = self.log.live
        by_path = {entry.path: entry for entry in self.files}
        return tuple(
            RemovedFile(path)
            if path in live
            else RemovedFile(path, by_path[path].size, by_path[path].modified)
            for path in paths
        )


def missing_files_error(storage: Directory, missing: Iterable[str]) -> MosaicError:
    """The error for files that records list but that do not exist."""
    paths = [storage.full_path(path) for path in missing]
    shown = ", ".join(paths[:_SHOWN]) + (", …" if len(paths) > _SHOWN else "")
    return DatasetError(
        f"{storage.name}: {len(paths)} files that were written to this dataset are not there: "
        f"{shown}; put them back, or have pymosaic.vacuum(base, forget_missing=True) forget them"
    )


def take_snapshot(storage: Directory, *, allow_missing: bool = False) -> Snapshot:
    """Find the files of a dataset.

    If there are no records, an object store is listed once. Otherwise records and files are first
    listed together: a listing of one page shows one moment. If it is longer, some files are listed
    before the records; if the records do not cover all of these, it starts over.

    Raises
    ------
    DatasetError
        If files that records list do not exist, unless that is allowed.
    CorruptFileError
        If records are damaged.
    """
    first: Listing | None = None
    looked_again = False
    problem: Exception | None = None
    for attempt in range(ATTEMPTS):
        in_order = attempt > 0 or not storage.one_listing
        if in_order:
            first = list_records(storage) if first is None else first
            entries = storage.list_files(skip=_is_of_no_interest)
        else:
            everything = storage.list_files()
            in_order = len(everything) <= storage.names_at_once
            first = Listing.of(everything)
            entries = [entry for entry in everything if not _is_of_no_interest(entry.path)]
        unpublished = set(first.unpublished)
        if in_order and not attempt and storage.one_listing and not first.entries:
            last = first  # one page, without records
        else:
            last = settle(storage, first, unpublished)
        if last.checkpoints != first.checkpoints:
            first = last
            pause(attempt)
            continue
        try:
            log = load_log(storage, last)
        except RecordsChangedError as error:
            problem, first = error, None
            pause(attempt)
            continue
        _check_not_paimon(storage, entries)
        snapshot = _combine(log, entries, first, unpublished)
        if not in_order and (first.entries or last.entries):
            doubtful = any(job_of(entry.path) not in log.state.jobs for entry in snapshot.files)
        else:
            doubtful = any(_is_stray(entry, log) for entry in snapshot.files)
        # A listing made before the records, or one that missed the records of a nested dataset
        # started in the meantime, may show files that are no longer known, or not yet.
        if (doubtful or snapshot.missing) and not looked_again:
            looked_again = True
            first = last
            continue
        if snapshot.missing and not allow_missing:
            raise missing_files_error(storage, snapshot.missing)
        return snapshot
    raise MosaicError(
        f"{storage.name}: records changed during each of {ATTEMPTS} listings; try again later"
        + ("" if problem is None else f" ({problem})")
    )


def _check_not_paimon(storage: Directory, entries: Iterable[Entry]) -> None:
    """Refuse a Paimon table: its snapshots tell which files count, and files may be stale."""
    if any(entry.path.startswith("schema/schema-") for entry in entries):
        raise PaimonTableError(
            f"{storage.name} is a Paimon table, not a directory of files: use pymosaic.paimon"
        )


def _is_of_no_interest(path: str) -> bool:
    """Whether a path is hidden and is not a record of a nested dataset."""
    if not is_hidden(path):
        return False
    parts = path.split("/")
    hidden = [index for index, part in enumerate(parts) if is_hidden(part)]
    return not (
        len(hidden) == 1
        and 0 < hidden[0] >= len(parts) - 2
        and parts[hidden[0]] == RECORDS_DIRECTORY
    )


def _is_stray(entry: Entry, log: Log) -> bool:
    job = job_of(entry.path)
    return job is not None and job not in log.state.jobs


def _combine(
    log: Log, entries: list[Entry], first: Listing, unpublished: Iterable[str]
) -> Snapshot:
    nested = nested_datasets(entries)
    if nested:
        entries = [x for x in entries if not any(x.path.startswith(f"{d}/") for d in nested)]
    by_path = {entry.path: entry for entry in entries}
    unpublished = frozenset(unpublished)
    live = log.live
    foreign = [
        entry
        for entry in entries
        if entry.path not in live
        and log.is_foreign(entry)
        and job_of(entry.path) not in unpublished
    ]
    foreign.sort(key=lambda entry: natural_order(entry.path))
    files: list[Entry] = foreign
    missing: list[str] = []
    for path, file in live.items():
        if path in by_path:
            files.append(by_path[path])
        elif file.size is None:
            continue
        elif _is_newer(file, log, first):
            files.append(Entry(path, file.size, None))
        else:
            missing.append(path)
    listed = log.listing.entries
    sizes = {name: listed[name].size for name in pack_names(listed)}
    return Snapshot(log, tuple(files), tuple(missing), nested, (("", sizes),) if sizes else ())


def _is_newer(file: AddedFile, log: Log, first: Listing) -> bool:
    """Whether a file's job published after a listing, so that a later one may not show it."""
    job = job_of(file.path)
    return job not in log.covered and job not in first.sequences


def visible_files(storage: Directory, *, allow_missing: bool = False) -> Snapshot:
    """The files below a directory: those of its own dataset and those of nested datasets."""
    snapshot = take_snapshot(storage, allow_missing=allow_missing)
    files = list(snapshot.files)
    missing = list(snapshot.missing)
    packs = list(snapshot.packs)
    for directory in snapshot.nested:
        inner = visible_files(storage.within(directory), allow_missing=allow_missing)
        files += [entry._replace(path=f"{directory}/{entry.path}") for entry in inner.files]
        missing += [f"{directory}/{path}" for path in inner.missing]
        packs += [(f"{directory}/{below}".rstrip("/"), names) for below, names in inner.packs]
    return replace(snapshot, files=tuple(files), missing=tuple(missing), packs=tuple(packs))
