"""FullZipLayout: the levels and bytes of each item in one place, for large values.

======= ==================================================================================
buffer  what
======= ==================================================================================
0       for each item a control word (repetition above definition, in 0, 1, 2 or 4 bytes),
        the length of a variable value, and its bytes
1       with lists or variable width: where each row starts, and the end, in 1, 2, 4 or 8
        bytes each
======= ==================================================================================

So a row takes one range to read, or two if its position has to be looked up.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pymosaic.errors import CorruptFileError
from pymosaic.pages.blocks import (
    Block,
    Bytes,
    FixedBlock,
    Integers,
    VariableBlock,
    bytes_of,
    corrupt_unless,
)
from pymosaic.pages.encodings import TreeDecoder
from pymosaic.pages.kernels.full_zip import (
    unzip_fixed,
    unzip_variable,
    zip_fixed,
    zip_variable,
)
from pymosaic.pages.layouts.page import Items, PageInput, Range, Steps, check_rows
from pymosaic.pages.levels import Levels, Shape, shape_of
from pymosaic.pages.messages import Encoding, FullZipLayout, VariablePackedStruct

__all__ = ["control_width", "read", "write"]

_ITEMS, _INDEX = 0, 1
_MAX_BITS = 1 << 32
# If more than one row in four is wanted, the whole page is read: ranges cost time too.
_MANY_ROWS = 4


def control_width(bits: int) -> int:
    """Size of a control word for a number of level bits."""
    return 0 if bits == 0 else 1 if bits <= 8 else 2 if bits <= 16 else 4


def _check(layout: FullZipLayout, shape: Shape, num_rows: int) -> None:
    corrupt_unless(
        layout.num_items >= num_rows if shape.max_rep else layout.num_items == num_rows,
        f"{layout.num_items} items for {num_rows} rows",
        "full-zip page",
    )
    corrupt_unless(
        layout.bits_rep <= 16 and layout.bits_def <= 16,
        "levels of more than 16 bits",
        "full-zip page",
    )
    corrupt_unless(
        (layout.bits_rep > 0) == (shape.max_rep > 0)
        and shape.max_rep < 1 << layout.bits_rep
        and shape.max_def < 1 << layout.bits_def,
        "too few bits for the layers' levels",
        "full-zip page",
    )


def read(layout: FullZipLayout, page: PageInput, decoder: TreeDecoder) -> Steps[Items]:
    """Read the wanted rows, or the whole first buffer."""
    shape = shape_of(layout.layers)
    _check(layout, shape, page.num_rows)
    rows = page.rows
    if rows is None or len(rows) > page.num_rows // _MANY_ROWS:
        contents = yield [page.whole(_ITEMS)]
        items = _unzip(layout, shape, contents[0], layout.num_items, decoder)
        corrupt_unless(
            items.num_items == layout.num_items,
            f"{items.num_items} items, not {layout.num_items}",
            "full-zip page",
        )
        check_rows(items, shape, page.num_rows)
        return replace(items, rows=rows)
    if layout.bits_per_offset is None and not shape.max_rep:
        ranges = _fixed_ranges(layout, page, rows)
    else:
        ranges = yield from _indexed_ranges(page, rows)
    contents = yield ranges
    return _unzip(layout, shape, memoryview(b"".join(contents)), len(rows), decoder)


def _value_width(layout: FullZipLayout) -> int:
    bits = layout.bits_per_value
    if bits is None or bits > _MAX_BITS or bits % 8:
        raise CorruptFileError(f"values of {bits} bits", structure="full-zip page")
    return bits // 8


def _fixed_ranges(layout: FullZipLayout, page: PageInput, rows: Integers) -> list[Range]:
    width = control_width(layout.bits_rep + layout.bits_def) + _value_width(layout)
    corrupt_unless(
        page.num_rows * width == page.size(_ITEMS),
        f"{page.num_rows} rows of {width} bytes in {page.size(_ITEMS)}",
        "full-zip page",
    )
    return [(_ITEMS, row * width, width) for row in rows.tolist()]


def _indexed_ranges(page: PageInput, rows: Integers) -> Steps[list[Range]]:
    size = page.whole(_INDEX)[2]
    width = size // (page.num_rows + 1)
    corrupt_unless(
        width in (1, 2, 4, 8) and width * (page.num_rows + 1) == size,
        f"{size} bytes for {page.num_rows} rows",
        "repetition index",
    )
    contents = yield [(_INDEX, row * width, 2 * width) for row in rows.tolist()]
    ranges: list[Range] = []
    for content in contents:
        start = int.from_bytes(content[:width], "little")
        end = int.from_bytes(content[width:], "little")
        corrupt_unless(
            start <= end <= page.size(_ITEMS),
            f"a row from {start} to {end}",
            "repetition index",
        )
        ranges.append((_ITEMS, start, end - start))
    return ranges


def _unzip(
    layout: FullZipLayout, shape: Shape, content: memoryview, max_items: int, decoder: TreeDecoder
) -> Items:
    data = bytes_of(content)
    word = control_width(layout.bits_rep + layout.bits_def)
    block: Block
    if layout.bits_per_offset is None:
        width = _value_width(layout)
        if word == 0:
            count = len(data) // width if width else max_items
            corrupt_unless(count * width == len(data), "a value is cut off", "full-zip page")
            block = FixedBlock(8 * width, count, data)
            return Items(Levels(None, None), count, decoder.values(layout.value_compression, block))
        room = len(data) // word
        rep = decoder.memory.array(room, np.uint16)
        definition = decoder.memory.array(room, np.uint16)
        values = decoder.memory.bytes(len(data))
        num_items, num_values = unzip_fixed(
            data,
            word,
            layout.bits_def,
            shape.max_rep,
            shape.max_def,
            shape.max_visible_def,
            width,
            rep,
            definition,
            values,
        )
        block = FixedBlock(8 * width, num_values, values[: num_values * width])
    else:
        length_width = layout.bits_per_offset // 8
        if layout.bits_per_offset not in (32, 64):
            raise CorruptFileError(
                f"lengths of {layout.bits_per_offset} bits", structure="full-zip page"
            )
        room = len(data) // (word or length_width)
        rep = decoder.memory.array(room, np.uint16)
        definition = decoder.memory.array(room, np.uint16)
        offsets = decoder.memory.array(room + 1, np.int64)
        values = decoder.memory.bytes(len(data))
        num_items, num_values, size = unzip_variable(
            data,
            word,
            layout.bits_def,
            shape.max_rep,
            shape.max_def,
            shape.max_visible_def,
            length_width,
            rep,
            definition,
            offsets,
            values,
        )
        block = VariableBlock(offsets[: num_values + 1], values[:size])
        if isinstance(layout.value_compression, VariablePackedStruct):
            # pylance's decoder treats a row without bytes as null.
            visible = definition[:num_items] if layout.bits_def else np.zeros(num_items, np.uint16)
            is_valid = visible[visible <= shape.max_visible_def] == 0
            corrupt_unless(
                bool((np.diff(block.offsets)[is_valid] > 0).all()), "a row has no bytes", "page"
            )
    levels = Levels(
        rep[:num_items] if layout.bits_rep else None,
        definition[:num_items] if layout.bits_def else None,
    )
    return Items(levels, num_items, decoder.values(layout.value_compression, block))


def write(
    layers: tuple[int, ...],
    levels: Levels,
    num_items: int,
    encoding: Encoding,
    block: FixedBlock | VariableBlock,
) -> tuple[FullZipLayout, list[Bytes]]:
    """Interleave levels and values, which were encoded one by one."""
    shape = shape_of(layers)
    bits_rep, bits_def = shape.max_rep.bit_length(), shape.max_def.bit_length()
    word = control_width(bits_rep + bits_def)
    none = np.empty(0, np.uint16)
    rep = none if levels.repetition is None else levels.repetition
    definition = none if levels.definition is None else levels.definition
    starts = np.empty(num_items + 1, np.int64)
    arguments = (rep, definition, word, bits_def, shape.max_visible_def)
    bits_per_value = bits_per_offset = None
    if isinstance(block, FixedBlock):
        width = bits_per_value = block.bits
        out = np.empty(num_items * word + block.count * (width // 8), np.uint8)
        size = zip_fixed(*arguments, block.data, width // 8, starts, out)
    else:
        bits_per_offset = 8 * block.offsets.itemsize
        room = num_items * (word + block.offsets.itemsize) + len(block.data)
        out = np.empty(room, np.uint8)
        offsets = block.offsets.astype(np.int64, copy=False)
        size = zip_variable(*arguments, offsets, block.data, bits_per_offset // 8, starts, out)
    buffers = [out[:size]]
    if bits_per_offset is not None or bits_rep:
        rows = starts[:-1][rep == shape.max_rep] if bits_rep else starts[:-1]
        buffers.append(_index(np.append(rows, size)))
    layout = FullZipLayout(
        bits_rep=bits_rep,
        bits_def=bits_def,
        bits_per_value=bits_per_value,
        bits_per_offset=bits_per_offset,
        num_items=num_items,
        num_visible_items=block.count,
        value_compression=encoding,
        layers=layers,
    )
    return layout, buffers


def _index(starts: Integers) -> Bytes:
    """Start positions of rows, with the width that the last one needs."""
    last = int(starts[-1])
    width = next(width for width in (1, 2, 4, 8) if last < 1 << (8 * width))
    return starts.astype(f"<u{width}").view(np.uint8)
