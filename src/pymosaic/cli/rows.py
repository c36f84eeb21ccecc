"""The arguments as one table, from Mosaic files, datasets or files of other formats."""

from __future__ import annotations

import abc
import glob
import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pymosaic.cli.formats import kind_of, open_reader
from pymosaic.cli.formats.base import TableReader, batch_rows
from pymosaic.cli.inputs import check_distinct, paimon_table, select_names
from pymosaic.cli.output import Excerpt
from pymosaic.cli.user_metadata import without_user_metadata
from pymosaic.closing import Closing
from pymosaic.errors import InvalidOptionError
from pymosaic.file.reader import MosaicFile, Types

if TYPE_CHECKING:
    from pymosaic.datasets.plan import Piece
    from pymosaic.filters.row_filter import Filter
    from pymosaic.progress import Progress

__all__ = ["Rows", "Window", "open_rows"]


class Rows(Closing, abc.ABC):
    """A table that rows are read from."""

    num_rows: int | None
    is_mosaic = False

    @property
    @abc.abstractmethod
    def schema(self) -> pa.Schema:
        """The columns."""

    @property
    def column_names(self) -> list[str]:
        """The names of the columns; for very many, they cost less than the schema."""
        return list(self.schema.names)

    def names(self, entries: Iterable[str] | None) -> list[str]:
        """The columns given by ``-c``, or all."""
        names = self.column_names
        selected = select_names(entries, names)
        return names if selected is None else selected

    def selected_schema(self, names: list[str]) -> pa.Schema:
        """The schema of these columns."""
        if names == self.schema.names:
            return self.schema
        return pa.schema([self.schema.field(name) for name in names], self.schema.metadata)

    @property
    def user_metadata(self) -> dict[str, str]:
        """Keys and values of the user, if the files have the same."""
        return {}

    @abc.abstractmethod
    def batches(
        self, names: list[str], where: str | None = None, offset: int = 0, limit: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """These columns of the rows that match the filter."""

    def parts(self, names: list[str]) -> Iterator[tuple[int, Callable[[], pa.RecordBatch]]]:
        """The parts of the table, each with its number of rows and a function that reads it."""
        for batch in self.batches(names):
            yield batch.num_rows, partial(_itself, batch)

    def reader(self) -> pa.RecordBatchReader:
        """All rows as a stream."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches(self.schema.names))

    def count(self, where: str | None) -> int:
        """The number of rows that match the filter."""
        if where is None and self.num_rows is not None:
            return self.num_rows
        return sum(batch.num_rows for batch in self.batches([], where))

    def close(self) -> None:
        """Close the files."""


def open_rows(
    sources: list[str],
    progress: Progress | None = None,
    known: pa.Schema | None = None,
    types: Types = "mosaic",
) -> Rows:
    """One table of all the files; ``progress`` is called if opening them takes long.

    ``known`` gives the types of columns where a file does not state them, and ``types`` says which
    types columns of Mosaic files have.
    """
    if len(sources) == 1:
        kind = kind_of(sources[0])
        if kind is not None and (kind.module != "mosaic" or known is not None):
            return _ForeignRows(open_reader(sources[0], progress, known))
        if kind is not None and not glob.has_magic(sources[0]) and not os.path.isdir(sources[0]):
            return _FileRows(sources[0], types)
    if known is not None:
        raise InvalidOptionError("--schema-from takes a single CSV or JSON lines file as input")
    table = paimon_table(sources)
    if table is not None:
        return _PaimonRows(table)
    check_distinct(sources)
    return _DatasetRows(sources, types)


class _FileRows(Rows):
    """One Mosaic file."""

    is_mosaic = True

    def __init__(self, path: str, types: Types) -> None:
        self._file = MosaicFile(path, types=types)
        self.num_rows = self._file.num_rows

    @property
    def schema(self) -> pa.Schema:
        return self._file.schema

    @property
    def user_metadata(self) -> dict[str, str]:
        return self._file.metadata.user

    @property
    def column_names(self) -> list[str]:
        return self._file.column_names

    def batches(
        self, names: list[str], where: str | None = None, offset: int = 0, limit: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        filters = _parsed(where)
        file = self._file
        row_groups = list(range(file.num_row_groups))
        if filters is None:
            while row_groups and file.metadata.row_group(row_groups[0]).num_rows <= offset:
                offset -= file.metadata.row_group(row_groups.pop(0)).num_rows
        batches = file.iter_batches(
            batch_rows(len(names)), row_groups, self._selection(names), filters
        )
        return _window(batches, offset, limit)

    def parts(self, names: list[str]) -> Iterator[tuple[int, Callable[[], pa.RecordBatch]]]:
        for number, row_group in enumerate(self._file.metadata.row_groups()):
            size = max(1, row_group.num_rows)
            batches = partial(self._file.iter_batches, size, [number], self._selection(names))
            yield row_group.num_rows, partial(_first, batches)

    def _selection(self, names: list[str]) -> list[str] | None:
        """None for all columns: very many need not be looked up one by one."""
        return None if names == self._file.column_names else names

    def close(self) -> None:
        self._file.close()


class _DatasetRows(Rows):
    """Several Mosaic files, merged by column name."""

    is_mosaic = True

    def __init__(self, sources: list[str], types: Types) -> None:
        # One file, the most common case, needs nothing of this, which takes a while to import.
        from pymosaic.datasets.dataset import Dataset

        self._dataset = Dataset(tuple(sources), types=types, keeps_metadata=True)
        self.num_rows = self._dataset.count_rows()

    @property
    def schema(self) -> pa.Schema:
        return self._dataset.schema

    @property
    def user_metadata(self) -> dict[str, str]:
        return self._dataset.user_metadata

    def batches(
        self, names: list[str], where: str | None = None, offset: int = 0, limit: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        filters = _parsed(where)
        scan = self._dataset.scan(names, filters)
        # One piece per row group, so that those before the first wanted row are not read.
        pieces = list(scan.plan(max_piece_bytes=1).pieces)
        if filters is None:
            skipped = 0
            while skipped < len(pieces) and pieces[skipped].num_rows <= offset:
                offset -= pieces[skipped].num_rows
                skipped += 1
            pieces = _enough(pieces[skipped:], None if limit is None else offset + limit)
        batches = scan.task().read(pieces, batch_size=batch_rows(len(names)))
        return _window(batches, offset, limit)

    def parts(self, names: list[str]) -> Iterator[tuple[int, Callable[[], pa.RecordBatch]]]:
        scan = self._dataset.scan(names)
        task = scan.task()
        for piece in scan.plan(max_piece_bytes=1).pieces:
            batches = partial(task.read, [piece], batch_size=max(1, piece.num_rows))
            yield piece.num_rows, partial(_first, batches)


class _PaimonRows(Rows):
    """The newest snapshot of a Paimon table."""

    def __init__(self, path: str) -> None:
        from pymosaic.paimon.dataset import dataset

        self._dataset = dataset(path)
        self.num_rows = self._dataset.count_rows()

    @property
    def schema(self) -> pa.Schema:
        return self._dataset.schema

    def batches(
        self, names: list[str], where: str | None = None, offset: int = 0, limit: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        last = None if limit is None else offset + limit
        scan = self._dataset.scan(names, _parsed(where), last)
        return _window(scan.to_batches(batch_rows(len(names))), offset, limit)

    def count(self, where: str | None) -> int:
        return int(self._dataset.count_rows(_parsed(where)))


def _parsed(where: str | None) -> Any:
    if where is None:
        return None
    from pymosaic.filters.text import parse_filter

    return parse_filter(where)


def _first(batches: Callable[[], Iterator[pa.RecordBatch]]) -> pa.RecordBatch:
    return next(batches())


def _itself(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def _enough(pieces: list[Piece], wanted: int | None) -> list[Piece]:
    """The first pieces, until they hold ``wanted`` rows."""
    if wanted is None:
        return pieces
    kept: list[Piece] = []
    for piece in pieces:
        if wanted <= 0:
            break
        kept.append(piece)
        wanted -= piece.num_rows
    return kept


class _ForeignRows(Rows):
    def __init__(self, reader: TableReader) -> None:
        self._reader = reader
        self.num_rows = reader.num_rows
        self._schema, self._user = without_user_metadata(reader.schema)

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    @property
    def user_metadata(self) -> dict[str, str]:
        return self._user

    def batches(
        self, names: list[str], where: str | None = None, offset: int = 0, limit: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        if where is None:
            return _window(self._reader.batches(names), offset, limit)
        from pymosaic.filters.tuples import parse_filters

        row_filter = parse_filters(_parsed(where))
        assert row_filter is not None
        row_filter.validate({field.name: field.type for field in self.schema})
        wanted = list(dict.fromkeys([*names, *row_filter.columns]))
        return _window(_filtered(self._reader.batches(wanted), row_filter, names), offset, limit)

    def close(self) -> None:
        self._reader.close()


class Window(Excerpt):
    """Up to ``limit`` matching rows of a table after the first ``offset``."""

    def __init__(
        self,
        rows: Rows,
        columns: list[str] | None,
        where: str | None,
        offset: int = 0,
        limit: int | None = None,
    ) -> None:
        self._rows = rows
        self._where = where
        self._limit = limit
        self.names: list[str] = rows.names(columns)
        self.first_row = offset

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._rows.selected_schema(self.names)

    def batches(self, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows, with these columns or all."""
        wanted = self.names if names is None else names
        return self._rows.batches(wanted, self._where, self.first_row, self._limit)


def _filtered(
    batches: Iterable[pa.RecordBatch], row_filter: Filter, names: list[str]
) -> Iterator[pa.RecordBatch]:
    from pymosaic.arrow.rows import filter_rows

    for batch in batches:
        yield filter_rows(batch, row_filter.mask(batch)).select(names)


def _window(
    batches: Iterator[pa.RecordBatch], offset: int, limit: int | None
) -> Iterator[pa.RecordBatch]:
    """Up to ``limit`` rows after the first ``offset``."""
    if limit == 0:
        return
    for batch in batches:
        first = min(offset, batch.num_rows)
        offset -= first
        count = batch.num_rows - first
        if limit is not None:
            count = min(count, limit)
            limit -= count
        # A slice of very many columns takes a while.
        part = batch if count == batch.num_rows else batch.slice(first, count)
        if part.num_rows:
            yield part
        if limit == 0:
            return
