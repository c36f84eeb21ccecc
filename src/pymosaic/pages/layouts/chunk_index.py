"""Which chunk of a mini-block page holds which rows, for several pages at once.

Pages of a column that have similar descriptions are looked up together: a thousand small pages then
cost about as much as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pymosaic.errors import UnsupportedFeatureError
from pymosaic.pages.blocks import Integers, corrupt_unless
from pymosaic.pages.layouts.page import PageInput
from pymosaic.pages.messages import MiniBlockLayout

__all__ = [
    "CHUNKS_BUFFER",
    "ChunkIndex",
    "ChunkSelection",
    "check_index_depth",
    "parse_chunk_index",
]

CHUNKS_BUFFER = 1
# The maximum that a word can express for any chunk but the last, which holds no more either.
_MAX_CHUNK_VALUES = 1 << 15
_MAX_ITEMS = 1 << 40
_ZERO = np.zeros(1, np.int64)
_CLOSED = np.zeros(1, np.bool_)


@dataclass(frozen=True, slots=True)
class ChunkIndex:
    """Chunks of pages: where they are, and how many values and rows they hold.

    Parameters
    ----------
    page : array of int64
        The page of each chunk.
    starts, sizes : arrays of int64
        Where each chunk is within the chunks of its page.
    counts : array of int64
        Number of values in each chunk.
    first_row, end_row : arrays of int64
        Rows that end in each chunk, counted over all pages; a row belongs to the chunk where it
        ends.
    is_open : array of bool
        Whether the last row of each chunk continues in the next chunk.
    """

    page: Integers
    starts: Integers
    sizes: Integers
    counts: Integers
    first_row: Integers
    end_row: Integers
    is_open: npt.NDArray[np.bool_]

    def select(self, rows: Integers) -> ChunkSelection:
        """Find the chunks that hold ``rows``, at least one of them, in ascending order."""
        continues = np.zeros(len(self.starts), np.bool_)
        continues[1:] = self.is_open[:-1]
        # Chunks in which no row ends have the first row of the next chunk in which one does.
        last = np.searchsorted(self.first_row, rows, side="right") - 1
        first = last
        if continues.any():
            begins_row = ~continues | (self.end_row > self.first_row)
            # The chunk in which the row that is open at a chunk's end began.
            opened = np.maximum.accumulate(np.where(begins_row, np.arange(len(continues)), 0))
            is_split = (rows == self.first_row[last]) & continues[last]
            first = np.where(is_split, opened[np.maximum(last - 1, 0)], last)
        borders = np.zeros(len(self.starts) + 1, np.int64)
        np.add.at(borders, first, 1)
        np.add.at(borders, last + 1, -1)
        chunks = np.flatnonzero(np.cumsum(borders[:-1]))
        begins_run = np.ones(len(chunks), np.bool_)
        begins_run[1:] = np.diff(chunks) > 1
        return ChunkSelection(
            chunks,
            self._locate(rows, last, chunks, begins_run),
            begins_run & continues[chunks],
        )

    def _locate(
        self,
        rows: Integers,
        last: Integers,
        chunks: Integers,
        begins_run: npt.NDArray[np.bool_],
    ) -> Integers:
        """Where rows are among those of the selected chunks.

        A run of neighbouring chunks holds the rows from the first row of its first chunk on; a row
        that began earlier counts, truncated, and so does one that continues after the run.
        """
        run_starts = np.flatnonzero(begins_run)
        run_first = chunks[run_starts]
        run_last = chunks[np.append(run_starts[1:] - 1, len(chunks) - 1)]
        length = self.end_row[run_last] - self.first_row[run_first] + self.is_open[run_last]
        base = np.cumsum(length) - length
        run = np.searchsorted(run_first, last, side="right") - 1
        result: Integers = base[run] + rows - self.first_row[run_first[run]]
        return result


@dataclass(frozen=True, slots=True)
class ChunkSelection:
    """Chunks to read, where the rows are in them, and which chunks lack the start of a row."""

    chunks: Integers
    rows: Integers
    is_cut: npt.NDArray[np.bool_]


def _join(contents: Sequence[memoryview]) -> bytes | memoryview:
    return contents[0] if len(contents) == 1 else b"".join(contents)


def parse_chunk_index(
    layouts: Sequence[MiniBlockLayout],
    pages: Sequence[PageInput],
    words: Sequence[memoryview],
    repetition: Sequence[memoryview] | None,
) -> ChunkIndex:
    """Read the words and, if rows are looked up in lists, the repetition indices of pages.

    A page without chunks must be read alone. Checked: that the chunks fit in their buffer, that
    they have the page's values and, with a repetition index, its rows.
    """
    width = 4 if layouts[0].has_large_chunk else 2
    if repetition is None and len(words) == 1 and len(words[0]) == width:
        return _single_chunk(layouts[0], pages[0], words[0])
    num_chunks = np.array([len(content) // width for content in words], np.int64)
    for content, layout in zip(words, layouts, strict=True):
        corrupt_unless(
            len(content) % width == 0 and layout.num_items <= _MAX_ITEMS, "no words", "chunk words"
        )
    if not num_chunks.all():
        corrupt_unless(
            len(pages) == 1 and layouts[0].num_items == 0,
            "values belong to no chunk",
            "chunk words",
        )
        none = np.empty(0, np.int64)
        return ChunkIndex(none, none, none, none, none, none, none.astype(np.bool_))
    numbers = np.frombuffer(_join(words), f"<u{width}").astype(np.int64)
    ends = np.cumsum(num_chunks)
    firsts, lasts = ends - num_chunks, ends - 1
    sizes = ((numbers >> 4) + 1) * 8
    room = np.array([page.size(CHUNKS_BUFFER) for page in pages])
    corrupt_unless(
        bool((np.add.reduceat(sizes, firsts) <= room).all()),
        "chunks do not fit the buffer",
        "chunk words",
    )
    running = np.cumsum(sizes) - sizes
    page_of = np.repeat(np.arange(len(pages)), num_chunks)
    counts = np.int64(1) << (numbers & 15)
    counts[lasts] = 0
    left = np.array([layout.num_items for layout in layouts]) - np.add.reduceat(counts, firsts)
    corrupt_unless(
        bool(((left >= 0) & (left <= _MAX_CHUNK_VALUES)).all()),
        "the last chunk has an implausible number of values",
        "chunk words",
    )
    counts[lasts] = left
    rows, is_open = counts, np.zeros(len(counts), np.bool_)
    if repetition is not None:
        rows, is_open = _parse_repetition(layouts[0], repetition, num_chunks, firsts, lasts, pages)
    end_row = np.cumsum(rows)
    return ChunkIndex(
        page_of, running - running[firsts][page_of], sizes, counts, end_row - rows, end_row, is_open
    )


def _single_chunk(layout: MiniBlockLayout, page: PageInput, word: memoryview) -> ChunkIndex:
    """The index of a page with one chunk, like most pages of wide tables."""
    size = ((int.from_bytes(word, "little") >> 4) + 1) * 8
    corrupt_unless(size <= page.size(CHUNKS_BUFFER), "chunks do not fit", "chunk words")
    corrupt_unless(
        layout.num_items <= _MAX_CHUNK_VALUES,
        "the last chunk has no plausible number of values",
        "chunk words",
    )
    counts = np.array([layout.num_items], np.int64)
    sizes = np.array([size], np.int64)
    return ChunkIndex(_ZERO, _ZERO, sizes, counts, _ZERO, counts, _CLOSED)


def check_index_depth(layout: MiniBlockLayout) -> None:
    """Raise unless a page with lists has an index of rows only, as all versions write it."""
    if layout.repetition_index_depth != 1:
        raise UnsupportedFeatureError(
            f"a repetition index of depth {layout.repetition_index_depth}",
            structure="repetition index",
        )


def _parse_repetition(
    layout: MiniBlockLayout,
    contents: Sequence[memoryview],
    num_chunks: Integers,
    firsts: Integers,
    lasts: Integers,
    pages: Sequence[PageInput],
) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """The number of rows that end in each chunk, and whether another row is then open."""
    check_index_depth(layout)
    for content, chunks in zip(contents, num_chunks.tolist(), strict=True):
        corrupt_unless(len(content) == 16 * chunks, f"{len(content)} bytes", "repetition index")
    numbers = np.frombuffer(_join(contents), "<u8").reshape(-1, 2)
    corrupt_unless(int(numbers.max()) < 1 << 32, "numbers are too large", "repetition index")
    rows = numbers[:, 0].astype(np.int64)
    is_open = numbers[:, 1] > 0
    # The last row ends with its page, whether or not the last chunk says so.
    rows[lasts] += is_open[lasts]
    is_open[lasts] = False
    expected = np.array([page.num_rows for page in pages])
    corrupt_unless(
        bool((np.add.reduceat(rows, firsts) == expected).all()), "other rows", "repetition index"
    )
    return rows, is_open
