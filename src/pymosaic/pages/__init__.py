"""The page codec: Lance's 2.1 page encodings, apart from any file.

::

    bytes of a page, description ─► layout (items: levels and values) ─► levels to layers ─► Arrow
                                      └► tree of encodings

=================  ============================================================
module             owns
=================  ============================================================
``protobuf``       the wire form of messages
``messages``       the messages that describe a page
``layouts``        how a page's buffers hold its items: one module a layout
``encodings``      how values are compressed: one module an encoding
``levels``         repetition and definition levels
``blocks``         values between bytes and Arrow; the memory they may take
``arrow_values``   blocks as Arrow arrays
``nesting``        lists and structs around them
=================  ============================================================

Nothing here does I/O: a layout yields the ranges that it needs (see :mod:`pymosaic.pages.layouts`).
Bytes are hostile until checked; what comes out is valid Arrow.
"""

from __future__ import annotations

import pyarrow as pa

from pymosaic.pages.blocks import Memory, corrupt_unless
from pymosaic.pages.encodings import TreeDecoder
from pymosaic.pages.layouts import read_items
from pymosaic.pages.layouts.page import PageInput, Steps
from pymosaic.pages.levels import shape_of, unravel
from pymosaic.pages.messages import Layout
from pymosaic.pages.nesting import LeafPath, nest

__all__ = ["read_page"]


def read_page(layout: Layout, page: PageInput, path: LeafPath, memory: Memory) -> Steps[pa.Array]:
    """Read rows of a page of one leaf; the array has a row for each wanted one."""
    memory.charge(sum(page.buffer_sizes) if page.rows is None else 0)
    shape = shape_of(layout.layers)
    path.check(shape)
    items = yield from read_items(layout, page, TreeDecoder(memory))
    layers = unravel(items.levels, shape, items.num_items, memory)
    array = nest(path, layers, items.values, memory)
    if items.rows is not None:
        corrupt_unless(
            not len(items.rows) or int(items.rows.max()) < len(array), "a row is missing", "page"
        )
        return array.take(pa.array(items.rows))
    expected = page.num_rows if page.rows is None else len(page.rows)
    corrupt_unless(len(array) == expected, f"{len(array)} rows, not {expected}", "page")
    return array
