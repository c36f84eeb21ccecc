"""Rle: runs of equal values, each a value and a byte for its length.

==================== ==========================================================
mini-block chunk     two buffers: values, lengths
block (2.2)          u64 size of the values, values, lengths
==================== ==========================================================
"""

from __future__ import annotations

import numpy as np

from pymosaic.pages.blocks import Chunks, FixedBlock, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder, flat_bits
from pymosaic.pages.encodings.encoded import ChunkBuffer, EncodedChunks, even_counts
from pymosaic.pages.kernels.run_length import count_runs, expand_runs, find_runs
from pymosaic.pages.messages import Flat, Rle

__all__ = ["decode_blocks", "decode_chunks", "encode_chunks", "run_size"]

CHUNK_VALUES = 2048


def decode_chunks(encoding: Rle, chunks: Chunks, decoder: Decoder) -> FixedBlock:
    """Expand the runs of all chunks; runs that exceed a chunk's count are truncated."""
    bits = flat_bits(encoding.values, "Rle")
    corrupt_unless(flat_bits(encoding.run_lengths, "Rle") == 8, "run lengths are not bytes", "Rle")
    corrupt_unless(bits > 0 and bits % 8 == 0, f"values of {bits} bits", "Rle")
    corrupt_unless(chunks.num_buffers == 2, f"{chunks.num_buffers} buffers", "Rle")
    width = bits // 8
    num_runs = chunks.sizes[1]
    corrupt_unless(bool((chunks.sizes[0] // width >= num_runs).all()), "runs without values", "Rle")
    out = decoder.memory.bytes(chunks.total * width)
    expand_runs(
        chunks.data,
        chunks.starts[0],
        chunks.data,
        chunks.starts[1],
        num_runs,
        chunks.counts,
        width,
        out,
    )
    return FixedBlock(bits, chunks.total, out)


def decode_blocks(encoding: Rle, chunks: Chunks, decoder: Decoder) -> FixedBlock:
    """Expand blocks: find both buffers of each, then decode them as chunks."""
    corrupt_unless(chunks.num_buffers == 1, f"{chunks.num_buffers} buffers", "Rle")
    starts, sizes = chunks.starts[0], chunks.sizes[0]
    corrupt_unless(bool((sizes >= 8).all()), "no header", "Rle")
    data = chunks.data
    values_sizes = np.array(
        [int.from_bytes(data[start : start + 8].tobytes(), "little") for start in starts.tolist()],
        object,
    )
    corrupt_unless(
        bool((values_sizes <= sizes - 8).all()), "values are longer than the block", "Rle"
    )
    first = values_sizes.astype(np.int64)
    split = Chunks(
        data,
        np.stack([starts + 8, starts + 8 + first]),
        np.stack([first, sizes - 8 - first]),
        chunks.counts,
    )
    return decode_chunks(encoding, split, decoder)


def run_size(block: FixedBlock) -> int:
    """The size of the runs in bytes."""
    width = block.bits // 8
    return count_runs(block.data, width, CHUNK_VALUES) * (width + 1)


def encode_chunks(block: FixedBlock) -> EncodedChunks:
    """Find runs, 2,048 values to a chunk."""
    width = block.bits // 8
    num_runs = count_runs(block.data, width, CHUNK_VALUES)
    counts = even_counts(block.count, CHUNK_VALUES)
    values, lengths = np.empty(num_runs * width, np.uint8), np.empty(num_runs, np.uint8)
    runs_per_chunk = np.zeros(len(counts), np.int64)
    find_runs(block.data, width, CHUNK_VALUES, values, lengths, runs_per_chunk)
    return EncodedChunks(
        Rle(values=Flat(bits_per_value=block.bits), run_lengths=Flat(bits_per_value=8)),
        counts,
        (ChunkBuffer(values, runs_per_chunk * width), ChunkBuffer(lengths, runs_per_chunk)),
    )
