"""CSV and JSON lines, cut into chunks of whole records, with one schema for all of them.

Such a file states no types. Two passes over it, chunk by chunk and in bounded memory, find types
that hold for every record: a value in the last line counts as much as one in the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import pyarrow as pa

from pymosaic.cli.formats.base import (
    SinkFile,
    TableReader,
    TableWriter,
    batch_rows,
    open_binary,
)
from pymosaic.errors import InvalidDataError, LimitExceededError, UnsupportedFeatureError
from pymosaic.io import open_sink
from pymosaic.progress import Meter, Progress

__all__ = ["CompressedText", "TextFile", "TextReader", "TextWriter", "chunks"]

_CHUNK_BYTES = 8 << 20
_MAX_RECORD_BYTES = 1 << 30


class CompressedText:
    """The bytes of a text file, decompressed on the way."""

    def __init__(self, path: str, codec: str | None) -> None:
        self._file = open_binary(path)
        self._stream = self._file if codec is None else pa.CompressedInputStream(self._file, codec)

    @property
    def size(self) -> int:
        """The size of the file as stored."""
        return int(self._file.size())

    @property
    def position(self) -> int:
        """The number of stored bytes read so far."""
        return int(self._file.tell())

    def read(self, size: int) -> bytes:
        """Up to ``count`` bytes; empty at the end."""
        data: bytes = self._stream.read(size)
        return data

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
        self._file.close()


def chunks(
    path: str,
    codec: str | None,
    find_end: Callable[[bytes], int],
    progress: Progress | None,
) -> Iterator[bytes]:
    """Runs of whole records; ``find_end`` returns where the last record in a buffer ends, or 0."""
    text = CompressedText(path, codec)
    try:
        meter = Meter(progress, text.size, "bytes")
        pending = b""
        size = _CHUNK_BYTES
        while data := text.read(size):
            meter.add(text.position - meter.done)
            pending += data
            end = find_end(pending)
            if end:
                yield pending[:end]
                pending = pending[end:]
                size = _CHUNK_BYTES
            elif len(pending) > _MAX_RECORD_BYTES:
                raise LimitExceededError(
                    f"a record is longer than {_MAX_RECORD_BYTES} bytes, the maximum", path=path
                )
            else:
                size = len(pending)
        if pending.strip():
            yield pending
    finally:
        text.close()


class TextFile(Protocol):
    """A text format: its chunks, and the rows of one."""

    def chunks(self, progress: Progress | None) -> Iterator[bytes]:
        """Runs of whole records, from the start."""
        ...

    def infer(self, chunk: bytes) -> pa.Table:
        """Rows with inferred types."""
        ...

    def parse(self, chunk: bytes, schema: pa.Schema) -> pa.Table:
        """Rows with these types."""
        ...


class TextReader(TableReader):
    """A text file whose schema comes from the first pass, and from known types."""

    num_rows: int

    def __init__(
        self,
        path: str,
        file: TextFile,
        union: Callable[[pa.DataType, pa.DataType], pa.DataType | None],
        progress: Progress | None,
        known: pa.Schema | None,
    ) -> None:
        self._path = path
        self._file = file
        self._union = union
        self.num_rows = 0
        given = {} if known is None else {field.name: field.type for field in known}
        self.schema: pa.Schema = self._infer_schema(progress, given)

    def _infer_schema(self, progress: Progress | None, given: dict[str, pa.DataType]) -> pa.Schema:
        types: dict[str, pa.DataType] = {}
        for number, chunk in enumerate(self._file.chunks(progress), 1):
            table = self._guarded(self._file.infer, number, chunk)
            self.num_rows += table.num_rows
            for field in table.schema:
                if field.name in given:
                    types[field.name] = self._readable(field.name, given[field.name])
                    continue
                known = types.get(field.name, field.type)
                united = known if known.equals(field.type) else self._union(known, field.type)
                if united is None:
                    raise InvalidDataError(
                        f"{self._path}: column {field.name!r} has {known} in one place and "
                        f"{field.type} in another"
                    )
                types[field.name] = united
        return pa.schema(
            [
                # No value at all: text can represent anything.
                (name, pa.string() if pa.types.is_null(kind) else kind)
                for name, kind in types.items()
            ]
        )

    def _readable(self, name: str, kind: pa.DataType) -> pa.DataType:
        """Check a requested type. Binary is refused: Arrow would take the hex digits as bytes."""
        if _holds_bytes(kind):
            raise UnsupportedFeatureError(
                f"{self._path}: column {name!r} cannot be read as {kind} from text"
            )
        return kind

    def _guarded(self, function: Callable[..., Any], number: int, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            part = "" if number == 1 else f", in chunk {number} of {_CHUNK_BYTES >> 20} MiB"
            raise InvalidDataError(f"{self._path}{part}: {error}") from error

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows: the second pass."""
        for number, chunk in enumerate(self._file.chunks(None), 1):
            table = self._guarded(self._file.parse, number, chunk, self.schema)
            if columns is not None:
                table = table.select(columns)
            yield from table.to_batches(max_chunksize=batch_rows(len(self.schema)))


def _holds_bytes(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_holds_bytes(kind.field(index).type) for index in range(kind.num_fields))
    is_bytes = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(check(kind) for check in is_bytes)


class TextWriter(TableWriter):
    """Text, compressed if the file name says so."""

    def __init__(
        self, path: str, codec: str | None, texts: Callable[[pa.RecordBatch], Iterator[str]]
    ) -> None:
        self._texts = texts
        self._sink = open_sink(path)
        self._file = SinkFile(self._sink)
        self._stream: Any = self._file
        if codec is not None:
            self._stream = pa.CompressedOutputStream(self._file, codec)

    def write_text(self, text: str) -> None:
        """Append text."""
        self._stream.write(text.encode("utf-8", "surrogatepass"))

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        for text in self._texts(batch):
            self.write_text(text)

    def close(self) -> None:
        """Finish the file and make it visible."""
        self._stream.close()
        self._sink.commit()

    def abort(self) -> None:
        """Discard the file."""
        self._file.abort()
        self._stream = None
