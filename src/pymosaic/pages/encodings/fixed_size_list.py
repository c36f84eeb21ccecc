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
from pymosaic.pages.blocks import (
    Block,
    Bytes,
    Chunks,
    FixedBlock,
    Integers,
    ListBlock,
    corrupt_unless,
)
from pymosaic.pages.encodings.decoder import Decoder
from pymosaic.pages.encodings.encoded import ChunkBuffer, EncodedChunks, even_counts, fitting_count
from pymosaic.pages.kernels.chunks import gather_bits
from pymosaic.pages.messages import Constant, Encoding, FixedSizeList, Flat

__all__ = [
    "decode_chunks",
    "decode_values",
    "encode_chunks",
    "encode_values",
    "row_bits",
    "value_bits",
]

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


def row_bits(block: Block) -> int:
    """Bits of one item in chunks, bitmaps included."""
    if isinstance(block, ListBlock):
        return block.size * (row_bits(block.items) + (block.validity is not None))
    assert isinstance(block, FixedBlock)
    return block.bits


def encode_chunks(block: ListBlock) -> EncodedChunks:
    """Cut lists into chunks; each level of lists has its bitmap before its items."""
    counts = even_counts(block.count, fitting_count(row_bits(block)))
    buffers: list[ChunkBuffer] = []
    encoding = _cut(block, counts, buffers)
    return EncodedChunks(encoding, counts, tuple(buffers))


def _cut(block: Block, counts: Integers, buffers: list[ChunkBuffer]) -> Encoding:
    if isinstance(block, ListBlock):
        counts = counts * block.size
        if block.validity is not None:
            buffers.append(_cut_bits(block.validity, counts))
        values = _cut(block.items, counts, buffers)
        return FixedSizeList(
            items_per_value=block.size, values=values, has_validity=block.validity is not None
        )
    assert isinstance(block, FixedBlock)
    if block.bits == 1:
        buffers.append(_cut_bits(block.data, counts))
    else:
        buffers.append(ChunkBuffer(block.data, counts * (block.bits // 8)))
    return Flat(bits_per_value=block.bits)


def _cut_bits(bitmap: Bytes, counts: Integers) -> ChunkBuffer:
    """Bits of each chunk, padded to whole bytes."""
    bits = np.unpackbits(bitmap, count=int(counts.sum()), bitorder="little")
    ends = np.cumsum(counts).tolist()
    pieces = [
        np.packbits(bits[end - count : end], bitorder="little")
        for end, count in zip(ends, counts.tolist(), strict=True)
    ]
    sizes = np.array([len(piece) for piece in pieces], np.int64)
    return ChunkBuffer(np.concatenate(pieces), sizes)


def encode_values(block: ListBlock) -> tuple[FixedSizeList, FixedBlock]:
    """Each list as one value, its bitmaps before its items."""
    encoding, rows = _rows(block)
    width = rows.shape[1]
    flat = np.ascontiguousarray(rows).reshape(-1)
    assert isinstance(encoding, FixedSizeList)
    return encoding, FixedBlock(8 * width, block.count, flat)


def _rows(block: Block) -> tuple[Encoding, Bytes]:
    """Description, and the bytes of each value as a row."""
    if not isinstance(block, ListBlock):
        assert isinstance(block, FixedBlock)
        return Flat(bits_per_value=block.bits), block.data.reshape(block.count, -1)
    if isinstance(block.items, FixedBlock) and block.items.bits == 1:
        values: Encoding = Flat(bits_per_value=1)
        rows = _bit_rows(block.items.data, block)
    else:
        values, items = _rows(block.items)
        rows = items.reshape(block.count, -1)
    if block.validity is not None:
        rows = np.concatenate([_bit_rows(block.validity, block), rows], axis=1)
    encoding = FixedSizeList(
        items_per_value=block.size, values=values, has_validity=block.validity is not None
    )
    return encoding, rows


def _bit_rows(bitmap: Bytes, block: ListBlock) -> Bytes:
    bits = np.unpackbits(bitmap, count=block.count * block.size, bitorder="little")
    return np.packbits(bits.reshape(block.count, block.size), axis=1, bitorder="little")
