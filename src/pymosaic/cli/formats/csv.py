"""CSV with a header: an empty field is null, ``""`` is an empty string."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from pymosaic.cli.formats import FileKind
from pymosaic.cli.formats.base import TableReader, TableWriter, batch_rows, take_option
from pymosaic.cli.formats.text_chunks import TextReader, TextWriter, chunks
from pymosaic.cli.values import plain_columns, to_json
from pymosaic.errors import InvalidDataError
from pymosaic.progress import Progress

__all__ = ["csv_line", "csv_texts", "read", "write"]

_NEEDS_QUOTES = frozenset('",\r\n')


def csv_field(value: Any) -> str:
    """A plain value as a field."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    text = value if isinstance(value, str) else to_json(value)
    if text and not _NEEDS_QUOTES.intersection(text) and text.strip() == text:
        return text
    return '"' + text.replace('"', '""') + '"'


def csv_line(values: Sequence[Any]) -> str:
    """Plain values as a line."""
    return ",".join(map(csv_field, values)) + "\n"


def csv_texts(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """Header and rows of batches as text, many lines at a time."""
    yield csv_line(schema.names)
    for batch in batches:
        yield from _row_texts(batch)


def _row_texts(batch: pa.RecordBatch) -> Iterator[str]:
    step = batch_rows(batch.num_columns) // 16 + 1
    for start in range(0, batch.num_rows, step):
        part = batch.slice(start, step)
        columns = [list(map(csv_field, column)) for column in plain_columns(part)]
        if columns:
            yield "".join(f"{','.join(row)}\n" for row in zip(*columns, strict=True))
        else:
            yield "\n" * part.num_rows


def _find_end(data: bytes) -> int:
    """The end of the last record; after an odd number of quotes, a line end is inside a value."""
    end = len(data)
    while end := data.rfind(b"\n", 0, end) + 1:
        if data.count(b'"', 0, end) % 2 == 0:
            return end
        end -= 1
    return 0


class _CsvFile:
    """The chunks of a file; only the first starts with the header."""

    def __init__(self, path: str, codec: str | None) -> None:
        self._path = path
        self._codec = codec
        self.names: list[str] = []

    def chunks(self, progress: Progress | None) -> Iterator[bytes]:
        self.names = []
        for chunk in chunks(self._path, self._codec, _find_end, progress):
            if not self.names:
                self.names = _read(chunk, pa_csv.ReadOptions(), {}).schema.names
                name, times = Counter(self.names).most_common(1)[0]
                if times > 1:
                    raise InvalidDataError(f"{self._path}: duplicate column {name!r} in the header")
                yield chunk[_header_end(chunk) :]
            else:
                yield chunk

    def infer(self, chunk: bytes) -> pa.Table:
        return self._table(chunk, {})

    def parse(self, chunk: bytes, schema: pa.Schema) -> pa.Table:
        return self._table(chunk, {field.name: field.type for field in schema})

    def _table(self, chunk: bytes, types: dict[str, pa.DataType]) -> pa.Table:
        if not chunk.strip():
            return pa.table({name: pa.array([], types.get(name, pa.null())) for name in self.names})
        return _read(chunk, pa_csv.ReadOptions(column_names=self.names), types)


def _read(chunk: bytes, options: pa_csv.ReadOptions, types: dict[str, pa.DataType]) -> pa.Table:
    # One block: of several, Arrow infers types from the first only.
    options.block_size = len(chunk) + 1
    return pa_csv.read_csv(
        io.BytesIO(chunk),
        read_options=options,
        parse_options=pa_csv.ParseOptions(newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


def _header_end(chunk: bytes) -> int:
    end = 0
    while True:
        end = chunk.find(b"\n", end) + 1
        if end == 0:
            return len(chunk)
        if chunk.count(b'"', 0, end) % 2 == 0:
            return end


def _union(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    if pa.types.is_null(first):
        return second
    if pa.types.is_null(second):
        return first
    kinds = {first, second}
    if kinds == {pa.int64(), pa.float64()}:
        return pa.float64()
    if all(pa.types.is_timestamp(kind) and kind.tz is None for kind in kinds):
        return pa.timestamp("ns")
    if pa.binary() in kinds:
        return pa.binary()
    return pa.string()  # which every field is


def read(
    path: str, kind: FileKind, progress: Progress | None, known: pa.Schema | None
) -> TableReader:
    """Open a CSV file; ``known`` gives the types of some columns."""
    file = _CsvFile(path, kind.codec)
    return TextReader(path, file, _union, progress, known)


def write(path: str, kind: FileKind, schema: pa.Schema, options: dict[str, Any]) -> TableWriter:
    """Create a CSV file."""
    take_option(options, (), "CSV")
    writer = TextWriter(path, kind.codec, _row_texts)
    writer.write_text(csv_line(schema.names))
    return writer
