"""Read Lance files: :class:`LanceFile`.

::

    source (tail) ─► footer, descriptor ─► schema, leaves ─► column metadata (of wanted columns)
    wanted columns, rows ─► one reading a page (see pymosaic.pages) ─► ranges of all ─► source
                                                             └─◄ bytes ◄──────────────────┘
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from pymosaic.errors import (
    ColumnNotFoundError,
    CorruptFileError,
    InvalidOptionError,
    LimitExceededError,
    located,
)
from pymosaic.lance.columns import ColumnPages, LancePage, parse_column
from pymosaic.lance.container import FOOTER_BYTES, FileDescriptor, Footer, parse_footer
from pymosaic.lance.schema import is_single_column, parse_schema
from pymosaic.limits import Limits
from pymosaic.pages import read_page, take_from_pages
from pymosaic.pages.blocks import Memory
from pymosaic.pages.layouts import mini_block
from pymosaic.pages.layouts.page import FILE, Range, Steps
from pymosaic.pages.messages import MiniBlockLayout
from pymosaic.pages.nesting import FieldNode, LeafPath, build_node, leaf_paths, merge
from pymosaic.pages.protobuf import parse
from pymosaic.source import Source, SourceLike, open_source

__all__ = ["LanceFile"]

# Pages are fetched together up to this many bytes, so that a wide table takes few reads.
_FETCH_BYTES = 64 << 20


class _Field:
    """A top-level field and the columns below it."""

    __slots__ = ("first_column", "node", "paths")

    def __init__(self, field: pa.Field, first_column: int) -> None:
        self.node: FieldNode = build_node(field, is_single_column)
        self.paths: list[LeafPath] = leaf_paths(self.node)
        self.first_column = first_column


class LanceFile:
    """A Lance data file, version 2.1 or 2.2.

    Parameters
    ----------
    source : str, path-like, bytes-like or binary file object
        A path, a URI, the bytes of a file, or an open file.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        Where ``source``, then a path, is looked up.
    limits : Limits, optional
        Caps that the file is held to; a page counts as a row group.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.lance import LanceFile, write_table
    >>> write_table(pa.table({"city": ["Oslo", "Rome"], "temp": [3, 17]}), "weather.lance")
    >>> with LanceFile("weather.lance") as file:
    ...     file.read(["temp"]).to_pydict()
    {'temp': [3, 17]}
    """

    def __init__(
        self,
        source: SourceLike,
        *,
        filesystem: object = None,
        limits: Limits | None = None,
    ) -> None:
        if limits is None:
            limits = Limits()
        elif not isinstance(limits, Limits):
            raise InvalidOptionError(f"limits must be a pymosaic.Limits, got {limits!r}")
        self._limits = limits
        self._source = open_source(source, filesystem)
        self._columns: dict[int, ColumnPages] = {}
        self._fields: list[_Field] = []
        try:
            with located(self._source.name):
                self._open()
        except BaseException:
            self._source.close()
            raise

    def _open(self) -> None:
        source = self._source
        tail_size = min(source.size, max(source.tail_bytes, FOOTER_BYTES))
        tail = memoryview(source.read(source.size - tail_size, tail_size))
        self._footer: Footer = parse_footer(tail[-FOOTER_BYTES:], source.size)
        footer = self._footer
        if footer.num_columns > self._limits.max_columns:
            raise LimitExceededError(
                f"{footer.num_columns} columns are above Limits.max_columns "
                f"({self._limits.max_columns})",
                structure="footer",
            )
        if footer.num_global_buffers == 0:
            raise CorruptFileError("no global buffer for the schema", structure="footer")
        reader = _TailReader(source, tail, self._limits)
        column_table = reader.read(footer.column_table, 16 * footer.num_columns, "column table")
        entry = reader.read(footer.buffer_table, 16, "table of global buffers")
        self._places = np.frombuffer(column_table, "<u8").reshape(-1, 2)
        position, size = struct.unpack("<QQ", entry)
        descriptor = parse(FileDescriptor, reader.read(position, size, "file descriptor"))
        if descriptor.schema is None:
            raise CorruptFileError("no schema", structure="file descriptor")
        if descriptor.length >= 1 << 62:
            raise CorruptFileError(f"{descriptor.length} rows", structure="file descriptor")
        self._num_rows = descriptor.length
        self._schema: pa.Schema = parse_schema(descriptor.schema, self._limits)
        self._reader = reader
        first_column = 0
        for field in self._schema:
            top = _Field(field, first_column)
            self._fields.append(top)
            first_column += top.node.num_leaves
        if first_column != footer.num_columns:
            raise CorruptFileError(
                f"{footer.num_columns} columns for {first_column} leaves of the schema",
                structure="schema",
            )
        self._by_name = {field.name: number for number, field in enumerate(self._schema)}

    def close(self) -> None:
        """Close the file. Data that was read stays valid, a file object of the caller's open."""
        self._source.close()

    def __enter__(self) -> LanceFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"<pymosaic.lance.LanceFile {self._source.name or 'in memory'}: version "
            f"{self.version}, {self.num_rows} rows, {self.num_columns} columns>"
        )

    @property
    def version(self) -> str:
        """Version of the format: ``"2.1"`` or ``"2.2"``."""
        return self._footer.version

    @property
    def num_rows(self) -> int:
        """Rows of the file."""
        return self._num_rows

    @property
    def num_columns(self) -> int:
        """Columns as they are stored: one for each leaf of the schema."""
        return self._footer.num_columns

    @property
    def column_names(self) -> list[str]:
        """Names of the top-level fields."""
        return list(self._schema.names)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema."""
        return self._schema

    def leaves(self, column: str) -> list[str]:
        """Paths of the stored columns below a top-level one, such as ``point.x``.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from pymosaic.lance import LanceFile, write_table
        >>> write_table(pa.table({"point": [{"x": 1, "y": 2}]}), "points.lance")
        >>> LanceFile("points.lance").leaves("point")
        ['point.x', 'point.y']
        """
        field = self._fields[self._resolve([column])[0]]
        return _leaf_names(field.node, "")

    def pages(self, column: str, leaf: int = 0) -> tuple[LancePage, ...]:
        """Pages of a column: rows, layout and tree of encodings, buffers.

        Parameters
        ----------
        column : str
            A top-level column.
        leaf : int
            Which of the stored columns below it, as :meth:`leaves` lists them.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from pymosaic.lance import LanceFile, write_table
        >>> write_table(pa.table({"n": range(5000)}), "n.lance")
        >>> LanceFile("n.lance").pages("n")[0].layout.value_compression
        InlineBitpacking(uncompressed_bits_per_value=64, values=None)
        """
        field = self._fields[self._resolve([column])[0]]
        if not 0 <= leaf < len(field.paths):
            raise InvalidOptionError(f"leaf must be from 0 to {len(field.paths) - 1}, got {leaf!r}")
        with located(self._source.name):
            return self._pages(field.first_column + leaf).pages

    def read(self, columns: Iterable[str] | None = None) -> pa.Table:
        """Read columns as a whole.

        Parameters
        ----------
        columns : list of str, optional
            Top-level names in the order wanted; all by default.

        Returns
        -------
        pyarrow.Table
            A chunk a page.
        """
        wanted = self._resolve(columns)
        with located(self._source.name):
            jobs = [
                (field, leaf, page)
                for field in (self._fields[number] for number in wanted)
                for leaf in range(len(field.paths))
                for page in self._pages(field.first_column + leaf).pages
            ]
            memory = Memory.of_table(self._limits)
            arrays = iter(
                self._run([self._read_all(field, leaf, page, memory) for field, leaf, page in jobs])
            )
            chunked = []
            for number in wanted:
                field = self._fields[number]
                leaves = [
                    [next(arrays) for _ in self._pages(field.first_column + leaf).pages]
                    for leaf in range(len(field.paths))
                ]
                chunked.append(_merge_chunks(field, leaves))
            return self._table(wanted, chunked, self._num_rows)

    def take(
        self, rows: Sequence[int] | np.ndarray, columns: Iterable[str] | None = None
    ) -> pa.Table:
        """Read single rows: only the chunks or values that hold them.

        Parameters
        ----------
        rows : sequence of int
            Numbers of rows in the order wanted; they may repeat.
        columns : list of str, optional
            Top-level names in the order wanted; all by default.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from pymosaic.lance import LanceFile, write_table
        >>> write_table(pa.table({"n": range(5000)}), "n.lance")
        >>> LanceFile("n.lance").take([4000, 17]).to_pydict()
        {'n': [4000, 17]}
        """
        wanted = self._resolve(columns)
        numbers = self._check_rows(rows)
        with located(self._source.name):
            order = np.argsort(numbers, kind="stable")
            is_sorted = bool((order == np.arange(len(order))).all())
            ascending = numbers[order]
            readings: list[_Reading] = []
            counts: list[int] = []
            memory = Memory.of_table(self._limits)
            for number in wanted:
                field = self._fields[number]
                for leaf in range(len(field.paths)):
                    column = self._pages(field.first_column + leaf)
                    before = len(readings)
                    readings += [
                        self._take_from(group, field.paths[leaf], memory)
                        for group in _alike(column, ascending, self._num_rows)
                    ]
                    counts.append(len(readings) - before)
            arrays = iter(self._run(readings))
            columns_read = []
            leaf_counts = iter(counts)
            for number in wanted:
                field = self._fields[number]
                leaves = []
                for path in field.paths:
                    pieces = [next(arrays) for _ in range(next(leaf_counts))]
                    leaves.append(_concatenate(pieces, path.types[0]))
                columns_read.append(merge(field.node, leaves))
            table = self._table(wanted, columns_read, len(numbers))
            if is_sorted or not wanted:
                return table
            back = np.empty(len(order), np.int64)
            back[order] = np.arange(len(order))
            return table.take(pa.array(back))

    def iter_batches(
        self, batch_size: int = 65536, columns: Iterable[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Read in batches of at most ``batch_size`` rows, a page of each column at a time.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from pymosaic.lance import LanceFile, write_table
        >>> write_table(pa.table({"n": range(5)}), "five.lance")
        >>> [batch.num_rows for batch in LanceFile("five.lance").iter_batches(batch_size=2)]
        [2, 2, 1]
        """
        # Not every caller checks types.
        if not isinstance(batch_size, int) or batch_size < 1:  # type: ignore[redundant-expr]
            raise InvalidOptionError(f"batch_size must be an int of at least 1, got {batch_size!r}")
        return self._batches(self._resolve(columns), int(batch_size))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export all rows as an Arrow stream."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.iter_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(self, wanted: list[int], batch_size: int) -> Iterator[pa.RecordBatch]:
        fields = [self._fields[number] for number in wanted]
        schema = pa.schema([self._schema.field(number) for number in wanted], self._schema.metadata)
        leaves = [
            _LeafCursor(self._pages(field.first_column + leaf).pages, field, leaf)
            for field in fields
            for leaf in range(len(field.paths))
        ]
        row = 0
        while row < self._num_rows:
            with located(self._source.name):
                behind = [cursor for cursor in leaves if cursor.end <= row]
                for cursor in behind:
                    cursor.advance(row)
                memory = Memory.of_table(self._limits)
                arrays = self._run(
                    [self._read_all(c.field, c.leaf, c.page, memory) for c in behind]
                )
                for cursor, array in zip(behind, arrays, strict=True):
                    cursor.array = array
                end = min([row + batch_size, self._num_rows, *(c.end for c in leaves)])
                columns = []
                position = 0
                for field in fields:
                    own = leaves[position : position + len(field.paths)]
                    position += len(own)
                    columns.append(merge(field.node, [c.slice(row, end) for c in own]))
                batch = pa.RecordBatch.from_arrays(columns, schema=schema)
            yield batch if columns else _empty_batch(end - row, schema)
            row = end

    def _resolve(self, columns: Iterable[str] | None) -> list[int]:
        if columns is None:
            return list(range(len(self._fields)))
        if isinstance(columns, str):
            raise InvalidOptionError(
                f"columns must be a list of names, got the string {columns!r}: "
                f"write columns=[{columns!r}]"
            )
        wanted: dict[int, None] = {}
        for name in columns:
            number = self._by_name.get(name)
            if number is None:
                raise ColumnNotFoundError(_not_found(name, self._schema.names))
            wanted[number] = None
        return list(wanted)

    def _check_rows(self, rows: Sequence[int] | np.ndarray) -> np.ndarray:
        try:
            numbers = np.asarray(rows)
        except (TypeError, ValueError) as error:
            raise InvalidOptionError("rows must be a list of numbers") from error
        if numbers.ndim != 1 or (len(numbers) and not np.issubdtype(numbers.dtype, np.integer)):
            raise InvalidOptionError("rows must be a list of whole numbers")
        numbers = numbers.astype(np.int64)
        if len(numbers) and (numbers.min() < 0 or numbers.max() >= self._num_rows):
            wrong = numbers[(numbers < 0) | (numbers >= self._num_rows)][0]
            raise InvalidOptionError(f"row {wrong} is not one of the file's {self._num_rows}")
        return numbers

    def _pages(self, column: int) -> ColumnPages:
        pages = self._columns.get(column)
        if pages is None:
            position, size = self._places[column].tolist()
            content = self._reader.read(position, size, "column metadata")
            pages = parse_column(content, self._num_rows, self._source.size)
            self._columns[column] = pages
        return pages

    def _read_all(self, field: _Field, leaf: int, page: LancePage, table: Memory) -> _Reading:
        memory = Memory.of_page(self._limits, table)
        steps = read_page(page.layout, page.input(), field.paths[leaf], memory)
        return _Reading(steps, page.buffer_offsets, page.num_bytes)

    def _take_from(
        self, group: list[tuple[LancePage, np.ndarray]], path: LeafPath, table: Memory
    ) -> _Reading:
        memory = Memory.of_page(self._limits, table)
        inputs = [page.input(rows) for page, rows in group]
        layouts = [page.layout for page, _ in group if isinstance(page.layout, MiniBlockLayout)]
        if len(group) == 1:
            steps = read_page(group[0][0].layout, inputs[0], path, memory)
        else:
            steps = take_from_pages(layouts, inputs, path, memory)
        offsets = tuple(offset for page, _ in group for offset in page.buffer_offsets)
        return _Reading(steps, offsets, 0)

    def _run(self, readings: Sequence[_Reading]) -> list[pa.Array]:
        """Drive readings together: what all of them want next is fetched at once."""
        results: list[pa.Array] = [None] * len(readings)
        start = 0
        while start < len(readings):
            end, size = start, 0
            while end < len(readings) and (end == start or size < _FETCH_BYTES):
                size += readings[end].num_bytes
                end += 1
            self._run_together(readings, range(start, end), results)
            start = end
        return results

    def _run_together(
        self, readings: Sequence[_Reading], numbers: Iterable[int], results: list[pa.Array]
    ) -> None:
        waiting: list[tuple[int, list[Range]]] = []

        def advance(number: int, contents: list[memoryview] | None) -> None:
            steps = readings[number].steps
            try:
                wanted = next(steps) if contents is None else steps.send(contents)
            except StopIteration as stop:
                results[number] = stop.value
            else:
                waiting.append((number, wanted))

        for number in numbers:
            advance(number, None)
        while waiting:
            ranges: list[tuple[int, int]] = []
            for number, wanted in waiting:
                offsets = readings[number].buffer_offsets
                for buffer, offset, length in wanted:
                    ranges.append((offset if buffer == FILE else offsets[buffer] + offset, length))
            contents = self._source.read_ranges(ranges)
            now, waiting = waiting, []
            position = 0
            for number, wanted in now:
                advance(number, contents[position : position + len(wanted)])
                position += len(wanted)

    def _table(self, wanted: list[int], columns: list[Any], num_rows: int) -> pa.Table:
        schema = pa.schema([self._schema.field(number) for number in wanted], self._schema.metadata)
        if not wanted:
            return pa.Table.from_batches([_empty_batch(num_rows, schema)])
        return pa.Table.from_arrays(columns, schema=schema)


@dataclass(frozen=True, slots=True)
class _Reading:
    """A reading under way: where its buffers are, and how much of them it will want."""

    steps: Steps[pa.Array]
    buffer_offsets: tuple[int, ...]
    num_bytes: int


def _alike(
    column: ColumnPages, rows: np.ndarray, num_rows: int
) -> Iterator[list[tuple[LancePage, np.ndarray]]]:
    """Pages that hold rows, with the rows of each; such as can be taken from together."""
    group: list[tuple[LancePage, np.ndarray]] = []
    bounds = np.searchsorted(rows, [*column.first_rows, num_rows]).tolist()
    for page, start, end in zip(column.pages, bounds, bounds[1:], strict=False):
        if end == start:
            continue
        if group:
            first = group[0][0].layout
            if not (
                isinstance(first, MiniBlockLayout)
                and isinstance(page.layout, MiniBlockLayout)
                and mini_block.are_alike(first, page.layout)
            ):
                yield group
                group = []
        group.append((page, rows[start:end] - page.first_row))
    if group:
        yield group


class _TailReader:
    """Reads structures at the file's end; what came with the tail is not read again."""

    def __init__(self, source: Source, tail: memoryview, limits: Limits) -> None:
        self._source = source
        self._tail = tail
        self._start = source.size - len(tail)
        self._limits = limits

    def read(self, position: int, size: int, structure: str) -> bytes | memoryview:
        if position + size > self._source.size:
            raise CorruptFileError(
                f"{size} bytes from {position} do not lie inside the file", structure=structure
            )
        if size > self._limits.max_index_bytes:
            raise LimitExceededError(
                f"{size} bytes are above Limits.max_index_bytes ({self._limits.max_index_bytes})",
                structure=structure,
            )
        if position >= self._start:
            return self._tail[position - self._start : position - self._start + size]
        return self._source.read(position, size)


class _LeafCursor:
    """Goes through the pages of a leaf, one in memory at a time."""

    __slots__ = ("_next", "_pages", "array", "end", "field", "leaf", "page")

    def __init__(self, pages: tuple[LancePage, ...], field: _Field, leaf: int) -> None:
        self._pages = pages
        self._next = 0
        self.field = field
        self.leaf = leaf
        self.end = 0
        self.array: pa.Array = None
        self.page: LancePage

    def advance(self, row: int) -> None:
        """Go on to the page that holds a row; pages without rows are passed over."""
        while self.end <= row:
            self.page = self._pages[self._next]
            self.end = self.page.first_row + self.page.num_rows
            self._next += 1

    def slice(self, start: int, end: int) -> pa.Array:
        return self.array.slice(start - self.page.first_row, end - start)


def _leaf_names(node: FieldNode, prefix: str) -> list[str]:
    name = f"{prefix}{node.field.name}"
    if not node.children:
        return [name]
    return [leaf for child in node.children for leaf in _leaf_names(child, f"{name}.")]


def _concatenate(pieces: list[pa.Array], data_type: pa.DataType) -> pa.Array:
    if not pieces:
        return pa.array([], data_type) if not pa.types.is_map(data_type) else pa.nulls(0, data_type)
    if len(pieces) == 1:
        return pieces[0]
    try:
        return pa.concat_arrays(pieces)
    except pa.ArrowInvalid as error:
        raise LimitExceededError(str(error), structure="column") from error


def _merge_chunks(field: _Field, leaves: list[list[pa.Array]]) -> pa.ChunkedArray:
    """Bring leaves together whose pages may end at different rows."""
    data_type = field.node.field.type
    if len(leaves) == 1:
        return pa.chunked_array([merge(field.node, [chunk]) for chunk in leaves[0]], data_type)
    ends = [np.cumsum([len(chunk) for chunk in chunks]) for chunks in leaves]
    cuts = np.unique(np.concatenate(ends)).tolist()
    merged = []
    start = 0
    positions = [0] * len(leaves)
    for cut in cuts:
        pieces = []
        for number, chunks in enumerate(leaves):
            while ends[number][positions[number]] <= start:
                positions[number] += 1
            chunk = chunks[positions[number]]
            first = int(ends[number][positions[number]]) - len(chunk)
            pieces.append(chunk.slice(start - first, cut - start))
        if cut > start:
            merged.append(merge(field.node, pieces))
        start = cut
    return pa.chunked_array(merged, data_type)


def _empty_batch(num_rows: int, schema: pa.Schema) -> pa.RecordBatch:
    """Rows without columns."""
    return pa.RecordBatch.from_struct_array(
        pa.Array.from_buffers(pa.struct([]), num_rows, [None])
    ).replace_schema_metadata(schema.metadata)


def _not_found(name: object, names: list[str]) -> str:
    import difflib

    if not isinstance(name, str):
        return f"columns must hold names (str), got {name!r}"
    close = difflib.get_close_matches(name, names[:100_000], 3)
    hint = f" (closest: {', '.join(map(repr, close))})" if close else ""
    return f"columns: no column is named {name!r}{hint}; the file has {len(names)} columns"
