"""ByteStreamSplit: each chunk holds the first bytes of its values, then the second, and so on."""

from __future__ import annotations

import numpy as np

from pymosaic.errors import UnsupportedFeatureError
from pymosaic.pages.blocks import Chunks, FixedBlock, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder, flat_bits
from pymosaic.pages.encodings.encoded import ChunkBuffer, EncodedChunks, even_counts
from pymosaic.pages.kernels.byte_stream_split import join_streams, split_streams
from pymosaic.pages.messages import ByteStreamSplit, Flat

__all__ = ["decode_chunks", "encode_chunks"]


def decode_chunks(encoding: ByteStreamSplit, chunks: Chunks, decoder: Decoder) -> FixedBlock:
    """Reassemble the values of all chunks."""
    bits = flat_bits(encoding.values, "ByteStreamSplit")
    if bits not in (32, 64):
        raise UnsupportedFeatureError(f"values of {bits} bits", structure="ByteStreamSplit")
    width = bits // 8
    corrupt_unless(chunks.num_buffers == 1, "more than one buffer", "ByteStreamSplit")
    corrupt_unless(
        bool((chunks.sizes[0] // width >= chunks.counts).all()), "too few bytes", "ByteStreamSplit"
    )
    out = decoder.memory.bytes(chunks.total * width)
    join_streams(chunks.data, chunks.starts[0], chunks.counts, width, out)
    return FixedBlock(bits, chunks.total, out)


def encode_chunks(block: FixedBlock) -> EncodedChunks:
    """Split values into byte streams, with 4 KiB of values per chunk."""
    width = block.bits // 8
    chunk_values = 4096 // width
    out = np.empty(len(block.data), np.uint8)
    split_streams(block.data, width, chunk_values, out)
    counts = even_counts(block.count, chunk_values)
    return EncodedChunks(
        ByteStreamSplit(values=Flat(bits_per_value=block.bits)),
        counts,
        (ChunkBuffer(out, counts * width),),
    )
