"""Finding the files of a dataset: directories, patterns and lists, hidden names, job records.

::

    directory ─► snapshots (records and listings) of the datasets in it ─► visible files
    pattern   ─► its directory without wildcards, as above ─► those that match
    file      ─► as it is
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from pymosaic.datasets.partitioning import Partition, split_partition
from pymosaic.datasets.path_patterns import PathPattern, find_wildcard
from pymosaic.datasets.records import RECORDS_DIRECTORY, is_hidden, list_records
from pymosaic.datasets.snapshot import visible_files
from pymosaic.datasets.stored_heads import StoredHead
from pymosaic.errors import InvalidOptionError
from pymosaic.io import Directory, Location, open_directory, resolve_location, status_of
from pymosaic.io.missing import told_if_missing

__all__ = ["DataFile", "DatasetSource", "Discovery", "Packs", "discover"]

# Directories with packs of stored heads, and the names and sizes of these.
Packs: TypeAlias = "tuple[tuple[str, tuple[tuple[str, int], ...]], ...]"
EndReader: TypeAlias = "Callable[[list[DataFile]], Mapping[str, StoredHead]]"
_PackList: TypeAlias = "list[tuple[str, tuple[tuple[str, int], ...]]]"
DatasetSource: TypeAlias = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a dataset, before it is opened.

    Parameters
    ----------
    path : str
        The path in its file system.
    size : int or None
        From a listing.
    partition : tuple of (str, value)
        Keys and values of its directories; as text until all files, and so the types, are known.
    partition_types : tuple of (str, str)
        Keys, and their types as recorded by the dataset's own jobs.
    modified : float or None
        When it was last changed (Unix time), from a listing.
    """

    path: str
    size: int | None
    partition: Partition
    partition_types: tuple[tuple[str, str], ...] = ()
    modified: float | None = None


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files found, their file system and base, missing files, and packs of stored heads.

    ``read_ends`` reads the ends of files elsewhere; it may leave files out.
    """

    files: tuple[DataFile, ...]
    filesystem: Any
    base: str
    missing: tuple[str, ...] = ()
    packs: Packs = ()
    read_ends: EndReader | None = None


def discover(
    source: DatasetSource, filesystem: object, hive: bool, *, allow_missing: bool = False
) -> Discovery:
    """Find the files of ``source``; each appears once, in the order of their rows.

    Raises
    ------
    FileNotFoundError
        If a path does not exist.
    InvalidOptionError
        If entries of a list are in different file systems.
    DatasetError
        If files listed in records are missing, unless that is allowed.
    """
    missing: list[str] | None = [] if allow_missing else None
    packs: _PackList = []
    entries = _check_source(source)
    found: dict[str, DataFile] = {}
    locations = [resolve_location(entry, filesystem) for entry in entries]
    first = locations[0]
    for location in locations:
        if location.filesystem is not first.filesystem and location.filesystem != first.filesystem:
            raise InvalidOptionError(
                f"source: {first.name} and {location.name} are in different file systems"
            )
        for file in _find(location, hive, missing, packs):
            found.setdefault(file.path, file)
    base = _common_base([location.path for location in locations])
    base = base.rstrip("/") or base
    return Discovery(
        tuple(found.values()), first.filesystem, base, tuple(missing or ()), tuple(packs)
    )


def _common_base(paths: list[str]) -> str:
    if len(paths) == 1:
        return paths[0]
    try:
        return os.path.commonpath(paths)
    except ValueError:  # relative paths among absolute ones
        return os.path.commonpath([os.path.abspath(path) for path in paths])


def _check_source(source: DatasetSource) -> list[str | os.PathLike[str]]:
    if isinstance(source, str | os.PathLike):
        return [source]
    if isinstance(source, Iterable):
        entries = list(source)
        if entries and all(isinstance(entry, str | os.PathLike) for entry in entries):
            return entries
    raise InvalidOptionError(
        f"source must be a directory, a pattern, a file or a list of those, got {source!r}"
    )


def _find(
    location: Location, hive: bool, missing: list[str] | None, packs: _PackList
) -> list[DataFile]:
    """The files of one entry; missing ones, if allowed, and packs are added to the lists."""
    if location.filesystem is None:
        if os.path.isdir(location.path):
            return _list_directory(location, location.path, hive, missing, packs)
        if os.path.lexists(location.path):
            return [_single(location.path, hive)]
    if find_wildcard(location.path) is not None:
        return _list_matches(location, PathPattern(location.path), hive, missing, packs)
    if location.filesystem is not None:
        if location.path.endswith(".mosaic") and _is_file(location):
            return [_single(location.path, hive)]
        files = _list_directory(location, location.path, hive, missing, packs)
        if files or not _is_file(location):
            return files
        return [_single(location.path, hive)]
    with told_if_missing(location.path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), location.name)
    raise AssertionError("unreachable")


def _is_file(location: Location) -> bool:
    status = status_of(location)
    return status is not None and status.is_file


def _single(path: str, hive: bool) -> DataFile:
    """A file given by name; the ``key=value`` directories right above it are its partition."""
    directories: list[str] = []
    if hive:
        for directory in reversed(path.split("/")[:-1]):
            if "=" not in directory:
                break
            directories.insert(0, directory)
    return DataFile(path, None, split_partition(directories))


def _list_directory(
    location: Location, directory: str, hive: bool, missing: list[str] | None, packs: _PackList
) -> list[DataFile]:
    storage = open_directory(directory, location.filesystem)
    files, types = _visible(storage, location.filesystem, missing, packs)
    # A partition's directory that was named has its key, as one that a pattern matches has.
    above = _single(f"{storage.base.rstrip('/')}/", hive).partition
    return [
        DataFile(
            storage.full_path(path),
            size,
            above + split_partition(path.split("/")[:-1]) if hive else (),
            types,
            modified,
        )
        for path, size, modified in files
    ]


def _visible(
    storage: Directory, filesystem: Any, missing: list[str] | None, packs: _PackList
) -> tuple[list[tuple[str, int, float | None]], tuple[tuple[str, str], ...]]:
    """The files below a directory that are part of a dataset, in the order of their rows.

    A partition's directory is inside a dataset whose job records are further up. The types of
    partition columns in those records are returned with the files.
    """
    outer = _dataset_above(storage, filesystem)
    prefix = "" if outer is None else f"{storage.base[len(outer.base.rstrip('/')) + 1 :]}/"
    place = storage if outer is None else outer
    snapshot = visible_files(place, allow_missing=missing is not None)
    if missing is not None:
        missing += [place.full_path(path) for path in snapshot.missing if path.startswith(prefix)]
    for directory, sizes in snapshot.packs:
        packs.append((place.full_path(directory), tuple(sizes.items())))
    inside = [
        (entry.path[len(prefix) :], entry.size, entry.modified)
        for entry in snapshot.files
        if entry.path.startswith(prefix)
    ]
    return inside, tuple(snapshot.partition_types.items())


def _dataset_above(storage: Directory, filesystem: Any) -> Directory | None:
    """The dataset that contains a directory without records of its own, if any."""
    parts = storage.base.split("/")
    if filesystem is None and "=" not in parts[-1] and _has_records(storage.base):
        return None
    for length in range(len(parts) - 1, 0, -1):
        above = "/".join(parts[:length])
        inside_partition = "=" in parts[length]
        if filesystem is None:
            if above and _has_records(above):
                return None if is_hidden("/".join(parts[length:])) else open_directory(above)
        elif not inside_partition:
            return None
        elif length == 1 or "=" not in parts[length - 1]:
            outer = open_directory(above, filesystem)
            return outer if list_records(outer).entries else None
    return None


def _has_records(directory: str) -> bool:
    return os.path.isdir(os.path.join(directory, RECORDS_DIRECTORY))


def _list_matches(
    location: Location,
    pattern: PathPattern,
    hive: bool,
    missing: list[str] | None,
    packs: _PackList,
) -> list[DataFile]:
    storage = open_directory(pattern.directory or ".", location.filesystem)
    files = []
    visible, types = _visible(storage, location.filesystem, missing, packs)
    for path, size, modified in visible:
        full = pattern.directory + path
        if pattern.root_of(full) is not None:
            files.append(DataFile(full, size, _single(full, hive).partition, types, modified))
    return files
