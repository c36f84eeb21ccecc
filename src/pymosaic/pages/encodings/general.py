"""General: the output of another encoding, compressed.

==================== ===========================================================
mini-block chunk     the first buffer of each chunk
block                the block
full-zip             each value by itself
==================== ===========================================================

zstd data is a u64 with the plain size, then a frame (a frame alone can be read too); LZ4 data is a
u32 with the plain size, then a raw block.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import zstandard

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.format.compression.zstd import decompress as decompress_frame
from pymosaic.limits import Limits
from pymosaic.pages.blocks import (
    Block,
    Bytes,
    Chunks,
    FixedBlock,
    Memory,
    VariableBlock,
    bytes_of,
    corrupt_unless,
)
from pymosaic.pages.encodings.decoder import Decoder
from pymosaic.pages.encodings.encoded import EncodedBlock, EncodedChunks, join
from pymosaic.pages.messages import BufferCompression, CompressionScheme, Encoding, General

__all__ = ["GeneralCompressor", "decode_blocks", "decode_chunks", "decode_values", "decompress"]

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
# LZ4 compresses runs best: one byte gives at most 255.
_LZ4_RATIO = 255
_CAP = Limits(max_block_bytes=1 << 31)


@functools.cache
def _lz4() -> Any:
    return pa.Codec("lz4_raw")


def _decompress_zstd(content: memoryview, memory: Memory) -> Bytes:
    if content[:4] == _ZSTD_MAGIC:
        frame = content
        try:
            size = zstandard.frame_content_size(frame)
        except zstandard.ZstdError as error:
            raise CorruptFileError(f"zstd: {error}", structure="General") from error
    else:
        corrupt_unless(len(content) >= 8, "no plain size", "General")
        size, frame = int.from_bytes(content[:8], "little"), content[8:]
    corrupt_unless(size >= 0, "a zstd frame without its plain size", "General")
    memory.charge(size)
    return bytes_of(decompress_frame(frame, size, "General", _CAP))


def _decompress_lz4(content: memoryview, memory: Memory) -> Bytes:
    corrupt_unless(len(content) >= 4, "no plain size", "General")
    size = int.from_bytes(content[:4], "little")
    corrupt_unless(
        size <= _LZ4_RATIO * len(content), f"{len(content)} bytes cannot hold {size}", "General"
    )
    if size == 0:
        return np.empty(0, np.uint8)
    memory.charge(size)
    try:
        plain = bytes_of(_lz4().decompress(content[4:], decompressed_size=size))
    except (OSError, pa.ArrowException) as error:
        raise CorruptFileError(f"lz4: {error}", structure="General") from error
    corrupt_unless(_is_full(content[4:], size), f"fewer than {size} bytes", "General")
    return plain


def _is_full(block: memoryview, size: int) -> bool:
    """Whether an LZ4 block decompresses to all ``size`` bytes; otherwise it fits in one byte less.

    pyarrow does not report how many bytes it wrote, and leaves the rest of the buffer unchanged.
    """
    if size == 1:
        return bytes(block[:1]) == b"\x10"  # one literal
    try:
        _lz4().decompress(block, decompressed_size=size - 1)
    except (OSError, pa.ArrowException):
        return True
    return False


def _view(data: Bytes) -> memoryview:
    return memoryview(np.ascontiguousarray(data).data)


def decompress(encoding: General, content: memoryview, memory: Memory) -> Bytes:
    """Decompress one buffer."""
    scheme = (
        CompressionScheme.UNSPECIFIED
        if encoding.compression is None
        else encoding.compression.scheme
    )
    if scheme == CompressionScheme.ZSTD:
        return _decompress_zstd(content, memory)
    if scheme == CompressionScheme.LZ4:
        return _decompress_lz4(content, memory)
    raise UnsupportedFeatureError(f"compression scheme {scheme}", structure="General")


def _decompress_first(encoding: General, chunks: Chunks, decoder: Decoder) -> Chunks:
    # Reported before any bytes are decompressed.
    corrupt_unless(encoding.values is not None, "an encoding is missing", "General")
    corrupt_unless(chunks.num_buffers >= 1, "nothing to decompress", "General")
    view = _view(chunks.data)
    pieces = [
        decompress(encoding, view[start : start + size], decoder.memory)
        for start, size in zip(chunks.starts[0].tolist(), chunks.sizes[0].tolist(), strict=True)
    ]
    sizes = np.array([len(piece) for piece in pieces], np.int64)
    starts, all_sizes = chunks.starts.copy(), chunks.sizes.copy()
    starts[0] = np.cumsum(sizes) - sizes
    all_sizes[0] = sizes
    if chunks.num_buffers > 1:
        # The other buffers are kept as they are, after the decompressed bytes.
        starts[1:] += int(sizes.sum())
        pieces.append(chunks.data)
    data = pieces[0] if len(pieces) == 1 else np.concatenate(pieces or [np.empty(0, np.uint8)])
    return Chunks(data, starts, all_sizes, chunks.counts)


def decode_chunks(encoding: General, chunks: Chunks, decoder: Decoder) -> Block:
    """Decompress the first buffer of each chunk, then decode the chunks."""
    return decoder.chunks(encoding.values, _decompress_first(encoding, chunks, decoder))


def decode_blocks(encoding: General, chunks: Chunks, decoder: Decoder) -> Block:
    """Decompress the blocks, then decode them."""
    return decoder.blocks(encoding.values, _decompress_first(encoding, chunks, decoder))


def decode_values(encoding: General, block: Block, decoder: Decoder) -> Block:
    """Decompress values one by one; an empty one is not compressed."""
    if not isinstance(block, VariableBlock):
        kind = "fixed" if isinstance(block, FixedBlock) else "other"
        raise UnsupportedFeatureError(f"compressed values of {kind} width", structure="General")
    corrupt_unless(encoding.values is not None, "an encoding is missing", "General")
    view, offsets = _view(block.data), block.offsets.tolist()
    pieces = [
        decompress(encoding, view[start:end], decoder.memory)
        if end > start
        else np.empty(0, np.uint8)
        for start, end in itertools.pairwise(offsets)
    ]
    new_offsets = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum([len(piece) for piece in pieces], out=new_offsets[1:])
    data = np.concatenate(pieces) if pieces else np.empty(0, np.uint8)
    return decoder.values(encoding.values, VariableBlock(new_offsets, data))


class GeneralCompressor:
    """Compresses buffers with one scheme."""

    def __init__(self, scheme: CompressionScheme, level: int | None = None) -> None:
        self._scheme = scheme
        self._zstd = zstandard.ZstdCompressor(level=3 if level is None else level)
        self.description: BufferCompression = BufferCompression(scheme=int(scheme), level=level)

    def compress(self, content: Any) -> bytes:
        """Return the plain size, followed by the compressed bytes."""
        if self._scheme is CompressionScheme.ZSTD:
            return len(content).to_bytes(8, "little") + self._zstd.compress(content)
        size = len(content).to_bytes(4, "little")
        return size + (_lz4().compress(content, asbytes=True) if len(content) else b"\0")

    def chunks(self, encoded: EncodedChunks) -> EncodedChunks:
        """Compress the first buffer of each chunk."""
        first = encoded.buffers[0]
        view, ends = _view(first.data), np.cumsum(first.sizes).tolist()
        pieces = [
            self.compress(view[end - size : end])
            for end, size in zip(ends, first.sizes.tolist(), strict=True)
        ]
        encoding = self.describe(encoded.encoding)
        return EncodedChunks(encoding, encoded.counts, (join(pieces), *encoded.buffers[1:]))

    def block(self, encoded: EncodedBlock) -> EncodedBlock:
        """Compress a block."""
        data = bytes_of(self.compress(_view(encoded.data)))
        return EncodedBlock(self.describe(encoded.encoding), data)

    def values(self, block: VariableBlock) -> VariableBlock:
        """Compress values one by one; empty ones stay empty."""
        view, offsets = _view(block.data), block.offsets.tolist()
        pieces = [
            self.compress(view[start:end]) if end > start else b""
            for start, end in itertools.pairwise(offsets)
        ]
        buffer = join(pieces)
        new_offsets = np.zeros(len(offsets), np.int64)
        np.cumsum(buffer.sizes, out=new_offsets[1:])
        return VariableBlock(new_offsets, buffer.data)

    def describe(self, values: Encoding) -> General:
        """The description of what was compressed."""
        return General(compression=self.description, values=values)
