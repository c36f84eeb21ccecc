"""The heads of a dataset's files: their metadata, without the data."""

from __future__ import annotations

import errno
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, cast

from pymosaic.datasets.discovery import DataFile, EndReader, Packs
from pymosaic.datasets.records import job_of
from pymosaic.datasets.stored_heads import StoredHead, load_packs
from pymosaic.errors import (
    CorruptFileError,
    DatasetError,
    FileMissingError,
    LimitExceededError,
    MosaicError,
    UnsupportedFeatureError,
)
from pymosaic.file.catalogs import BYTES_PER_COLUMN
from pymosaic.file.guard import KeptMetadata
from pymosaic.file.open_file import FileHead, read_head
from pymosaic.io import open_directory, open_source, resolve_location, status_of
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.column_union import ColumnUnion
from pymosaic.limits import Limits
from pymosaic.threads import num_threads, read_ahead, read_ahead_if_slow

__all__ = ["BROKEN_FILE", "HeadStore"]

# Errors that on_error="skip" skips: not a Mosaic file, damaged, or beyond the limits.
BROKEN_FILE = (CorruptFileError, LimitExceededError, UnsupportedFeatureError)

_MAX_KEPT_BYTES = 256 << 20
_REMOTE_OPENERS = 32


def _index_weight(head: FileHead) -> int:
    # The bytes of the index are kept, and its entries take about twice as many.
    return 3 * head.index_bytes


def _same_columns(left: Catalog, right: Catalog) -> bool:
    if left is right:
        return True
    union = ColumnUnion()
    union.extend(left)
    same_names = left.num_columns == right.num_columns and not len(union.find_new(right))
    return same_names and not len(union.compare(right)[0])


@contextmanager
def told_if_gone(path: str, filesystem: Any) -> Iterator[None]:
    """Explain that a file of the dataset no longer exists, and what to do.

    Stores report a missing file in many ways, so its existence is checked.
    """
    try:
        yield
    except OSError as error:
        if status_of(resolve_location(path, filesystem)) is not None:
            raise
        raise FileMissingError(
            errno.ENOENT,
            "this file was part of the dataset when it was opened, and has been deleted since "
            "(what is replaced stays for as long as keep_replaced says): open the dataset again",
            path,
        ) from error


class HeadStore:
    """A cache of the heads of a dataset's files, read on demand.

    Parameters
    ----------
    filesystem : object
    limits : Limits
    max_bytes : int
        Maximum size of cached heads; dropped ones are read again when needed.
    skip_missing : bool
        Whether :meth:`load` gives the error for a file that is gone, instead of raising it.
    packs : tuple of (str, tuple of (str, int)), optional
        Directories with packs of stored heads, which are read when a head is needed.
    keeps_metadata : bool
        Whether heads keep what files tell of their Arrow schemas.
    read_ends : callable, optional
        Reads the ends of files that no pack has, elsewhere; it may leave files out.
    """

    def __init__(
        self,
        filesystem: Any,
        limits: Limits,
        max_bytes: int = _MAX_KEPT_BYTES,
        skip_missing: bool = False,
        packs: Packs = (),
        keeps_metadata: bool = False,
        read_ends: EndReader | None = None,
    ) -> None:
        self._filesystem = filesystem
        self._packs = packs
        self._read_ends = read_ends
        self._keeps_metadata = keeps_metadata
        self._metadata: set[KeptMetadata] = set()
        self._stored: dict[str, StoredHead] | None = None
        self._skip_missing = skip_missing
        self._limits = limits
        self._max_bytes = max_bytes
        self._kept: dict[str, FileHead] = {}
        self._catalogs: set[Catalog] = set()
        self._bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        empty: dict[str, Any] = {"_kept": {}, "_stored": None, "_bytes": 0}
        empty["_read_ends"] = None
        return {**self.__dict__, **empty, "_catalogs": set(), "_metadata": set()}

    def get(self, path: str) -> FileHead | None:
        """The head of a file, if cached."""
        return self._kept.get(path)

    @property
    def num_bytes(self) -> int:
        """The approximate size of the cached heads."""
        return self._bytes

    def carried_over(
        self,
        files: Iterable[DataFile],
        filesystem: Any,
        skip_missing: bool = False,
        packs: Packs = (),
        keeps_metadata: bool = False,
        read_ends: EndReader | None = None,
    ) -> HeadStore:
        """A cache for a new listing, with the heads of files that have not changed."""
        store = HeadStore(
            filesystem,
            self._limits,
            self._max_bytes,
            skip_missing,
            packs,
            keeps_metadata,
            read_ends,
        )
        if keeps_metadata and not self._keeps_metadata:
            return store
        for file in files:
            head = self._kept.get(file.path)
            if head is not None and self._is_unchanged(head, file):
                store._keep(file.path, head)
        return store

    def _is_unchanged(self, head: FileHead, file: DataFile) -> bool:
        if self._filesystem is None:
            status = status_of(resolve_location(file.path))
            return status is not None and head.is_of(status.size, status.version)
        # The listing must include the time: another file may have the same size.
        known = file.size is not None and file.modified is not None and head.version is not None
        return known and head.is_of(file.size or 0, file.modified)

    def load(
        self, files: Iterable[DataFile], check: bool = False
    ) -> Iterator[tuple[DataFile, FileHead | MosaicError | FileNotFoundError]]:
        """Heads in the order of the files, opened several at a time; an error for a broken file.

        Parameters
        ----------
        files : iterable of DataFile
        check : bool
            Check whether files were replaced since their heads were read, and read those again.
            Local files, for which this costs nothing, are always checked; elsewhere files of jobs,
            whose names are never used again, never are.
        """
        if self._stored is None and (self._packs or self._read_ends is not None):
            files = list(files)
            if missing := [file for file in files if file.path not in self._kept]:
                self._stored = self._load_packs()
                if self._read_ends is not None:
                    missing = [file for file in missing if file.path not in self._stored]
                    self._stored.update(self._read_ends(missing))
        is_local = self._filesystem is None
        check = check or is_local
        workers = num_threads() if is_local else _REMOTE_OPENERS
        open_all = read_ahead_if_slow if is_local else read_ahead
        load = partial(self._load_or_tell, check)
        found = ((file, self._known(check, file)) for file in files)
        # Handing a file to a thread costs more than looking up what is known of it.
        for is_known, run in groupby(found, key=lambda item: item[1] is not None):
            heads: Iterable[tuple[DataFile, FileHead | MosaicError | FileNotFoundError]]
            heads = cast("Iterable[tuple[DataFile, FileHead]]", run)
            if not is_known:
                items = ((file, 1) for file, _ in run)
                heads = open_all(load, items, workers, workers, "pymosaic-head")
            for file, head in heads:
                if isinstance(head, FileHead) and self._kept.get(file.path) is not head:
                    self._keep(file.path, head)
                yield file, head

    def _known(self, check: bool, file: DataFile) -> FileHead | None:
        """The head of a file, if it is known, and no request is needed to be sure of it."""
        head = self._kept.get(file.path)
        if head is None:
            return self._from_pack(file)
        if self._filesystem is not None:
            return None if check and job_of(file.path) is None else head
        status = status_of(resolve_location(file.path))
        unchanged = status is not None and head.is_of(status.size, status.version)
        return head if unchanged else None

    def _load_packs(self) -> dict[str, StoredHead]:
        stored: dict[str, StoredHead] = {}
        for directory, packs in self._packs:
            storage = open_directory(directory, self._filesystem)
            for heads in load_packs(storage, dict(packs)).values():
                stored.update((storage.full_path(head.path), head) for head in heads)
        return stored

    def _from_pack(self, file: DataFile) -> FileHead | None:
        """What is stored of a file, if it is still the same file and the stored bytes are sound."""
        stored = (self._stored or {}).get(file.path)
        if stored is None:
            return None
        size, modified, version = file.size, file.modified, cast(object, file.modified)
        if self._filesystem is None:
            status = status_of(resolve_location(file.path))
            if status is None:
                return None
            size, modified, version = status.size, status.modified, status.version
        if not stored.is_of(size, modified):
            return None
        try:
            return stored.head(
                file.path, version, self._limits, keeps_metadata=self._keeps_metadata
            )
        except MosaicError:
            return None  # the file itself says what is wrong with it, if anything

    def _keep(self, path: str, head: FileHead) -> None:
        replaced = self._kept.pop(path, None)
        if replaced is not None:
            self._bytes -= _index_weight(replaced)
        weight = _index_weight(head)
        if head.catalog not in self._catalogs:
            weight += BYTES_PER_COLUMN * head.catalog.num_nodes
        kept = None if head.annex is None else head.annex.kept
        if kept is not None and kept not in self._metadata:
            weight += kept.num_bytes
        if self._bytes + weight <= self._max_bytes:
            if kept is not None:
                self._metadata.add(kept)
            self._kept[path] = head
            self._catalogs.add(head.catalog)
            self._bytes += weight

    def _load_or_tell(
        self, check: bool, file: DataFile
    ) -> tuple[DataFile, FileHead | MosaicError | FileNotFoundError]:
        try:
            return self._load(check, file)
        except FileNotFoundError as error:
            if not self._skip_missing:
                raise
            return file, error

    def _load(self, check: bool, file: DataFile) -> tuple[DataFile, FileHead | MosaicError]:
        head = self._kept.get(file.path)
        version: object = file.modified
        size = file.size
        if head is not None:
            # A file of a job has a name that is never used again.
            check = check and (self._filesystem is None or job_of(file.path) is None)
            status = status_of(resolve_location(file.path, self._filesystem)) if check else None
            if not check or (status is not None and head.is_of(status.size, status.version)):
                return file, head
            size, version = (None, None) if status is None else (status.size, status.version)
        with told_if_gone(file.path, self._filesystem):
            source = open_source(file.path, self._filesystem, size)
            try:
                found = read_head(source, self._limits, keeps_metadata=self._keeps_metadata)
            except BROKEN_FILE as error:
                return file, error
            finally:
                source.close()
        if head is not None and not _same_columns(head.catalog, found.catalog):
            return file, DatasetError(
                f"{file.path} was replaced by a file with other columns since the dataset was "
                "opened: open the dataset again"
            )
        # Sources of other file systems do not know the version; a listing, or the check above, did.
        return file, found if found.version is not None else replace(found, version=version)
