"""A source that notes every read, and where the parts of a file are that it should have read."""

from __future__ import annotations

import io
from itertools import pairwise
from typing import Any

import pyarrow as pa

import pymosaic
from pymosaic.io import Source
from tests.oracle import Bucket, decode

Range = tuple[int, int]
# An annex that has only checksums.
ANNEX_BYTES = 56


class RecordingSource(Source):
    """Serves bytes and notes the offset and length of every read.

    Ranges that touch are read as one, and the end of the file is read in ``tail_bytes``, by
    default just its last structures: annex, schema block, index and footer.
    """

    merge_gap = 0

    def __init__(self, data: bytes, tail_bytes: int | None = None) -> None:
        super().__init__("recorded", len(data))
        self.tail_bytes = end_structures(data)[1] if tail_bytes is None else tail_bytes
        self.reads: list[Range] = []
        self._data = data

    def _read_once(self, offset: int, length: int) -> bytes:
        self.reads.append((offset, length))
        return self._data[offset : offset + length]

    def forget(self) -> None:
        """Start a new list."""
        self.reads = []


def opened(data: bytes, **options: Any) -> tuple[pymosaic.MosaicFile, RecordingSource]:
    """An open file and its source, from here on."""
    source = RecordingSource(data, **options)
    file = pymosaic.MosaicFile(source)
    source.forget()
    return file, source


def end_structures(data: bytes) -> Range:
    """Annex, schema block, index and footer."""
    start = max(0, int.from_bytes(data[-24:-16], "big") - ANNEX_BYTES)
    return start, len(data) - start


def file_of(table: pa.Table, **options: Any) -> bytes:
    """The file of one table; one batch, one row group."""
    stream = io.BytesIO()
    pymosaic.write_table(table.combine_chunks(), stream, **options)
    return stream.getvalue()


def bucket_ranges(data: bytes, row_group: int = 0) -> list[Range]:
    """Where each bucket of a row group is."""
    return [where(bucket) for bucket in decode(data).row_groups[row_group].buckets]


def where(bucket: Bucket) -> Range:
    assert bucket.offset is not None
    return bucket.offset, bucket.compressed_size


def joined(*ranges: Range) -> Range:
    """One range over ranges that touch."""
    for (offset, length), (following, _) in pairwise(ranges):
        assert offset + length == following
    return ranges[0][0], sum(length for _, length in ranges)


def slot_ranges(
    data: bytes, bucket: Range, num_physical: int, num_children: int = 0
) -> list[Range]:
    """The directory of a paged bucket, child header included, then each of its slots."""
    offset, total = bucket
    header = 2 + 4 * num_children if num_children else 0
    sizes = [
        int.from_bytes(data[start : start + 4], "little")
        for start in range(offset + header, offset + header + 4 * num_physical, 4)
    ]
    ranges = [(offset, header + 4 * num_physical)]
    for size in sizes:
        ranges.append((ranges[-1][0] + ranges[-1][1], size))
    assert sum(size for _, size in ranges) == total
    return ranges
