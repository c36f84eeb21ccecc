"""The interface of a codec. Blocks are compressed one by one, and nothing else is compressed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from pymosaic.limits import Limits

__all__ = ["Compression", "Compressor", "Scratch"]

# Larger contents get memory of their own, which is not kept.
_MAX_KEPT_BYTES = 8 << 20


class Scratch:
    """Memory of one thread for the content of one block at a time.

    Memory that is new for each block costs page faults, and the cache what it holds.

    Examples
    --------
    >>> from pymosaic.format.compression import Scratch
    >>> scratch = Scratch()
    >>> len(scratch.take(3)), len(scratch.take(5))
    (3, 5)
    """

    def __init__(self) -> None:
        self._kept = memoryview(b"")

    def take(self, size: int) -> memoryview:
        """Memory for a content; what an earlier call returned is overwritten."""
        if size > _MAX_KEPT_BYTES:
            return memoryview(bytearray(size))
        if size > len(self._kept):
            self._kept = memoryview(bytearray(size))
        return self._kept[:size]


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
        ``scratch``, the content may be there, and is then gone with the next use of it.
        """

    @abstractmethod
    def has_checksum(self, block: bytes | memoryview) -> bool:
        """Whether decompression detects a changed value."""
