"""The interface for writing a file.

As far as the target allows, nothing is visible before ``commit`` and ``abort`` leaves nothing.
"""

from __future__ import annotations

import abc
import enum
import errno
import io
from collections.abc import Callable
from typing import Any

from pymosaic.errors import ClosedError

__all__ = ["Sink", "write_all", "write_some"]


class _State(enum.Enum):
    OPEN = "open"
    FAILED = "unusable after a failed write"
    COMMITTED = "closed"
    ABORTED = "aborted"


class Sink(abc.ABC):
    """A target that takes a file's bytes in order. For one thread at a time.

    Attributes
    ----------
    name : str or None
        Path or URI for messages; None if there is none.
    position : int
        Offset of the next byte from the start of the target.
    """

    def __init__(self, name: str | None, position: int = 0) -> None:
        self.name = name
        self.position: int = position
        self._state = _State.OPEN

    @abc.abstractmethod
    def _write(self, view: memoryview) -> None:
        """Write all bytes or raise."""

    @abc.abstractmethod
    def _commit(self) -> None:
        """Make what was written visible and durable."""

    @abc.abstractmethod
    def _discard(self) -> None:
        """Remove what was written, as far as possible; never raises OSError."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write the whole buffer; after an exception the sink can only be aborted."""
        self._check_open()
        view = memoryview(data).cast("B")
        try:
            self._write(view)
        except BaseException:
            self._state = _State.FAILED
            raise
        self.position += view.nbytes

    def commit(self) -> None:
        """Make the file visible and durable; a failure discards it. May be called again."""
        if self._state is _State.COMMITTED:
            return
        self._check_open()
        try:
            self._commit()
        except BaseException:
            self.abort()
            raise
        self._state = _State.COMMITTED

    def abort(self) -> None:
        """Discard the file. Safe at any time, even after a failure or a commit."""
        if self._state not in (_State.COMMITTED, _State.ABORTED):
            self._state = _State.ABORTED
            self._discard()

    def _check_open(self) -> None:
        if self._state is not _State.OPEN:
            raise ClosedError(f"{self.name or 'the file'} is {self._state.value}")


def write_all(write: Callable[[memoryview], int], view: memoryview) -> None:
    """Call ``write``, which may write a part and return its size, until all bytes are written."""
    while view.nbytes:
        count = write(view)
        if not 0 < count <= view.nbytes:
            raise OSError(
                errno.EIO, f"a write of {view.nbytes} bytes reported {count} bytes written"
            )
        view = view[count:]


def write_some(file: Any, view: memoryview) -> int:
    """Write to a file object, and return the number of bytes written."""
    # io never keeps the buffer; any other object gets one that it may keep.
    count = file.write(view if isinstance(file, io.IOBase) else bytes(view))
    if isinstance(count, int):
        return count
    if isinstance(file, io.RawIOBase):
        raise BlockingIOError(errno.EAGAIN, "the file object is non-blocking")
    return view.nbytes  # many custom write() methods return nothing
