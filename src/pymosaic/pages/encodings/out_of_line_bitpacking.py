"""OutOfLineBitpacking: groups of 1,024 values in FastLanes order, all of one packed width.

A tail of fewer values is padded and packed where that is smaller than the plain values, else plain.
"""

from __future__ import annotations

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.pages.blocks import Chunks, FixedBlock, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder, flat_bits
from pymosaic.pages.encodings.inline_bitpacking import WIDTHS
from pymosaic.pages.kernels.bitpacking import unpack_groups
from pymosaic.pages.messages import OutOfLineBitpacking

__all__ = ["decode_chunks"]


def decode_chunks(encoding: OutOfLineBitpacking, chunks: Chunks, decoder: Decoder) -> FixedBlock:
    """Unpack all chunks."""
    bits = encoding.uncompressed_bits_per_value
    width = flat_bits(encoding.values, "OutOfLineBitpacking")
    if bits not in WIDTHS:
        raise UnsupportedFeatureError(f"values of {bits} bits", structure="OutOfLineBitpacking")
    if width > bits:
        raise CorruptFileError(f"{bits} bits packed into {width}", structure="OutOfLineBitpacking")
    corrupt_unless(chunks.num_buffers == 1, "more than one buffer", "OutOfLineBitpacking")
    out = decoder.memory.bytes(chunks.total * (bits // 8))
    unpack_groups(chunks.data, chunks.starts[0], chunks.sizes[0], chunks.counts, bits, width, out)
    return FixedBlock(bits, chunks.total, out)
