"""The interface for reading a file.

Every read is checked against the size found at open, so a wild offset never reaches the operating
system. Exceptions from the caller's file object or file system pass through unchanged; missing
bytes raise :class:`~pymosaic.errors.CorruptFileError`.
"""

from __future__ import annotations

import abc
import errno
from collections.abc import Sequence

from pymosaic.errors import ClosedError, CorruptFileError
from pymosaic.io.ranges import Extent, merge_ranges
from pymosaic.threads import read_map

__all__ = [
    "LOCAL_MERGE_GAP",
    "LOCAL_TAIL_BYTES",
    "MAX_MERGED_BYTES",
    "REMOTE_MERGE_GAP",
    "REMOTE_TAIL_BYTES",
    "Source",
    "tune_for_latency",
]

LOCAL_TAIL_BYTES = 128 << 10
REMOTE_TAIL_BYTES = 512 << 10
LOCAL_MERGE_GAP = 4 << 10
REMOTE_MERGE_GAP = 1 << 20
MAX_MERGED_BYTES = 64 << 20
_REMOTE_PARALLEL_READS = 16


class Source(abc.ABC):
    """Random access to the bytes of a file. Safe to share between threads.

    Attributes
    ----------
    name : str or None
        Path or URI for messages; None if there is none.
    size : int
        Total bytes, as found at open.
    version : object
        A value that differs once the file was replaced or changed; None if it is not known.
    tail_bytes : int
        Number of bytes to read from the end when a file is opened.
    merge_gap : int
        Ranges at most this many bytes apart share a read; may be changed at any time.
    parallel_reads : int
        Number of reads in parallel; may be changed at any time.
    reads_when_decoded : bool
        Whether a read costs little more than its bytes. Buckets are then read by the threads that
        decode them, into memory that is kept, instead of all at once before.
    """

    tail_bytes: int = LOCAL_TAIL_BYTES
    merge_gap: int = LOCAL_MERGE_GAP
    parallel_reads: int = 1
    reads_when_decoded: bool = False
    version: object = None

    def __init__(self, name: str | None, size: int) -> None:
        self.name = name
        self.size = size
        self._closed = False

    @abc.abstractmethod
    def _read_once(self, offset: int, length: int) -> bytes | memoryview:
        """Up to ``length`` bytes; after fewer, the rest is requested; none means the end."""

    def _release(self) -> None:  # noqa: B027  (most sources own nothing)
        """Release what this source owns."""

    def close(self) -> None:
        """Release what this source opened itself; the caller's own objects stay open."""
        if not self._closed:
            self._closed = True
            self._release()

    def read(self, offset: int, length: int) -> bytes | memoryview:
        """Exactly ``length`` bytes from ``offset``."""
        self.check_open()
        self._check_range(offset, length)
        return self._read_fully(offset, length) if length else b""

    def read_into(self, offset: int, buffer: memoryview) -> None:
        """Fill ``buffer`` with the bytes from ``offset`` on."""
        buffer[:] = self.read(offset, len(buffer))

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        """The bytes of each ``(offset, length)``, in the given order; nearby ranges share a read.

        A view keeps the whole read that it is a slice of in memory.
        """
        self.check_open()
        for offset, length in ranges:
            self._check_range(offset, length)
        extents = merge_ranges(ranges, self.merge_gap, MAX_MERGED_BYTES)
        views = [memoryview(b"")] * len(ranges)
        for extent, data in zip(extents, self._read_extents(extents), strict=True):
            view = memoryview(data)
            for index in extent.members:
                offset, length = ranges[index]
                start = offset - extent.offset
                views[index] = view[start : start + length]
        return views

    def _read_extents(self, extents: list[Extent]) -> list[bytes | memoryview]:
        # After a failure or Ctrl-C, reads that have not started never do.
        return read_map(
            lambda extent: self._read_fully(extent.offset, extent.length),
            extents,
            self.parallel_reads,
        )

    def _read_fully(self, offset: int, length: int) -> bytes | memoryview:
        data = self._read_some(offset, length)
        if len(data) == length:
            return data
        pieces = [data]
        have = len(data)
        while have < length:
            data = self._read_some(offset + have, length - have)
            if not data:
                self.check_open()  # another thread may have closed it in the meantime
                raise CorruptFileError(
                    f"file ended at byte {offset + have}, expected {length} bytes from {offset}",
                    self.name,
                    "file",
                    offset,
                )
            pieces.append(data)
            have += len(data)
        return b"".join(pieces)

    def _read_some(self, offset: int, length: int) -> bytes | memoryview:
        data = self._read_once(offset, length)
        if len(data) > length:
            raise OSError(
                errno.EIO, f"a read of {length} bytes returned {len(data)} bytes", self.name
            )
        return data

    def check_open(self) -> None:
        """Raise if the source was closed."""
        if self._closed:
            raise ClosedError(f"{self.name or 'file'} is closed")

    def _check_range(self, offset: int, length: int) -> None:
        if offset < 0 or length < 0 or offset + length > self.size:
            raise CorruptFileError(
                f"{length} bytes from {offset} are not inside the file's {self.size} bytes",
                self.name,
                "file",
                offset,
            )


def tune_for_latency(source: Source) -> None:
    """Fewer, larger and parallel requests, for storage with high latency."""
    source.tail_bytes = REMOTE_TAIL_BYTES
    source.merge_gap = REMOTE_MERGE_GAP
    source.parallel_reads = _REMOTE_PARALLEL_READS
