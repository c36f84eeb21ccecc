"""ByteStreamSplit: in each chunk all first bytes of its values, then all second ones, and so on."""

from __future__ import annotations

from pymosaic.errors import UnsupportedFeatureError
from pymosaic.pages.blocks import Chunks, FixedBlock, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder, flat_bits
from pymosaic.pages.kernels.byte_stream_split import join_streams
from pymosaic.pages.messages import ByteStreamSplit

__all__ = ["decode_chunks"]


def decode_chunks(encoding: ByteStreamSplit, chunks: Chunks, decoder: Decoder) -> FixedBlock:
    """Put the values of all chunks together again."""
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
