"""Constant: one value for all, stored in the description; without a value, all are null."""

from __future__ import annotations

import numpy as np

from pymosaic.errors import UnsupportedFeatureError
from pymosaic.pages.blocks import Block, Chunks, FixedBlock, Memory, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder
from pymosaic.pages.messages import Constant

__all__ = ["decode_chunks", "decode_values", "repeat"]


def repeat(value: bytes, count: int, memory: Memory) -> FixedBlock:
    """Repeat the value ``count`` times."""
    memory.charge(len(value) * count)
    data = np.tile(np.frombuffer(value, np.uint8), count)
    return FixedBlock(8 * len(value), count, data)


def decode_chunks(encoding: Constant, chunks: Chunks, decoder: Decoder) -> FixedBlock:
    """Repeat the value; the chunks have no buffers."""
    corrupt_unless(chunks.num_buffers == 0, "buffers for Constant", "chunk")
    return repeat(encoding.value or b"", chunks.total, decoder.memory)


def decode_values(encoding: Constant, block: Block, decoder: Decoder) -> FixedBlock:
    """Decode values that take no bytes; occurs in fixed-size lists whose items are all null."""
    if encoding.value is not None:
        raise UnsupportedFeatureError("a constant in a full-zip page", structure="Constant")
    return FixedBlock(0, block.count, np.empty(0, np.uint8))
