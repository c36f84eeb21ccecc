"""The ``pyarrow.dataset.Dataset`` interface of a dataset.

DuckDB (``SELECT … FROM variable``) and others ask an Arrow dataset for its ``schema`` and for a
``scanner`` with columns and a filter. pyarrow's class wraps a C++ dataset, which pyarrow's own
functions may use directly: here an empty one, whose only column says what to use instead.
"""

from __future__ import annotations

import abc
import re
from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import TYPE_CHECKING, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads

from pymosaic.errors import ColumnNotFoundError, InvalidOptionError, UnsupportedFeatureError
from pymosaic.filters.arrow_expressions import push_down
from pymosaic.filters.row_filter import Filter
from pymosaic.filters.tuples import parse_filters
from pymosaic.keywords import checked_keywords
from pymosaic.suggestions import did_you_mean, quote

if TYPE_CHECKING:
    from pymosaic.datasets.scan import Scan

__all__ = ["ArrowDataset", "Scanner"]

_BATCH_ROWS = 131_072
_NO_MATCH = re.compile(r"No match for FieldRef\.Name\((.*)\) in ", re.DOTALL)
_NOTICE = pa.table({"a pymosaic.Dataset: use its scan(), scanner() or to_table()": pa.nulls(0)})


class Scanner:
    """The counterpart of ``pyarrow.dataset.Scanner``; can be read any number of times.

    pyarrow's own class, made from a stream, would read far ahead of a consumer that pauses.
    """

    def __init__(
        self,
        dataset: ArrowDataset,
        columns: list[str] | None,
        wanted: object,
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


class ArrowDataset(pads.InMemoryDataset):  # type: ignore[misc]
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
        columns: Iterable[str] | None = None,
        filters: object = None,
        limit: int | None = None,
    ) -> Scan:
        """Choose columns and rows; nothing is read yet.

        Parameters
        ----------
        columns : list of str, optional
            Names or patterns, as in :func:`pymosaic.read_table`.
        filters : list of tuples, or list of lists of tuples, optional
            Rows to keep, as in :func:`pymosaic.read_table`; may use partition columns.
        limit : int, optional
            Maximum number of rows to read.

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
        row_filter = filters if isinstance(filters, Filter) else parse_filters(filters)
        filter_schema = pa.schema([])
        if row_filter is not None:
            filter_schema = self._select(row_filter.columns, "filters")
            if filter_schema.names != list(row_filter.columns):
                raise InvalidOptionError("filters: give exact column names, not patterns")
            row_filter.validate({item.name: item.type for item in filter_schema})
        chosen = self.stored_schema if columns is None else self._select(columns, "columns")
        return self._scan(chosen, row_filter, filter_schema, limit)

    @abc.abstractmethod
    def _select(self, columns: Iterable[str], option: str) -> pa.Schema:
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
        columns: list[str] | None = None,
        filter: object = None,
        batch_size: int = _BATCH_ROWS,
        batch_readahead: int | None = None,
        fragment_readahead: int | None = None,
        fragment_scan_options: object = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: object = None,
        *,
        filters: object = None,
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
        columns: list[str] | None,
        wanted: object,
        batch_size: int = _BATCH_ROWS,
        use_threads: bool = True,
        limit: int | None = None,
    ) -> pa.RecordBatchReader:
        if isinstance(columns, dict):
            raise UnsupportedFeatureError(
                "columns must be a list of names: compute columns after reading"
            )
        scan, rest = self._narrow(columns, wanted, limit)
        batches = scan.to_batches(batch_size, use_threads)
        if rest is None:
            return pa.RecordBatchReader.from_batches(scan.schema, batches)
        schema = self.scan(columns).schema
        names = schema.names
        return pa.RecordBatchReader.from_batches(schema, _filtered(batches, rest, names, limit))

    def _narrow(
        self, columns: list[str] | None, wanted: object, limit: int | None
    ) -> tuple[Scan, pc.Expression | None]:
        """A scan that returns at least the requested rows, and the expression left to test."""
        if not isinstance(wanted, pc.Expression):
            return self.scan(columns, wanted, limit), None
        pushdown = push_down(wanted, self.stored_schema)
        if pushdown.exact:
            return self.scan(columns, pushdown.row_filter, limit), None
        try:
            # Before anything is read, and with a better message than Arrow's.
            self.schema.empty_table().filter(wanted)
        except pa.ArrowInvalid as error:
            raise _with_closest(error, self.schema) or error from error
        if columns is None or pushdown.columns is None:
            return self.scan(None, pushdown.row_filter), wanted
        return self.scan([*columns, *pushdown.columns], pushdown.row_filter), wanted

    @checked_keywords()
    def to_table(
        self,
        columns: list[str] | None = None,
        filter: object = None,
        batch_size: int = _BATCH_ROWS,
        batch_readahead: int | None = None,
        fragment_readahead: int | None = None,
        fragment_scan_options: object = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: object = None,
        *,
        filters: object = None,
    ) -> pa.Table:
        """Read into a table; see :meth:`scanner`."""
        wanted = _one_filter(filter, filters)
        return self._reader(columns, wanted, batch_size, use_threads).read_all()

    @checked_keywords()
    def to_batches(
        self,
        columns: list[str] | None = None,
        filter: object = None,
        batch_size: int = _BATCH_ROWS,
        batch_readahead: int | None = None,
        fragment_readahead: int | None = None,
        fragment_scan_options: object = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: object = None,
        *,
        filters: object = None,
    ) -> Iterator[pa.RecordBatch]:
        """Read in batches; see :meth:`scanner`."""
        return iter(self._reader(columns, _one_filter(filter, filters), batch_size, use_threads))

    @checked_keywords()
    def head(
        self,
        num_rows: int,
        columns: list[str] | None = None,
        filter: object = None,
        batch_size: int = _BATCH_ROWS,
        batch_readahead: int | None = None,
        fragment_readahead: int | None = None,
        fragment_scan_options: object = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: object = None,
        *,
        filters: object = None,
    ) -> pa.Table:
        """The first rows; see :meth:`scanner`."""
        wanted = _one_filter(filter, filters)
        return self._reader(columns, wanted, batch_size, use_threads, num_rows).read_all()

    @checked_keywords()
    def count_rows(
        self,
        filter: object = None,
        batch_size: int = _BATCH_ROWS,
        batch_readahead: int | None = None,
        fragment_readahead: int | None = None,
        fragment_scan_options: object = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: object = None,
        *,
        filters: object = None,
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
        scan, rest = self._narrow([], _one_filter(filter, filters), None)
        if rest is None:
            return scan.count_rows()
        batches = _filtered(scan.to_batches(batch_size, use_threads), rest, [], None)
        return sum(batch.num_rows for batch in batches)

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

    filter = join = join_asof = sort_by = take = replace_schema = _unsupported
    get_fragments = _get_fragments = _scan_options = _scanner_options = _unsupported


def _with_closest(error: pa.ArrowInvalid, schema: pa.Schema) -> ColumnNotFoundError | None:
    """What Arrow says of a column that is not there, with the closest one."""
    match = _NO_MATCH.match(str(error))
    if match is None:
        return None
    hint = did_you_mean(match[1], schema.names)
    return ColumnNotFoundError(f"filter: no column is named {quote(match[1])}{hint}")


def _one_filter(filter: object, filters: object) -> object:
    """The filter, given under either name."""
    if filter is not None and filters is not None:
        raise InvalidOptionError("give either filter or filters, not both")
    return filters if filter is None else filter


def _filtered(
    batches: Iterator[pa.RecordBatch],
    expression: pc.Expression,
    names: list[str],
    limit: int | None,
) -> Iterator[pa.RecordBatch]:
    left = limit
    for batch in batches:
        table = pa.Table.from_batches([batch]).filter(expression)
        if left is not None:
            table = table.slice(0, left)
            left -= table.num_rows
        # A batch without columns still has a number of rows; a table would lose it.
        for part in table.to_batches():
            yield part.select(names)
        if left == 0:
            return
