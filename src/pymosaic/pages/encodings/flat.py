"""Flat: values of equal width, back to back; single bits for booleans, least significant first."""

from __future__ import annotations

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.pages.blocks import Block, Chunks, FixedBlock, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder, refuse_buffer_compression
from pymosaic.pages.encodings.encoded import (
    ChunkBuffer,
    EncodedBlock,
    EncodedChunks,
    even_counts,
    fitting_count,
)
from pymosaic.pages.kernels.chunks import gather, gather_bits
from pymosaic.pages.messages import Flat

__all__ = ["decode_chunks", "decode_values", "encode_block", "encode_chunks", "encode_values"]

# Wide enough for a fixed-size list of a million doubles; anything wider is damage.
_MAX_BITS = 1 << 32


def _checked_bits(encoding: Flat) -> int:
    refuse_buffer_compression(encoding.data, "Flat")
    bits = encoding.bits_per_value
    if not 0 < bits <= _MAX_BITS:
        raise CorruptFileError(f"values of {bits} bits", structure="Flat")
    if bits != 1 and bits % 8:
        raise UnsupportedFeatureError(f"values of {bits} bits", structure="Flat")
    return bits


def decode_chunks(encoding: Flat, chunks: Chunks, decoder: Decoder) -> FixedBlock:
    """Concatenate the values of all chunks, without a copy if there is only one."""
    bits = _checked_bits(encoding)
    corrupt_unless(chunks.num_buffers == 1, f"{chunks.num_buffers} buffers for Flat", "chunk")
    count = chunks.total
    # In Python integers: a count from a file times a width may exceed 64 bits.
    sizes = [(number * bits + 7) // 8 for number in chunks.counts.tolist()]
    for needed, size in zip(sizes, chunks.sizes[0].tolist(), strict=True):
        corrupt_unless(needed <= size, f"{size} bytes for values of {needed}", "Flat")
    if len(sizes) == 1:
        start = int(chunks.starts[0, 0])
        return FixedBlock(bits, count, chunks.data[start : start + sizes[0]])
    if bits == 1:
        out = decoder.memory.bitmap(count)
        gather_bits(chunks.data, chunks.starts[0], chunks.counts, out)
    else:
        out = decoder.memory.bytes(count * bits // 8)
        gather(chunks.data, chunks.starts[0], chunks.counts * (bits // 8), out)
    return FixedBlock(bits, count, out)


def decode_values(encoding: Flat, block: Block, decoder: Decoder) -> Block:
    """Return the values unchanged; the width must be that of the values."""
    bits = _checked_bits(encoding)
    corrupt_unless(
        isinstance(block, FixedBlock) and block.bits == bits,
        f"values are not of {bits} bits",
        "Flat",
    )
    return block


def encode_chunks(block: FixedBlock) -> EncodedChunks:
    """Split values into chunks, without a copy."""
    counts = even_counts(block.count, fitting_count(block.bits))
    sizes = (counts * block.bits + 7) // 8
    return EncodedChunks(Flat(bits_per_value=block.bits), counts, (ChunkBuffer(block.data, sizes),))


def encode_block(block: FixedBlock) -> EncodedBlock:
    """Values as they are."""
    return EncodedBlock(Flat(bits_per_value=block.bits), block.data)


def encode_values(block: FixedBlock) -> tuple[Flat, FixedBlock]:
    """Values as they are."""
    return Flat(bits_per_value=block.bits), block
