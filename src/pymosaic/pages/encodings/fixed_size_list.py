"""FixedSizeList: lists of one length, flattened.

==================== ================================================================
mini-block chunk     a bitmap of the items, where they have nulls, then their buffers
full-zip             for each list its bitmaps, from the outermost level, then its items
==================== ================================================================

Lists can be nested; each level has its own bitmap.
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
    "holds_bits",
    "row_bits",
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


def _levels(encoding: Encoding | None) -> tuple[list[FixedSizeList], Encoding | None]:
    """Nested lists, outermost first, and the encoding of the innermost items."""
    levels: list[FixedSizeList] = []
    while isinstance(encoding, FixedSizeList):
        levels.append(encoding)
        encoding = encoding.values
    return levels, encoding


def _item_bits(encoding: Encoding | None) -> int:
    if isinstance(encoding, Flat):
        return encoding.bits_per_value
    if isinstance(encoding, Constant):
        return 0
    raise CorruptFileError(f"{type(encoding).__name__} in a list", structure="FixedSizeList")


def decode_values(encoding: FixedSizeList, block: Block, decoder: Decoder) -> Block:
    """Separate the bitmaps and items of each row: the bitmaps of all levels come first."""
    levels, innermost = _levels(encoding)
    counts: list[int] = []
    for level in levels:
        counts.append(_checked_size(level, max(1, block.count) * (counts[-1] if counts else 1)))
        counts[-1] *= counts[-2] if len(counts) > 1 else 1
    bits = _item_bits(innermost)
    bitmap_bytes = [
        (count + 7) // 8 if level.has_validity else 0
        for level, count in zip(levels, counts, strict=True)
    ]
    item_bytes = (counts[-1] * bits + 7) // 8
    width = sum(bitmap_bytes) + item_bytes
    if not isinstance(block, FixedBlock) or block.bits != 8 * width:
        raise CorruptFileError(f"values are not of {8 * width} bits", structure="FixedSizeList")
    rows = block.data[: block.count * width].reshape(block.count, width)
    decoder.memory.charge(rows.size)
    items_at = sum(bitmap_bytes)
    if bits == 1:
        items = _flatten_bits(rows[:, items_at:], counts[-1])
    else:
        items = np.ascontiguousarray(rows[:, items_at:]).reshape(-1)
    total = block.count * counts[-1]
    result: Block = decoder.values(innermost, FixedBlock(bits, total, items))
    for number in reversed(range(len(levels))):
        start = sum(bitmap_bytes[:number])
        validity: Bytes | None = None
        if bitmap_bytes[number]:
            validity = _flatten_bits(rows[:, start : start + bitmap_bytes[number]], counts[number])
        outer = block.count * (counts[number - 1] if number else 1)
        result = ListBlock(levels[number].items_per_value, outer, result, validity)
    return result


def _flatten_bits(rows: Bytes, size: int) -> Bytes:
    """Join the bits of rows, each of which is padded to whole bytes."""
    bits = np.unpackbits(np.ascontiguousarray(rows), axis=1, count=size, bitorder="little")
    return np.packbits(bits.reshape(-1), bitorder="little")


def row_bits(block: Block) -> int:
    """The number of bits of one item in chunks, including bitmaps."""
    if isinstance(block, ListBlock):
        return block.size * (row_bits(block.items) + (block.validity is not None))
    assert isinstance(block, FixedBlock)
    return block.bits


def holds_bits(block: Block) -> bool:
    """Whether the innermost items are single bits."""
    while isinstance(block, ListBlock):
        block = block.items
    return isinstance(block, FixedBlock) and block.bits == 1


def encode_chunks(block: ListBlock) -> EncodedChunks:
    """Split lists into chunks; each level of lists has its bitmap before its items."""
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
    """The bits of each chunk, padded to whole bytes."""
    bits = np.unpackbits(bitmap, count=int(counts.sum()), bitorder="little")
    ends = np.cumsum(counts).tolist()
    pieces = [
        np.packbits(bits[end - count : end], bitorder="little")
        for end, count in zip(ends, counts.tolist(), strict=True)
    ]
    sizes = np.array([len(piece) for piece in pieces], np.int64)
    return ChunkBuffer(np.concatenate(pieces), sizes)


def encode_values(block: ListBlock) -> tuple[Encoding, FixedBlock] | None:
    """Encode each list as one value, bitmaps first; None for bits, which have no such form."""
    count = block.count
    bitmaps: list[Bytes] = []
    levels: list[ListBlock] = []
    inner: Block = block
    per_row = 1
    while isinstance(inner, ListBlock):
        levels.append(inner)
        per_row *= inner.size
        if inner.validity is not None:
            bits = np.unpackbits(inner.validity, count=count * per_row, bitorder="little")
            rows = np.packbits(bits.reshape(count, per_row), axis=1, bitorder="little")
            bitmaps.append(rows)
        inner = inner.items
    assert isinstance(inner, FixedBlock)
    if inner.bits % 8:
        return None
    rows = np.concatenate([*bitmaps, inner.data.reshape(count, -1)], axis=1)
    encoding: Encoding = Flat(bits_per_value=inner.bits)
    for level in reversed(levels):
        encoding = FixedSizeList(
            items_per_value=level.size, values=encoding, has_validity=level.validity is not None
        )
    return encoding, FixedBlock(8 * rows.shape[1], count, rows.reshape(-1))
