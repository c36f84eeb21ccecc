"""The API of paimon-mosaic, the reference implementation, on pymosaic.

``from pymosaic.compat import mosaic`` instead of ``import mosaic``. Names, arguments and results
are the reference's, and so are errors: ``RuntimeError``, with pymosaic's message and the cause.
Files have checksums, which the reference checks when it reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from pymosaic.errors import MosaicError
from pymosaic.file.open_file import OpenFile, head_of, open_file
from pymosaic.file.row_group_reader import RowGroupReader, Selection
from pymosaic.file.tail import read_tail
from pymosaic.file.writer import MosaicWriter as Writer
from pymosaic.io import Source
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.row_group_index import RowGroupIndex
from pymosaic.limits import DEFAULT_LIMITS

__all__ = [
    "ColumnStatistics",
    "MosaicReader",
    "MosaicWriter",
    "WriterOptions",
    "read_table",
    "write_table",
]


@contextmanager
def _as_reference() -> Iterator[None]:
    try:
        yield
    except MosaicError as error:
        raise RuntimeError(str(error)) from error


class WriterOptions:
    """Options of a file, under the reference's names and with its defaults."""

    COMPRESSION_NONE = 0
    COMPRESSION_ZSTD = 1

    def __init__(
        self,
        compression: int = 1,
        zstd_level: int = 1,
        num_buckets: int = 0,
        row_group_max_size: int = 256 << 20,
        max_dict_total_bytes: int = 32 << 10,
        max_dict_entries: int = 255,
        stats_columns: Iterable[str] | None = None,
        page_size_threshold: int = 32 << 10,
    ) -> None:
        self.compression = compression
        self.zstd_level = zstd_level
        self.num_buckets = num_buckets
        self.row_group_max_size = row_group_max_size
        self.max_dict_total_bytes = max_dict_total_bytes
        self.max_dict_entries = max_dict_entries
        self.stats_columns: list[str] = list(stats_columns or [])
        self.page_size_threshold = page_size_threshold


class ColumnStatistics:
    """Statistics of a column in a row group, as the file stores them."""

    def __init__(self, null_count: int, min: bytes | None, max: bytes | None) -> None:
        self.null_count = null_count
        self.min = min
        self.max = max

    @property
    def has_min_max(self) -> bool:
        """Whether there is a minimum and a maximum."""
        return self.min is not None


def _statistics(
    catalog: Catalog, index: RowGroupIndex, row_group: int
) -> dict[str, ColumnStatistics]:
    return {
        catalog.name(position): ColumnStatistics(null_count, minimum, maximum)
        for position, null_count, minimum, maximum in index.statistics(row_group)
    }


class _Tail(Source):
    """The end of a file that was just written."""

    def __init__(self, start: int, data: bytes) -> None:
        super().__init__(None, start + len(data))
        self._start = start
        self._data = data

    def _read_once(self, offset: int, length: int) -> bytes:
        # What stands before the end is never looked at; the first read may ask for it.
        lead = b"\0" * max(0, min(length, self._start - offset))
        first = max(0, offset - self._start)
        return lead + self._data[first : first + length - len(lead)]


class _Recorder:
    """A stream that remembers the last of what is written to it, on request."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.recorded: list[bytes] | None = None
        self.position = 0

    def write(self, data: Any) -> int:
        """Pass bytes on."""
        self._stream.write(data)
        size = memoryview(data).nbytes
        self.position += size
        if self.recorded is not None:
            self.recorded.append(bytes(data))
        return size

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()


class MosaicWriter:
    """Writes a file to a stream."""

    def __init__(
        self, stream: Any, schema: pa.Schema, options: WriterOptions | None = None
    ) -> None:
        self._writer: Writer | None = None
        self._statistics: list[dict[str, ColumnStatistics]] | None = None
        if not isinstance(schema, pa.Schema):
            raise TypeError(f"expected pyarrow.Schema, got {type(schema)}")
        given = options or WriterOptions()
        self._stream = _Recorder(stream)
        with _as_reference():
            self._writer = Writer(
                self._stream,
                schema,
                compression="zstd" if given.compression else "none",
                compression_level=given.zstd_level,
                num_buckets=given.num_buckets or None,
                row_group_bytes=given.row_group_max_size,
                max_dict_entries=given.max_dict_entries,
                max_dict_bytes=given.max_dict_total_bytes,
                page_size_threshold=given.page_size_threshold,
                statistics=given.stats_columns or None,
            )

    def write(self, data: pa.Table | pa.RecordBatch) -> None:
        """Append rows."""
        if not isinstance(data, pa.Table | pa.RecordBatch):
            raise TypeError(f"expected pyarrow.RecordBatch or pyarrow.Table, got {type(data)}")
        if self._writer is None:
            raise RuntimeError("writer is closed")
        with _as_reference():
            self._writer.write(data)

    def estimated_file_size(self) -> int:
        """About the size of the file if it were closed now."""
        if self._writer is None:
            raise RuntimeError("writer is closed")
        return self._writer.estimated_size

    @property
    def num_row_groups(self) -> int:
        """Number of row groups, once the writer is closed."""
        if self._statistics is None:
            raise RuntimeError("writer is not closed yet")
        return len(self._statistics)

    def get_row_group_statistics(self, rg_index: int) -> dict[str, ColumnStatistics]:
        """Statistics of a row group by column, once the writer is closed."""
        if self._statistics is None:
            raise RuntimeError("writer is not closed yet")
        return self._statistics[rg_index]

    def close(self) -> None:
        """Write the end of the file."""
        writer, self._writer = self._writer, None
        if writer is None:
            return
        with _as_reference():
            writer.end_row_group()
            start = self._stream.position
            self._stream.recorded = []
            writer.close()
            source = _Tail(start, b"".join(self._stream.recorded))
            limits = DEFAULT_LIMITS
            head = head_of(read_tail(source, limits), source, limits)
        self._statistics = [
            _statistics(head.catalog, head.index, number)
            for number in range(head.index.num_row_groups)
        ]

    def __enter__(self) -> MosaicWriter:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


class _Callback(Source):
    """A file that is read by a function of the caller."""

    def __init__(self, read_at: Callable[[int, int], bytes], length: int) -> None:
        super().__init__(None, length)
        self._read_at = read_at

    def _read_once(self, offset: int, length: int) -> bytes:
        return self._read_at(offset, length)


class MosaicReader:
    """Reads a file, row group by row group."""

    def __init__(self, file: OpenFile) -> None:
        self._file: OpenFile | None = file
        self._all = Selection(file.catalog, file.catalog.original_order())
        self._selection = self._all

    @staticmethod
    def from_input_file(read_at_fn: Callable[[int, int], bytes], file_length: int) -> MosaicReader:
        """Open a file that ``read_at_fn(offset, length)`` reads, from any thread."""
        with _as_reference():
            return MosaicReader(open_file(_Callback(read_at_fn, file_length), DEFAULT_LIMITS))

    def _opened(self) -> OpenFile:
        if self._file is None:
            raise RuntimeError("reader is closed")
        return self._file

    @property
    def schema(self) -> pa.Schema:
        """All columns, whatever the projection."""
        return self._all.import_schema()

    @property
    def num_row_groups(self) -> int:
        """Number of row groups."""
        return self._opened().index.num_row_groups

    def project(self, columns: Iterable[str]) -> None:
        """Choose columns for later reads; a name that comes twice counts once."""
        names = list(dict.fromkeys(columns))
        catalog = self._opened().catalog
        positions = catalog.find_many(names)
        for name, position in zip(names, positions.tolist(), strict=True):
            if position < 0:
                raise RuntimeError(f"column not found: {name}")
        self._selection = Selection(catalog, positions)

    def read_row_group(self, rg_index: int) -> pa.RecordBatch:
        """Read the chosen columns of a row group."""
        file = self._opened()
        self._check(rg_index)
        with _as_reference():
            return RowGroupReader(file, rg_index, True).read(self._selection)

    def read_all(self) -> pa.Table:
        """Read the chosen columns."""
        batches = [self.read_row_group(number) for number in range(self.num_row_groups)]
        return pa.Table.from_batches(batches, self._selection.import_schema())

    def row_group_num_rows(self, rg_index: int) -> int:
        """Number of rows in a row group."""
        self._check(rg_index)
        return self._opened().index.row_count(rg_index)

    def get_row_group_statistics(self, rg_index: int) -> dict[str, ColumnStatistics]:
        """Statistics of a row group by column."""
        file = self._opened()
        self._check(rg_index)
        return _statistics(file.catalog, file.index, rg_index)

    def _check(self, rg_index: int) -> None:
        if not 0 <= rg_index < self.num_row_groups:
            raise RuntimeError(f"row group {rg_index} of {self.num_row_groups}")

    def close(self) -> None:
        """Close the reader; what the caller reads from stays open."""
        self._file = None

    def __enter__(self) -> MosaicReader:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


def write_table(table: pa.Table, stream: Any, options: WriterOptions | None = None) -> None:
    """Write a table to a stream.

    Examples
    --------
    >>> import io, pyarrow as pa
    >>> from pymosaic.compat import mosaic
    >>> stream = io.BytesIO()
    >>> mosaic.write_table(pa.table({"a": [1, 2]}), stream)
    >>> data = stream.getvalue()
    >>> read_at = lambda offset, length: data[offset : offset + length]
    >>> mosaic.read_table(read_at, len(data)).to_pydict()
    {'a': [1, 2]}
    """
    if not isinstance(table, pa.Table):
        raise TypeError(f"expected pyarrow.Table, got {type(table)}")
    with MosaicWriter(stream, table.schema, options) as writer:
        writer.write(table)


def read_table(
    read_at_fn: Callable[[int, int], bytes],
    file_length: int,
    columns: Iterable[str] | None = None,
) -> pa.Table:
    """Read a table by a function of the caller; see :func:`write_table`."""
    with MosaicReader.from_input_file(read_at_fn, file_length) as reader:
        if columns is not None:
            reader.project(columns)
        return reader.read_all()
