"""JSON lines: one object per line."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.json as pa_json

from pymosaic.cli.formats import FileKind
from pymosaic.cli.formats.base import TableReader, TableWriter, batch_rows, take_option
from pymosaic.cli.formats.text_chunks import TextReader, TextWriter, chunks
from pymosaic.cli.values import MANY_COLUMNS, json_values, plain_columns, plain_groups, to_json
from pymosaic.kernels.json_rows import JsonRows
from pymosaic.progress import Progress

__all__ = ["json_lines", "read", "write"]


def json_lines(batches: Iterable[pa.RecordBatch]) -> Iterator[str]:
    """The rows of batches as text, many lines at a time."""
    for batch in batches:
        names = batch.schema.names
        wide = len(names) > MANY_COLUMNS and len(set(names)) == len(names)
        step = batch_rows(len(names)) // (2 if wide else 16) + 1
        for start in range(0, batch.num_rows, step):
            part = batch if batch.num_rows <= step else batch.slice(start, step)
            if wide:
                yield from _wide_lines(names, part)
            elif names:
                rows = zip(*plain_columns(part), strict=True)
                yield "".join(to_json(dict(zip(names, row, strict=True))) + "\n" for row in rows)
            else:
                yield "{}\n" * part.num_rows


def _wide_lines(names: list[str], batch: pa.RecordBatch) -> Iterator[str]:
    """The same for many columns: a kernel writes those of common types."""
    rows = JsonRows(batch, to_json)
    heads = [f",{name}:" for name in json_values(names)]
    heads[0] = "{" + heads[0][1:]
    texts: dict[int, list[str]] = {}
    for indexes, plain in plain_groups(batch, rows.others):
        found = json_values(plain)
        for place, index in enumerate(indexes):
            texts[index] = found[place * batch.num_rows : (place + 1) * batch.num_rows]
    for row in range(batch.num_rows):
        yield rows.line(row, heads, texts)


def _find_end(data: bytes) -> int:
    return data.rfind(b"\n") + 1


class _JsonFile:
    """The lines of a file."""

    def __init__(self, path: str, codec: str | None) -> None:
        self._path = path
        self._codec = codec

    def chunks(self, progress: Progress | None) -> Iterator[bytes]:
        return chunks(self._path, self._codec, _find_end, progress)

    def infer(self, chunk: bytes) -> pa.Table:
        return pa_json.read_json(io.BytesIO(chunk), read_options=_whole(chunk))

    def parse(self, chunk: bytes, schema: pa.Schema) -> pa.Table:
        parsed = pa.schema([(field.name, _parsed_as(field.type)) for field in schema])
        options = pa_json.ParseOptions(explicit_schema=parsed, unexpected_field_behavior="error")
        table = pa_json.read_json(
            io.BytesIO(chunk), read_options=_whole(chunk), parse_options=options
        )
        return table.select(schema.names).cast(schema)


def _parsed_as(kind: pa.DataType) -> pa.DataType:
    # For dates and times, Arrow expects numbers, which no one writes.
    return pa.string() if pa.types.is_date(kind) or pa.types.is_time(kind) else kind


def _whole(chunk: bytes) -> pa_json.ReadOptions:
    # One block: Arrow infers types less well from several.
    return pa_json.ReadOptions(block_size=max(1, len(chunk) + 1))


def _union(first: pa.DataType, second: pa.DataType) -> pa.DataType | None:
    texts = (pa.types.is_string, pa.types.is_timestamp)
    if all(any(is_text(kind) for is_text in texts) for kind in (first, second)):
        return pa.string()  # Arrow takes text that looks like a time for a time
    try:
        united = pa.unify_schemas(
            [pa.schema([("x", first)]), pa.schema([("x", second)])], promote_options="permissive"
        )
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return None
    return united.field(0).type


def read(
    path: str, kind: FileKind, progress: Progress | None, known: pa.Schema | None
) -> TableReader:
    """Open a file of JSON lines; ``known`` gives the types of some columns."""
    return TextReader(path, _JsonFile(path, kind.codec), _union, progress, known)


def write(path: str, kind: FileKind, schema: pa.Schema, options: dict[str, Any]) -> TableWriter:
    """Create a file of JSON lines."""
    take_option(options, (), "JSON lines")
    return TextWriter(path, kind.codec, lambda batch: json_lines([batch]))
