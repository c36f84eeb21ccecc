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
from typing import Any

from pymosaic.dataset.discovery import DataFile
from pymosaic.dataset.read_ahead import read_ahead
from pymosaic.errors import (
    CorruptFileError,
    LimitExceededError,
    MosaicError,
    UnsupportedFeatureError,
    located,
)
from pymosaic.file.reader import check_buckets, read_end
from pymosaic.file.row_group_reader import FileParts
from pymosaic.format import row_group_index, schema_block
from pymosaic.format.compression import Compression
from pymosaic.io import Source, open_source
from pymosaic.kernels.catalog import Catalog
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


# One for the process: tasks of a cluster come one by one, and mostly want the same schema.
catalogs = CatalogCache()


@dataclass(frozen=True, slots=True)
class FileHead:
    """Footer, columns and row groups of one file."""

    name: str | None
    size: int
    compression: Compression
    catalog: Catalog
    index: RowGroupIndex
    index_bytes: int


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
    return FileHead(source.name, source.size, footer.compression, catalog, index, size)


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

    def load(self, files: Iterable[DataFile]) -> Iterator[tuple[DataFile, FileHead | MosaicError]]:
        """Heads in the order of the files, opened several at a time; of a broken file its error."""
        workers = num_threads() if self._filesystem is None else _REMOTE_OPENERS
        for file, head in read_ahead(self._load, ((file, 1) for file in files), workers, workers):
            if isinstance(head, FileHead) and file.path not in self._kept:
                self._keep(file.path, head)
            yield file, head

    def _keep(self, path: str, head: FileHead) -> None:
        # The bytes of the index are kept, and its entries take about twice as much.
        weight = 3 * head.index_bytes
        if head.catalog not in self._catalogs:
            weight += _BYTES_PER_COLUMN * head.catalog.num_nodes
        if self._bytes + weight <= self._max_bytes:
            self._kept[path] = head
            self._catalogs.add(head.catalog)
            self._bytes += weight

    def _load(self, file: DataFile) -> tuple[DataFile, FileHead | MosaicError]:
        head = self._kept.get(file.path)
        if head is not None:
            return file, head
        source = open_source(file.path, self._filesystem, file.size)
        try:
            return file, read_head(source, self._limits)
        except BROKEN_FILE as error:
            return file, error
        finally:
            source.close()
