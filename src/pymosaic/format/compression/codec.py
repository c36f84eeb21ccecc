"""The interface of a codec. Blocks are compressed one by one, and nothing else is compressed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from pymosaic.limits import Limits

__all__ = ["Compression", "Compressor", "Scratch"]

# Larger contents get memory of their own, which is not kept.
_MAX_KEPT_BYTES = 8 << 20


class Scratch:
    """Memory for blocks that are needed for a short while, kept for the next ones.

    Memory that is new for each block costs page faults, and the cache what it holds.

    Examples
    --------
    >>> from pymosaic.format.compression import Scratch
    >>> scratch = Scratch()
    >>> len(scratch.take(3)), len(scratch.take(5))
    (3, 5)
    >>> scratch.restart()
    """

    def __init__(self) -> None:
        self._kept = memoryview(b"")
        self._used = 0
        self._wanted = 0

    def restart(self) -> None:
        """Let what was taken so far be overwritten."""
        if len(self._kept) < self._wanted <= _MAX_KEPT_BYTES:
            self._kept = memoryview(bytearray(self._wanted))
        self._used = self._wanted = 0

    def take(self, size: int) -> memoryview:
        """Memory beside what was taken since the last restart."""
        start = self._used
        stop = start + size
        self._wanted += size
        if stop > len(self._kept):
            if start > 0 or stop > _MAX_KEPT_BYTES:
                return memoryview(bytearray(size))
            self._kept = memoryview(bytearray(stop))
        self._used = stop
        return self._kept[start:stop]


class Compressor(ABC):
    """Compresses blocks with one set of options; may be used by several threads."""

    def __init__(self, compression: Compression) -> None:
        self.compression = compression

    @abstractmethod
    def compress(self, content: bytes) -> bytes:
        """Compress content to a block."""


class Compression(ABC):
    """One way to store blocks. There is one object of each, so identity compares them.

    Attributes
    ----------
    code : int
        Number in the footer.
    name : str
        Name for users.
    is_plain : bool
        Whether a block is its content. If so, offsets inside a block are offsets in the file, and
        no bucket is paged.
    max_block_bytes : int
        Maximum size of the content of a block, for writers.
    """

    code: ClassVar[int]
    name: ClassVar[str]
    is_plain: ClassVar[bool]
    max_block_bytes: ClassVar[int]

    @abstractmethod
    def compressor(self, level: int, checksum: bool) -> Compressor:
        """The compressor for the blocks of one file."""

    @abstractmethod
    def decompress(
        self,
        block: bytes | memoryview,
        declared_size: int,
        structure: str,
        limits: Limits,
        scratch: Scratch | None = None,
    ) -> bytes | memoryview:
        """The content of a block, which has exactly ``declared_size`` bytes.

        The size is checked before memory is allocated. ``structure`` is for messages. With
        ``scratch``, the content may be there, and is then gone when that is restarted.
        """

    @abstractmethod
    def has_checksum(self, block: bytes | memoryview) -> bool:
        """Whether decompression detects a changed value."""
