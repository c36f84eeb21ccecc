"""MiniBlockLayout: chunks of a few KiB, each with levels and values of up to some thousand items.

======= =================================================================================
buffer  what
======= =================================================================================
0       one word per chunk: its size in units of 8 bytes, minus one, above 4 bits with the
        logarithm of its number of values; 16 bits, or 32 if chunks are large (2.2)
1       the chunks
2       the dictionary's items, if there is a dictionary
last    the repetition index, if there are lists: for each chunk two u64, the rows that
        finish in it and the items left over after them, with which the next one begins
======= =================================================================================

A chunk consists of: u16 number of levels; u16 sizes of repetition and definition levels, if the
page has them; sizes of the value buffers (u16, or u32 if chunks are large); then these buffers in
order. Header and buffers are padded to 8 bytes. The last chunk has the rest of the page's values.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pymosaic.errors import CorruptFileError, LimitExceededError
from pymosaic.pages.blocks import (
    Block,
    Bytes,
    Chunks,
    DictionaryBlock,
    FixedBlock,
    Integers,
    VariableBlock,
    bytes_of,
    corrupt_unless,
    numbers_of,
)
from pymosaic.pages.encodings import TreeDecoder, fsst, out_of_line_bitpacking
from pymosaic.pages.encodings.dictionary import look_up, numbers_of_indices
from pymosaic.pages.encodings.encoded import ChunkBuffer, EncodedBlock, EncodedChunks
from pymosaic.pages.kernels.chunks import gather, locate_buffers, scatter
from pymosaic.pages.layouts.chunk_index import (
    CHUNKS_BUFFER,
    ChunkIndex,
    check_index_depth,
    parse_chunk_index,
)
from pymosaic.pages.layouts.page import Items, PageInput, Range, Steps
from pymosaic.pages.levels import LevelArray, Levels, Shape, shape_of
from pymosaic.pages.messages import Encoding, Fsst, General, MiniBlockLayout

__all__ = [
    "DICTIONARY_BUFFER",
    "WORDS_BUFFER",
    "are_alike",
    "decode_items",
    "look_up_in_pages",
    "read",
    "take",
    "write",
]

WORDS_BUFFER, DICTIONARY_BUFFER = 0, 2
_MAX_VALUE_BUFFERS = 64
_MAX_CHUNK_BYTES = 1 << 15
# The word of a large chunk could say 2 GiB; a chunk is one read, even for a single row.
_MAX_LARGE_CHUNK_BYTES = 1 << 20
_MAX_U16 = (1 << 16) - 1
_PADDING = 0xFE
_PADDING_BYTES = bytes([_PADDING]) * 8


def read(layout: MiniBlockLayout, page: PageInput, decoder: TreeDecoder) -> Steps[Items]:
    """Read a whole page, which needs no index, though the index must be a supported one."""
    if shape_of(layout.layers).max_rep:
        check_index_depth(layout)
    wanted = [page.whole(WORDS_BUFFER), page.whole(CHUNKS_BUFFER)]
    if layout.dictionary is not None:
        wanted.append(page.whole(DICTIONARY_BUFFER))
    contents = yield wanted
    index = parse_chunk_index([layout], [page], contents[:1], None)
    is_cut = np.zeros(len(index.starts), np.bool_)
    items = decode_items(layout, bytes_of(contents[1]), index, is_cut, decoder)
    return _look_up(layout, items, contents[-1], decoder)


def are_alike(first: MiniBlockLayout, other: MiniBlockLayout) -> bool:
    """Whether rows can be taken from pages together: they differ at most in numbers of items.

    What a general compressor may expand without bounds is read alone.
    """
    return not isinstance(first.dictionary, General) and first == replace(
        other,
        num_items=first.num_items,
        num_dictionary_items=first.num_dictionary_items,
    )


def take(
    layouts: Sequence[MiniBlockLayout], pages: Sequence[PageInput], decoder: TreeDecoder
) -> Steps[Items]:
    """Read rows of similar pages: first the words and indices, then the chunks.

    Every page has wanted rows. In ranges, the buffers of all pages are numbered consecutively.
    """
    layout = layouts[0]
    num_buffers = [len(page.buffer_sizes) for page in pages]
    first_buffer = np.cumsum(num_buffers) - num_buffers
    kinds = [WORDS_BUFFER]
    if shape_of(layout.layers).max_rep:
        kinds.append(DICTIONARY_BUFFER + (layout.dictionary is not None))
    if layout.dictionary is not None:
        kinds.append(DICTIONARY_BUFFER)
    wanted: list[Range] = []
    for kind in kinds:
        for page, base in zip(pages, first_buffer.tolist(), strict=True):
            buffer, offset, length = page.whole(kind)
            wanted.append((base + buffer, offset, length))
    contents = yield wanted
    words, dictionaries = contents[: len(pages)], contents[-len(pages) :]
    repetition = contents[len(pages) : 2 * len(pages)] if shape_of(layout.layers).max_rep else None
    index = parse_chunk_index(layouts, pages, words, repetition)
    end = np.cumsum([page.num_rows for page in pages])
    rows = [
        page.rows + (last - page.num_rows)
        for page, last in zip(pages, end.tolist(), strict=True)
        if page.rows is not None
    ]
    wanted_rows = np.concatenate(rows)
    corrupt_unless(
        len(index.end_row) > 0 and int(index.end_row[-1]) == int(end[-1]), "other rows", "page"
    )
    selection = index.select(wanted_rows)
    chunks = selection.chunks
    sizes = index.sizes[chunks]
    pieces = yield [
        (buffer, start, size)
        for buffer, start, size in zip(
            (first_buffer[index.page[chunks]] + CHUNKS_BUFFER).tolist(),
            index.starts[chunks].tolist(),
            sizes.tolist(),
            strict=True,
        )
    ]
    part = replace(index, starts=np.cumsum(sizes) - sizes, sizes=sizes, counts=index.counts[chunks])
    encoding = layout.value_compression
    if isinstance(encoding, Fsst) and not layout.rep_compression:
        # Strings are expanded one by one, so only the wanted ones are.
        layout = replace(layout, value_compression=encoding.values)
    items = decode_items(layout, bytes_of(b"".join(pieces)), part, selection.is_cut, decoder)
    picked = _pick(items, selection.rows, decoder)
    if layout.value_compression is not encoding:
        assert isinstance(encoding, Fsst)
        assert picked.values is not None
        picked = replace(picked, values=fsst.expand_values(encoding, picked.values, decoder))
    if len(pages) == 1 or layout.dictionary is None:
        return _look_up(layout, picked, dictionaries[-1], decoder)
    if picked.rows is None:
        num_values = np.array([len(page_rows) for page_rows in rows], np.int64)
    else:
        num_values = np.bincount(index.page[chunks], part.counts, len(pages)).astype(np.int64)
    return look_up_in_pages(layouts, picked, num_values, dictionaries, decoder)


def look_up_in_pages(
    layouts: Sequence[MiniBlockLayout],
    items: Items,
    num_values: Integers,
    contents: Sequence[memoryview],
    decoder: TreeDecoder,
) -> Items:
    """Replace indices by the items of all dictionaries, which are put one behind the other.

    ``num_values`` tells how many values each page has, in order.
    """
    sizes = np.array([len(content) for content in contents], np.int64)
    counts = [layout.num_dictionary_items for layout in layouts]
    corrupt_unless(max(counts) < 1 << 32, f"{max(counts)} items", "dictionary")
    entries = np.array(counts, np.int64)
    blocks = Chunks(
        bytes_of(b"".join(contents)), (np.cumsum(sizes) - sizes)[None], sizes[None], entries
    )
    dictionary = decoder.blocks(layouts[0].dictionary, blocks)
    assert items.values is not None
    corrupt_unless(
        isinstance(dictionary, FixedBlock | VariableBlock), "items are not scalars", "dictionary"
    )
    numbers = numbers_of_indices(items.values)
    corrupt_unless(len(numbers) == int(num_values.sum()), "other values", "dictionary")
    # Each index is compared with the dictionary of its own page; pages may have no values.
    firsts = (np.cumsum(num_values) - num_values)[num_values > 0]
    if len(firsts):
        highest = np.maximum.reduceat(numbers, firsts)
        corrupt_unless(
            bool((highest < entries[num_values > 0]).all()),
            "an index into other items",
            "dictionary",
        )
    decoder.memory.charge(8 * len(numbers))
    first = np.repeat(np.cumsum(entries) - entries, num_values)
    return replace(items, values=DictionaryBlock(numbers.astype(np.int64) + first, dictionary))


def _pick(items: Items, rows: Integers, decoder: TreeDecoder) -> Items:
    """Keep only the wanted rows of single numbers or strings; otherwise return their positions."""
    block, definition = items.values, items.levels.definition
    if items.levels.repetition is not None or not isinstance(block, FixedBlock | VariableBlock):
        return replace(items, rows=rows)
    if isinstance(block, FixedBlock) and block.bits % 8:
        return replace(items, rows=rows)
    corrupt_unless(int(rows.max()) < block.count, "rows are missing", "page")
    values: Block
    if isinstance(block, FixedBlock):
        width = block.bits // 8
        data = block.data[: block.count * width].reshape(block.count, width)[rows].reshape(-1)
        values = FixedBlock(block.bits, len(rows), data)
    else:
        starts = block.offsets[rows].astype(np.int64)
        sizes = block.offsets[rows + 1] - starts
        ends = np.cumsum(sizes)
        # Rows may repeat, so that they may be more than the page has.
        total = int(ends[-1])
        if total > np.iinfo(block.offsets.dtype).max:
            raise LimitExceededError(
                f"the rows have {total} bytes, more than 32-bit offsets can address: take fewer",
                structure="page",
            )
        offsets = np.zeros(len(rows) + 1, block.offsets.dtype)
        offsets[1:] = ends
        data = decoder.memory.bytes(total)
        gather(block.data, starts, sizes, data)
        values = VariableBlock(offsets, data)
    if definition is not None:
        corrupt_unless(len(definition) == block.count, "levels do not match the items", "levels")
        definition = definition[rows]
    return Items(Levels(None, definition), len(rows), values)


def _look_up(
    layout: MiniBlockLayout, items: Items, content: memoryview, decoder: TreeDecoder
) -> Items:
    """Replace indices by dictionary items, if there is a dictionary."""
    if layout.dictionary is None:
        return items
    block = Chunks.single(bytes_of(content), layout.num_dictionary_items)
    assert items.values is not None
    values = look_up(items.values, decoder.blocks(layout.dictionary, block))
    return replace(items, values=values)


def decode_items(
    layout: MiniBlockLayout,
    data: Bytes,
    index: ChunkIndex,
    is_cut: npt.NDArray[np.bool_],
    decoder: TreeDecoder,
    values_of_page: Integers | None = None,
    rows_of_page: Integers | None = None,
) -> Items:
    """Decode chunks: their levels and values.

    Parameters
    ----------
    layout : MiniBlockLayout
        The description of all pages that the chunks belong to.
    data : array of uint8
        The memory that contains the chunks.
    index : ChunkIndex
        Where they are in it.
    is_cut : array of bool
        Which chunks begin inside a row.
    decoder : TreeDecoder
        For the encodings.
    values_of_page, rows_of_page : arrays of int64, optional
        If whole pages are read together: the numbers of values and rows of each, to be checked.
    """
    corrupt_unless(
        0 <= layout.num_buffers <= _MAX_VALUE_BUFFERS, f"{layout.num_buffers} buffers", "chunk"
    )
    shape = shape_of(layout.layers)
    has_rep, has_def = layout.rep_compression is not None, layout.def_compression is not None
    corrupt_unless(
        has_rep == (shape.max_rep > 0) and (has_def or shape.max_def == 0),
        "layers and levels do not match",
        "MiniBlockLayout",
    )
    num_level_buffers = int(has_rep) + int(has_def)
    num_chunks = len(index.starts)
    num_levels = np.empty(num_chunks, np.int64)
    starts = np.empty((num_level_buffers + layout.num_buffers, num_chunks), np.int64)
    sizes = np.empty_like(starts)
    locate_buffers(
        data,
        index.starts,
        index.sizes,
        num_level_buffers,
        layout.num_buffers,
        layout.has_large_chunk,
        num_levels,
        starts,
        sizes,
    )

    def level_buffer(encoding: Encoding | None, row: int) -> LevelArray:
        part = Chunks(data, starts[row : row + 1], sizes[row : row + 1], num_levels)
        block = decoder.blocks(encoding, part)
        if not isinstance(block, FixedBlock) or block.bits != 16:
            raise CorruptFileError("levels are not of 16 bits", structure="levels")
        return numbers_of(block.data, "<u2", block.count)

    repetition = level_buffer(layout.rep_compression, 0) if has_rep else None
    definition = level_buffer(layout.def_compression, num_level_buffers - 1) if has_def else None
    if values_of_page is not None and rows_of_page is not None and num_level_buffers:
        pages = np.searchsorted(index.page, np.arange(len(values_of_page)))
        levels_of_page = np.add.reduceat(num_levels, pages)
        if repetition is None:
            is_right = bool((levels_of_page == values_of_page).all())
            corrupt_unless(is_right, "levels do not match the items", "levels")
        else:
            levels = Levels(repetition, definition)
            _check_lists(levels, shape, levels_of_page, values_of_page, rows_of_page)
    if repetition is not None and is_cut.any():
        # The rest of a row that started in an unread chunk counts as a row.
        first_items = np.cumsum(num_levels) - num_levels
        repetition = repetition.copy()
        first = first_items[is_cut & (num_levels > 0)]
        repetition[first] = shape.max_rep
    value_chunks = Chunks(data, starts[num_level_buffers:], sizes[num_level_buffers:], index.counts)
    values: Block = decoder.chunks(layout.value_compression, value_chunks)
    num_items = int(num_levels.sum()) if num_level_buffers else value_chunks.total
    return Items(Levels(repetition, definition), num_items, values)


def _check_lists(
    levels: Levels,
    shape: Shape,
    levels_of_page: Integers,
    values_of_page: Integers,
    rows_of_page: Integers,
) -> None:
    """Check of each page that it begins with a row, and has the rows and values that it says."""
    assert levels.repetition is not None
    ends = np.cumsum(levels_of_page)
    for start, end, num_values, num_rows in zip(
        (ends - levels_of_page).tolist(),
        ends.tolist(),
        values_of_page.tolist(),
        rows_of_page.tolist(),
        strict=True,
    ):
        begins = levels.repetition[start:end] == shape.max_rep
        corrupt_unless(
            start < end and bool(begins[0]), "a list goes on that was not begun", "levels"
        )
        found = int(np.count_nonzero(begins))
        corrupt_unless(found == num_rows, f"{found} rows, not {num_rows}", "page")
        visible = end - start
        if levels.definition is not None:
            is_visible = levels.definition[start:end] <= shape.max_visible_def
            visible = int(np.count_nonzero(is_visible))
        corrupt_unless(visible == num_values, "levels do not match the items", "levels")


def write(
    layers: tuple[int, ...],
    levels: Levels,
    encoded: EncodedChunks,
    dictionary: EncodedBlock | None = None,
    num_dictionary_items: int = 0,
    large: bool = False,
) -> tuple[MiniBlockLayout, list[Bytes]] | None:
    """Put levels and encoded values into chunks; None if a chunk would be too large.

    ``large`` chunks are those of 2.2, which has no others.
    """
    shape = shape_of(layers)
    num_items = _items_per_chunk(levels, shape, encoded.counts)
    parts: list[EncodedChunks] = []
    for given, highest in (
        (levels.repetition, shape.max_rep),
        (levels.definition, shape.max_def),
    ):
        if given is not None:
            block = FixedBlock(16, len(given), given.view(np.uint8))
            width = highest.bit_length()
            parts.append(out_of_line_bitpacking.encode_chunks(block, num_items, width))
    level_buffers = [buffer for part in parts for buffer in part.buffers]
    num_levels = num_items if parts else np.zeros(len(num_items), np.int64)
    chunks = _join_chunks(num_levels, level_buffers, list(encoded.buffers), large)
    if chunks is None:
        return None
    sizes, data = chunks
    words = ((sizes // 8 - 1) << 4) | np.log2(encoded.counts).astype(np.int64)
    if len(words):
        words[-1] &= ~15
    result = [words.astype("<u4" if large else "<u2").view(np.uint8), data]
    if dictionary is not None:
        result.append(dictionary.data)
    if levels.repetition is not None:
        result.append(_repetition_index(levels.repetition == shape.max_rep, num_items))
    layout = MiniBlockLayout(
        rep_compression=None if levels.repetition is None else parts[0].encoding,
        def_compression=None if levels.definition is None else parts[-1].encoding,
        value_compression=encoded.encoding,
        dictionary=None if dictionary is None else dictionary.encoding,
        num_dictionary_items=num_dictionary_items,
        layers=layers,
        num_buffers=len(encoded.buffers),
        repetition_index_depth=0 if levels.repetition is None else 1,
        num_items=int(encoded.counts.sum()),
        has_large_chunk=large,
    )
    return layout, result


def _items_per_chunk(levels: Levels, shape: Shape, counts: Integers) -> Integers:
    """The items of each chunk's values; items without a value belong to the next chunk."""
    if levels.repetition is None:
        return counts
    total = len(levels.repetition)
    if levels.definition is None:
        return counts
    visible = np.flatnonzero(levels.definition <= shape.max_visible_def)
    ends = visible[np.cumsum(counts) - 1] + 1
    ends[-1] = total
    return np.diff(ends, prepend=0)


def _join_chunks(
    num_levels: Integers, levels: list[ChunkBuffer], values: list[ChunkBuffer], large: bool
) -> tuple[Integers, Bytes] | None:
    """Header and buffers of each chunk, padded; None if a size does not fit its field."""
    if len(num_levels) == 1:
        return _join_chunk(int(num_levels[0]), levels, values, large)
    buffers = [*levels, *values]
    value_width = 4 if large else 2
    header = _padded(np.int64(2 + 2 * len(levels) + value_width * len(values)))
    sizes = header + sum(_padded(buffer.sizes) for buffer in buffers)
    # A size of 32 bits fits, since the whole chunk does.
    short = levels if large else buffers
    too_large = max((int(buffer.sizes.max()) for buffer in short), default=0) > _MAX_U16
    limit = _MAX_LARGE_CHUNK_BYTES if large else _MAX_CHUNK_BYTES
    if too_large or int(num_levels.max()) > _MAX_U16 or int(sizes.max()) > limit:
        return None
    out = np.full(int(sizes.sum()), _PADDING, np.uint8)
    starts = np.cumsum(sizes) - sizes
    position = starts
    widths = [2] * (1 + len(levels)) + [value_width] * len(values)
    for width, numbers in zip(
        widths, [num_levels, *(buffer.sizes for buffer in buffers)], strict=True
    ):
        for byte in range(width):
            out[position + byte] = numbers >> 8 * byte & 0xFF
        position = position + width
    position = starts + header
    for buffer in buffers:
        scatter(buffer.data, buffer.sizes, position, out)
        position = position + _padded(buffer.sizes)
    return sizes, out


def _join_chunk(
    num_levels: int, levels: list[ChunkBuffer], values: list[ChunkBuffer], large: bool
) -> tuple[Integers, Bytes] | None:
    """The same for a single chunk, as in most pages of wide tables."""
    buffers = [*levels, *values]
    sizes = [int(buffer.sizes[0]) for buffer in buffers]
    limit = _MAX_LARGE_CHUNK_BYTES if large else _MAX_CHUNK_BYTES
    short = sizes[: len(levels)] if large else sizes
    if max(num_levels, *short, 0) > _MAX_U16 or sum(sizes) > limit:
        return None
    fields = f"<{1 + len(levels)}H{len(values)}{'I' if large else 'H'}"
    parts = [struct.pack(fields, num_levels, *sizes)]
    parts += [buffer.data[:size].tobytes() for buffer, size in zip(buffers, sizes, strict=True)]
    data = b"".join(part + _PADDING_BYTES[: -len(part) % 8] for part in parts)
    if len(data) > limit:
        return None
    return np.array([len(data)], np.int64), bytes_of(data)


def _padded(size: Any) -> Any:
    return (size + 7) & ~7


def _repetition_index(begins: npt.NDArray[np.bool_], num_items: Integers) -> Bytes:
    """Rows that end in each chunk, and its items after the last of them."""
    ends = np.cumsum(num_items)
    row_starts = np.append(np.flatnonzero(begins), len(begins))
    # A row ends where the next one starts; a start at a chunk's end ends a row in it.
    before = np.searchsorted(row_starts, ends, side="right")
    finished = np.diff(before, prepend=1)
    last_end = np.maximum(row_starts[before - 1], ends - num_items)
    index = np.stack([finished, ends - last_end], axis=1)
    return np.ascontiguousarray(index.astype("<u8")).view(np.uint8).reshape(-1)
