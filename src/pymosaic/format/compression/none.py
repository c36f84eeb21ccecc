"""No compression: a block is its content."""

from __future__ import annotations

from typing import ClassVar

from pymosaic.errors import CorruptFileError
from pymosaic.format.compression.codec import Compression, Compressor, Scratch
from pymosaic.limits import Limits

__all__ = ["NoCompression"]


class NoCompression(Compression):
    """Uncompressed blocks. Their size needs no cap, because the file bounds it."""

    code: ClassVar[int] = 0
    name: ClassVar[str] = "none"
    is_plain: ClassVar[bool] = True
    max_block_bytes: ClassVar[int] = (1 << 32) - 1

    def compressor(self, level: int, checksum: bool) -> Compressor:
        """The compressor of one file, which changes nothing."""
        return _Unchanged(self)

    def decompress(
        self,
        block: bytes | memoryview,
        declared_size: int,
        structure: str,
        limits: Limits,
        scratch: Scratch | None = None,
    ) -> bytes | memoryview:
        """The block, if it has the declared size."""
        if len(block) != declared_size:
            raise CorruptFileError(
                f"declares a size of {declared_size} bytes, but has {len(block)}",
                structure=structure,
            )
        return block

    def has_checksum(self, block: bytes | memoryview) -> bool:
        """Always false: uncompressed blocks have no checksum."""
        return False


class _Unchanged(Compressor):
    def compress(self, content: bytes) -> bytes:
        return content
