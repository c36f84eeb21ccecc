"""The hidden column ``_metadata``: where each row comes from, as Spark's file sources tell it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from pymosaic.datasets.discovery import DataFile
from pymosaic.datasets.plan import Piece
from pymosaic.datasets.scan_task import ScanTask
from pymosaic.file.open_file import read_head
from pymosaic.io import open_source

__all__ = ["METADATA", "FileFacts", "file_uri", "metadata_column", "read_with_metadata"]

METADATA = "_metadata"
_ROW_INDEX = "row_index"
# Characters that Java's URIs leave as they are, besides letters, digits and those beyond ASCII.
_UNQUOTED = "/=:@&$+!*'(),;~_-."


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What ``_metadata`` tells about a file.

    Parameters
    ----------
    uri : str
    size : int
    modified : int or None
        Microseconds since 1970.
    """

    uri: str
    size: int
    modified: int | None

    @classmethod
    def of(cls, file: DataFile, location: str) -> FileFacts:
        """The facts of a file of a relation that was loaded from a location."""
        # Hadoop knows times in milliseconds.
        modified = None if file.modified is None else int(file.modified * 1000) * 1000
        return cls(file_uri(file.path, location), file.size or 0, modified)


def file_uri(path: str, location: str) -> str:
    """The path of a file as Spark shows it, for a relation loaded from a location.

    Examples
    --------
    >>> file_uri("/data/day=1/a b.mosaic", "/data")
    'file:///data/day=1/a%20b.mosaic'
    >>> file_uri("bucket/x.mosaic", "s3a://bucket")
    's3a://bucket/x.mosaic'
    """
    scheme, separator, _ = location.partition("://")
    if not separator or "/" in scheme:
        scheme = "file"
    quoted = "".join(
        quote(character, safe=_UNQUOTED) if character.isascii() else character
        for character in path.partition("://")[2] or path
    )
    return f"{scheme}://{quoted}"


def metadata_column(
    data_type: pa.StructType, facts: FileFacts, first_row: int, num_rows: int
) -> pa.StructArray:
    """The column for consecutive rows of a file.

    Parameters
    ----------
    data_type : pyarrow.StructType
        The fields that are wanted.
    facts : FileFacts
    first_row : int
        The place of the first row in the file.
    num_rows : int
    """
    values: dict[str, Any] = {
        "file_path": facts.uri,
        "file_name": facts.uri.rpartition("/")[2],
        "file_size": facts.size,
        "file_block_start": 0,
        "file_block_length": facts.size,
        "file_modification_time": facts.modified,
    }
    columns = []
    for field in data_type:
        if field.name == _ROW_INDEX:
            rows = range(first_row, first_row + num_rows)
            columns.append(pa.array(rows, pa.int64()).cast(field.type))
        else:
            value = pa.scalar(values[field.name], _plain(field.type)).cast(field.type)
            columns.append(pa.repeat(value, num_rows))
    return pa.StructArray.from_arrays(columns, fields=list(data_type))


def _plain(data_type: pa.DataType) -> pa.DataType:
    return pa.timestamp("us") if pa.types.is_timestamp(data_type) else data_type


def read_with_metadata(
    task: ScanTask, piece: Piece, data_type: pa.StructType, facts: FileFacts
) -> Iterator[tuple[pa.RecordBatch, pa.StructArray]]:
    """The rows of a piece, and the metadata of each."""
    starts: list[int] | None = None
    if data_type.get_field_index(_ROW_INDEX) >= 0:
        # A filter would hide which rows of the file these are; Spark tests all rows itself.
        task = replace(task, row_filter=None, filter_schema=pa.schema([]))
        starts = _row_starts(task, piece.path)
    for row_group in piece.row_groups:
        first_row = 0 if starts is None else starts[row_group]
        for batch in task.read([replace(piece, row_groups=(row_group,))]):
            yield batch, metadata_column(data_type, facts, first_row, batch.num_rows)
            first_row += batch.num_rows


def _row_starts(task: ScanTask, path: str) -> list[int]:
    """The place of the first row of each row group in its file."""
    source = open_source(path, task.filesystem)
    try:
        index = read_head(source, task.limits).index
    finally:
        source.close()
    starts, rows = [], 0
    for row_group in range(index.num_row_groups):
        starts.append(rows)
        rows += index.row_count(row_group)
    return starts
