"""A file that records its reads."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

__all__ = ["RecordedFile"]


class RecordedFile(io.RawIOBase):
    """A local file for libraries that read Python file objects.

    Parameters
    ----------
    path : Path
        The file.

    Attributes
    ----------
    ranges : list of (int, int)
        Offset and length of every read, in the order of the reads.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY)
        self._position = 0
        self._size = os.fstat(self._descriptor).st_size
        self.ranges: list[tuple[int, int]] = []

    @property
    def num_bytes(self) -> int:
        """Number of bytes read; bytes read twice count twice."""
        return sum(length for _, length in self.ranges)

    def size(self) -> int:
        """Size of the file."""
        return self._size

    def read_at(self, offset: int, length: int) -> bytes:
        """Read a range without moving the position."""
        data = os.pread(self._descriptor, length, offset)
        self.ranges.append((offset, len(data)))
        return data

    def readable(self) -> bool:
        """Always true."""
        return True

    def seekable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer from the position on."""
        data = self.read_at(self._position, len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move the position."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            os.close(self._descriptor)
        super().close()
