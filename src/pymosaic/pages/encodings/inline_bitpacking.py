"""InlineBitpacking: each chunk holds its packed width, then 1,024 values in FastLanes order."""

from __future__ import annotations

from pymosaic.errors import UnsupportedFeatureError
from pymosaic.pages.blocks import Chunks, FixedBlock, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder, refuse_buffer_compression
from pymosaic.pages.kernels.bitpacking import unpack_inline
from pymosaic.pages.messages import InlineBitpacking

__all__ = ["WIDTHS", "decode_chunks"]

WIDTHS = (8, 16, 32, 64)


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
