"""What is known of a file without its data: its columns, row groups and statistics.

Files of a dataset mostly have the same schema block, byte for byte. A block that was seen before
is not parsed again: files share one catalog, and all that is worked out from a catalog is worked
out once.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from pymosaic.dataset.discovery import DataFile
from pymosaic.dataset.read_ahead import read_ahead
from pymosaic.errors import (
    CorruptFileError,
    DatasetError,
    LimitExceededError,
    MosaicError,
    UnsupportedFeatureError,
    located,
)
from pymosaic.file.reader import check_buckets, read_end
from pymosaic.file.row_group_reader import FileParts
from pymosaic.format import row_group_index, schema_block
from pymosaic.format.compression import Compression
from pymosaic.io import Source, open_source, resolve_location, status_of
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.column_union import ColumnUnion
from pymosaic.kernels.row_group_index import RowGroupIndex
from pymosaic.limits import Limits
from pymosaic.threads import num_threads

__all__ = [
    "BROKEN_FILE",
    "CatalogCache",
    "FileHead",
    "HeadStore",
    "catalogs",
    "open_parts",
    "read_head",
]

# What on_error="skip" skips: files that are no Mosaic files, damaged, or beyond what is allowed.
BROKEN_FILE = (CorruptFileError, LimitExceededError, UnsupportedFeatureError)

# What a catalog takes, about.
_BYTES_PER_COLUMN = 100
_MAX_CACHED_BYTES = 128 << 20
_MAX_KEPT_BYTES = 256 << 20
_REMOTE_OPENERS = 32


class CatalogCache:
    """Catalogs by the bytes of their schema blocks; the least recently used are dropped.

    Parameters
    ----------
    max_bytes : int
        What catalogs and blocks may take together; one is kept whatever its size.
    """

    def __init__(self, max_bytes: int = _MAX_CACHED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._catalogs: OrderedDict[tuple[Compression, Limits, bytes], Catalog] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self.parsed = 0

    def parse(self, block: bytes, compression: Compression, limits: Limits) -> Catalog:
        """The catalog of a schema block."""
        key = (compression, limits, block)
        with self._lock:
            catalog = self._catalogs.get(key)
            if catalog is not None:
                self._catalogs.move_to_end(key)
                return catalog
            # Under the lock: of files opened at once, one parses and the others wait for it.
            catalog = schema_block.parse(block, compression, limits)
            self.parsed += 1
            self._catalogs[key] = catalog
            self._bytes += _weight(block, catalog)
            while self._bytes > self._max_bytes and len(self._catalogs) > 1:
                (_, _, dropped_block), dropped = self._catalogs.popitem(last=False)
                self._bytes -= _weight(dropped_block, dropped)
            return catalog


def _weight(block: bytes, catalog: Catalog) -> int:
    return len(block) + _BYTES_PER_COLUMN * catalog.num_nodes


def _index_weight(head: FileHead) -> int:
    # The bytes of the index are kept, and its entries take about twice as much.
    return 3 * head.index_bytes


def _same_columns(left: Catalog, right: Catalog) -> bool:
    if left is right:
        return True
    union = ColumnUnion()
    union.extend(left)
    same_names = left.num_columns == right.num_columns and not len(union.find_new(right))
    return same_names and not len(union.compare(right)[0])


# One for the process: tasks of a cluster come one by one, and mostly want the same schema.
catalogs = CatalogCache()


@dataclass(frozen=True, slots=True)
class FileHead:
    """Footer, columns and row groups of one file.

    The version is another for a file that was replaced; None where that is not known.
    """

    name: str | None
    size: int
    compression: Compression
    catalog: Catalog
    index: RowGroupIndex
    index_bytes: int
    version: object = None

    def is_of(self, size: int, version: object) -> bool:
        """Whether a file is, as far as that is known, the one that this was read from."""
        known = self.version is not None and version is not None
        return self.size == size and (not known or self.version == version)


def read_head(source: Source, limits: Limits) -> FileHead:
    """Read the end of a file, in one or two reads."""
    with located(source.name):
        end = read_end(source, limits)
        footer = end.footer
        catalog = catalogs.parse(bytes(end.schema_block), footer.compression, limits)
        check_buckets(footer, catalog)
        # The index keeps the bytes it is made from: not the whole tail.
        index = row_group_index.parse(
            bytes(end.row_group_index), catalog, footer.num_row_groups, footer.schema_offset
        )
        size = len(end.row_group_index)
    return FileHead(
        source.name, source.size, footer.compression, catalog, index, size, source.version
    )


def open_parts(head: FileHead, source: Source, limits: Limits) -> FileParts:
    """An open file whose end need not be read again."""
    return FileParts(head.catalog, head.index, head.compression, limits, source.read_ranges)


class HeadStore:
    """The heads of a dataset's files, read when wanted, kept as far as memory is given.

    Parameters
    ----------
    filesystem : object
    limits : Limits
    max_bytes : int
        How much kept heads may take; what is dropped is read again when it is wanted again.
    """

    def __init__(self, filesystem: Any, limits: Limits, max_bytes: int = _MAX_KEPT_BYTES) -> None:
        self._filesystem = filesystem
        self._limits = limits
        self._max_bytes = max_bytes
        self._kept: dict[str, FileHead] = {}
        self._catalogs: set[Catalog] = set()
        self._bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": {}, "_catalogs": set(), "_bytes": 0}

    def get(self, path: str) -> FileHead | None:
        """The head of a file if it is kept."""
        return self._kept.get(path)

    def load(
        self, files: Iterable[DataFile], check: bool = False
    ) -> Iterator[tuple[DataFile, FileHead | MosaicError]]:
        """Heads in the order of the files, opened several at a time; of a broken file its error.

        Parameters
        ----------
        files : iterable of DataFile
        check : bool
            Ask whether files were replaced since their heads were read, and read these anew. Local
            files, which cost nothing to ask for, are always asked.
        """
        workers = num_threads() if self._filesystem is None else _REMOTE_OPENERS
        load = partial(self._load, check or self._filesystem is None)
        for file, head in read_ahead(load, ((file, 1) for file in files), workers, workers):
            if isinstance(head, FileHead) and self._kept.get(file.path) is not head:
                self._keep(file.path, head)
            yield file, head

    def _keep(self, path: str, head: FileHead) -> None:
        replaced = self._kept.pop(path, None)
        if replaced is not None:
            self._bytes -= _index_weight(replaced)
        weight = _index_weight(head)
        if head.catalog not in self._catalogs:
            weight += _BYTES_PER_COLUMN * head.catalog.num_nodes
        if self._bytes + weight <= self._max_bytes:
            self._kept[path] = head
            self._catalogs.add(head.catalog)
            self._bytes += weight

    def _load(self, check: bool, file: DataFile) -> tuple[DataFile, FileHead | MosaicError]:
        head = self._kept.get(file.path)
        size = file.size
        if head is not None:
            status = status_of(resolve_location(file.path, self._filesystem)) if check else None
            if not check or (status is not None and head.is_of(status.size, status.version)):
                return file, head
            size = None
        source = open_source(file.path, self._filesystem, size)
        try:
            found = read_head(source, self._limits)
        except BROKEN_FILE as error:
            return file, error
        finally:
            source.close()
        if head is not None and not _same_columns(head.catalog, found.catalog):
            return file, DatasetError(
                f"{file.path} was replaced by a file with other columns since the dataset was "
                "opened: open the dataset again"
            )
        return file, found
