"""zstd: a block is exactly one frame, which states the size of its content.

The size that a structure declares for its block must be the size that the frame states:
``zstandard`` would allocate the latter unasked.
"""

from __future__ import annotations

import threading
from typing import ClassVar

import zstandard

from pymosaic.errors import CorruptFileError, LimitExceededError
from pymosaic.format.compression.codec import Compression, Compressor, Scratch
from pymosaic.limits import DEFAULT_LIMITS, Limits

__all__ = ["Zstd", "decompress"]

# zstd's densest content is a run: 128 KiB from 4 bytes. Twice that is a forged size.
_MAX_RATIO = 65536
_ALWAYS_PLAUSIBLE = 1 << 20
# The byte of a frame after its magic number, and its bit that marks a checksum.
_FRAME_DESCRIPTOR = 4
_CHECKSUM_FLAG = 4
# The type of a block that repeats one byte.
_RUN_BLOCK = 1
_contexts = threading.local()


def _decompressor() -> zstandard.ZstdDecompressor:
    context: zstandard.ZstdDecompressor | None = getattr(_contexts, "decompressor", None)
    if context is None:
        context = _contexts.decompressor = zstandard.ZstdDecompressor()
    return context


def _frame_end(data: bytes | memoryview) -> int:
    """Where the frame at the start of some bytes ends; past their end if they are cut off."""
    descriptor = data[_FRAME_DESCRIPTOR]
    single_segment = descriptor >> 5 & 1
    content_size = (single_segment, 2, 4, 8)[descriptor >> 6]
    dictionary_id = (0, 1, 2, 4)[descriptor & 3]
    place = _FRAME_DESCRIPTOR + 1 + (1 - single_segment) + dictionary_id + content_size
    last = 0
    while not last:
        header = int.from_bytes(data[place : place + 3], "little")
        if place + 3 > len(data):
            return place + 3
        last = header & 1
        place += 3 + (1 if header >> 1 & 3 == _RUN_BLOCK else header >> 3)
    return place + (4 if descriptor & _CHECKSUM_FLAG else 0)


def _decompress_into(data: bytes | memoryview, out: memoryview) -> int:
    """Decompress one frame into memory as large as its content; return how much it held."""
    with _decompressor().stream_reader(data, closefd=False) as reader:
        size = reader.readinto(out)
        # The end of the frame, with its checksum, has been seen only if nothing more comes.
        return size + len(reader.read(1))


def decompress(
    data: bytes | memoryview,
    declared_size: int,
    structure: str,
    limits: Limits,
    scratch: Scratch | None = None,
) -> bytes | memoryview:
    """Decompress one zstd frame of exactly ``declared_size`` bytes of content."""
    if declared_size > limits.max_block_bytes:
        raise LimitExceededError(
            f"a block of {declared_size} bytes exceeds Limits.max_block_bytes "
            f"({limits.max_block_bytes})",
            structure=structure,
        )
    if declared_size > max(len(data) * _MAX_RATIO, _ALWAYS_PLAUSIBLE):
        raise CorruptFileError(
            f"{len(data)} bytes cannot hold the declared {declared_size}", structure=structure
        )
    try:
        stated_size = zstandard.frame_content_size(data)
        if stated_size not in (declared_size, -1):
            raise CorruptFileError(
                f"declares a size of {declared_size} bytes, but its zstd frame has {stated_size}",
                structure=structure,
            )
        content: bytes | memoryview
        if scratch is not None and stated_size == declared_size > 0:
            if _frame_end(data) != len(data):
                raise CorruptFileError(
                    "is not exactly one zstd frame: it is cut off, or bytes follow it",
                    structure=structure,
                )
            content = scratch.take(declared_size)
            size = _decompress_into(data, content)
        else:
            content = _decompressor().decompress(
                data, max_output_size=declared_size, allow_extra_data=False
            )
            size = len(content)
    except zstandard.ZstdError as error:
        raise CorruptFileError(f"zstd: {error}", structure=structure) from error
    if size != declared_size:
        raise CorruptFileError(
            f"declares a size of {declared_size} bytes, but has {size}", structure=structure
        )
    return content


class Zstd(Compression):
    """Blocks as zstd frames; readers limit their content to ``Limits.max_block_bytes``."""

    code: ClassVar[int] = 1
    name: ClassVar[str] = "zstd"
    is_plain: ClassVar[bool] = False
    max_block_bytes: ClassVar[int] = DEFAULT_LIMITS.max_block_bytes

    def compressor(self, level: int, checksum: bool) -> Compressor:
        """The compressor for the frames of one file."""
        return _FrameCompressor(self, level, checksum)

    def decompress(
        self,
        block: bytes | memoryview,
        declared_size: int,
        structure: str,
        limits: Limits,
        scratch: Scratch | None = None,
    ) -> bytes | memoryview:
        """See :func:`decompress`."""
        return decompress(block, declared_size, structure, limits, scratch)

    def has_checksum(self, block: bytes | memoryview) -> bool:
        """Whether the frame ends in a checksum of its content."""
        return len(block) > _FRAME_DESCRIPTOR and bool(block[_FRAME_DESCRIPTOR] & _CHECKSUM_FLAG)


class _FrameCompressor(Compressor):
    """Makes frames with one level; each thread has its own zstd context."""

    def __init__(self, compression: Compression, level: int, checksum: bool) -> None:
        super().__init__(compression)
        self._level = level
        self._checksum = checksum
        self._contexts = threading.local()

    def compress(self, content: bytes) -> bytes:
        """One zstd frame."""
        context: zstandard.ZstdCompressor | None = getattr(self._contexts, "compressor", None)
        if context is None:
            context = self._contexts.compressor = zstandard.ZstdCompressor(
                level=self._level, write_checksum=self._checksum, write_content_size=True
            )
        return context.compress(content)
