"""CSV and JSON lines, cut into chunks of whole records, with one schema for all of them.

Such a file tells no types. Two passes over it, chunk by chunk, find types that hold for every
record, in bounded memory: a value in the last line counts as much as one in the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from pymosaic.cli.formats.base import TableReader, TableWriter, batch_rows, open_binary
from pymosaic.errors import InvalidDataError, LimitExceededError
from pymosaic.sink import open_sink

__all__ = ["CompressedText", "TextReader", "TextWriter", "chunks"]

_CHUNK_BYTES = 8 << 20
_MAX_RECORD_BYTES = 1 << 30


class CompressedText:
    """The bytes of a text file, decompressed on the way."""

    def __init__(self, path: str, codec: str | None) -> None:
        self._file = open_binary(path)
        self._stream = self._file if codec is None else pa.CompressedInputStream(self._file, codec)

    def read(self, size: int) -> bytes:
        """Up to so many bytes; none at the end."""
        data: bytes = self._stream.read(size)
        return data

    def close(self) -> None:
        """Close both."""
        self._stream.close()
        self._file.close()


def chunks(path: str, codec: str | None, find_end: Callable[[bytes], int]) -> Iterator[bytes]:
    """Runs of whole records; ``find_end`` tells where the last one in some bytes ends, or 0."""
    text = CompressedText(path, codec)
    try:
        pending = b""
        size = _CHUNK_BYTES
        while data := text.read(size):
            pending += data
            end = find_end(pending)
            if end:
                yield pending[:end]
                pending = pending[end:]
                size = _CHUNK_BYTES
            elif len(pending) > _MAX_RECORD_BYTES:
                raise LimitExceededError(
                    f"a record is longer than {_MAX_RECORD_BYTES} bytes", path=path
                )
            else:
                size = len(pending)
        if pending.strip():
            yield pending
    finally:
        text.close()


class TextReader(TableReader):
    """A text file of which the first pass has found the schema."""

    def __init__(
        self,
        path: str,
        make_chunks: Callable[[], Iterator[bytes]],
        infer: Callable[[bytes], pa.Schema],
        parse: Callable[[bytes, pa.Schema], pa.Table],
        union: Callable[[pa.DataType, pa.DataType], pa.DataType | None],
    ) -> None:
        self._path = path
        self._make_chunks = make_chunks
        self._parse = parse
        self._infer = infer
        self._union = union
        self.schema = self._infer_schema()

    def _infer_schema(self) -> pa.Schema:
        types: dict[str, pa.DataType] = {}
        for number, chunk in enumerate(self._make_chunks(), 1):
            for field in self._guarded(self._infer, number, chunk):
                known = types.get(field.name, field.type)
                united = known if known.equals(field.type) else self._union(known, field.type)
                if united is None:
                    raise InvalidDataError(
                        f"{self._path}: column {field.name!r} holds {known} in one place and "
                        f"{field.type} in another"
                    )
                types[field.name] = united
        return pa.schema(
            [
                # No value at all: text is what any later value could be.
                (name, pa.string() if pa.types.is_null(kind) else kind)
                for name, kind in types.items()
            ]
        )

    def _guarded(self, function: Callable[..., Any], number: int, *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except pa.ArrowInvalid as error:
            part = "" if number == 1 else f", in the {number}th part of {_CHUNK_BYTES >> 20} MiB"
            raise InvalidDataError(f"{self._path}{part}: {error}") from error

    def batches(self, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows: the second pass."""
        for number, chunk in enumerate(self._make_chunks(), 1):
            table = self._guarded(self._parse, number, chunk, self.schema)
            if columns is not None:
                table = table.select(columns)
            yield from table.to_batches(max_chunksize=batch_rows(len(self.schema)))


class TextWriter(TableWriter):
    """Text, compressed on the way where the name says so."""

    def __init__(
        self, path: str, codec: str | None, texts: Callable[[pa.RecordBatch], Iterator[str]]
    ) -> None:
        from pymosaic.cli.formats.base import SinkFile

        self._texts = texts
        self._sink = open_sink(path)
        file = SinkFile(self._sink)
        self._stream: Any = file if codec is None else pa.CompressedOutputStream(file, codec)

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
        """Leave no trace."""
        self._sink.abort()
        self._stream = None
