"""The page codec: Lance's 2.1 page encodings, apart from any file.

::

    bytes of a page, description ─► layout (items: levels and values) ─► levels to layers ─► Arrow
                                      └► tree of encodings

=================  ============================================================
module             owns
=================  ============================================================
``protobuf``       the wire form of messages
``messages``       the messages that describe a page
``layouts``        how a page's buffers hold its items: one module per layout
``encodings``      how values are compressed: one module per encoding
``levels``         repetition and definition levels
``blocks``         values between bytes and Arrow; the memory they may take
``arrow_values``   blocks as Arrow arrays
``nesting``        lists and structs around them
``chooser``        which encoding makes a page smallest
=================  ============================================================

Nothing here does I/O: a layout yields the ranges that it needs (see :mod:`pymosaic.pages.layouts`).
Bytes are hostile until checked; what comes out is valid Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pymosaic.arrow.rows import take_rows
from pymosaic.pages.blocks import Memory, corrupt_unless
from pymosaic.pages.chooser import PageChoice, choose
from pymosaic.pages.encodings import TreeDecoder
from pymosaic.pages.layouts import mini_block, page_groups, read_items
from pymosaic.pages.layouts.page import Items, PageInput, Steps
from pymosaic.pages.levels import shape_of, unravel
from pymosaic.pages.messages import Layout, MiniBlockLayout
from pymosaic.pages.nesting import LeafPath, nest

__all__ = ["PageChoice", "choose", "read_page", "read_pages", "take_from_pages"]


def read_page(layout: Layout, page: PageInput, path: LeafPath, memory: Memory) -> Steps[pa.Array]:
    """Read a page of one leaf, or its wanted rows, of which there is at least one."""
    memory.charge(sum(page.buffer_sizes) if page.rows is None else 0)
    return _finish(
        read_items(layout, page, TreeDecoder(memory)),
        layout,
        page.num_rows if page.rows is None else len(page.rows),
        path,
        memory,
    )


def read_pages(
    layouts: Sequence[MiniBlockLayout], pages: Sequence[PageInput], path: LeafPath, memory: Memory
) -> Steps[list[pa.Array]]:
    """Read pages of leaves of one type together; they have a common layout (``page_groups``).

    The arrays are slices of one, whose memory is freed with the last of them.
    """
    memory.charge(sum(sum(page.buffer_sizes) for page in pages))
    num_rows = sum(page.num_rows for page in pages)
    steps = page_groups.read(layouts, pages, TreeDecoder(memory))
    array = yield from _finish(steps, layouts[0], num_rows, path, memory)
    arrays: list[pa.Array] = []
    start = 0
    for page in pages:
        arrays.append(array.slice(start, page.num_rows))
        start += page.num_rows
    return arrays


def take_from_pages(
    layouts: Sequence[MiniBlockLayout], pages: Sequence[PageInput], path: LeafPath, memory: Memory
) -> Steps[pa.Array]:
    """Read the wanted rows of several similar mini-block pages of one leaf."""
    num_rows = sum(len(page.rows) for page in pages if page.rows is not None)
    steps = mini_block.take(layouts, pages, TreeDecoder(memory))
    return _finish(steps, layouts[0], num_rows, path, memory)


def _finish(
    steps: Steps[Items], layout: Layout, num_rows: int, path: LeafPath, memory: Memory
) -> Steps[pa.Array]:
    """Convert the items read to an array of ``num_rows`` rows."""
    shape = shape_of(layout.layers)
    path.check(shape)
    items = yield from steps
    layers = unravel(items.levels, shape, items.num_items, memory)
    array = nest(path, layers, items.values, memory)
    if items.rows is None:
        corrupt_unless(len(array) == num_rows, f"{len(array)} rows, not {num_rows}", "page")
        return array
    highest = int(items.rows.max())
    corrupt_unless(len(items.rows) == num_rows and highest < len(array), "rows are missing", "page")
    return take_rows(array, pa.array(items.rows))
