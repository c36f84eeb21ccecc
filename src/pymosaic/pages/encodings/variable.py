"""Variable: values of any length, as offsets and bytes.

==================== ===================================================================
mini-block chunk     count + 1 offsets from the chunk's start, the bytes, 72 as padding
block                u32 32, u32 where the bytes begin, count + 1 offsets from 0, the bytes
                     (u64 64, u64 … if offsets have 64 bits)
full-zip             each value by itself, after its length
==================== ===================================================================
"""

from __future__ import annotations

import numpy as np

from pymosaic.errors import LimitExceededError, UnsupportedFeatureError
from pymosaic.pages.blocks import Block, Chunks, VariableBlock, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder, flat_bits, refuse_buffer_compression
from pymosaic.pages.encodings.encoded import (
    MAX_CHUNK_VALUES,
    ChunkBuffer,
    EncodedBlock,
    EncodedChunks,
)
from pymosaic.pages.kernels.chunks import gather
from pymosaic.pages.kernels.variable import (
    check_offsets,
    join_values,
    measure_values,
    split_counts,
    split_values,
)
from pymosaic.pages.messages import Flat, Variable

__all__ = [
    "decode_blocks",
    "decode_chunks",
    "decode_values",
    "encode_block",
    "encode_chunks",
    "encode_values",
    "offset_bits",
]

_MAX_OFFSET = (1 << 31) - 1
# A chunk is a single disk read, unless two values do not fit in it.
_TARGET_BYTES = 4096
_LARGEST_BYTES = 28 << 10


def offset_bits(encoding: Variable) -> int:
    """The number of bits of an offset: 32 or 64."""
    refuse_buffer_compression(encoding.values, "Variable")
    bits = flat_bits(encoding.offsets, "Variable")
    if bits not in (32, 64):
        raise UnsupportedFeatureError(f"offsets of {bits} bits", structure="Variable")
    return bits


def decode_chunks(encoding: Variable, chunks: Chunks, decoder: Decoder) -> VariableBlock:
    """Concatenate the values of all chunks."""
    bits = offset_bits(encoding)
    corrupt_unless(chunks.num_buffers == 1, f"{chunks.num_buffers} buffers for Variable", "chunk")
    starts, counts = chunks.starts[0], chunks.counts
    size = measure_values(chunks.data, starts, chunks.sizes[0], counts, bits // 8)
    if bits == 32 and size > _MAX_OFFSET:
        raise LimitExceededError(f"{size} bytes in a page of 32-bit offsets", structure="Variable")
    out = decoder.memory.bytes(size)
    offsets = decoder.memory.array(chunks.total + 1, np.int32 if bits == 32 else np.int64)
    join_values(chunks.data, starts, counts, bits // 8, offsets, out)
    return VariableBlock(offsets, out)


def decode_blocks(encoding: Variable, chunks: Chunks, decoder: Decoder) -> VariableBlock:
    """Decode blocks, each with its own small header, to values one behind the other."""
    bits = offset_bits(encoding)
    corrupt_unless(chunks.num_buffers == 1, f"{chunks.num_buffers} buffers", "Variable")
    if len(chunks.counts) > 1:
        return _decode_several(bits, chunks, decoder)
    start, size, count = int(chunks.starts[0, 0]), int(chunks.sizes[0, 0]), chunks.total
    data = chunks.data[start : start + size]
    width = bits // 8
    offsets_end = (count + 3) * width
    corrupt_unless(offsets_end <= size, "the block is shorter than its offsets", "Variable")
    header = np.frombuffer(data[: 2 * width], f"<u{width}").tolist()
    corrupt_unless(header[0] == bits, f"offsets of {header[0]} bits, not {bits}", "Variable")
    corrupt_unless(
        offsets_end <= header[1] <= size, "the bytes are not inside the block", "Variable"
    )
    offsets = np.frombuffer(data[2 * width : offsets_end], f"<i{width}").copy()
    content = data[header[1] :]
    check_offsets(offsets, len(content))
    corrupt_unless(count == 0 or offsets[0] == 0, "offsets do not start at 0", "Variable")
    return VariableBlock(offsets, content[: int(offsets[-1])])


def _decode_several(bits: int, chunks: Chunks, decoder: Decoder) -> VariableBlock:
    """The same for many small blocks, with a few calls for all of them."""
    width = bits // 8
    starts, sizes, counts = chunks.starts[0], chunks.sizes[0], chunks.counts
    corrupt_unless(
        bool(((counts >= 0) & (counts <= sizes // width - 3)).all()),
        "a block is shorter than its offsets",
        "Variable",
    )
    lengths = counts + 3
    numbers_bytes = decoder.memory.bytes(int(lengths.sum()) * width)
    gather(chunks.data, starts, lengths * width, numbers_bytes)
    numbers = numbers_bytes.view(f"<i{width}")
    first = np.cumsum(lengths) - lengths
    begin = numbers[first + 1].astype(np.int64)
    corrupt_unless(bool((numbers[first] == bits).all()), f"offsets not of {bits} bits", "Variable")
    corrupt_unless(
        bool(((begin >= lengths * width) & (begin <= sizes)).all()),
        "the bytes are not inside the block",
        "Variable",
    )
    last = numbers[first + lengths - 1].astype(np.int64)
    corrupt_unless(
        bool(((numbers[first + 2] == 0) & (last >= 0) & (last <= sizes - begin)).all()),
        "offsets do not lie inside their data",
        "Variable",
    )
    total = int(last.sum())
    if bits == 32 and total > _MAX_OFFSET:
        raise LimitExceededError(f"{total} bytes in pages of 32-bit offsets", structure="Variable")
    is_end = np.ones(len(numbers), np.bool_)
    for header in range(3):
        is_end[first + header] = False
    offsets = decoder.memory.array(int(counts.sum()) + 1, np.int32 if bits == 32 else np.int64)
    offsets[0] = 0
    offsets[1:] = numbers[is_end]
    offsets[1:] += np.repeat(np.cumsum(last) - last, counts).astype(offsets.dtype)
    data = decoder.memory.bytes(total)
    gather(chunks.data, starts + begin, last, data)
    # Offsets that go down inside a block, or leave it, do so here as well.
    check_offsets(offsets, total)
    return VariableBlock(offsets, data)


def decode_values(encoding: Variable, block: Block, decoder: Decoder) -> Block:
    """Return the values unchanged."""
    offset_bits(encoding)
    corrupt_unless(isinstance(block, VariableBlock), "values of fixed width", "Variable")
    return block


def _description(block: VariableBlock) -> Variable:
    return Variable(offsets=Flat(bits_per_value=8 * block.offsets.itemsize))


def encode_chunks(block: VariableBlock) -> EncodedChunks | None:
    """Split values into chunks; None if two values are too long for one chunk."""
    width = block.offsets.itemsize
    counts = np.empty(block.count // 2 + 1, np.int64)
    num_chunks = split_counts(block.offsets, width, _TARGET_BYTES, MAX_CHUNK_VALUES, counts)
    counts = counts[:num_chunks].copy()
    ends = np.cumsum(counts)
    lengths = block.offsets[ends].astype(np.int64) - block.offsets[ends - counts]
    # Offsets are read in place, so chunks end at a multiple of their width.
    sizes = ((counts + 1) * width + lengths + width - 1) // width * width
    if len(sizes) and int(sizes.max()) > _LARGEST_BYTES:
        return None
    out = np.empty(int(sizes.sum()), np.uint8)
    starts = np.cumsum(sizes) - sizes
    split_values(block.offsets, block.data, counts, width, starts, sizes, out)
    return EncodedChunks(_description(block), counts, (ChunkBuffer(out, sizes),))


def encode_block(block: VariableBlock) -> EncodedBlock:
    """Header, offsets, bytes."""
    width = block.offsets.itemsize
    header = np.array([8 * width, (len(block.offsets) + 2) * width], f"<u{width}")
    parts = [header.tobytes(), block.offsets.tobytes(), block.data.tobytes()]
    return EncodedBlock(_description(block), np.frombuffer(b"".join(parts), np.uint8))


def encode_values(block: VariableBlock) -> tuple[Variable, VariableBlock]:
    """Values as they are."""
    return _description(block), block
