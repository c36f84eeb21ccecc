"""A sink for file systems that take whole files: spooled locally, uploaded on commit."""

from __future__ import annotations

import abc
import mmap
from contextlib import suppress
from typing import Any

from pymosaic.io.sink import Sink, write_all

__all__ = ["SpooledSink"]

_SPOOL_BYTES = 64 << 20


class SpooledSink(Sink):
    """A local spool (memory, then an unnamed temporary file), uploaded on commit.

    A failed upload is discarded, and any visible part of it is deleted. A file system that empties
    the old file as soon as a new one is opened (fsspec's ``memory://``) has then lost the old one.
    """

    def __init__(self, name: str, path: str, filesystem: Any) -> None:
        super().__init__(name)
        self._path = path
        self._filesystem = filesystem
        import tempfile  # which readers do not need

        self._spool = tempfile.SpooledTemporaryFile(max_size=_SPOOL_BYTES)  # noqa: SIM115

    @abc.abstractmethod
    def _upload(self, contents: memoryview) -> None:
        """Create the file; on failure, do not complete it."""

    @abc.abstractmethod
    def _look(self) -> tuple[int | None, object]:
        """Size and version mark of what is at the path; (None, None) if nothing is."""

    @abc.abstractmethod
    def _delete(self) -> None:
        """Delete what is at the path."""

    def _write(self, view: memoryview) -> None:
        write_all(self._spool.write, view)

    def _commit(self) -> None:
        try:
            before = self._look()
        except OSError:  # may have permission to write but not to read
            before = None
        try:
            self._upload(self._contents())
        except BaseException:
            if before is not None:
                self._delete_partial(before)
            raise
        self._spool.close()

    def _discard(self) -> None:
        self._spool.close()

    def _contents(self) -> memoryview:
        self._spool.seek(0)
        if self.position <= _SPOOL_BYTES:
            return memoryview(self._spool.read())
        return memoryview(mmap.mmap(self._spool.fileno(), 0, access=mmap.ACCESS_READ))

    def _delete_partial(self, before: tuple[int | None, object]) -> None:
        """Delete what a failed upload left, but never the file that was there before."""
        with suppress(Exception):  # the first failure is what the caller must see
            size, mark = self._look()
            if size is not None and size != self.position and (size, mark) != before:
                self._delete()
