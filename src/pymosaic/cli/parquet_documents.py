"""What ``meta``, ``column-size`` and ``stats`` show for Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pymosaic.cli.column_sizes import ColumnSize, added
from pymosaic.cli.inputs import check_row_groups, select_names
from pymosaic.cli.output import Cell, Document, Field
from pymosaic.cli.text import count
from pymosaic.cli.values import plain_value
from pymosaic.sizes import format_size

__all__ = ["add_parquet_sizes", "parquet_meta", "parquet_statistics"]

_ROW_GROUPS = (
    Field("row_group", Cell.NUMBER),
    Field("num_rows", Cell.NUMBER, "rows"),
    Field("compressed_bytes", Cell.BYTES, "size"),
    Field("columns_with_statistics", Cell.NUMBER, "statistics"),
)
_DICTIONARIES = ("RLE_DICTIONARY", "PLAIN_DICTIONARY")
_LEVELS = ("RLE", "BIT_PACKED")


def parquet_meta(path: str) -> Document:
    """Rows, row groups and sizes."""
    with pq.ParquetFile(path) as file:
        metadata = file.metadata
        num_columns = len(file.schema_arrow)
        row_groups = []
        for number in range(metadata.num_row_groups):
            row_group = metadata.row_group(number)
            chunks = [row_group.column(index) for index in range(row_group.num_columns)]
            row_groups.append(
                {
                    "row_group": number,
                    "num_rows": row_group.num_rows,
                    "compressed_bytes": sum(chunk.total_compressed_size for chunk in chunks),
                    "columns_with_statistics": sum(chunk.is_stats_set for chunk in chunks),
                }
            )
    facts = {
        "file": path,
        "format": f"parquet {metadata.format_version}",
        "num_rows": metadata.num_rows,
        "num_columns": num_columns,
        "num_row_groups": metadata.num_row_groups,
        "created_by": metadata.created_by,
        "metadata_bytes": metadata.serialized_size,
    }
    title = (
        f"{path}: Parquet {metadata.format_version}, {count(metadata.num_rows, 'row')}, "
        f"{count(num_columns, 'column')}, {count(metadata.num_row_groups, 'row group')}, "
        f"metadata {format_size(metadata.serialized_size)}"
    )
    return Document(title, facts, "row_groups", _ROW_GROUPS, row_groups)


def add_parquet_sizes(sizes: dict[str, ColumnSize], path: str) -> int:
    """Add the sizes of a file's columns, which its footer lists; returns the size of all data."""
    stored = 0
    with pq.ParquetFile(path) as file:
        owners = _owners(file.schema_arrow)
        for field in file.schema_arrow:
            sizes.setdefault(field.name, ColumnSize(field.name, str(field.type)))
        for _, chunk, index in _chunks(file, range(file.num_row_groups)):
            size = sizes[owners[index].name]
            size.num_bytes += chunk.total_compressed_size
            size.raw_bytes = added(size.raw_bytes, chunk.total_uncompressed_size)
            stored += chunk.total_compressed_size
            encoding = _encoding(chunk.encodings)
            size.encodings[encoding] = size.encodings.get(encoding, 0) + chunk.total_compressed_size
    return stored


def parquet_statistics(
    path: str, columns: list[str] | None, row_groups: list[int] | None, fields: tuple[Field, ...]
) -> Document:
    """Stored minimum, maximum and nulls of columns that are not nested."""
    rows = []
    with pq.ParquetFile(path) as file:
        names = select_names(columns, file.schema_arrow.names)
        wanted = None if names is None else set(names)
        owners = _owners(file.schema_arrow)
        numbers = check_row_groups(row_groups, file.num_row_groups)
        for number, chunk, index in _chunks(file, numbers):
            field = owners[index]
            statistics = chunk.statistics
            if statistics is None or pa.types.is_nested(field.type):
                continue
            if wanted is not None and field.name not in wanted:
                continue
            bounds = statistics.has_min_max
            rows.append(
                {
                    "row_group": number,
                    "column": field.name,
                    "num_rows": file.metadata.row_group(number).num_rows,
                    "null_count": statistics.null_count if statistics.has_null_count else None,
                    "min": _plain(statistics.min, field.type) if bounds else None,
                    "max": _plain(statistics.max, field.type) if bounds else None,
                }
            )
        facts = {
            "file": path,
            "num_rows": file.metadata.num_rows,
            "num_row_groups": file.num_row_groups,
        }
    return Document(path, facts, "statistics", fields, rows, empty="no statistics")


def _chunks(file: pq.ParquetFile, numbers: Any) -> Iterator[tuple[int, Any, int]]:
    """The column chunks of row groups, each with its number among the leaves."""
    for number in numbers:
        row_group = file.metadata.row_group(number)
        for index in range(row_group.num_columns):
            yield number, row_group.column(index), index


def _owners(schema: pa.Schema) -> list[pa.Field]:
    """For each leaf, the field that it is a part of. Names may have dots, so paths do not tell."""
    return [field for field in schema for _ in range(_num_leaves(field.type))]


def _num_leaves(kind: pa.DataType) -> int:
    if pa.types.is_dictionary(kind) or not kind.num_fields:
        return 1
    return sum(_num_leaves(kind.field(index).type) for index in range(kind.num_fields))


def _encoding(encodings: tuple[str, ...]) -> str:
    """The encoding of values; levels have encodings, too, and dictionaries are plain."""
    for name in _DICTIONARIES:
        if name in encodings:
            return name
    return next((name for name in encodings if name not in _LEVELS), "RLE")


def _plain(value: Any, kind: pa.DataType) -> Any:
    try:
        return plain_value(pa.scalar(value, kind))
    except (pa.ArrowException, ValueError, TypeError):
        return str(value)
