"""Reading pages together: what all of them need next is fetched at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pymosaic.errors import LimitExceededError
from pymosaic.io import Source
from pymosaic.lance.columns import ColumnPages, LancePage
from pymosaic.limits import Limits
from pymosaic.pages import read_page, read_pages, take_from_pages
from pymosaic.pages.blocks import Integers, Memory
from pymosaic.pages.layouts import mini_block
from pymosaic.pages.layouts.chunk_index import CHUNKS_BUFFER
from pymosaic.pages.layouts.page import FILE, Range, Steps
from pymosaic.pages.messages import MiniBlockLayout
from pymosaic.pages.nesting import FieldNode, LeafPath, merge
from pymosaic.threads import ordered_map

__all__ = [
    "LeafCursor",
    "PageRead",
    "concatenate",
    "merge_chunks",
    "read_all",
    "read_whole",
    "run_page_reads",
    "take_from_column",
]

# Pages are fetched together up to this many bytes, so that a wide table takes few reads.
_FETCH_BYTES = 64 << 20


# What is read as if it were one page: pages up to this size, together up to so many bytes and
# items.
_SMALL_PAGE_BYTES = 64 << 10
_GROUP_BYTES = 1 << 20
_GROUP_ITEMS = 1 << 20
# The same for structs and lists, whose pages cost more apart from their values.
_NESTED_PAGE_BYTES = 1 << 20
_NESTED_GROUP_BYTES = 2 << 20
# Strings of dictionaries are repeated; their sum must stay below 2 GiB.
_GROUP_REPEATED_BYTES = 1 << 30
# Values of the chunks that a row usually lies in.
_ROW_VALUES = 2 * 4096
# Types that their number tells; others have parameters.
_SIMPLE_TYPES = frozenset(
    data_type.id
    for data_type in (
        *(pa.bool_(), pa.string(), pa.binary(), pa.large_string(), pa.large_binary()),
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
        *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float16(), pa.float32(), pa.float64(), pa.date32(), pa.date64()),
    )
)
# Less is decoded before threads have started.
_THREADED_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class PageRead:
    """A reading in progress: the positions of its buffers, and how much of them it needs.

    It gives an array, or the arrays of several pages.
    """

    steps: Steps[Any]
    buffer_offsets: tuple[int, ...]
    num_bytes: int


def read_whole(page: LancePage, path: LeafPath, limits: Limits, table: Memory) -> PageRead:
    """Read all rows of a page."""
    steps = read_page(page.layout, page.input(), path, Memory.of_page(limits, table))
    return PageRead(steps, page.buffer_offsets, page.num_bytes)


def read_all(
    pages: Sequence[tuple[LancePage, LeafPath]], limits: Limits, table: Memory, source: Source
) -> list[pa.Array]:
    """Read all rows of pages of any columns; small pages that are alike are read together."""
    groups: list[list[int]] = []
    open_groups: dict[tuple[int, object], _Group] = {}
    for number, (page, path) in enumerate(pages):
        num_bytes = page.num_bytes
        is_nested = len(path.types) > 1
        largest = _NESTED_PAGE_BYTES if is_nested else _SMALL_PAGE_BYTES
        if (
            not page.kind
            or num_bytes > largest
            or pa.types.is_dictionary(path.types[-1])
            or not _has_chunks(page)
        ):
            groups.append([number])
            continue
        key = page.kind, _type_key(path)
        num_items, repeated = page.num_rows, page.num_rows * page.buffer_sizes[-1]
        if is_nested and isinstance(page.layout, MiniBlockLayout):
            num_values = page.layout.num_items
            num_items, repeated = num_items + num_values, _repeated_bytes(page, num_values)
        group = open_groups.get(key)
        if group is None or not group.has_room(num_bytes, num_items, repeated):
            most_bytes = _NESTED_GROUP_BYTES if is_nested else _GROUP_BYTES
            group = open_groups[key] = _Group([], most_bytes)
            groups.append(group.members)
        group.add(number, num_bytes, num_items, repeated)
    page_reads = [
        _read_group([pages[number] for number in members], limits, table) for members in groups
    ]
    arrays: list[pa.Array] = [None] * len(pages)
    for members, result in zip(groups, run_page_reads(page_reads, source), strict=True):
        found = [result] if len(members) == 1 else result
        for number, array in zip(members, found, strict=True):
            arrays[number] = array
    return arrays


def _type_key(path: LeafPath) -> object:
    """The same for leaves of one type, where that is cheap to tell; else only for one leaf."""
    data_type = path.types[0]
    if len(path.types) > 1 or isinstance(data_type, pa.BaseExtensionType):
        return id(path)
    return data_type.id if data_type.id in _SIMPLE_TYPES else str(data_type)


@dataclass(slots=True)
class _Group:
    """Pages to read together, and what they add up to."""

    members: list[int]
    most_bytes: int
    num_bytes: int = 0
    num_items: int = 0
    repeated: int = 0

    def has_room(self, num_bytes: int, num_items: int, repeated: int) -> bool:
        return (
            self.num_bytes + num_bytes <= self.most_bytes
            and self.num_items + num_items <= _GROUP_ITEMS
            and self.repeated + repeated <= _GROUP_REPEATED_BYTES
        )

    def add(self, number: int, num_bytes: int, num_items: int, repeated: int) -> None:
        self.members.append(number)
        self.num_bytes += num_bytes
        self.num_items += num_items
        self.repeated += repeated


def _read_group(
    group: Sequence[tuple[LancePage, LeafPath]], limits: Limits, table: Memory
) -> PageRead:
    page, path = group[0]
    if len(group) == 1:
        return read_whole(page, path, limits, table)
    layouts = [page.layout for page, _ in group if isinstance(page.layout, MiniBlockLayout)]
    inputs = [page.input() for page, _ in group]
    memory = Memory.of_page(limits, table, len(group))
    offsets = tuple(offset for page, _ in group for offset in page.buffer_offsets)
    num_bytes = sum(page.num_bytes for page, _ in group)
    return PageRead(read_pages(layouts, inputs, path, memory), offsets, num_bytes)


def take_from_column(
    column: ColumnPages,
    path: LeafPath,
    rows: Integers,
    num_rows: int,
    limits: Limits,
    table: Memory,
) -> list[PageRead]:
    """Read rows, in ascending order, of a column of ``num_rows``."""
    page_reads: list[PageRead] = []
    is_dictionary = pa.types.is_dictionary(path.types[-1])
    for group in _alike(column, rows, num_rows, is_dictionary):
        memory = Memory.of_page(limits, table, len(group))
        inputs = [page.input(page_rows) for page, page_rows in group]
        if len(group) == 1:
            steps = read_page(group[0][0].layout, inputs[0], path, memory)
        else:
            layouts = [page.layout for page, _ in group if isinstance(page.layout, MiniBlockLayout)]
            steps = take_from_pages(layouts, inputs, path, memory)
        offsets = tuple(offset for page, _ in group for offset in page.buffer_offsets)
        page_reads.append(PageRead(steps, offsets, 0))
    return page_reads


def _alike(
    column: ColumnPages, rows: Integers, num_rows: int, is_dictionary: bool
) -> Iterator[list[tuple[LancePage, Integers]]]:
    """Pages that hold the rows, with the rows of each; grouped if they can be read together.

    Dictionaries that become Arrow's stay apart.
    """
    group: list[tuple[LancePage, Integers]] = []
    repeated = 0
    bounds = np.searchsorted(rows, [*column.first_rows, num_rows]).tolist()
    for page, start, end in zip(column.pages, bounds, bounds[1:], strict=False):
        if end == start:
            continue
        own = _repeated_bytes(page, end - start)
        if group and (
            repeated + own > _GROUP_REPEATED_BYTES
            or (is_dictionary and own)
            or not _is_alike(group[0][0], page)
        ):
            yield group
            group, repeated = [], 0
        group.append((page, rows[start:end] - page.first_row))
        repeated += own
    if group:
        yield group


def _repeated_bytes(page: LancePage, num_rows: int) -> int:
    """What the strings of a dictionary may take in the chunks that rows lie in; 0 without one."""
    layout = page.layout
    if not isinstance(layout, MiniBlockLayout) or layout.dictionary is None:
        return 0
    items = page.buffer_sizes[mini_block.DICTIONARY_BUFFER : mini_block.DICTIONARY_BUFFER + 1]
    return min(layout.num_items, num_rows * _ROW_VALUES) * sum(items)


def _is_alike(first: LancePage, other: LancePage) -> bool:
    return (
        isinstance(first.layout, MiniBlockLayout)
        and isinstance(other.layout, MiniBlockLayout)
        and mini_block.are_alike(first.layout, other.layout)
        and _has_chunks(first)
        and _has_chunks(other)
    )


def _has_chunks(page: LancePage) -> bool:
    """Whether a page of chunks has the buffers that it needs; a page without is read alone."""
    return len(page.buffer_sizes) > CHUNKS_BUFFER


class _Fetch:
    """Readings that run together."""

    def __init__(self, page_reads: Sequence[PageRead], results: list[Any]) -> None:
        self._page_reads = page_reads
        self._results = results
        self._waiting: list[tuple[int, list[Range]]] = []

    def run(self, numbers: Iterable[int], source: Source) -> None:
        for number in numbers:
            self._advance(number, None)
        while self._waiting:
            now, self._waiting = self._waiting, []
            ranges: list[tuple[int, int]] = []
            for number, wanted in now:
                offsets = self._page_reads[number].buffer_offsets
                for buffer, offset, length in wanted:
                    ranges.append((offset if buffer == FILE else offsets[buffer] + offset, length))
            contents = source.read_ranges(ranges)
            steps: list[tuple[int, list[memoryview]]] = []
            position = 0
            for number, wanted in now:
                steps.append((number, contents[position : position + len(wanted)]))
                position += len(wanted)
            use_threads = sum(length for _, length in ranges) >= _THREADED_BYTES
            for _ in ordered_map(self._step, steps, use_threads and len(steps) > 1):
                pass

    def _step(self, step: tuple[int, list[memoryview]]) -> None:
        self._advance(*step)

    def _advance(self, number: int, contents: list[memoryview] | None) -> None:
        steps = self._page_reads[number].steps
        try:
            wanted = next(steps) if contents is None else steps.send(contents)
        except StopIteration as stop:
            self._results[number] = stop.value
        else:
            self._waiting.append((number, wanted))


def run_page_reads(page_reads: Sequence[PageRead], source: Source) -> list[Any]:
    """Run page reads to their end, and return what they give in order."""
    results: list[Any] = [None] * len(page_reads)
    start = 0
    while start < len(page_reads):
        end, size = start, 0
        while end < len(page_reads) and (end == start or size < _FETCH_BYTES):
            size += page_reads[end].num_bytes
            end += 1
        _Fetch(page_reads, results).run(range(start, end), source)
        start = end
    return results


class LeafCursor:
    """Iterates over the pages of a leaf, with one in memory at a time."""

    __slots__ = ("_next", "_pages", "array", "end", "page", "path")

    def __init__(self, pages: tuple[LancePage, ...], path: LeafPath) -> None:
        self._pages = pages
        self._next = 0
        self.path: LeafPath = path
        self.end: int = 0
        self.array: pa.Array = None
        self.page: LancePage

    def advance(self, row: int) -> None:
        """Advance to the page that holds a row, skipping pages without rows."""
        while self.end <= row:
            self.page = self._pages[self._next]
            self.end = self.page.first_row + self.page.num_rows
            self._next += 1

    def slice(self, start: int, end: int) -> pa.Array:
        """Rows of the file that the page holds."""
        return self.array.slice(start - self.page.first_row, end - start)


def concatenate(pieces: list[pa.Array], data_type: pa.DataType) -> pa.Array:
    """Concatenate arrays of one type; no arrays give an empty one."""
    if not pieces:
        return pa.nulls(0, data_type)
    if len(pieces) == 1:
        return pieces[0]
    try:
        return pa.concat_arrays(pieces)
    except pa.ArrowInvalid as error:
        raise LimitExceededError(str(error), structure="column") from error


def merge_chunks(node: FieldNode, leaves: list[list[pa.Array]]) -> pa.ChunkedArray:
    """Combine leaves whose pages may end at different rows."""
    data_type = node.field.type
    if not node.children:
        return pa.chunked_array(leaves[0], data_type)
    if len(leaves) == 1:
        return pa.chunked_array([merge(node, [chunk]) for chunk in leaves[0]], data_type)
    ends = [np.cumsum([len(chunk) for chunk in chunks], dtype=np.int64) for chunks in leaves]
    merged = []
    start = 0
    positions = [0] * len(leaves)
    for end in np.unique(np.concatenate(ends)).tolist():
        if end == start:  # pages without rows
            continue
        pieces = []
        for number, chunks in enumerate(leaves):
            while ends[number][positions[number]] <= start:
                positions[number] += 1
            chunk = chunks[positions[number]]
            first = int(ends[number][positions[number]]) - len(chunk)
            pieces.append(chunk.slice(start - first, end - start))
        merged.append(merge(node, pieces))
        start = end
    return pa.chunked_array(merged, data_type)
