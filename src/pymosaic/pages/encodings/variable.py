"""Variable: values of any length, as offsets and bytes.

==================== ===================================================================
mini-block chunk     count + 1 offsets from the chunk's start, the bytes, 72 as padding
block                u32 32, u32 where the bytes begin, count + 1 offsets from 0, the bytes
                     (u64 64, u64 … where offsets have 64 bits)
full-zip             each value by itself, behind its length
==================== ===================================================================
"""

from __future__ import annotations

import numpy as np

from pymosaic.errors import CorruptFileError, LimitExceededError, UnsupportedFeatureError
from pymosaic.pages.blocks import Block, Chunks, VariableBlock, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder, flat_bits, refuse_buffer_compression
from pymosaic.pages.kernels.variable import check_offsets, join_values, measure_values
from pymosaic.pages.messages import Variable

__all__ = ["decode_blocks", "decode_chunks", "decode_values", "offset_bits"]

_MAX_OFFSET = (1 << 31) - 1


def offset_bits(encoding: Variable) -> int:
    """Bits of an offset: 32 or 64."""
    refuse_buffer_compression(encoding.values, "Variable")
    bits = flat_bits(encoding.offsets, "Variable")
    if bits not in (32, 64):
        raise UnsupportedFeatureError(f"offsets of {bits} bits", structure="Variable")
    return bits


def decode_chunks(encoding: Variable, chunks: Chunks, decoder: Decoder) -> VariableBlock:
    """Put the values of all chunks one behind the other."""
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
    """One block with its own small header."""
    bits = offset_bits(encoding)
    if chunks.sizes.shape != (1, 1):
        raise CorruptFileError("more than one block", structure="Variable")
    start, size, count = int(chunks.starts[0, 0]), int(chunks.sizes[0, 0]), chunks.total
    data = chunks.data[start : start + size]
    width = bits // 8
    offsets_end = (count + 3) * width
    corrupt_unless(offsets_end <= size, "the block is shorter than its offsets", "Variable")
    header = np.frombuffer(data[: 2 * width], f"<u{width}").tolist()
    corrupt_unless(header[0] == bits, f"offsets of {header[0]} bits, not {bits}", "Variable")
    corrupt_unless(offsets_end <= header[1] <= size, "the bytes are not in the block", "Variable")
    offsets = np.frombuffer(data[2 * width : offsets_end], f"<i{width}").copy()
    content = data[header[1] :]
    check_offsets(offsets, len(content))
    corrupt_unless(count == 0 or offsets[0] == 0, "offsets do not start at 0", "Variable")
    return VariableBlock(offsets, content[: int(offsets[-1])])


def decode_values(encoding: Variable, block: Block, decoder: Decoder) -> Block:
    """Nothing to undo."""
    offset_bits(encoding)
    corrupt_unless(isinstance(block, VariableBlock), "values of fixed width", "Variable")
    return block
