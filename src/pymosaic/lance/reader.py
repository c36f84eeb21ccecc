"""Read Lance files: :class:`LanceFile`.

::

    source (tail) ─► footer, descriptor ─► schema, leaves ─► column metadata (of wanted columns)
    wanted columns, rows ─► one reading a page (see pymosaic.pages) ─► ranges of all ─► source
                                                             └─◄ bytes ◄──────────────────┘
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pymosaic.arrow.row_sizes import row_sizes
from pymosaic.arrow.rows import take_rows
from pymosaic.closing import Closing
from pymosaic.errors import (
    ColumnNotFoundError,
    InvalidOptionError,
    LimitExceededError,
    located,
)
from pymosaic.io import SourceLike, open_source
from pymosaic.lance.columns import LancePage
from pymosaic.lance.opening import FieldColumns, FileParts, open_parts
from pymosaic.lance.page_reading import (
    LeafCursor,
    PageRead,
    concatenate,
    merge_chunks,
    read_all,
    read_whole,
    run_page_reads,
    take_from_column,
)
from pymosaic.limits import DEFAULT_LIMITS, Limits
from pymosaic.pages.blocks import Integers, Memory
from pymosaic.pages.nesting import leaf_names, merge
from pymosaic.suggestions import did_you_mean, quote

__all__ = ["LanceFile"]


class LanceFile(Closing):
    """A Lance data file, version 2.1 or 2.2.

    Parameters
    ----------
    source : str, path-like, bytes-like or binary file object
        A path, a URI, the bytes of a file, or an open file.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of ``source``, which must then be a path.
    limits : Limits, optional
        Caps on what the file may demand; a page counts as a row group.

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
            limits = DEFAULT_LIMITS
        elif not isinstance(limits, Limits):
            raise InvalidOptionError(f"limits must be a pymosaic.Limits, got {limits!r}")
        self._source = open_source(source, filesystem)
        try:
            with located(self._source.name):
                self._parts: FileParts = open_parts(self._source, limits)
        except BaseException:
            self._source.close()
            raise
        names = self._parts.schema.names
        self._by_name = dict(zip(names, range(len(names)), strict=True))

    def close(self) -> None:
        """Close the file. Data already read stays valid; a caller's file object stays open."""
        self._source.close()

    def __repr__(self) -> str:
        return (
            f"<pymosaic.lance.LanceFile {self._source.name or 'in memory'}: version "
            f"{self.version}, {self.num_rows} rows, {self.num_columns} columns>"
        )

    @property
    def version(self) -> str:
        """Version of the format: ``"2.1"`` or ``"2.2"``."""
        return self._parts.footer.version

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self._parts.num_rows

    @property
    def num_columns(self) -> int:
        """Number of stored columns: one for each leaf of the schema."""
        return self._parts.footer.num_columns

    @property
    def column_names(self) -> list[str]:
        """Names of the top-level fields."""
        return list(self._parts.schema.names)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema."""
        with located(self._source.name):
            return self._parts.schema.whole()

    def leaves(self, column: str) -> list[str]:
        """Paths of the stored columns of a top-level column, such as ``point.x``.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from pymosaic.lance import LanceFile, write_table
        >>> write_table(pa.table({"point": [{"x": 1, "y": 2}]}), "points.lance")
        >>> LanceFile("points.lance").leaves("point")
        ['point.x', 'point.y']
        """
        return leaf_names(self._top_level(column).node)

    def pages(self, column: str, leaf: int = 0) -> tuple[LancePage, ...]:
        """Pages of a column: rows, layout and tree of encodings, buffers.

        Parameters
        ----------
        column : str
            A top-level column.
        leaf : int
            Index of the stored column in :meth:`leaves`.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from pymosaic.lance import LanceFile, write_table
        >>> write_table(pa.table({"n": range(5000)}), "n.lance")
        >>> LanceFile("n.lance").pages("n")[0].layout.value_compression
        InlineBitpacking(uncompressed_bits_per_value=64, values=None)
        """
        field = self._top_level(column)
        if not 0 <= leaf < len(field.paths):
            raise InvalidOptionError(f"leaf must be from 0 to {len(field.paths) - 1}, got {leaf!r}")
        with located(self._source.name):
            return self._parts.pages(field, leaf).pages

    def read(self, columns: Iterable[str] | None = None) -> pa.Table:
        """Read whole columns.

        Parameters
        ----------
        columns : list of str, optional
            Names in the order wanted, of top-level columns or of what is inside them, as
            :meth:`leaves` has them (``point.x``, or ``point`` for all of it); all by default.

        Returns
        -------
        pyarrow.Table
            One chunk per page.
        """
        wanted = self._resolve(columns)
        parts = self._parts
        with located(self._source.name):
            parts.expect(wanted)
            pages = [
                (page, path)
                for field in wanted
                for leaf, path in enumerate(field.paths)
                for page in parts.pages(field, leaf).pages
            ]
            memory = Memory.of_table(parts.limits)
            arrays = iter(read_all(pages, parts.limits, memory, self._source))
            merged = []
            for field in wanted:
                leaves = [
                    [next(arrays) for _ in parts.pages(field, leaf).pages]
                    for leaf in range(len(field.paths))
                ]
                merged.append(merge_chunks(field.node, leaves))
            return self._table(wanted, merged, parts.num_rows)

    def take(
        self, rows: Sequence[int] | np.ndarray, columns: Iterable[str] | None = None
    ) -> pa.Table:
        """Read single rows; only the chunks or values that hold them are read.

        Parameters
        ----------
        rows : sequence of int
            Row numbers in the wanted order; they may repeat.
        columns : list of str, optional
            Names in the order wanted, as for :meth:`read`; all by default.

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
        if not len(numbers) or bool((np.diff(numbers) > 0).all()):
            return self._take_ascending(wanted, numbers)
        # A row is read once, however often it is wanted.
        distinct, places = np.unique(numbers, return_inverse=True)
        table = self._take_ascending(wanted, distinct)
        if not wanted:
            return self._table(wanted, [], len(numbers))
        return self._repeat(table, places, len(distinct) < len(numbers))

    def _repeat(self, table: pa.Table, places: Integers, is_more: bool) -> pa.Table:
        """Rows of a table in another order, and perhaps more than once."""
        with located(self._source.name):
            if is_more:
                memory = Memory.of_table(self._parts.limits)
                for column in table.columns:
                    sizes = np.concatenate([row_sizes(chunk) for chunk in column.chunks])
                    _check_offsets(column.type, total := int(sizes[places].sum()), len(places))
                    memory.charge(total)
            try:
                return take_rows(table, pa.array(places))
            except pa.ArrowInvalid as error:  # 32-bit offsets overflow
                raise LimitExceededError(f"{error}: take fewer rows", structure="rows") from error

    def _take_ascending(self, wanted: list[FieldColumns], rows: Integers) -> pa.Table:
        parts = self._parts
        with located(self._source.name):
            parts.expect(wanted)
            memory = Memory.of_table(parts.limits)
            page_reads: list[PageRead] = []
            counts: list[int] = []
            for field in wanted:
                for leaf, path in enumerate(field.paths):
                    column = parts.pages(field, leaf)
                    taken = take_from_column(
                        column, path, rows, parts.num_rows, parts.limits, memory
                    )
                    page_reads += taken
                    counts.append(len(taken))
            arrays = iter(run_page_reads(page_reads, self._source))
            pieces = iter(counts)
            merged = []
            for field in wanted:
                leaves = [
                    concatenate([next(arrays) for _ in range(next(pieces))], path.types[0])
                    for path in field.paths
                ]
                merged.append(merge(field.node, leaves))
            return self._table(wanted, merged, len(rows))

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

    def _batches(self, wanted: list[FieldColumns], batch_size: int) -> Iterator[pa.RecordBatch]:
        parts = self._parts
        fields = wanted
        schema = self._schema_of(wanted)
        with located(self._source.name):
            cursors = [
                [
                    LeafCursor(parts.pages(field, leaf).pages, path)
                    for leaf, path in enumerate(field.paths)
                ]
                for field in fields
            ]
        leaves = [cursor for own in cursors for cursor in own]
        row = 0
        while row < parts.num_rows:
            with located(self._source.name):
                self._advance([cursor for cursor in leaves if cursor.end <= row], row)
                end = min([row + batch_size, parts.num_rows, *(cursor.end for cursor in leaves)])
                columns = [
                    merge(field.node, [cursor.slice(row, end) for cursor in own])
                    for field, own in zip(fields, cursors, strict=True)
                ]
            if columns:
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
            else:
                yield _empty_batch(end - row, schema)
            row = end

    def _advance(self, cursors: list[LeafCursor], row: int) -> None:
        """Read the pages that hold a row."""
        memory = Memory.of_table(self._parts.limits)
        page_reads = []
        for cursor in cursors:
            cursor.advance(row)
            page_reads.append(read_whole(cursor.page, cursor.path, self._parts.limits, memory))
        arrays = run_page_reads(page_reads, self._source)
        for cursor, array in zip(cursors, arrays, strict=True):
            cursor.array = array

    def _top_level(self, name: str) -> FieldColumns:
        number = self._by_name.get(name)
        if number is None:
            raise ColumnNotFoundError(_not_found(name, self._parts.schema.names))
        with located(self._source.name):
            return self._parts.field(number)

    def _resolve(self, columns: Iterable[str] | None) -> list[FieldColumns]:
        parts = self._parts
        if isinstance(columns, str):
            raise InvalidOptionError(
                f"columns must be a list of names, got the string {columns!r}: "
                f"write columns=[{columns!r}]"
            )
        # For each top-level field the leaves that are wanted; None for all of them.
        wanted: dict[int, set[int] | None] = {}
        for name in parts.schema.names if columns is None else columns:
            number = self._by_name.get(name)
            if number is not None:
                wanted[number] = None
                continue
            number, leaves = self._leaves_below(name)
            known = wanted.setdefault(number, set())
            if known is not None:
                known |= leaves
        with located(self._source.name):
            return [
                parts.field(number) if leaves is None else parts.field(number).part(leaves)
                for number, leaves in wanted.items()
            ]

    def _leaves_below(self, path: object) -> tuple[int, set[int]]:
        """The top-level field that a path such as ``point.x`` leads into, and its leaves there."""
        top = path.partition(".")[0] if isinstance(path, str) else path
        number = self._by_name.get(top) if isinstance(top, str) else None
        if number is not None:
            with located(self._source.name):
                names = leaf_names(self._parts.field(number).node)
            leaves = {
                leaf
                for leaf, name in enumerate(names)
                if name == path or name.startswith(f"{path}.")
            }
            if leaves:
                return number, leaves
        raise ColumnNotFoundError(_not_found(path, self._parts.schema.names))

    def _check_rows(self, rows: Sequence[int] | np.ndarray) -> Integers:
        num_rows = self._parts.num_rows
        try:
            numbers = np.asarray(rows)
        except (TypeError, ValueError) as error:
            raise InvalidOptionError("rows must be a list of numbers") from error
        if numbers.ndim != 1 or (len(numbers) and not np.issubdtype(numbers.dtype, np.integer)):
            raise InvalidOptionError("rows must be a list of integers")
        numbers = numbers.astype(np.int64)
        if len(numbers) and (numbers.min() < 0 or numbers.max() >= num_rows):
            wrong = numbers[(numbers < 0) | (numbers >= num_rows)][0]
            raise InvalidOptionError(f"row {wrong} does not exist: the file has {num_rows} rows")
        return numbers

    def _schema_of(self, wanted: list[FieldColumns]) -> pa.Schema:
        return pa.schema([field.node.field for field in wanted], self._parts.schema.metadata)

    def _table(self, wanted: list[FieldColumns], columns: list[Any], num_rows: int) -> pa.Table:
        schema = self._schema_of(wanted)
        if not wanted:
            return pa.Table.from_batches([_empty_batch(num_rows, schema)])
        return pa.Table.from_arrays(columns, schema=schema)


def _check_offsets(data_type: pa.DataType, num_bytes: int, num_rows: int) -> None:
    """Raise early for strings; Arrow would say it only after gigabytes."""
    if pa.types.is_string(data_type) or pa.types.is_binary(data_type):
        num_bytes -= 4 * num_rows
        if num_bytes > np.iinfo(np.int32).max:
            raise LimitExceededError(
                f"the rows have {num_bytes} bytes, more than 32-bit offsets can address: "
                "take fewer",
                structure="rows",
            )


def _empty_batch(num_rows: int, schema: pa.Schema) -> pa.RecordBatch:
    """Rows without columns."""
    return pa.RecordBatch.from_struct_array(
        pa.Array.from_buffers(pa.struct([]), num_rows, [None])
    ).replace_schema_metadata(schema.metadata)


def _not_found(name: object, names: list[str]) -> str:
    if not isinstance(name, str):
        return f"columns must contain names (str), got {name!r}"
    return (
        f"columns: no column is named {quote(name)}{did_you_mean(name, names)}; "
        f"the file has {len(names)} columns"
    )
