"""The interface of a format: a reader and a writer of batches."""

from __future__ import annotations

import abc
import io
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pyarrow as pa

from pymosaic.closing import Closing
from pymosaic.errors import InvalidOptionError
from pymosaic.io import Sink, open_sink, open_stream, resolve_location

__all__ = [
    "ArrowFileWriter",
    "OpenFileReader",
    "SinkFile",
    "TableReader",
    "TableWriter",
    "batch_rows",
    "open_binary",
    "take_option",
]

# Batches of wide tables have fewer rows.
_VALUES_PER_BATCH = 1 << 21
_MAX_BATCH_ROWS = 1 << 16


def batch_rows(num_columns: int) -> int:
    """The number of rows per batch, so that batches are neither tiny nor huge."""
    return max(1, min(_MAX_BATCH_ROWS, _VALUES_PER_BATCH // max(1, num_columns)))


def open_binary(path: str) -> pa.NativeFile:
    """Open a path or URI for random access."""
    return open_stream(resolve_location(path))


class TableReader(Closing, abc.ABC):
    """A table in a file.

    Attributes
    ----------
    schema : pyarrow.Schema
        The columns.
    num_rows : int or None
        The number of rows; None if the file does not state it.
    """

    schema: pa.Schema
    num_rows: int | None = None

    @abc.abstractmethod
    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows, in bounded memory; of these columns (in this order) or of all."""

    def close(self) -> None:
        """Close the file."""


class _Batches(Protocol):
    """A file of ours that is open: Mosaic or Lance."""

    @property
    def schema(self) -> pa.Schema: ...
    @property
    def num_rows(self) -> int: ...
    def iter_batches(
        self, batch_size: int, /, *, columns: list[str] | None
    ) -> Iterator[pa.RecordBatch]: ...
    def close(self) -> None: ...


class OpenFileReader(TableReader):
    """A Mosaic or Lance file."""

    def __init__(self, file: _Batches) -> None:
        self._file = file
        self.schema: pa.Schema = file.schema
        self.num_rows: int | None = file.num_rows

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows, in bounded memory; of these columns (in this order) or all."""
        width = len(self.schema) if columns is None else len(columns)
        return self._file.iter_batches(batch_rows(width), columns=columns)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class TableWriter(abc.ABC):
    """A file being written: :meth:`close` makes it visible, :meth:`abort` leaves nothing."""

    @abc.abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""

    @abc.abstractmethod
    def close(self) -> None:
        """Finish the file and make it visible."""

    @abc.abstractmethod
    def abort(self) -> None:
        """Discard the file."""


class SinkFile(io.RawIOBase):
    """A sink as a file object for Arrow's writers; closing it does not commit."""

    def __init__(self, sink: Sink) -> None:
        super().__init__()
        self._sink = sink
        self._discards = False

    def writable(self) -> bool:
        """Always true."""
        return True

    def write(self, data: Any) -> int:
        """Pass all bytes to the sink."""
        view = memoryview(data).cast("B")
        if not self._discards:
            self._sink.write(view)
        return view.nbytes

    def abort(self) -> None:
        """Abort the sink, and drop what Arrow's writer still writes when it is released."""
        self._discards = True
        self._sink.abort()

    def tell(self) -> int:
        """The number of bytes so far."""
        return self._sink.position


class ArrowFileWriter(TableWriter):
    """One of Arrow's own writers on a sink."""

    def __init__(self, path: str, make: Callable[[SinkFile], Any]) -> None:
        self._sink = open_sink(path)
        self._file = SinkFile(self._sink)
        try:
            self._writer: Any = make(self._file)
        except BaseException:
            self._file.abort()
            raise

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        self._writer.write(batch)

    def close(self) -> None:
        """Finish the file and make it visible."""
        self._writer.close()
        self._sink.commit()

    def abort(self) -> None:
        """Discard the file."""
        self._file.abort()
        self._writer = None


def take_option(options: dict[str, Any], allowed: tuple[str, ...], target: str) -> dict[str, Any]:
    """The options that a format supports; any other is an error."""
    unknown = sorted(set(options) - set(allowed))
    if unknown:
        flags = ", ".join("--" + name.replace("_", "-") for name in unknown)
        raise InvalidOptionError(f"{flags}: not supported for {target} files")
    return options
