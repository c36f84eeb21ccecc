"""OutOfLineBitpacking: groups of 1,024 values in FastLanes order, all with one packed width.

A tail of fewer values is padded and packed if that is smaller than the plain values; otherwise it
is stored plain.
"""

from __future__ import annotations

import numpy as np

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.pages.blocks import Chunks, FixedBlock, Integers, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder, flat_bits
from pymosaic.pages.encodings.encoded import ChunkBuffer, EncodedBlock, EncodedChunks
from pymosaic.pages.encodings.inline_bitpacking import WIDTHS
from pymosaic.pages.kernels.bitpacking import pack_chunks, unpack_groups
from pymosaic.pages.messages import Flat, OutOfLineBitpacking

__all__ = ["decode_chunks", "encode_block", "encode_chunks"]


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


def _description(bits: int, width: int) -> OutOfLineBitpacking:
    return OutOfLineBitpacking(uncompressed_bits_per_value=bits, values=Flat(bits_per_value=width))


def encode_chunks(block: FixedBlock, counts: Integers, width: int) -> EncodedChunks:
    """Pack chunks of any number of values to one width."""
    out = np.empty(len(block.data) + 128 * width, np.uint8)
    sizes = np.empty(len(counts), np.int64)
    total = pack_chunks(block.data, block.bits, width, counts, sizes, out)
    buffer = ChunkBuffer(out[:total], sizes)
    return EncodedChunks(_description(block.bits, width), counts, (buffer,))


def encode_block(block: FixedBlock, width: int) -> EncodedBlock:
    """Pack one block."""
    chunks = encode_chunks(block, np.array([block.count], np.int64), width)
    return EncodedBlock(chunks.encoding, chunks.buffers[0].data)
