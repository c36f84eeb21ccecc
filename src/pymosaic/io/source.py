"""The interface of what gives a file's bytes.

Every read is checked against the size found at open, so a wild offset never reaches the operating
system. Exceptions of the caller's file object or file system come through unchanged; bytes that are
missing are a :class:`~pymosaic.errors.CorruptFileError`.
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
    """Bytes at known positions. Safe to share between threads.

    Attributes
    ----------
    name : str or None
        Path or URI for messages; None where there is none.
    size : int
        Total bytes, as found at open.
    tail_bytes : int
        How much of the end to read first when a file is opened.
    merge_gap : int
        Ranges at most this far apart are read as one; may be changed at any time.
    parallel_reads : int
        How many merged ranges are fetched at once; may be changed at any time.
    """

    tail_bytes: int = LOCAL_TAIL_BYTES
    merge_gap: int = LOCAL_MERGE_GAP
    parallel_reads: int = 1

    def __init__(self, name: str | None, size: int) -> None:
        self.name = name
        self.size = size
        self._closed = False

    @abc.abstractmethod
    def _read_once(self, offset: int, length: int) -> bytes | memoryview:
        """Up to ``length`` bytes; fewer are asked for again, none means the end."""

    def _release(self) -> None:  # noqa: B027  (most sources own nothing)
        """Give back what this source owns."""

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

    def read_ranges(self, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        """The bytes of each ``(offset, length)``, in the order given; near ones share a read.

        A view keeps the whole read that it was cut from in memory.
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
        # After a failure or Ctrl-C, reads that have not begun never do.
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
                self.check_open()  # another thread may have closed it meanwhile
                raise CorruptFileError(
                    f"file ended at byte {offset + have}, wanted {length} bytes from {offset}",
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
            raise OSError(errno.EIO, f"a read of {length} bytes gave {len(data)}", self.name)
        return data

    def check_open(self) -> None:
        """Raise if the source was closed."""
        if self._closed:
            raise ClosedError(f"{self.name or 'file'} is closed")

    def _check_range(self, offset: int, length: int) -> None:
        if offset < 0 or length < 0 or offset + length > self.size:
            raise CorruptFileError(
                f"{length} bytes from {offset} do not lie inside the file's {self.size} bytes",
                self.name,
                "file",
                offset,
            )


def tune_for_latency(source: Source) -> None:
    """Fewer, larger and parallel requests, for storage where each takes long."""
    source.tail_bytes = REMOTE_TAIL_BYTES
    source.merge_gap = REMOTE_MERGE_GAP
    source.parallel_reads = _REMOTE_PARALLEL_READS
