"""Dictionary: indices into distinct items.

No version of Lance reads this message inside a tree of encodings; Lance's dictionaries are in
:class:`~pymosaic.pages.messages.MiniBlockLayout`. A block of this codec consists of the u64 size of
the indices, the indices and the items, each as a block of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pymosaic.pages.blocks import (
    Block,
    Chunks,
    DictionaryBlock,
    FixedBlock,
    VariableBlock,
    corrupt_unless,
    numbers_of,
)
from pymosaic.pages.encodings.decoder import Decoder, plain
from pymosaic.pages.encodings.encoded import EncodedBlock
from pymosaic.pages.messages import Dictionary

__all__ = ["decode_blocks", "encode_block", "look_up", "numbers_of_indices"]

_INDEX_BITS = (8, 16, 32, 64)


def numbers_of_indices(indices: Block) -> npt.NDArray[Any]:
    """Indices as unsigned numbers, not compared with any items."""
    block = plain(indices, "dictionary indices")
    corrupt_unless(block.bits in _INDEX_BITS, f"indices of {block.bits} bits", "dictionary")
    return numbers_of(block.data, f"<u{block.bits // 8}", block.count)


def look_up(indices: Block, items: Block) -> DictionaryBlock:
    """Combine indices and items; every index is checked."""
    corrupt_unless(
        isinstance(items, FixedBlock | VariableBlock), "items are not scalars", "dictionary"
    )
    numbers = numbers_of_indices(indices)
    highest = int(numbers.max()) if len(numbers) else -1
    corrupt_unless(highest < items.count, f"index {highest} into {items.count} items", "dictionary")
    return DictionaryBlock(numbers, items)


def decode_blocks(encoding: Dictionary, chunks: Chunks, decoder: Decoder) -> DictionaryBlock:
    """Decode both parts of one block."""
    start, size = int(chunks.starts[0, 0]), int(chunks.sizes[0, 0])
    data = chunks.data[start : start + size]
    corrupt_unless(chunks.sizes.shape == (1, 1) and size >= 8, "no header", "Dictionary")
    indices_size = int.from_bytes(data[:8].tobytes(), "little")
    corrupt_unless(indices_size <= size - 8, "indices are longer than the block", "Dictionary")
    indices = Chunks.single(data[8 : 8 + indices_size], chunks.total)
    items = Chunks.single(data[8 + indices_size :], encoding.num_dictionary_items)
    return look_up(decoder.blocks(encoding.indices, indices), decoder.blocks(encoding.items, items))


def encode_block(indices: EncodedBlock, items: EncodedBlock, num_items: int) -> EncodedBlock:
    """Put both parts into one block."""
    header = np.array([len(indices.data)], "<u8").view(np.uint8)
    encoding = Dictionary(
        indices=indices.encoding, items=items.encoding, num_dictionary_items=num_items
    )
    return EncodedBlock(encoding, np.concatenate([header, indices.data, items.data]))
