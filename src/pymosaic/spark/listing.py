"""The files of a relation, found as Spark's own file sources find them.

::

    location ─► root paths (what a pattern matches) ─► files below ─► the filters of options
                                                          │
    base path (the option, else each root path) ──────────┴► key=value directories below it

Files that are not in ``key=value`` directories must be in a root path itself, unless
``recursiveFileLookup`` is set, which ignores keys. Hidden names and job records decide, as in
:mod:`pymosaic.datasets.discovery`, which files there are.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pymosaic.datasets.discovery import DataFile, Discovery, Packs, discover
from pymosaic.datasets.partitioning import split_partition
from pymosaic.datasets.path_patterns import PathPattern, find_wildcard, name_pattern
from pymosaic.errors import DatasetError, InvalidOptionError
from pymosaic.io import resolve_location, status_of
from pymosaic.spark.moments import parse_moment
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.storage import locate

__all__ = ["FileListing", "list_files"]


@dataclass(frozen=True, slots=True)
class FileListing:
    """The files of a relation at one moment; values of partition columns are text.

    Parameters
    ----------
    base : str
        What was loaded, for messages.
    files : tuple of DataFile
    packs : tuple
        Where heads of files are stored.
    """

    base: str
    files: tuple[DataFile, ...]
    packs: Packs = ()

    @property
    def identity(self) -> str:
        """A name that equal listings share."""
        digest = hashlib.blake2b(repr(self.base).encode(), digest_size=16)
        for file in self.files:
            fields = (file.path, file.size, file.modified, file.partition, file.partition_types)
            digest.update(repr(fields).encode())
        return digest.hexdigest()

    def discovery(self, filesystem: Any) -> Discovery:
        """The listing as datasets are opened from."""
        return Discovery(self.files, filesystem, self.base, packs=self.packs)


def list_files(options: SourceOptions) -> FileListing:
    """Find the files that the options name.

    Raises
    ------
    FileNotFoundError
        If a path does not exist.
    InvalidOptionError
        If options do not fit each other or the files.
    DatasetError
        If directories have different keys, or files of the dataset's records are missing.
    """
    locations, filesystem = locate(options.locations, options.storage)
    base_path = None
    if options.base_path is not None:
        [base_path], _ = locate([options.base_path], options.storage)
        base_path = _path_of(base_path, filesystem)
    ignores_keys = options.recursive_file_lookup or options.partitioning is None
    found: list[DataFile] = []
    direct: list[DataFile] = []
    tops: set[str] = set()
    packs: Packs = ()
    for location in locations:
        listed = discover(location, filesystem, False, allow_missing=options.ignore_missing_files)
        packs += listed.packs
        path = _path_of(location, filesystem)
        if not listed.files and find_wildcard(path) is not None and not os.path.lexists(path):
            raise FileNotFoundError(errno.ENOENT, "no file matches this pattern", location)
        for root, file in _with_roots(path, listed):
            keys: list[str] = []
            if not ignores_keys:
                keys, top = _keys_of(file.path, root, base_path)
                if keys:
                    tops.add(top)
            found.append(replace(file, partition=split_partition(keys)))
            if file.path in (root, f"{root}/{file.path.rpartition('/')[2]}"):
                direct.append(found[-1])
    if len(tops) > 1:
        raise DatasetError(
            f"conflicting directories: {' and '.join(sorted(tops)[:2])} both have key=value ones; "
            "name the one above them with the option basePath, or load them one by one, or set "
            "recursiveFileLookup to ignore keys"
        )
    # Spark reads a file that is named twice once if there are keys, and else twice.
    files = {file.path: file for file in found}.values() if tops or ignores_keys else direct
    known = (_with_status(file, filesystem) for file in files)
    chosen = _chosen((file for file in known if _has_rows(file)), options)
    base = locations[0] if len(locations) == 1 else ", ".join(locations[:3])
    return FileListing(base, tuple(chosen), packs)


def _path_of(location: str, filesystem: Any) -> str:
    path = resolve_location(location, filesystem).path
    return path.rstrip("/") or path


def _with_roots(location: str, listed: Discovery) -> Iterator[tuple[str, DataFile]]:
    """Files with the root path that they are below: what was named, or what the pattern matches."""
    pattern = None
    if find_wildcard(location) is not None and not all(
        _is_below(file.path, location) for file in listed.files
    ):
        pattern = PathPattern(location)
    for file in listed.files:
        root = location if pattern is None else pattern.root_of(file.path)
        yield location if root is None else root, file


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def _keys_of(path: str, root: str, base_path: str | None) -> tuple[list[str], str]:
    """The ``key=value`` directories of a file, and the directory that they are in."""
    if base_path is not None:
        if not _is_below(root, base_path):
            raise InvalidOptionError(
                f"the option basePath is {base_path}, but {root} is not below it"
            )
        base = base_path
    else:
        base = root.rpartition("/")[0] if path == root else root
    base = base.rstrip("/")
    directories = path[len(base) + 1 :].split("/")[:-1] if path != base else []
    keys: list[str] = []
    while directories:
        if "=" in directories[-1] and not directories[-1].startswith("="):
            keys.insert(0, directories[-1])
        elif keys:
            break
        directories.pop()
    return keys, "/".join([base, *directories])


def _has_rows(file: DataFile) -> bool:
    """Whether Spark would read a file: not while Hadoop copies it, and not a mere marker."""
    return file.size != 0 and not file.path.endswith("._COPYING_")


def _chosen(files: Iterable[DataFile], options: SourceOptions) -> Iterator[DataFile]:
    """The files that the options about names and times leave."""
    name = None if options.path_glob_filter is None else name_pattern(options.path_glob_filter)
    moments = [
        None if text is None else parse_moment(option, text, options.zone)
        for option, text in (
            ("modifiedAfter", options.modified_after),
            ("modifiedBefore", options.modified_before),
        )
    ]
    for file in files:
        if name is not None and not name.fullmatch(file.path.rpartition("/")[2]):
            continue
        if moments != [None, None]:
            # Spark compares in milliseconds, as Hadoop knows times.
            modified = int((file.modified or 0.0) * 1000) * 1000
            if moments[0] is not None and not modified > moments[0]:
                continue
            if moments[1] is not None and not modified < moments[1]:
                continue
        yield file


def _with_status(file: DataFile, filesystem: Any) -> DataFile:
    """A file that was named, not listed, with its size and time."""
    if file.size is not None:
        return file
    if filesystem is None and "://" not in file.path:
        found = os.stat(file.path)
        return replace(file, size=found.st_size, modified=found.st_mtime)
    status = status_of(resolve_location(file.path, filesystem))
    if status is None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", file.path)
    modified = status.version if isinstance(status.version, float) else None
    return replace(file, size=status.size, modified=modified)
