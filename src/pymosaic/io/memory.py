"""Bytes in memory."""

from __future__ import annotations

from typing import Any

from pymosaic.io.source import Source

__all__ = ["MemorySource"]


class MemorySource(Source):
    """Bytes in memory, never copied; the caller must not change them while they are in use."""

    def __init__(self, data: Any) -> None:
        self._data = memoryview(data).cast("B").toreadonly()
        super().__init__(None, self._data.nbytes)

    def _read_once(self, offset: int, length: int) -> memoryview:
        return self._data[offset : offset + length]

    def _release(self) -> None:
        self._data = memoryview(b"")
