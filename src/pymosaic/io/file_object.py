"""File objects of the caller, which the caller must close."""

from __future__ import annotations

import errno
import io
import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn, Protocol

from pymosaic.io.sink import Sink, write_all, write_some
from pymosaic.io.source import Source

__all__ = ["FileObjectSink", "FileObjectSource", "SupportsWrite", "check_ability"]


class SupportsWrite(Protocol):
    """The part of a binary file object that writing needs."""

    def write(self, data: bytes, /) -> object:
        """Write the bytes, or some of them, and return the number written."""


class FileObjectSource(Source):
    """A caller's Python file object, read by seek and read under a lock; its position changes.

    Offsets count from its first byte whatever its position, and it is not closed. Nothing else may
    use the object at the same time.
    """

    def __init__(self, file: Any) -> None:
        _check_binary(file)
        check_ability(file, "readable")
        check_ability(file, "seekable")
        if not hasattr(file, "seek"):
            _refuse_ability(file, "seekable")
        self._file = file
        self._lock = threading.Lock()
        name = getattr(file, "name", None)
        file.seek(0, os.SEEK_END)
        super().__init__(name if isinstance(name, str) else None, file.tell())

    def _read_once(self, offset: int, length: int) -> bytes | memoryview:
        with self._lock:
            self._file.seek(offset)
            data = self._file.read(length)
        if data is None:
            raise BlockingIOError(errno.EAGAIN, "the file object is non-blocking", self.name)
        if not isinstance(data, bytes | bytearray | memoryview):
            kind = type(self._file).__name__
            raise TypeError(f"{kind}.read() returned {type(data).__name__}, not bytes")
        return memoryview(data) if isinstance(data, bytearray) else data


class FileObjectSink(Sink):
    """A caller's file object: written from its current position, flushed, never closed.

    ``abort`` cannot take back bytes that were written.
    """

    def __init__(self, file: Any) -> None:
        _check_binary(file)
        check_ability(file, "writable")
        name = getattr(file, "name", None)
        super().__init__(name if isinstance(name, str) else None, _tell(file))
        self._file = file

    def _write(self, view: memoryview) -> None:
        write_all(partial(write_some, self._file), view)

    def _commit(self) -> None:
        if hasattr(self._file, "flush"):
            self._file.flush()

    def _discard(self) -> None:
        """Do nothing: bytes that were written cannot be taken back."""


def _tell(file: Any) -> int:
    try:
        position = file.tell()
    except (AttributeError, OSError):  # pipes and sockets
        return 0
    return position if isinstance(position, int) else 0


def _check_binary(file: Any) -> None:
    """Refuse text-mode file objects, including wrapped ones."""
    if isinstance(file, io.TextIOBase) or isinstance(getattr(file, "encoding", None), str):
        raise TypeError(
            f"{type(file).__name__} is in text mode: open it in binary mode ('rb' or 'wb')"
        )


def check_ability(file: Any, ability: str) -> None:
    """Refuse a file object that reports not being ``readable``, ``seekable`` or ``writable``."""
    question: Callable[[], bool] | None = getattr(file, ability, None)
    if question is not None and not question():
        _refuse_ability(file, ability)


def _refuse_ability(file: Any, ability: str) -> NoReturn:
    advice = "; read it into memory and pass the bytes" if ability == "seekable" else ""
    raise io.UnsupportedOperation(f"{type(file).__name__} is not {ability}{advice}")
