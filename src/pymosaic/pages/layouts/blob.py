"""BlobLayout: the values are anywhere in the file, and the page holds their positions.

The inner layout gives a packed struct of two u64, position and size. A size above 0 is a range of
the file; size 0 at position 0 is an empty value; size 0 at any other position is null, and the
position holds its levels: repetition, then definition 16 bits above.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.pages.blocks import (
    FixedBlock,
    Integers,
    StructBlock,
    VariableBlock,
    bytes_of,
    corrupt_unless,
    numbers_of,
)
from pymosaic.pages.encodings import TreeDecoder
from pymosaic.pages.layouts.page import FILE, Items, PageInput, Steps
from pymosaic.pages.levels import LevelArray, Levels, shape_of
from pymosaic.pages.messages import BlobLayout, Layout

__all__ = ["describe", "read"]


def read(
    layout: BlobLayout,
    page: PageInput,
    decoder: TreeDecoder,
    read_inner: Callable[[Layout, PageInput, TreeDecoder], Steps[Items]],
) -> Steps[Items]:
    """Read the descriptions, then the ranges that they name."""
    shape = shape_of(layout.layers)
    if shape.max_rep:
        raise UnsupportedFeatureError("blobs in lists", structure="BlobLayout")
    assert layout.inner_layout is not None
    inner = yield from read_inner(layout.inner_layout, page, decoder)
    block = inner.values
    fields = block.fields if isinstance(block, StructBlock) else ()
    numbers = [
        numbers_of(field.data, "<u8", field.count)
        for field in fields
        if isinstance(field, FixedBlock) and field.bits == 64
    ]
    if len(fields) != 2 or len(numbers) != 2:
        raise CorruptFileError(
            "descriptions are not pairs of position and size", structure="BlobLayout"
        )
    position, size = numbers
    if inner.rows is not None:
        position, size = position[inner.rows], size[inner.rows]
    is_null = (size == 0) & (position != 0)
    corrupt_unless(
        not is_null.any() or int(position[is_null].max()) < 1 << 32,
        "levels are too large",
        "BlobLayout",
    )
    definition = np.where(is_null, position >> np.uint64(16), 0).astype(np.uint16)
    # A null description without a definition level would be a valid value.
    corrupt_unless(bool((definition[is_null] > 0).all()), "a null has no level", "BlobLayout")
    corrupt_unless(not len(size) or int(size.max()) < 1 << 48, "a blob is too large", "BlobLayout")
    decoder.memory.charge(int(size.sum()))
    present = np.flatnonzero(size > 0)
    contents = yield [
        (FILE, start, length)
        for start, length in zip(position[present].tolist(), size[present].tolist(), strict=True)
    ]
    offsets = np.zeros(len(size) + 1, np.int64)
    np.cumsum(size, out=offsets[1:])
    values = VariableBlock(offsets, bytes_of(b"".join(contents)))
    levels = Levels(None, definition if shape.max_def else None)
    return Items(levels, len(size), values)


def describe(sizes: Integers, definition: LevelArray | None, start: int, align: int) -> StructBlock:
    """Positions and sizes of values that are written one after another from ``start``, aligned."""
    positions = np.zeros(len(sizes), np.uint64)
    end = start
    for number in np.flatnonzero(sizes).tolist():
        end = -(-end // align) * align
        positions[number] = end
        end += int(sizes[number])
    if definition is not None:
        is_null = definition > 0
        positions[is_null] = definition[is_null].astype(np.uint64) << np.uint64(16)
    fields = (positions, sizes.astype(np.uint64))
    return StructBlock(
        len(sizes), tuple(FixedBlock(64, len(sizes), field.view(np.uint8)) for field in fields)
    )
