"""An opened file: its parsed metadata, and access to its bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pymosaic.errors import CorruptFileError, located
from pymosaic.file.catalogs import catalogs
from pymosaic.file.guard import Annex, check_absent, check_place, check_tail, read_annex
from pymosaic.file.plan import ByteRange
from pymosaic.file.tail import Tail, check_buckets, read_tail
from pymosaic.format.compression import Compression
from pymosaic.format.footer import Footer
from pymosaic.io import Source
from pymosaic.kernels import row_group_index
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.row_group_index import RowGroupIndex
from pymosaic.limits import Limits

__all__ = ["Fetch", "FileHead", "OpenFile", "head_of", "open_file", "read_head"]

Fetch: TypeAlias = Callable[[Sequence[ByteRange]], list[memoryview]]


@dataclass(frozen=True, slots=True)
class FileHead:
    """The metadata of a file, without its data; does not keep the file open.

    Parameters
    ----------
    name : str or None
        Path or URI; None for bytes and unnamed file objects.
    size : int
        Size of the file in bytes.
    footer : Footer
    catalog : Catalog
        The columns; files with the same schema block share one catalog.
    index : RowGroupIndex
        The row groups and statistics.
    annex : Annex or None
        Checksums of the other structures; None if the file has no annex.
    version : object
        Changes when the file is replaced; None if unknown.
    """

    name: str | None
    size: int
    footer: Footer
    catalog: Catalog
    index: RowGroupIndex
    annex: Annex | None
    version: object

    def is_of(self, size: int, version: object) -> bool:
        """Whether a file is, as far as known, the one that this was read from."""
        known = self.version is not None and version is not None
        return self.size == size and (not known or self.version == version)

    @property
    def compression(self) -> Compression:
        """How its blocks are compressed."""
        return self.footer.compression

    @property
    def guarded(self) -> bool:
        """Whether checksums cover schema block, index and footer, which were compared."""
        return self.annex is not None and self.annex.integrity is not None

    @property
    def index_bytes(self) -> int:
        """Size of the row group index in bytes."""
        return self.footer.index_size(self.size)

    def open(self, source: Source, limits: Limits) -> OpenFile:
        """Open the file without reading its end again."""
        return self.open_with(source, limits, source.read_ranges, self.size)

    def open_with(
        self, source: Source, limits: Limits, fetch: Fetch, in_memory_from: int
    ) -> OpenFile:
        """Open the file with a fetch function other than that of the source."""
        return OpenFile(
            self.name,
            self.size,
            self.footer,
            self.catalog,
            self.index,
            self.annex,
            self.version,
            limits,
            source,
            fetch,
            in_memory_from,
        )


@dataclass(frozen=True, slots=True)
class OpenFile(FileHead):
    """A file that can be read.

    Parameters
    ----------
    limits : Limits
        Caps on what the file may demand.
    source : Source
        Where the bytes come from.
    fetch : callable
        Returns the bytes of each ``(offset, length)``, in the given order: from the source, or from
        the end of the file if that is in memory.
    in_memory_from : int
        Where the part of the file begins that ``fetch`` does not read again.
    """

    limits: Limits
    source: Source
    fetch: Fetch
    in_memory_from: int


def head_of(
    tail: Tail,
    source: Source,
    limits: Limits,
    catalog: Catalog | None = None,
    *,
    keeps_tail: bool = False,
    keeps_metadata: bool = False,
) -> FileHead:
    """Parse the end of a file.

    Parameters
    ----------
    tail : Tail
    source : Source
        Where the tail was read from.
    limits : Limits
    catalog : Catalog, optional
        The catalog of its schema block, if known.
    keeps_tail : bool
        Whether the tail may stay in memory. The index keeps the bytes that it was parsed from.
    keeps_metadata : bool
        Whether the head keeps what the file tells of its Arrow schema.
    """
    footer = tail.footer
    annex = read_annex(tail, source, limits, keeps_metadata=keeps_metadata)
    doubt = None
    if isinstance(annex, CorruptFileError):
        annex, doubt = None, annex
    if annex is not None:
        check_tail(annex, tail)
    if catalog is None:
        catalog = catalogs.parse(tail.schema_block, footer.compression, limits)
    check_buckets(footer, catalog)
    data = tail.row_group_index if keeps_tail else bytes(tail.row_group_index)
    index = row_group_index.parse(data, catalog, footer.num_row_groups, footer.schema_offset)
    _, data_stop = index.extent()
    if annex is None:
        check_absent(doubt, tail, source, data_stop)
    else:
        check_place(annex, data_stop)
    return FileHead(source.name, source.size, footer, catalog, index, annex, source.version)


def read_head(source: Source, limits: Limits, *, keeps_metadata: bool = False) -> FileHead:
    """Read and check everything but the buckets, in one or two reads."""
    with located(source.name):
        tail = read_tail(source, limits)
        return head_of(tail, source, limits, keeps_metadata=keeps_metadata)


def open_file(source: Source, limits: Limits) -> OpenFile:
    """Open a file, keeping its end in memory so that it is not read again."""
    with located(source.name):
        tail = read_tail(source, limits)
        head = head_of(tail, source, limits, keeps_tail=True)
    return head.open_with(source, limits, _Bytes(source, tail).fetch, tail.start)


class _Bytes:
    """Fetches bytes of a file whose end is in memory."""

    def __init__(self, source: Source, tail: Tail) -> None:
        self._source = source
        self._tail = tail.data
        self._tail_start = tail.start

    def fetch(self, ranges: Sequence[ByteRange]) -> list[memoryview]:
        """The bytes of each range; does not read if there are none."""
        self._source.check_open()
        missing = [item for item in ranges if item[0] < self._tail_start]
        fetched = iter(self._source.read_ranges(missing) if missing else ())
        views = []
        for offset, size in ranges:
            if offset < self._tail_start:
                views.append(next(fetched))
            else:
                start = offset - self._tail_start
                views.append(self._tail[start : start + size])
        return views
