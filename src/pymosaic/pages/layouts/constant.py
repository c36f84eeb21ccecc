"""AllNullLayout: a page without values; since 2.2 also a page of one value, the ConstantLayout.

======= ======================================================================================
buffer  what
======= ======================================================================================
first   the value (2.2), where there is one that does not stand in the description: u32 number
        of parts, u32 size of each, the parts (its bytes, or two offsets and its bytes)
next    repetition, then definition levels of 16 bits, either may be empty; since 2.2 they may
        be compressed, and their numbers stand in the description
======= ======================================================================================

A page whose items are simply all null has no buffers.
"""

from __future__ import annotations

import numpy as np

from pymosaic.errors import CorruptFileError
from pymosaic.pages.blocks import (
    Block,
    Bytes,
    Chunks,
    FixedBlock,
    VariableBlock,
    bytes_of,
    corrupt_unless,
    numbers_of,
)
from pymosaic.pages.encodings import TreeDecoder
from pymosaic.pages.encodings.constant import repeat
from pymosaic.pages.layouts.page import Items, PageInput, Steps, check_rows
from pymosaic.pages.levels import LevelArray, Levels, Shape, shape_of
from pymosaic.pages.messages import AllNullLayout, Encoding, Layer

__all__ = ["constant_of", "read", "write"]

_INLINE_BYTES = 32


def _levels(
    encoding: Encoding | None, content: memoryview, count: int, decoder: TreeDecoder
) -> LevelArray | None:
    if encoding is None:
        corrupt_unless(len(content) % 2 == 0, "a level is cut off", "levels")
        return numbers_of(content, "<u2") if len(content) else None
    corrupt_unless(count <= 1 << 31, f"{count} levels", "levels")
    block = decoder.blocks(encoding, Chunks.single(bytes_of(content), count))
    if not isinstance(block, FixedBlock) or block.bits != 16:
        raise CorruptFileError("levels are not of 16 bits", structure="levels")
    return numbers_of(block.data, "<u2", block.count)


def _scalar(content: memoryview) -> list[memoryview]:
    """The parts of a value that is in a buffer."""
    corrupt_unless(len(content) >= 4, "the number of parts is missing", "constant value")
    count = int.from_bytes(content[:4], "little")
    corrupt_unless(count in (1, 2), f"{count} parts", "constant value")
    position = 4 + 4 * count
    parts = []
    for part in range(count):
        size = int.from_bytes(content[4 + 4 * part : 8 + 4 * part], "little")
        corrupt_unless(position + size <= len(content), "a part is cut off", "constant value")
        parts.append(content[position : position + size])
        position += size
    return parts


def _repeated(parts: list[memoryview], count: int, decoder: TreeDecoder) -> Block:
    if len(parts) == 1:
        return repeat(bytes(parts[0]), count, decoder.memory)
    offsets, content = parts
    corrupt_unless(len(offsets) in (8, 16), f"offsets of {len(offsets)} bytes", "constant value")
    ends = np.frombuffer(offsets, f"<u{len(offsets) // 2}").tolist()
    corrupt_unless(ends[0] <= ends[1] <= len(content), "offsets outside", "constant value")
    data = repeat(bytes(content[ends[0] : ends[1]]), count, decoder.memory).data
    decoder.memory.charge(8 * (count + 1))
    return VariableBlock(np.arange(count + 1, dtype=np.int64) * (ends[1] - ends[0]), data)


def _count_visible(levels: Levels, shape: Shape, num_rows: int) -> int:
    if levels.definition is not None:
        return int(np.count_nonzero(levels.definition <= shape.max_visible_def))
    return num_rows if levels.repetition is None else len(levels.repetition)


def read(layout: AllNullLayout, page: PageInput, decoder: TreeDecoder) -> Steps[Items]:
    """Read the levels, and the value if there is one."""
    shape = shape_of(layout.layers)
    num_buffers = len(page.buffer_sizes)
    corrupt_unless(num_buffers <= 3, f"{num_buffers} buffers", "AllNullLayout")
    contents = yield [page.whole(buffer) for buffer in range(num_buffers)]
    parts: list[memoryview] | None = None
    if layout.inline_value is not None:
        parts = [memoryview(layout.inline_value)]
    elif num_buffers in (1, 3):
        parts = _scalar(contents.pop(0))
    repetition = definition = None
    if contents:
        corrupt_unless(len(contents) == 2, f"{num_buffers} buffers", "AllNullLayout")
        repetition = _levels(layout.rep_compression, contents[0], layout.num_rep_values, decoder)
        definition = _levels(layout.def_compression, contents[1], layout.num_def_values, decoder)
    levels = Levels(repetition, definition)
    num_items = page.num_rows
    for given in (repetition, definition):
        num_items = num_items if given is None else len(given)
    values = None
    if parts is not None:
        values = _repeated(parts, _count_visible(levels, shape, page.num_rows), decoder)
    items = Items(levels, num_items, values, page.rows)
    check_rows(items, shape, page.num_rows)
    return items


def constant_of(block: Block) -> Block | None:
    """The value that all of a page have, as a block of one; None if they differ or are nested."""
    if isinstance(block, FixedBlock) and block.bits == 1:
        bits = np.unpackbits(block.data, count=block.count, bitorder="little")
        return None if (bits != bits[0]).any() else FixedBlock(8, 1, bits[:1])
    if isinstance(block, FixedBlock):
        width = block.bits // 8
        rows = block.data[: block.count * width].reshape(block.count, width)
        return None if (rows != rows[0]).any() else FixedBlock(block.bits, 1, rows[0])
    if isinstance(block, VariableBlock):
        length = int(block.offsets[1])
        lengths = np.diff(block.offsets)
        if (lengths != length).any():
            return None
        rows = block.data[: block.count * length].reshape(block.count, length)
        if (rows != rows[0]).any():
            return None
        return VariableBlock(block.offsets[:2], rows[0])
    return None


def write(
    layers: tuple[int, ...], levels: Levels, value: Block | None = None
) -> tuple[AllNullLayout, list[Bytes]]:
    """Write a page without values, or of one value (2.2).

    Levels are omitted if all items are simply null, or all have the value.
    """
    buffers: list[Bytes] = []
    inline: bytes | None = None
    if isinstance(value, FixedBlock) and value.bits <= 8 * _INLINE_BYTES:
        inline = value.data.tobytes()
    elif isinstance(value, FixedBlock | VariableBlock):
        parts = [value.data]
        if isinstance(value, VariableBlock):
            parts.insert(0, value.offsets.view(np.uint8))
        header = np.array([len(parts), *(len(part) for part in parts)], "<u4").view(np.uint8)
        buffers.append(np.concatenate([header, *parts]))
    layout = AllNullLayout(layers=layers, inline_value=inline)
    has_levels = levels.repetition is not None or levels.definition is not None
    if layers == (Layer.NULLABLE_ITEM,) if value is None else not has_levels:
        return layout, buffers
    empty = np.empty(0, np.uint16)
    buffers += [
        (empty if given is None else given).view(np.uint8)
        for given in (levels.repetition, levels.definition)
    ]
    return layout, buffers
