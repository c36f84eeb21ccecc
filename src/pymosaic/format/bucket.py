"""A bucket: the columns of one row group that are stored together.

The columns of a bucket follow from the numbers of columns and buckets, and are not stored: the
column at ``position`` in name order is in bucket ``position * buckets // columns``.

The index says where a bucket is, and which layout it has:

=============== ======== ==========================================================
compressed size raw size layout
=============== ======== ==========================================================
0               0        missing: not stored, every value is null
above 0         above 0  monolithic: one block, of this size before compression
above 0         0        paged: a directory, then a slot for each physical column
=============== ======== ==========================================================

Physical columns are the columns of the bucket in name order, then the children of its ARRAY and MAP
columns, which themselves store lengths.

A monolithic bucket, before compression:

========================= ========================================================
field                     encoding
========================= ========================================================
counts, if there are      varint columns, varint children, then per child varint
children                  number of elements
encodings                 2 bits per physical column, low bits first
columns with nulls        1 bit per physical column, low bits first
constants                 one serialised value for each CONST column
dictionaries              for each DICT column: varint entries, then the entries
bitmaps                   for each column with nulls: a bit per row, 1 = null
data                      for each PLAIN column its values that are not null, for
                          each DICT column their indices, bit-packed
========================= ========================================================

A paged bucket (only in compressed files):

========================= ========================================================
field                     encoding
========================= ========================================================
counts, if there are      2 bytes children, then per child 4 bytes number of
children                  elements, all little-endian
directory                 4 bytes little-endian per physical column: the size of
                          its slot, 0 if all values are null
slots                     see :mod:`pymosaic.format.page`, back to back
========================= ========================================================
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from pymosaic.errors import CorruptFileError
from pymosaic.format.compression import Compression, Compressor
from pymosaic.format.page import emit_slot

__all__ = [
    "BucketPlace",
    "EncodedBucket",
    "Layout",
    "buckets_of",
    "check_layout",
    "emit",
    "is_paged",
    "parse_directory",
    "starts_of",
]

Layout: TypeAlias = Literal["missing", "monolithic", "paged"]
Numbers: TypeAlias = npt.NDArray[np.int64]


class _Columns(Protocol):
    """What a catalog tells."""

    @property
    def num_columns(self) -> int: ...
    @property
    def num_buckets(self) -> int: ...


class _Encoder(Protocol):
    """What a kernel gives: the parts of a bucket, not yet compressed."""

    def is_paged(self, threshold: int) -> bool: ...
    def monolithic(self, max_block_bytes: int) -> bytes: ...
    def num_pages(self) -> int: ...
    def page(self, index: int, max_block_bytes: int) -> bytes | None: ...
    def page_header(self) -> bytes: ...
    def page_bytes(self) -> int: ...
    def release(self) -> None: ...


class _Decoder(Protocol):
    """What a kernel finds in a directory."""

    def directory_size(self) -> int: ...
    def load_directory(self, data: memoryview, bucket_size: int, /) -> Numbers: ...


class BucketPlace(NamedTuple):
    """Position and layout of a bucket of a row group; sizes are as in the index."""

    bucket: int
    offset: int = 0
    compressed_size: int = 0
    raw_size: int = 0

    @property
    def missing(self) -> bool:
        """Not stored: every value is null."""
        return self.compressed_size == 0

    @property
    def paged(self) -> bool:
        """Columns are compressed one by one."""
        return self.compressed_size > 0 and self.raw_size == 0

    @property
    def layout(self) -> Layout:
        """The name of the layout."""
        return "missing" if self.missing else "paged" if self.paged else "monolithic"


def is_paged(compressed_sizes: Numbers, raw_sizes: Numbers) -> npt.NDArray[np.bool_]:
    """:attr:`BucketPlace.paged` for many buckets."""
    paged: npt.NDArray[np.bool_] = (compressed_sizes > 0) & (raw_sizes == 0)
    return paged


def buckets_of(columns: _Columns, positions: Numbers) -> Numbers:
    """The buckets of these columns."""
    return positions * columns.num_buckets // max(1, columns.num_columns)


def starts_of(columns: _Columns, buckets: Numbers) -> Numbers:
    """The first positions of buckets; for the bucket after the last, the end."""
    return -(-buckets * columns.num_columns // columns.num_buckets)


class EncodedBucket(NamedTuple):
    """The bytes of a bucket.

    Parameters
    ----------
    pieces : list of bytes
        To be written one after another.
    content_size : int
        Size before compression.
    raw_size : int
        As in the index: 0 if the bucket is paged.
    """

    pieces: list[bytes]
    content_size: int
    raw_size: int


def emit(encoder: _Encoder, compressor: Compressor, page_threshold: int) -> EncodedBucket:
    """The bytes of a bucket, in the layout that its size asks for.

    The encoder's part of the row group is freed as soon as it is no longer needed.
    """
    compression = compressor.compression
    limit = compression.max_block_bytes
    if compression.is_plain or not encoder.is_paged(page_threshold):
        raw = encoder.monolithic(limit)
        encoder.release()
        return EncodedBucket([compressor.compress(raw)], len(raw), len(raw))
    directory = bytearray()
    slots = []
    for index in range(encoder.num_pages()):
        page = encoder.page(index, limit)
        slot = b""
        if page is not None:
            slot = emit_slot(page, compressor)
            slots.append(slot)
        directory += len(slot).to_bytes(4, "little")
    header = encoder.page_header()
    content_size = encoder.page_bytes()
    encoder.release()
    return EncodedBucket([header, bytes(directory), *slots], content_size, 0)


def check_layout(place: BucketPlace, compression: Compression, structure: str) -> None:
    """Refuse a layout that the file's compression does not allow."""
    if place.paged and compression.is_plain:
        raise CorruptFileError("a paged bucket in a file without compression", structure=structure)


def parse_directory(
    decoder: _Decoder, data: memoryview, place: BucketPlace, structure: str
) -> Numbers:
    """Offsets of the slots of a paged bucket from its first byte, and the end of the last.

    Checked: that the directory fits in the bucket, and that the slots fill the rest of it.
    """
    size = decoder.directory_size()
    if size > place.compressed_size:
        raise CorruptFileError(
            f"a paged bucket of {place.compressed_size} bytes is shorter than its directory of "
            f"{size}",
            structure=structure,
        )
    return decoder.load_directory(data[:size], place.compressed_size)
