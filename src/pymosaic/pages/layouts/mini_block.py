"""MiniBlockLayout: chunks of a few KiB, each with levels and values of up to some thousand items.

======= =================================================================================
buffer  what
======= =================================================================================
0       a word a chunk: its size in units of 8 bytes, less one, above 4 bits with the
        logarithm of its number of values; 16 bits, or 32 where chunks are large (2.2)
1       the chunks
2       the dictionary's items, where there is a dictionary
last    the repetition index, where there are lists: for each chunk two u64, the rows that
        finish in it and the items left over after them, with which the next one begins
======= =================================================================================

A chunk is: u16 number of levels; u16 sizes of repetition and definition levels, where the page has
them; sizes of the value buffers (u16, or u32 where chunks are large); then these buffers in order.
Header and buffers are padded to 8 bytes. The last chunk has what is left of the page's values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.pages.blocks import (
    Block,
    Bytes,
    Chunks,
    FixedBlock,
    Integers,
    bytes_of,
    corrupt_unless,
)
from pymosaic.pages.encodings import TreeDecoder, out_of_line_bitpacking
from pymosaic.pages.encodings.dictionary import look_up
from pymosaic.pages.encodings.encoded import ChunkBuffer, EncodedBlock, EncodedChunks
from pymosaic.pages.kernels.chunks import locate_buffers, scatter
from pymosaic.pages.layouts.page import Items, PageInput, Steps
from pymosaic.pages.levels import LevelArray, Levels, Shape, shape_of
from pymosaic.pages.messages import Encoding, MiniBlockLayout

__all__ = ["ChunkIndex", "read", "write"]

_WORDS, _CHUNKS, _DICTIONARY = 0, 1, 2
# What a word can say of any chunk but the last, which holds no more either.
_MAX_CHUNK_VALUES = 1 << 15
_MAX_VALUE_BUFFERS = 64
_MAX_CHUNK_BYTES = 1 << 15
_MAX_U16 = (1 << 16) - 1
_PADDING = 0xFE


@dataclass(frozen=True, slots=True)
class ChunkIndex:
    """Chunks of a page: where they are, and how many values and rows they hold.

    A row belongs to the chunk in which it ends. ``leftover`` is that of the repetition index, where
    there is one.
    """

    starts: Integers
    sizes: Integers
    counts: Integers
    first_row: Integers
    end_row: Integers
    leftover: Integers | None

    @property
    def continues(self) -> npt.NDArray[np.bool_]:
        """For each chunk, whether it begins in the middle of a row."""
        result = np.zeros(len(self.starts), np.bool_)
        if self.leftover is not None:
            result[1:] = self.leftover[:-1] > 0
        return result


def _parse_words(layout: MiniBlockLayout, content: memoryview, size: int) -> list[Integers]:
    """Starts, sizes and numbers of values of all chunks."""
    width = 4 if layout.has_large_chunk else 2
    corrupt_unless(len(content) % width == 0, "half a word", "chunk words")
    words = np.frombuffer(content, f"<u{width}").astype(np.int64)
    sizes = ((words >> 4) + 1) * 8
    starts = np.cumsum(sizes) - sizes
    counts = np.int64(1) << (words & 15)
    num_items = layout.num_items
    before = int(counts[:-1].sum())
    if not len(words):
        corrupt_unless(num_items == 0, f"{num_items} values in no chunk", "chunk words")
    else:
        last = num_items - before
        corrupt_unless(
            0 <= last <= _MAX_CHUNK_VALUES,
            f"{before} values before the last chunk, {num_items} in all",
            "chunk words",
        )
        counts[-1] = last
        corrupt_unless(
            int(sizes.sum()) <= size, f"chunks do not fit in {size} bytes", "chunk words"
        )
    return [starts, sizes, counts]


def _parse_index(layout: MiniBlockLayout, content: memoryview, num_chunks: int) -> list[Integers]:
    """Rows that finish in each chunk, and items left over."""
    if layout.repetition_index_depth != 1:
        raise UnsupportedFeatureError(
            f"a repetition index of depth {layout.repetition_index_depth}",
            structure="repetition index",
        )
    corrupt_unless(len(content) == 16 * num_chunks, f"{len(content)} bytes", "repetition index")
    numbers = np.frombuffer(content, "<u8").reshape(num_chunks, 2)
    corrupt_unless(
        not numbers.size or int(numbers.max()) < 1 << 32, "numbers too large", "repetition index"
    )
    signed = numbers.astype(np.int64)
    return [np.ascontiguousarray(signed[:, 0]), np.ascontiguousarray(signed[:, 1])]


def read(layout: MiniBlockLayout, page: PageInput, decoder: TreeDecoder) -> Steps[Items]:
    """Read the wanted rows: the words and indices first, then the chunks that hold them."""
    corrupt_unless(
        0 <= layout.num_buffers <= _MAX_VALUE_BUFFERS, f"{layout.num_buffers} buffers", "chunk"
    )
    shape = shape_of(layout.layers)
    has_rep = shape.max_rep > 0
    has_dictionary = layout.dictionary is not None
    index_buffer = 3 if has_dictionary else 2
    wanted = [page.whole(_WORDS)]
    if has_dictionary:
        wanted.append(page.whole(_DICTIONARY))
    if page.rows is None:
        # Everything is needed, so there is nothing to wait for; nor is the index.
        wanted.append(page.whole(_CHUNKS))
        contents = yield wanted
        chunk_data = contents.pop()
        index = _chunk_index(layout, contents[0], None, page)
        rows: Integers | None = None
        cut = np.zeros(len(index.starts), np.bool_)
    else:
        if has_rep:
            wanted.append(page.whole(index_buffer))
        contents = yield wanted
        index = _chunk_index(layout, contents[0], contents[-1] if has_rep else None, page)
        selected, rows, cut = _select(index, page.rows)
        pieces = yield [
            (_CHUNKS, start, size)
            for start, size in zip(
                index.starts[selected].tolist(), index.sizes[selected].tolist(), strict=True
            )
        ]
        chunk_data = memoryview(b"".join(pieces))
        sizes = index.sizes[selected]
        starts = np.cumsum(sizes) - sizes
        index = replace(index, starts=starts, sizes=sizes, counts=index.counts[selected])
    items = _decode(layout, bytes_of(chunk_data), index, cut, decoder)
    if layout.dictionary is not None:
        dictionary = _dictionary(layout, bytes_of(contents[1]), decoder)
        assert items.values is not None
        items = Items(items.levels, items.num_items, look_up(items.values, dictionary))
    return Items(items.levels, items.num_items, items.values, rows)


def _chunk_index(
    layout: MiniBlockLayout, words: memoryview, repetition: memoryview | None, page: PageInput
) -> ChunkIndex:
    starts, sizes, counts = _parse_words(layout, words, page.buffer_sizes[_CHUNKS])
    if repetition is None:
        end_row = np.cumsum(counts)
        return ChunkIndex(starts, sizes, counts, end_row - counts, end_row, None)
    finished, leftover = _parse_index(layout, repetition, len(starts))
    end_row = np.cumsum(finished)
    total = int(finished.sum())
    # The last row ends with the page, whether or not the last chunk says so.
    if len(starts) and leftover[-1] > 0:
        total += 1
    corrupt_unless(total == page.num_rows, f"{total} rows, not {page.num_rows}", "repetition index")
    return ChunkIndex(starts, sizes, counts, end_row - finished, end_row, leftover)


def _select(index: ChunkIndex, rows: Integers) -> tuple[Integers, Integers, npt.NDArray[np.bool_]]:
    """Chunks that hold rows; where the rows then are; which chunks have lost their beginning."""
    if not len(rows):
        return rows, rows, np.zeros(0, np.bool_)
    last = np.searchsorted(index.first_row, rows, side="right") - 1
    # Chunks in which no row ends share their first row with the next that has one.
    first = last
    is_needed = np.zeros(len(index.starts) + 1, np.int64)
    continues = index.continues
    if index.leftover is not None:
        position = np.arange(len(index.starts))
        ended = index.end_row > index.first_row
        # The chunk in which the row that is open at a chunk's end began.
        opened = np.maximum.accumulate(np.where(~continues | ended, position, 0))
        split = (rows == index.first_row[last]) & continues[last]
        first = np.where(split, opened[np.maximum(last - 1, 0)], last)
    np.add.at(is_needed, first, 1)
    np.add.at(is_needed, last + 1, -1)
    selected = np.flatnonzero(np.cumsum(is_needed[:-1]))
    begins = np.ones(len(selected), np.bool_)
    begins[1:] = np.diff(selected) > 1
    cut = begins & continues[selected]
    return selected, _locate(index, rows, last, selected, begins), cut


def _locate(
    index: ChunkIndex,
    rows: Integers,
    last: Integers,
    selected: Integers,
    begins: npt.NDArray[np.bool_],
) -> Integers:
    """Where rows are among those of the selected chunks.

    A run of neighbouring chunks holds the rows from the first row of its first chunk on; one that
    began earlier counts, cut, and so does one that goes on after the run.
    """
    run_first = selected[begins]
    run_last = selected[np.append(np.flatnonzero(begins)[1:] - 1, len(selected) - 1)]
    length = index.end_row[run_last] - index.first_row[run_first]
    if index.leftover is not None:
        length = length + (index.leftover[run_last] > 0)
    base = np.cumsum(length) - length
    run = np.searchsorted(run_first, last, side="right") - 1
    result: Integers = base[run] + rows - index.first_row[run_first[run]]
    return result


def _decode(
    layout: MiniBlockLayout,
    data: Bytes,
    index: ChunkIndex,
    cut: npt.NDArray[np.bool_],
    decoder: TreeDecoder,
) -> Items:
    shape = shape_of(layout.layers)
    has_rep, has_def = layout.rep_compression is not None, layout.def_compression is not None
    corrupt_unless(
        has_rep == (shape.max_rep > 0) and (has_def or shape.max_def == 0),
        "layers and levels do not go together",
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
        return np.frombuffer(block.data, "<u2", block.count)

    repetition = level_buffer(layout.rep_compression, 0) if has_rep else None
    definition = level_buffer(layout.def_compression, num_level_buffers - 1) if has_def else None
    if repetition is not None and cut.any():
        # What is left of a row that began in a chunk that was not read counts as a row.
        first_items = np.cumsum(num_levels) - num_levels
        repetition = repetition.copy()
        first = first_items[cut & (num_levels > 0)]
        repetition[first] = shape.max_rep
    value_chunks = Chunks(data, starts[num_level_buffers:], sizes[num_level_buffers:], index.counts)
    values: Block = decoder.chunks(layout.value_compression, value_chunks)
    num_items = int(num_levels.sum()) if num_level_buffers else value_chunks.total
    return Items(Levels(repetition, definition), num_items, values)


def _dictionary(layout: MiniBlockLayout, content: Bytes, decoder: TreeDecoder) -> Block:
    return decoder.blocks(layout.dictionary, Chunks.single(content, layout.num_dictionary_items))


def write(
    layers: tuple[int, ...],
    levels: Levels,
    encoded: EncodedChunks,
    dictionary: EncodedBlock | None = None,
    num_dictionary_items: int = 0,
) -> tuple[MiniBlockLayout, list[Bytes]] | None:
    """Put levels and encoded values into chunks; None where a chunk would be too large."""
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
    buffers = [buffer for part in (*parts, encoded) for buffer in part.buffers]
    num_levels = num_items if parts else np.zeros(len(num_items), np.int64)
    chunks = _join_chunks(num_levels, buffers)
    if chunks is None:
        return None
    sizes, data = chunks
    words = ((sizes // 8 - 1) << 4) | np.log2(encoded.counts).astype(np.int64)
    if len(words):
        words[-1] &= ~15
    result = [words.astype("<u2").view(np.uint8), data]
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
    )
    return layout, result


def _items_per_chunk(levels: Levels, shape: Shape, counts: Integers) -> Integers:
    """Items that go with the values of each chunk; those without a value go with the next one."""
    if levels.repetition is None:
        return counts
    total = len(levels.repetition)
    if levels.definition is None:
        return counts
    visible = np.flatnonzero(levels.definition <= shape.max_visible_def)
    ends = visible[np.cumsum(counts) - 1] + 1
    ends[-1] = total
    return np.diff(ends, prepend=0)


def _join_chunks(num_levels: Integers, buffers: list[ChunkBuffer]) -> tuple[Integers, Bytes] | None:
    """Header and buffers of each chunk, padded; None where a size does not fit its field."""
    header = _padded(np.int64(2 + 2 * len(buffers)))
    sizes = header + sum(_padded(buffer.sizes) for buffer in buffers)
    too_large = max((int(buffer.sizes.max()) for buffer in buffers), default=0) > _MAX_U16
    if too_large or int(num_levels.max()) > _MAX_U16 or int(sizes.max()) > _MAX_CHUNK_BYTES:
        return None
    out = np.full(int(sizes.sum()), _PADDING, np.uint8)
    starts = np.cumsum(sizes) - sizes
    for field, numbers in enumerate([num_levels, *(buffer.sizes for buffer in buffers)]):
        out[starts + 2 * field] = numbers & 0xFF
        out[starts + 2 * field + 1] = numbers >> 8
    position = starts + header
    for buffer in buffers:
        scatter(buffer.data, buffer.sizes, position, out)
        position = position + _padded(buffer.sizes)
    return sizes, out


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
