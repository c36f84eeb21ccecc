"""OutOfLineBitpacking: groups of 1,024 values in FastLanes order, all with one packed width.

A tail of fewer values is padded and packed if that is smaller than the plain values; otherwise it
is stored plain.
"""

from __future__ import annotations

import numpy as np

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.pages.blocks import Bytes, Chunks, FixedBlock, Integers, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder, flat_bits
from pymosaic.pages.encodings.encoded import ChunkBuffer, EncodedBlock, EncodedChunks
from pymosaic.pages.encodings.inline_bitpacking import GROUP, WIDTHS
from pymosaic.pages.kernels.bitpacking import pack_groups, unpack_groups
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


def _pack(data: Bytes, bits: int, width: int) -> bytes:
    """Pack groups, and also the tail if that is smaller."""
    width_bytes, group_bytes = bits // 8, 128 * width
    count = len(data) // width_bytes
    groups, tail = divmod(count, GROUP)
    packs_tail = 0 < group_bytes < tail * width_bytes
    packed = np.empty((groups + packs_tail) * group_bytes, np.uint8)
    pack_groups(data, bits, width, packed)
    if packs_tail:
        return packed.tobytes()
    return packed.tobytes() + data[groups * GROUP * width_bytes :].tobytes()


def _description(bits: int, width: int) -> OutOfLineBitpacking:
    return OutOfLineBitpacking(uncompressed_bits_per_value=bits, values=Flat(bits_per_value=width))


def encode_chunks(block: FixedBlock, counts: Integers, width: int) -> EncodedChunks:
    """Pack chunks of any number of values to one width."""
    width_bytes = block.bits // 8
    ends = np.cumsum(counts) * width_bytes
    pieces = [
        _pack(block.data[start:end], block.bits, width)
        for start, end in zip((ends - counts * width_bytes).tolist(), ends.tolist(), strict=True)
    ]
    sizes = np.array([len(piece) for piece in pieces], np.int64)
    buffer = ChunkBuffer(np.frombuffer(b"".join(pieces), np.uint8), sizes)
    return EncodedChunks(_description(block.bits, width), counts, (buffer,))


def encode_block(block: FixedBlock, width: int) -> EncodedBlock:
    """Pack one block."""
    data = np.frombuffer(_pack(block.data, block.bits, width), np.uint8)
    return EncodedBlock(_description(block.bits, width), data)
