"""Small mini-block pages, of many columns or of one with lists, read as if they were one page.

A wide table has thousands of pages of a few KiB. What a page costs, apart from its values, is paid
once for all pages that are described alike: their chunks are put one behind the other, decoded by
one call of each kernel, and the rows are handed out again page by page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import numpy as np

from pymosaic.pages.blocks import bytes_of, corrupt_unless
from pymosaic.pages.encodings import TreeDecoder
from pymosaic.pages.layouts import mini_block
from pymosaic.pages.layouts.chunk_index import CHUNKS_BUFFER, parse_chunk_index
from pymosaic.pages.layouts.page import Items, PageInput, Range, Steps
from pymosaic.pages.levels import shape_of
from pymosaic.pages.messages import General, Layout, MiniBlockLayout

__all__ = ["common_layout", "read"]


def common_layout(layout: Layout) -> MiniBlockLayout | None:
    """What pages that may be read together have in common; None if this one is read alone.

    What a general compressor may expand without bounds is read alone, and so are lists in lists:
    empty ones are neither rows nor values, so nothing says beforehand how many there are.
    """
    if (
        not isinstance(layout, MiniBlockLayout)
        or layout.num_items == 0
        or isinstance(layout.value_compression, General)
        or isinstance(layout.dictionary, General)
        or (max_rep := shape_of(layout.layers).max_rep) > 1
        or (max_rep and layout.repetition_index_depth != 1)
    ):
        return None
    return replace(layout, num_items=0, num_dictionary_items=0)


def read(
    layouts: Sequence[MiniBlockLayout], pages: Sequence[PageInput], decoder: TreeDecoder
) -> Steps[Items]:
    """Read whole pages of one common layout, in order.

    In ranges, the buffers of all pages are numbered consecutively.
    """
    layout = layouts[0]
    count = len(pages)
    kinds = [mini_block.WORDS_BUFFER, CHUNKS_BUFFER]
    if layout.dictionary is not None:
        kinds.append(mini_block.DICTIONARY_BUFFER)
    first_buffer = [0, *accumulate(len(page.buffer_sizes) for page in pages)]
    wanted: list[Range] = []
    for kind in kinds:
        for page, base in zip(pages, first_buffer, strict=False):
            buffer, offset, length = page.whole(kind)
            wanted.append((base + buffer, offset, length))
    contents = yield wanted
    words, chunks = contents[:count], contents[count : 2 * count]
    index = parse_chunk_index(layouts, pages, words, None)
    sizes = np.array([len(content) for content in chunks], np.int64)
    base_of_page = np.cumsum(sizes) - sizes
    index = replace(index, starts=index.starts + base_of_page[index.page])
    num_items = np.array([layout.num_items for layout in layouts], np.int64)
    num_rows = np.array([page.num_rows for page in pages], np.int64)
    corrupt_unless(
        layout.rep_compression is not None or bool((num_items == num_rows).all()),
        "other rows",
        "page",
    )
    is_cut = np.zeros(len(index.starts), np.bool_)
    items = mini_block.decode_items(
        layout, bytes_of(b"".join(chunks)), index, is_cut, decoder, num_items, num_rows
    )
    if layout.dictionary is None:
        return items
    dictionaries = contents[2 * count :]
    return mini_block.look_up_in_pages(layouts, items, num_items, dictionaries, decoder)
