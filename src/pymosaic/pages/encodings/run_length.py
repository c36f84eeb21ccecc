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
from pymosaic.pages.kernels.run_length import expand_runs
from pymosaic.pages.messages import Rle

__all__ = ["decode_blocks", "decode_chunks"]


def decode_chunks(encoding: Rle, chunks: Chunks, decoder: Decoder) -> FixedBlock:
    """Expand the runs of all chunks; runs past a chunk's count are cut."""
    bits = flat_bits(encoding.values, "Rle")
    corrupt_unless(flat_bits(encoding.run_lengths, "Rle") == 8, "lengths are no bytes", "Rle")
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
    """Expand blocks: find both buffers of each, then as in chunks."""
    corrupt_unless(chunks.num_buffers == 1, f"{chunks.num_buffers} buffers", "Rle")
    starts, sizes = chunks.starts[0], chunks.sizes[0]
    corrupt_unless(bool((sizes >= 8).all()), "no header", "Rle")
    data = chunks.data
    values_sizes = np.array(
        [int.from_bytes(data[start : start + 8].tobytes(), "little") for start in starts.tolist()],
        object,
    )
    corrupt_unless(bool((values_sizes <= sizes - 8).all()), "values longer than the block", "Rle")
    first = values_sizes.astype(np.int64)
    split = Chunks(
        data,
        np.stack([starts + 8, starts + 8 + first]),
        np.stack([first, sizes - 8 - first]),
        chunks.counts,
    )
    return decode_chunks(encoding, split, decoder)
