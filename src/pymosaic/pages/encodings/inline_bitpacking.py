"""InlineBitpacking: each chunk holds its packed width, then 1,024 values in FastLanes order."""

from __future__ import annotations

import numpy as np

from pymosaic.errors import UnsupportedFeatureError
from pymosaic.pages.blocks import Chunks, FixedBlock, Integers, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder, refuse_buffer_compression
from pymosaic.pages.encodings.encoded import ChunkBuffer, EncodedChunks, even_counts
from pymosaic.pages.kernels.bitpacking import measure_groups, pack_inline, unpack_inline
from pymosaic.pages.messages import InlineBitpacking

__all__ = ["GROUP", "WIDTHS", "decode_chunks", "encode_chunks", "group_widths", "packed_size"]

WIDTHS = (8, 16, 32, 64)
GROUP = 1024


def decode_chunks(encoding: InlineBitpacking, chunks: Chunks, decoder: Decoder) -> FixedBlock:
    """Unpack all chunks."""
    bits = encoding.uncompressed_bits_per_value
    refuse_buffer_compression(encoding.values, "InlineBitpacking")
    if bits not in WIDTHS:
        raise UnsupportedFeatureError(f"values of {bits} bits", structure="InlineBitpacking")
    corrupt_unless(chunks.num_buffers == 1, "more than one buffer", "InlineBitpacking")
    out = decoder.memory.bytes(chunks.total * (bits // 8))
    unpack_inline(chunks.data, chunks.starts[0], chunks.sizes[0], chunks.counts, bits, out)
    return FixedBlock(bits, chunks.total, out)


def group_widths(block: FixedBlock) -> Integers:
    """The number of bits that the values of each group of 1,024 need."""
    widths = np.zeros(-(-block.count // GROUP), np.int64)
    measure_groups(block.data, block.bits, widths)
    return widths


def packed_size(block: FixedBlock, widths: Integers) -> int:
    """The size in bytes after packing."""
    return int((widths * 128 + block.bits // 8).sum())


def encode_chunks(block: FixedBlock) -> EncodedChunks:
    """Pack values, 1,024 to a chunk."""
    widths = group_widths(block)
    out = np.empty(packed_size(block, widths), np.uint8)
    pack_inline(block.data, block.bits, widths, out)
    return EncodedChunks(
        InlineBitpacking(uncompressed_bits_per_value=block.bits),
        even_counts(block.count, GROUP),
        (ChunkBuffer(out, widths * 128 + block.bits // 8),),
    )
