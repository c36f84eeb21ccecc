"""FixedSizeList: lists of one length, flattened.

==================== ================================================================
mini-block chunk     a bitmap of the items, where they have nulls, then their buffers
full-zip             bytes of the bitmap before the items of each list
==================== ================================================================

Lists in lists nest, each level with a bitmap of its own.
"""

from __future__ import annotations

import numpy as np

from pymosaic.errors import CorruptFileError
from pymosaic.pages.blocks import Block, Bytes, Chunks, FixedBlock, ListBlock, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder
from pymosaic.pages.kernels.chunks import gather_bits
from pymosaic.pages.messages import Constant, Encoding, FixedSizeList, Flat

__all__ = ["decode_chunks", "decode_values", "value_bits"]

_MAX_ITEMS = 1 << 31


def _checked_size(encoding: FixedSizeList, count: int) -> int:
    size = encoding.items_per_value
    if not 0 < size <= _MAX_ITEMS or count * size > 1 << 48:
        raise CorruptFileError(f"{count} lists of {size} items", structure="FixedSizeList")
    return size


def decode_chunks(encoding: FixedSizeList, chunks: Chunks, decoder: Decoder) -> ListBlock:
    """Decode bitmap and items of all chunks."""
    count = chunks.total
    size = _checked_size(encoding, count)
    inner = chunks.with_counts(chunks.counts * size)
    validity: Bytes | None = None
    if encoding.has_validity:
        corrupt_unless(chunks.num_buffers >= 1, "no bitmap", "FixedSizeList")
        corrupt_unless(
            bool(((inner.counts + 7) // 8 <= chunks.sizes[0]).all()),
            "short bitmap",
            "FixedSizeList",
        )
        validity = decoder.memory.bitmap(count * size)
        gather_bits(chunks.data, chunks.starts[0], inner.counts, validity)
        inner = inner.without_first()
    return ListBlock(size, count, decoder.chunks(encoding.values, inner), validity)


def value_bits(encoding: Encoding | None) -> int:
    """Bits of one item in a full-zip page, where every level is padded to whole bytes."""
    if isinstance(encoding, Flat):
        return encoding.bits_per_value
    if isinstance(encoding, Constant):
        return 0
    if isinstance(encoding, FixedSizeList):
        size = _checked_size(encoding, 1)
        items = (size * value_bits(encoding.values) + 7) // 8 * 8
        return items + ((size + 7) // 8 * 8 if encoding.has_validity else 0)
    raise CorruptFileError(f"{type(encoding).__name__} in a list", structure="FixedSizeList")


def decode_values(encoding: FixedSizeList, block: Block, decoder: Decoder) -> ListBlock:
    """Part bitmap and items of each row."""
    size = _checked_size(encoding, block.count)
    bits = value_bits(encoding)
    if not isinstance(block, FixedBlock) or block.bits != bits:
        raise CorruptFileError(f"values are not of {bits} bits", structure="FixedSizeList")
    rows = block.data[: block.count * bits // 8].reshape(block.count, bits // 8)
    validity: Bytes | None = None
    if encoding.has_validity:
        bitmap_bytes = (size + 7) // 8
        validity = _flatten_bits(rows[:, :bitmap_bytes], size)
        rows = rows[:, bitmap_bytes:]
    item_bits = value_bits(encoding.values)
    decoder.memory.charge(rows.size)
    if item_bits == 1:
        items = _flatten_bits(rows, size)
    else:
        items = np.ascontiguousarray(rows).reshape(-1)
    inner = decoder.values(encoding.values, FixedBlock(item_bits, block.count * size, items))
    return ListBlock(size, block.count, inner, validity)


def _flatten_bits(rows: Bytes, size: int) -> Bytes:
    """Bits of rows, each padded to whole bytes, in one piece."""
    bits = np.unpackbits(np.ascontiguousarray(rows), axis=1, count=size, bitorder="little")
    return np.packbits(bits.reshape(-1), bitorder="little")
