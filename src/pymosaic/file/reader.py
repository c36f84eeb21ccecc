"""Reading: open a file, plan what a request needs, read, decode.

::

    source (tail) ─► footer, schema block, index ─► plan ─► source ─► zstd ─► kernel ─► Arrow batch
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.arrow.restoring import restored_batch
from pymosaic.arrow.statistics import ColumnStatistics, make_statistics
from pymosaic.closing import Closing
from pymosaic.errors import (
    InvalidOptionError,
    located,
    printable,
)
from pymosaic.file.metadata import FileMetadata
from pymosaic.file.open_file import OpenFile, open_file
from pymosaic.file.original_schema import OriginalSchema
from pymosaic.file.projection import Positions, resolve_columns
from pymosaic.file.row_group_reader import RowGroupReader, Selection
from pymosaic.file.statistics import row_group_statistics
from pymosaic.io import SourceLike, open_source
from pymosaic.kernels.arrow_export import MemoryBudget
from pymosaic.keywords import checked_keywords
from pymosaic.limits import Limits

if TYPE_CHECKING:
    from pymosaic.file.matrix import Nulls
    from pymosaic.filters.row_filter import Filter

__all__ = ["MosaicFile", "Types", "opened", "read_metadata", "read_schema", "read_table"]

Types: TypeAlias = Literal["mosaic", "arrow"]


class MosaicFile(Closing):
    """An open Mosaic file.

    Opening reads the end of the file (footer, index, schema block), in one read for ordinary
    files. Columns are read on request, and only the buckets that hold them (or, in paged buckets,
    only the slots).

    Parameters
    ----------
    source : str, path-like, bytes-like or binary file object
        A path, a URI, the bytes of a file, or an open file (which stays open).
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of ``source``, which must then be a path.
    limits : Limits, optional
        Caps on what the file may demand.
    merge_gap : int, optional
        Byte ranges at most this many bytes apart share a read. By default 4 KiB for local files,
        where reads are cheap, and 1 MiB for object stores, where requests are not.
    types : {"arrow", "mosaic"}
        "arrow": the schema as it was written, from the annex of the file, with its metadata:
        dictionaries, unsigned and half-precision numbers, large, view and fixed-size variants,
        extension types. Files without it, as those of other writers, are read in the types that are
        stored. "mosaic": the types that columns are stored in, without metadata.
    trust_statistics : bool
        Whether a filter may skip row groups by statistics that no checksum covers, as in files of
        other writers; see :func:`pymosaic.read_table`.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> pymosaic.write_table(pa.table({"age": [31, 52], "name": ["Ann", "Bo"]}), "people.mosaic")
    >>> with pymosaic.MosaicFile("people.mosaic") as file:
    ...     print(file.num_rows, file.column_names)
    ...     print(file.read(columns=["name"]).to_pydict())
    2 ['age', 'name']
    {'name': ['Ann', 'Bo']}
    """

    @checked_keywords()
    def __init__(
        self,
        source: SourceLike,
        *,
        filesystem: object = None,
        limits: Limits | None = None,
        merge_gap: int | None = None,
        types: Types = "arrow",
        trust_statistics: bool = False,
    ) -> None:
        if types not in ("mosaic", "arrow"):
            raise InvalidOptionError(f"types must be 'mosaic' or 'arrow', got {types!r}")
        if limits is None:
            limits = Limits()
        elif not isinstance(limits, Limits):
            raise InvalidOptionError(f"limits must be a pymosaic.Limits, got {limits!r}")
        if merge_gap is not None and (
            not isinstance(merge_gap, Integral) or isinstance(merge_gap, bool) or merge_gap < 0
        ):
            raise InvalidOptionError(f"merge_gap must be an int of at least 0, got {merge_gap!r}")
        self._source = open_source(source, filesystem)
        if merge_gap is not None:
            self._source.merge_gap = int(merge_gap)
        self._schema: pa.Schema | None = None
        self._trust_statistics = bool(trust_statistics)
        try:
            self._opened = open_file(self._source, limits)
        except BaseException:
            self._source.close()
            raise
        original = OriginalSchema(self._opened)
        self._original = original if types == "arrow" and original.is_kept else None

    def close(self) -> None:
        """Close the file. Data already read stays valid; a caller's file object stays open."""
        self._source.close()

    def __repr__(self) -> str:
        return (
            f"<pymosaic.MosaicFile {printable(self._opened.name or 'in memory')}: "
            f"{self.num_rows} rows, "
            f"{self.num_columns} columns, {self.num_row_groups} row groups, "
            f"{self.num_buckets} buckets>"
        )

    @property
    def num_rows(self) -> int:
        """Number of rows in all row groups."""
        return self._opened.index.num_rows

    @property
    def num_columns(self) -> int:
        """Number of columns."""
        return self._opened.catalog.num_columns

    @property
    def num_row_groups(self) -> int:
        """Number of row groups."""
        return self._opened.index.num_row_groups

    @property
    def num_buckets(self) -> int:
        """Number of buckets."""
        return self._opened.catalog.num_buckets

    @property
    def column_names(self) -> list[str]:
        """Column names in the order in which they were written."""
        names = self._opened.catalog.names()
        return [names[position] for position in self._opened.catalog.original_order()]

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema, with columns in the order in which they were written."""
        if self._schema is None:
            catalog = self._opened.catalog
            self._schema = self._schema_of(Selection(catalog, catalog.original_order()))
        return self._schema

    def _schema_of(self, selection: Selection) -> pa.Schema:
        """The schema in which columns are read."""
        with located(self._opened.name):
            if self._original is None:
                return selection.import_schema()
            return self._original.schema(selection)

    @property
    def metadata(self) -> FileMetadata:
        """The structure of the file: row groups, buckets, layouts, encodings and sizes."""
        return FileMetadata(self._opened)

    def _import_schema(self, positions: Positions) -> pa.Schema:
        with located(self._opened.name):
            return Selection(self._opened.catalog, positions).import_schema()

    def statistics(self, row_group: int) -> dict[str, ColumnStatistics]:
        """Statistics of a row group by column name; only columns that have statistics.

        They are as stored: :attr:`FileMetadata.guarded` tells whether a checksum covers them.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"age": [31, 52]}), "ages.mosaic", statistics=True)
        >>> pymosaic.MosaicFile("ages.mosaic").statistics(0)["age"].max
        52
        """
        with located(self._opened.name):
            num_rows = self._opened.index.row_count(row_group)
            entries = self._opened.index.statistics(row_group)
            schema = self._import_schema(np.array([entry[0] for entry in entries], np.int64))
            return {
                field.name: make_statistics(field.type, nulls, num_rows, low, high)
                for field, (_, nulls, low, high) in zip(schema, entries, strict=True)
            }

    @checked_keywords()
    def read(
        self,
        columns: Iterable[str] | None = None,
        filters: object = None,
        use_threads: bool = True,
    ) -> pa.Table:
        """Read columns and rows of the whole file; see :func:`pymosaic.read_table`."""
        return self._table(_resolve(self._opened, columns), filters, None, use_threads)

    @checked_keywords()
    def read_row_group(
        self, row_group: int, columns: Iterable[str] | None = None, use_threads: bool = True
    ) -> pa.Table:
        """Read columns of one row group."""
        return self._table(_resolve(self._opened, columns), None, [row_group], use_threads)

    def _table(
        self,
        selection: Selection,
        filters: object,
        row_groups: Iterable[int] | None,
        use_threads: bool,
    ) -> pa.Table:
        budget = MemoryBudget(self._opened.limits.max_table_bytes)
        batches = list(self._batches(selection, filters, row_groups, use_threads, budget))
        return pa.Table.from_batches(batches, self._schema_of(selection))

    @checked_keywords()
    def iter_batches(
        self,
        batch_size: int = 65536,
        columns: Iterable[str] | None = None,
        filters: object = None,
        row_groups: Iterable[int] | None = None,
        use_threads: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """Read row group by row group, in batches of at most ``batch_size`` rows.

        One row group is in memory at a time.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"n": range(5)}), "five.mosaic")
        >>> with pymosaic.MosaicFile("five.mosaic") as file:
        ...     [batch.num_rows for batch in file.iter_batches(batch_size=2)]
        [2, 2, 1]
        """
        # Not every caller checks types.
        if not isinstance(batch_size, int) or batch_size < 1:  # type: ignore[redundant-expr]
            raise InvalidOptionError(f"batch_size must be an int of at least 1, got {batch_size!r}")
        batches = self._batches(_resolve(self._opened, columns), filters, row_groups, use_threads)
        return _sliced(batches, int(batch_size))

    @checked_keywords()
    def to_numpy(
        self,
        columns: Iterable[str] | None = None,
        *,
        filters: object = None,
        dtype: npt.DTypeLike = "float32",
        nulls: Nulls = "nan",
        order: Literal["C", "F"] = "C",
        out: npt.NDArray[Any] | None = None,
        use_threads: bool = True,
    ) -> tuple[npt.NDArray[Any], list[str]]:
        """Read columns of numbers into a matrix: a row for each row, a column for each column.

        Values are decoded straight into the matrix. Decimals are divided by their scale, dates
        become days since 1970, booleans 0 and 1; other types are refused by name before anything
        is read.

        Parameters
        ----------
        columns, filters, use_threads
            As for :func:`pymosaic.read_table`.
        dtype : "float32", "float64", "int32" or "int64"
            Type of the numbers. Floats are rounded to it; whole numbers must hold every value of a
            column's type.
        nulls : "nan", "mask", "error" or a number
            What becomes of nulls: NaN, a :class:`numpy.ma.MaskedArray`, an error that names the
            column, or a number that stands for them.
        order : {"C", "F"}
            Whether the numbers of a row ("C") or of a column ("F") lie side by side.
        out : numpy array, optional
            Memory for the matrix, of the right shape and ``dtype``.

        Returns
        -------
        (numpy array, list of str)
            The matrix, and the names of its columns.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"x": [1, 2], "y": [0.5, None]}), "points.mosaic")
        >>> matrix, names = pymosaic.MosaicFile("points.mosaic").to_numpy()
        >>> names
        ['x', 'y']
        >>> matrix
        array([[1. , 0.5],
               [2. , nan]], dtype=float32)
        """
        from pymosaic.file.matrix import Matrix, MatrixType, Rows, check_numbers

        kind = MatrixType.of(dtype, nulls, order)
        file = self._opened
        positions = _resolve(file, columns).positions
        row_filter = None if filters is None else self._row_filter(filters)
        with located(file.name):
            check_numbers(file.catalog, positions, kind.dtype)
            # Readers are made anew below: these keep what they have read.
            parts: list[tuple[int, Rows, int]] = []
            for row_group in range(self.num_row_groups):
                reader = RowGroupReader(file, row_group, use_threads)
                rows: Rows = None
                if row_filter is not None:
                    if row_filter.excludes(reader, row_group):
                        continue
                    rows = row_filter.rows(reader)
                parts.append((row_group, rows, reader.num_rows if rows is None else len(rows)))
            total = sum(count for _, _, count in parts)
            names = file.catalog.names()
            chosen = [names[position] for position in positions]
            matrix = Matrix(kind, chosen, total, out, file.limits.max_table_bytes)
            places = np.arange(len(chosen), dtype=np.int64)
            first = 0
            for row_group, rows, count in parts:
                if count:
                    reader = RowGroupReader(file, row_group, use_threads)
                    matrix.fill(reader, positions, places, first, rows)
                    first += count
        return matrix.result()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export all rows as an Arrow stream, row group by row group."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.iter_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(
        self,
        selection: Selection,
        filters: object,
        row_groups: Iterable[int] | None,
        use_threads: bool,
        budget: MemoryBudget | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Check the request now, then read one row group after another."""
        if isinstance(row_groups, Integral):
            raise InvalidOptionError(
                f"row_groups must be a list of numbers, got {row_groups!r}: "
                f"write row_groups=[{row_groups!r}]"
            )
        wanted = range(self.num_row_groups) if row_groups is None else list(row_groups)
        for row_group in wanted:
            self._opened.index.row_count(row_group)
        row_filter = None if filters is None else self._row_filter(filters)
        return self._generate(selection, row_filter, wanted, use_threads, budget)

    def _restoring(
        self, selection: Selection, original: OriginalSchema
    ) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        with located(self._opened.name):
            schema, changed = original.described(selection)
            dictionaries = original.dictionaries(selection.positions) if changed else {}
        limit = self._opened.limits.max_row_group_bytes
        return lambda batch: restored_batch(batch, schema, changed, dictionaries, limit)

    def _row_filter(self, filters: object) -> _RowFilter | None:
        # pyarrow.compute, which filters need, takes a quarter of the import time of the whole
        # package.
        from pymosaic.filters.tuples import parse_filters

        parsed = parse_filters(filters)
        return None if parsed is None else _RowFilter(self._opened, parsed, self._trust_statistics)

    def _generate(
        self,
        selection: Selection,
        row_filter: _RowFilter | None,
        row_groups: Iterable[int],
        use_threads: bool,
        budget: MemoryBudget | None,
    ) -> Iterator[pa.RecordBatch]:
        restore = None if self._original is None else self._restoring(selection, self._original)
        for row_group in row_groups:
            with located(self._opened.name):
                reader = RowGroupReader(self._opened, row_group, use_threads, budget)
                if reader.num_rows == 0:
                    continue
                if row_filter is None:
                    batch = reader.read(selection)
                else:
                    selected = row_filter.read(reader, row_group, selection)
                    if selected is None:
                        continue
                    batch = selected
                if restore is not None:
                    batch = restore(batch)
            yield batch


def opened(file: MosaicFile) -> OpenFile:
    """The opened file, for other modules of this package."""
    return file._opened


def _resolve(file: OpenFile, columns: Iterable[str] | None, option: str = "columns") -> Selection:
    return Selection(file.catalog, resolve_columns(columns, file.catalog, option))


class _RowFilter:
    """A filter bound to a file: prunes row groups, then selects rows."""

    def __init__(self, file: OpenFile, row_filter: Filter, trust_statistics: bool) -> None:
        self._file = file
        self._trusted = trust_statistics
        self._filter = row_filter
        self._tested = _resolve(file, row_filter.columns, "filters")
        schema = self._tested.import_schema()
        if schema.names != list(row_filter.columns):
            raise InvalidOptionError("filters: give exact column names, not patterns")
        self._types = {field.name: field.type for field in schema}
        self._filter.validate(self._types)

    def read(
        self, reader: RowGroupReader, row_group: int, selection: Selection
    ) -> pa.RecordBatch | None:
        """The matching rows of a row group, or None."""
        if self.excludes(reader, row_group):
            return None
        return reader.read_matching(selection, self._filter, self._tested)

    def excludes(self, reader: RowGroupReader, row_group: int) -> bool:
        """Whether statistics show that no row of a row group matches."""

        def statistics(name: str) -> ColumnStatistics | None:
            return row_group_statistics(
                self._file, row_group, name, self._types[name], self._trusted
            )

        return self._filter.excludes(statistics, reader.num_rows)

    def rows(self, reader: RowGroupReader) -> npt.NDArray[np.int64] | None:
        """The numbers of the matching rows of a row group; None for all."""
        return reader.matching_rows(self._filter, self._tested)


def _sliced(batches: Iterator[pa.RecordBatch], batch_size: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, batch_size):
            yield batch.slice(start, batch_size)


@checked_keywords()
def read_table(
    source: SourceLike,
    *,
    columns: Iterable[str] | None = None,
    filters: object = None,
    use_threads: bool = True,
    filesystem: object = None,
    limits: Limits | None = None,
    types: Types = "arrow",
    trust_statistics: bool = False,
) -> pa.Table:
    """Read a Mosaic file into an Arrow table.

    Parameters
    ----------
    source : str, path-like, bytes-like or binary file object
        A path, a URI, the bytes of a file, or an open file.
    columns : list of str, optional
        Names in the wanted order, or patterns such as ``"sensor_temp_*"``. A column's own name
        always selects that column; any other entry with a ``*`` is a pattern. An empty list keeps
        the row count.
    filters : list of tuples, or list of lists of tuples, optional
        Rows to keep, as in :func:`pyarrow.parquet.read_table`: ``[("age", ">", 50)]``; inner lists
        are joined by AND, the outer one by OR. Operators: ``= == != < <= > >= in not in`` and
        ``("age", "is null")``, ``("age", "is not null")``. A comparison with null is never true.
    use_threads : bool
        Decode buckets on several threads.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of ``source``, which must then be a path.
    limits : Limits, optional
        Caps on what the file may demand.
    types : {"arrow", "mosaic"}
        "arrow": the schema as it was written, from the annex of the file, with its metadata:
        dictionaries, unsigned and half-precision numbers, large, view and fixed-size variants,
        extension types. Files without it, as those of other writers, are read in the types that are
        stored. "mosaic": the types that columns are stored in, without metadata.
    trust_statistics : bool
        Whether a filter may skip row groups by statistics that no checksum covers, as in files of
        other writers. A flipped bit in them could hide rows, so that by default the columns of the
        filter are read instead. Files with an annex, which pymosaic writes by default, need no
        trust.

    Returns
    -------
    pyarrow.Table
        One chunk per row group.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> table = pa.table(
    ...     {"city": ["Oslo", "Rome", None], "temp_1": [3, 17, 8], "temp_2": [4, 18, 9]}
    ... )
    >>> pymosaic.write_table(table, "weather.mosaic")
    >>> pymosaic.read_table("weather.mosaic", columns=["temp_*"], filters=[("city", "==", "Rome")])
    pyarrow.Table
    temp_1: int64
    temp_2: int64
    ----
    temp_1: [[17]]
    temp_2: [[18]]
    """
    with MosaicFile(
        source,
        filesystem=filesystem,
        limits=limits,
        types=types,
        trust_statistics=trust_statistics,
    ) as file:
        return file.read(columns, filters, use_threads)


@checked_keywords()
def read_schema(
    source: SourceLike,
    *,
    filesystem: object = None,
    limits: Limits | None = None,
    types: Types = "arrow",
) -> pa.Schema:
    """Read the Arrow schema of a file; for ``types``, see :func:`pymosaic.read_table`.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> pymosaic.write_table(pa.table({"age": [31]}), "one.mosaic")
    >>> pymosaic.read_schema("one.mosaic")
    age: int64
    """
    with MosaicFile(source, filesystem=filesystem, limits=limits, types=types) as file:
        return file.schema


@checked_keywords()
def read_metadata(
    source: SourceLike, *, filesystem: object = None, limits: Limits | None = None
) -> FileMetadata:
    """Read the structure of a file; see :class:`pymosaic.FileMetadata`.

    The file stays open as long as the result exists: encodings are read on request.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> pymosaic.write_table(pa.table({"age": [31]}), "one.mosaic")
    >>> pymosaic.read_metadata("one.mosaic").num_rows
    1
    """
    return MosaicFile(source, filesystem=filesystem, limits=limits).metadata
