"""Reading: open a file, plan what a request needs, read, decode.

::

    source (tail) ─► footer, schema block, index ─► plan ─► source ─► zstd ─► kernel ─► Arrow batch
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from copy import copy
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.closing import Closing
from pymosaic.errors import (
    InvalidOptionError,
    located,
    printable,
)
from pymosaic.file.open_file import OpenFile, open_file
from pymosaic.file.projection import Columns, Positions, named, resolve_columns
from pymosaic.file.row_group_reader import RowGroupReader, Selection
from pymosaic.format.row_group_index import rows_of
from pymosaic.io import SourceLike, open_source
from pymosaic.io.missing import told_if_missing
from pymosaic.kernels.arrow_export import MemoryBudget
from pymosaic.keywords import checked_keywords
from pymosaic.limits import DEFAULT_LIMITS, Limits
from pymosaic.sizes import format_size
from pymosaic.threads import read_ahead

if TYPE_CHECKING:
    from pymosaic.arrow.statistics import ColumnStatistics
    from pymosaic.file.file_filter import FileFilter
    from pymosaic.file.matrix import Nulls
    from pymosaic.file.metadata import FileMetadata
    from pymosaic.file.original_schema import OriginalSchema
    from pymosaic.file.taking import Indices
    from pymosaic.filters.given import Filters
    from pymosaic.picture import Picture
    from pymosaic.profiling.profile import Profile
    from pymosaic.progress import Progress

__all__ = ["MosaicFile", "Types", "in_stored_types", "opened", "schema_metadata"]

Types: TypeAlias = Literal["mosaic", "arrow"]
# Reading ahead: the row group that the caller works on, and the next.
_ROW_GROUPS_AT_ONCE = 2


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
            limits = DEFAULT_LIMITS
        elif not isinstance(limits, Limits):
            raise InvalidOptionError(f"limits must be a pymosaic.Limits, got {limits!r}")
        if merge_gap is not None and (
            not isinstance(merge_gap, Integral) or isinstance(merge_gap, bool) or merge_gap < 0
        ):
            raise InvalidOptionError(f"merge_gap must be an int of at least 0, got {merge_gap!r}")
        try:
            self._source = open_source(source, filesystem)
        except OSError:
            with told_if_missing(source):
                raise
        if merge_gap is not None:
            self._source.merge_gap = int(merge_gap)
        self._schema: pa.Schema | None = None
        self._closed = False
        self._trust_statistics = bool(trust_statistics)
        try:
            self._opened = open_file(self._source, limits)
        except BaseException:
            self._source.close()
            raise
        self._original = _original_schema(self._opened) if types == "arrow" else None

    def close(self) -> None:
        """Close the file. Data already read stays valid; a caller's file object stays open."""
        self._source.close()
        self._closed = True

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._closed

    def __repr__(self) -> str:
        return (
            f"<pymosaic.MosaicFile {printable(self._opened.name or 'in memory')}: "
            f"{self.num_rows} rows, "
            f"{self.num_columns} columns, {self.num_row_groups} row groups, "
            f"{self.num_buckets} buckets>"
        )

    def _repr_html_(self) -> str:
        from pymosaic.notebook import facts_html, schema_summary

        metadata = self.metadata
        return facts_html(
            f"Mosaic file {self._opened.name or 'in memory'}",
            [
                ("rows", f"{self.num_rows:,}"),
                *schema_summary(self.schema.names, self.schema.types),
                ("row groups", f"{self.num_row_groups:,} of {self.num_buckets:,} buckets"),
                ("size", f"{format_size(metadata.file_size)}, {metadata.compression}"),
            ],
        )

    def view(self, *, samples: int = 5, title: str | None = None) -> Picture:
        """A picture of the file, which notebooks show; see :func:`pymosaic.view`.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"n": range(9)}), "nine.mosaic")
        >>> with pymosaic.MosaicFile("nine.mosaic") as file:
        ...     picture = file.view()
        >>> picture.title
        'nine.mosaic'
        """
        from pymosaic.picture import picture_of

        return picture_of(self, title, samples=samples)

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
        from pymosaic.file.metadata import FileMetadata

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
        from pymosaic.arrow.statistics import make_statistics

        with located(self._opened.name):
            num_rows = rows_of(self._opened.index, row_group)
            entries = self._opened.index.statistics(row_group)
            schema = self._import_schema(np.array([entry[0] for entry in entries], np.int64))
            return {
                field.name: make_statistics(field.type, nulls, num_rows, low, high)
                for field, (_, nulls, low, high) in zip(schema, entries, strict=True)
            }

    @checked_keywords()
    def read(
        self,
        columns: Columns | None = None,
        filters: Filters | None = None,
        use_threads: bool = True,
        *,
        exclude: Columns | None = None,
    ) -> pa.Table:
        """Read columns and rows of the whole file; see :func:`pymosaic.read_table`."""
        return self._table(self._select(columns, exclude), filters, None, use_threads)

    @checked_keywords()
    def read_row_group(
        self,
        row_group: int,
        columns: Columns | None = None,
        use_threads: bool = True,
        *,
        filters: Filters | None = None,
        exclude: Columns | None = None,
    ) -> pa.Table:
        """Read columns of one row group; see :func:`pymosaic.read_table`."""
        return self._table(self._select(columns, exclude), filters, [row_group], use_threads)

    @checked_keywords()
    def read_row_groups(
        self,
        row_groups: Iterable[int],
        columns: Columns | None = None,
        use_threads: bool = True,
        *,
        filters: Filters | None = None,
        exclude: Columns | None = None,
    ) -> pa.Table:
        """Read columns of several row groups, in this order; see :func:`pymosaic.read_table`.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"n": range(6)}), "six.mosaic", row_group_rows=2)
        >>> pymosaic.MosaicFile("six.mosaic").read_row_groups([2, 0])["n"].to_pylist()
        [4, 5, 0, 1]
        """
        return self._table(self._select(columns, exclude), filters, row_groups, use_threads)

    @checked_keywords()
    def head(
        self,
        num_rows: int = 5,
        columns: Columns | None = None,
        filters: Filters | None = None,
        use_threads: bool = True,
        *,
        exclude: Columns | None = None,
    ) -> pa.Table:
        """Read the first rows; row groups after them are not read.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"n": range(6)}), "six.mosaic")
        >>> pymosaic.MosaicFile("six.mosaic").head(2, filters="n > 2")["n"].to_pylist()
        [3, 4]
        """
        if not isinstance(num_rows, Integral) or isinstance(num_rows, bool) or num_rows < 0:
            raise InvalidOptionError(f"num_rows must be an int of at least 0, got {num_rows!r}")
        selection = self._select(columns, exclude)
        left = int(num_rows)
        batches = []
        source = self._batches(selection, filters, None, use_threads)
        while left > 0 and (batch := next(source, None)) is not None:
            batches.append(batch.slice(0, left))
            left -= batch.num_rows
        return pa.Table.from_batches(batches, self._schema_of(selection))

    @checked_keywords()
    def take(
        self,
        indices: Indices,
        columns: Columns | None = None,
        use_threads: bool = True,
        *,
        exclude: Columns | None = None,
    ) -> pa.Table:
        """Read rows by number, in the order given; only row groups that hold them are read.

        Parameters
        ----------
        indices : list of int, numpy array or Arrow array
            Numbers of rows, from 0; a number may be repeated.
        columns, use_threads, exclude
            As for :func:`pymosaic.read_table`.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"n": range(6)}), "six.mosaic")
        >>> pymosaic.MosaicFile("six.mosaic").take([4, 0, 4])["n"].to_pylist()
        [4, 0, 4]
        """
        from pymosaic.file.taking import find_rows, taken

        selection = self._select(columns, exclude)
        index = self._opened.index
        counts = [index.row_count(number) for number in range(self.num_row_groups)]
        places = find_rows(indices, counts)
        row_groups = [group for group, _ in places.groups]
        batches = self._batches(selection, None, row_groups, use_threads)
        return taken(batches, places, self._schema_of(selection))

    @checked_keywords()
    def scan_contents(self, columns: Columns | None = None, batch_size: int = 65536) -> int:
        """Read and decode columns, and return the number of rows, as a test of reading."""
        return sum(batch.num_rows for batch in self.iter_batches(batch_size, columns=columns))

    def _select(self, columns: Columns | None, exclude: Columns | None) -> Selection:
        """The chosen columns; functions choose among fields as they are read."""
        catalog = self._opened.catalog
        positions = resolve_columns(
            named(columns, lambda: self.schema),
            catalog,
            exclude=named(exclude, lambda: self.schema),
        )
        return Selection(catalog, positions)

    def _table(
        self,
        selection: Selection,
        filters: Filters | None,
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
        row_groups: Iterable[int] | None = None,
        columns: Columns | None = None,
        filters: Filters | None = None,
        use_threads: bool = True,
        *,
        exclude: Columns | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Read row group by row group, in batches of at most ``batch_size`` rows.

        From the second on, the next row group is read while you work on one: two are in memory.
        With ``use_threads=False`` one is.

        Parameters
        ----------
        batch_size : int
            Maximum number of rows in a batch.
        row_groups : list of int, optional
            The row groups to read, in this order; all by default.
        columns, filters, use_threads, exclude
            As for :func:`pymosaic.read_table`.

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
        batches = self._batches(
            self._select(columns, exclude), filters, row_groups, use_threads, ahead=use_threads
        )
        return _sliced(batches, int(batch_size))

    @checked_keywords()
    def to_numpy(
        self,
        columns: Columns | None = None,
        *,
        filters: Filters | None = None,
        dtype: npt.DTypeLike = "float32",
        nulls: Nulls = "nan",
        order: Literal["C", "F"] = "C",
        out: npt.NDArray[Any] | None = None,
        use_threads: bool = True,
        exclude: Columns | None = None,
    ) -> tuple[npt.NDArray[Any], list[str]]:
        """Read columns of numbers into a matrix: a row for each row, a column for each column.

        Values are decoded straight into the matrix. Decimals are divided by their scale, dates
        become days since 1970, booleans 0 and 1; other types are refused by name before anything
        is read.

        Parameters
        ----------
        columns, filters, use_threads, exclude
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
        from pymosaic.file.matrix import MatrixType, read_matrix

        kind = MatrixType.of(dtype, nulls, order)
        positions = self._select(columns, exclude).positions
        row_filter = None if filters is None else self._row_filter(filters)
        with located(self._opened.name):
            return read_matrix(self._opened, positions, row_filter, kind, out, use_threads)

    @checked_keywords()
    def describe(
        self,
        columns: Columns | None = None,
        *,
        filters: Filters | None = None,
        quantiles: Iterable[float] = (0.25, 0.5, 0.75),
        progress: Progress | None = None,
        use_threads: bool = True,
        exclude: Columns | None = None,
    ) -> Profile:
        """Count, nulls, range, mean, quantiles and distinct values of columns, in one pass.

        Two row groups are in memory at a time, and about 10 KB for each column. Counts, ranges and
        means are exact; NaNs are counted and left out. A quantile is a value that occurs, whose
        rank is off by about 0.3 % of the rows; 0 and 1 are exact. The number of distinct values is
        an estimate, about 3 % off.

        Parameters
        ----------
        columns, filters, use_threads, exclude
            As for :func:`pymosaic.read_table`.
        quantiles : list of float
            Quantiles of numbers to estimate, between 0 and 1.
        progress : callable, optional
            Called with rows done, the number of rows and ``"rows"``.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"n": [5, 1, None, 3]}), "n.mosaic")
        >>> pymosaic.MosaicFile("n.mosaic").describe(quantiles=[0.5])
        Profile of 1 columns, 4 rows
        column  type   nulls  nans  minimum  maximum  mean  50%  distinct
        n       int64      1     0  1        5           3    3         3
        """
        from pymosaic.profiling.columns import check_quantiles
        from pymosaic.profiling.profile import profile_batches
        from pymosaic.progress import Meter

        wanted = check_quantiles(quantiles)
        selection = self._select(columns, exclude)
        return profile_batches(
            self._batches(selection, filters, None, use_threads, restored=False, ahead=use_threads),
            selection.import_schema(),
            self._schema_of(selection),
            wanted,
            Meter(progress, self.num_rows, "rows"),
            use_threads,
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export all rows as an Arrow stream, row group by row group."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.iter_batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(
        self,
        selection: Selection,
        filters: Filters | None,
        row_groups: Iterable[int] | None,
        use_threads: bool,
        budget: MemoryBudget | None = None,
        *,
        restored: bool = True,
        ahead: bool = False,
    ) -> Generator[pa.RecordBatch, None, None]:
        """Check the request now, then read one row group after another.

        With ``ahead``, the next is read while the caller works on one.
        """
        if row_groups is not None and isinstance(row_groups, Integral):
            raise InvalidOptionError(
                f"row_groups must be a list of numbers, got {row_groups!r}: "
                f"write row_groups=[{row_groups!r}]"
            )
        wanted = range(self.num_row_groups) if row_groups is None else list(row_groups)
        for row_group in wanted:
            rows_of(self._opened.index, row_group)
        row_filter = None if filters is None else self._row_filter(filters)
        original = self._original if restored else None
        found = self._generate(selection, row_filter, wanted, use_threads, budget, original, ahead)
        return (batch for batch in found if batch is not None)

    def _restoring(
        self, selection: Selection, original: OriginalSchema
    ) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
        with located(self._opened.name):
            restoration = original.restoration(selection)
            by_arrow = restoration.by_arrow
            dictionaries = original.dictionaries(selection.positions) if by_arrow else {}
        limit = self._opened.limits.max_row_group_bytes
        return lambda batch: restoration.restored(batch, dictionaries, limit)

    def _row_filter(self, filters: Filters) -> FileFilter | None:
        # pyarrow.compute, which filters need, takes a quarter of the import time of the whole
        # package.
        from pymosaic.file.file_filter import bind_filters

        return bind_filters(self._opened, filters, self._trust_statistics)

    def _generate(
        self,
        selection: Selection,
        row_filter: FileFilter | None,
        row_groups: Sequence[int],
        use_threads: bool,
        budget: MemoryBudget | None,
        original: OriginalSchema | None,
        ahead: bool,
    ) -> Iterator[pa.RecordBatch | None]:
        """What each of the row groups has; None if it has no row that is wanted."""
        restore = None if original is None else self._restoring(selection, original)

        def read(row_group: int) -> pa.RecordBatch | None:
            with located(self._opened.name):
                reader = RowGroupReader(self._opened, row_group, use_threads, budget)
                if reader.num_rows == 0:
                    return None
                if row_filter is None:
                    batch = reader.read(selection)
                else:
                    batch = row_filter.read(reader, row_group, selection)
                return batch if batch is None or restore is None else restore(batch)

        # A caller that wants only one batch does not wait for the next.
        alone = 1 if ahead else len(row_groups)
        for row_group in row_groups[:alone]:
            yield read(row_group)
        if len(row_groups) > alone:
            weighed = ((row_group, 1) for row_group in row_groups[alone:])
            yield from read_ahead(read, weighed, _ROW_GROUPS_AT_ONCE, _ROW_GROUPS_AT_ONCE)


def _original_schema(file: OpenFile) -> OriginalSchema | None:
    """The schema as it was written, if the file keeps it."""
    if file.annex is None or not file.annex.describes_schema:
        return None
    # Most files need nothing of this, which takes a fifth of the import time of our modules.
    from pymosaic.file.original_schema import OriginalSchema

    return OriginalSchema(file)


def opened(file: MosaicFile) -> OpenFile:
    """The opened file, for other modules of this package."""
    return file._opened


def in_stored_types(file: MosaicFile) -> MosaicFile:
    """The same open file, as ``types="mosaic"`` reads it."""
    stored = copy(file)
    stored._original = stored._schema = None
    return stored


def schema_metadata(file: MosaicFile) -> dict[bytes, bytes]:
    """The metadata of the schema, without the rest of it."""
    if file._original is None:
        return {}
    with located(file._opened.name):
        return dict(file._original.key_values.arrow)


def _sliced(batches: Iterator[pa.RecordBatch], batch_size: int) -> Iterator[pa.RecordBatch]:
    while (batch := next(batches, None)) is not None:
        for start in range(0, batch.num_rows, batch_size):
            yield batch.slice(start, batch_size)
        del batch  # before the next comes
