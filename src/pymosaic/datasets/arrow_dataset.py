"""The ``pyarrow.dataset.Dataset`` interface of a dataset.

DuckDB (``SELECT … FROM variable``) and others ask an Arrow dataset for its ``schema`` and for a
``scanner`` with columns and a filter. pyarrow's class wraps a C++ dataset, which pyarrow's own
functions may use directly: here an empty one, whose only column says what to use instead.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from pymosaic.errors import InvalidOptionError, UnsupportedFeatureError
from pymosaic.file.projection import Columns, Names, named
from pymosaic.filters.given import Filters, given_filter
from pymosaic.filters.row_filter import Filter
from pymosaic.keywords import checked_keywords

if TYPE_CHECKING:
    from pymosaic.datasets.scan import Scan
    from pymosaic.file.taking import Indices

__all__ = ["ArrowDataset", "Scanner"]

_BATCH_ROWS = 131_072
_NOTICE = pa.table({"a pymosaic.Dataset: use its scan(), scanner() or to_table()": pa.nulls(0)})


class Scanner:
    """The counterpart of ``pyarrow.dataset.Scanner``; can be read any number of times.

    pyarrow's own class, made from a stream, would read far ahead of a consumer that pauses.
    """

    def __init__(
        self,
        dataset: ArrowDataset,
        columns: Columns | None,
        wanted: Filters | None,
        batch_size: int,
        use_threads: bool,
    ) -> None:
        self._dataset = dataset
        self._arguments = (columns, wanted, batch_size, use_threads)
        self.projected_schema: pa.Schema = self.to_reader().schema

    @property
    def dataset_schema(self) -> pa.Schema:
        """The schema of the dataset."""
        return self._dataset.schema

    def to_reader(self) -> pa.RecordBatchReader:
        """A stream of batches; nothing is read before the first is requested."""
        return self._dataset._reader(*self._arguments)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The batches."""
        return iter(self.to_reader())

    def to_table(self) -> pa.Table:
        """Read everything into a table."""
        return self.to_reader().read_all()


if TYPE_CHECKING:
    # pyarrow has no types: type checkers would take all attributes of unknown classes for right.
    class _Base:
        def __init__(self, source: pa.Table) -> None: ...
        @property
        def schema(self) -> pa.Schema: ...

else:
    _Base = pads.InMemoryDataset


class ArrowDataset(_Base):
    """All methods of ``pyarrow.dataset.Dataset``, built on :meth:`scan`."""

    def __init__(self) -> None:
        super().__init__(_NOTICE)

    @property
    def stored_schema(self) -> pa.Schema:
        """The columns in the types that filters compare."""
        return self.schema

    @checked_keywords()
    def scan(
        self,
        columns: Columns | None = None,
        filters: Filters | None = None,
        limit: int | None = None,
        *,
        exclude: Columns | None = None,
    ) -> Scan:
        """Choose columns and rows; nothing is read yet.

        Parameters
        ----------
        columns : list of str or callable, optional
            Names, patterns or a function, as in :func:`pymosaic.read_table`.
        filters : str, list of tuples, list of lists of tuples, or pyarrow expression, optional
            Rows to keep, as in :func:`pymosaic.read_table`; may use partition columns.
        limit : int, optional
            Maximum number of rows to read.
        exclude : list of str or callable, optional
            Columns to leave out, as in :func:`pymosaic.read_table`.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"age": [31, 52], "name": ["Ann", "Bo"]}), "p.mosaic")
        >>> people = pymosaic.dataset("p.mosaic")
        >>> people.scan(columns=["name"], filters=[("age", ">", 40)]).to_table().to_pydict()
        {'name': ['Bo']}
        """
        if limit is not None and (
            not isinstance(limit, Integral) or isinstance(limit, bool) or limit < 0
        ):
            raise InvalidOptionError(f"limit must be an int of at least 0, got {limit!r}")
        row_filter, filter_schema = given_filter(
            filters,
            lambda names: self.stored_schema if names is None else self._select(names, "filters"),
        )
        return self._scan(self._chosen(columns, exclude), row_filter, filter_schema, limit)

    def _chosen(self, columns: Columns | None, exclude: Columns | None) -> pa.Schema:
        """The chosen columns; functions choose among fields as they are read."""
        names = named(columns, lambda: self.schema)
        chosen = self.stored_schema if names is None else self._select(names, "columns")
        left_out = named(exclude, lambda: self.schema)
        if left_out is None:
            return chosen
        unwanted = set(self._select(left_out, "exclude").names)
        return pa.schema([item for item in chosen if item.name not in unwanted])

    @abc.abstractmethod
    def _select(self, columns: Names, option: str) -> pa.Schema:
        """The columns that names and patterns choose; ``option`` names them in errors."""

    @abc.abstractmethod
    def _scan(
        self,
        chosen: pa.Schema,
        row_filter: Filter | None,
        filter_schema: pa.Schema,
        limit: int | None,
    ) -> Scan:
        """A scan of chosen columns; the filter fits the types of its columns."""

    @checked_keywords()
    def scanner(
        self,
        columns: Columns | None = None,
        filter: Filters | None = None,
        batch_size: int = _BATCH_ROWS,
        batch_readahead: int | None = None,
        fragment_readahead: int | None = None,
        fragment_scan_options: object = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: object = None,
        *,
        filters: Filters | None = None,
    ) -> Scanner:
        """Make a scanner, as readers of Arrow datasets expect it.

        Parameters
        ----------
        columns : list of str, optional
            Names or patterns.
        filter : pyarrow.compute.Expression, or filters as in :meth:`scan`, optional
            Rows to keep. The part of an expression that filters can express prunes files and row
            groups, and is tested before other columns are read; the rest is tested afterwards.
        batch_size : int
            Maximum number of rows in a batch.
        batch_readahead, fragment_readahead, fragment_scan_options, cache_metadata, memory_pool
            Options of pyarrow for its own file formats; they have no effect here.
        use_threads : bool
            Read ahead, and decode on several threads.
        filters : object, optional
            Same as ``filter``, under the name used by :meth:`scan`.
        """
        return Scanner(self, columns, _one_filter(filter, filters), batch_size, use_threads)

    def _reader(
        self,
        columns: Columns | None,
        wanted: Filters | None,
        batch_size: int = _BATCH_ROWS,
        use_threads: bool = True,
        limit: int | None = None,
    ) -> pa.RecordBatchReader:
        if isinstance(columns, dict):
            raise UnsupportedFeatureError(
                "columns must be a list of names: compute columns after reading"
            )
        scan = self.scan(columns, wanted, limit)
        batches = scan.to_batches(batch_size, use_threads)
        return pa.RecordBatchReader.from_batches(scan.schema, batches)

    @checked_keywords()
    def to_table(
        self,
        columns: Columns | None = None,
        filter: Filters | None = None,
        batch_size: int = _BATCH_ROWS,
        batch_readahead: int | None = None,
        fragment_readahead: int | None = None,
        fragment_scan_options: object = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: object = None,
        *,
        filters: Filters | None = None,
    ) -> pa.Table:
        """Read into a table; see :meth:`scanner`."""
        wanted = _one_filter(filter, filters)
        return self._reader(columns, wanted, batch_size, use_threads).read_all()

    @checked_keywords()
    def to_batches(
        self,
        columns: Columns | None = None,
        filter: Filters | None = None,
        batch_size: int = _BATCH_ROWS,
        batch_readahead: int | None = None,
        fragment_readahead: int | None = None,
        fragment_scan_options: object = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: object = None,
        *,
        filters: Filters | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """Read in batches; see :meth:`scanner`."""
        return iter(self._reader(columns, _one_filter(filter, filters), batch_size, use_threads))

    @checked_keywords()
    def head(
        self,
        num_rows: int,
        columns: Columns | None = None,
        filter: Filters | None = None,
        batch_size: int = _BATCH_ROWS,
        batch_readahead: int | None = None,
        fragment_readahead: int | None = None,
        fragment_scan_options: object = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: object = None,
        *,
        filters: Filters | None = None,
    ) -> pa.Table:
        """The first rows; see :meth:`scanner`."""
        wanted = _one_filter(filter, filters)
        return self._reader(columns, wanted, batch_size, use_threads, num_rows).read_all()

    @checked_keywords()
    def count_rows(
        self,
        filter: Filters | None = None,
        batch_size: int = _BATCH_ROWS,
        batch_readahead: int | None = None,
        fragment_readahead: int | None = None,
        fragment_scan_options: object = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: object = None,
        *,
        filters: Filters | None = None,
    ) -> int:
        """Count rows, from metadata alone if possible.

        Without filters no data is read. With filters, only the filter's columns are read, in row
        groups that partition values and statistics do not decide.

        Parameters
        ----------
        filter : pyarrow.compute.Expression, or filters as in :meth:`scan`, optional
            Rows to count.
        batch_size, batch_readahead, fragment_readahead, fragment_scan_options
            As in :meth:`scanner`.
        use_threads, cache_metadata, memory_pool
            As in :meth:`scanner`.
        filters : object, optional
            Same as ``filter``.

        Examples
        --------
        >>> import pyarrow as pa, pymosaic
        >>> pymosaic.write_table(pa.table({"age": [31, 52]}), "ages.mosaic", statistics=["age"])
        >>> pymosaic.dataset("ages.mosaic").count_rows([("age", ">", 20)])
        2
        """
        return self.scan([], _one_filter(filter, filters)).count_rows()

    @checked_keywords()
    def take(
        self,
        indices: Indices,
        columns: Columns | None = None,
        filter: Filters | None = None,
        batch_size: int = _BATCH_ROWS,
        batch_readahead: int | None = None,
        fragment_readahead: int | None = None,
        fragment_scan_options: object = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: object = None,
        *,
        filters: Filters | None = None,
    ) -> pa.Table:
        """Read rows by number, in the order given; see :meth:`scanner` and :meth:`Scan.take`."""
        return self.scan(columns, _one_filter(filter, filters)).take(indices, use_threads)

    def sort_by(self, sorting: str | list[tuple[str, str]], **options: Any) -> pads.InMemoryDataset:
        """Read everything and sort it, as ``pyarrow.dataset.Dataset.sort_by`` does.

        Parameters
        ----------
        sorting : str or list of (str, "ascending" or "descending")
            The column to sort by, or several.
        **options
            As for :meth:`pyarrow.Table.sort_by`.
        """
        return pads.InMemoryDataset(self.to_table().sort_by(sorting, **options))

    @property
    def partition_expression(self) -> pc.Expression:
        """Always true: the location of the dataset implies nothing about its rows."""
        return pc.scalar(True)

    def _unsupported(self, *arguments: object, **options: object) -> NoReturn:
        """Raise: only pyarrow's own datasets and tables support this."""
        raise UnsupportedFeatureError(
            "not supported for a dataset of Mosaic files: read a table with scan().to_table(), "
            "or use an engine such as DuckDB or Polars"
        )

    def get_fragments(self, filter: Filters | None = None) -> Iterator[ArrowDataset]:
        """The files, each as a dataset of its own; not all datasets can tell them."""
        self._unsupported()

    filter: Callable[..., NoReturn] = _unsupported
    join: Callable[..., NoReturn] = _unsupported
    join_asof: Callable[..., NoReturn] = _unsupported
    replace_schema: Callable[..., NoReturn] = _unsupported
    _get_fragments = _scan_options = _scanner_options = _unsupported


def _one_filter(filter: Filters | None, filters: Filters | None) -> Filters | None:
    """The filter, given under either name."""
    if filter is not None and filters is not None:
        raise InvalidOptionError("give either filter or filters, not both")
    return filters if filter is None else filter
