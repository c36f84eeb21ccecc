"""``pymosaic column-size``."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pymosaic.cli.options import Columns, Files, inspecting
from pymosaic.cli.output import Cell, Document, Field, Output

if TYPE_CHECKING:
    from pymosaic.file.reader import MosaicFile

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic column-size data.mosaic | head -3",
    "pymosaic column-size data.mosaic -c 'sensor_*' --sort name",
]

_FIELDS = (
    Field("column", Cell.NAME),
    Field("bytes", Cell.BYTES, "size"),
    Field("exact"),
    Field("share", Cell.SHARE),
    Field("raw_bytes", Cell.BYTES, "raw"),
)


class Order(enum.StrEnum):
    """Sort orders of columns."""

    SIZE = "size"
    NAME = "name"
    FILE = "file"


@inspecting
def command(
    output: Output,
    files: Files,
    columns: Columns = None,
    sort: Annotated[Order, typer.Option(help="Largest first, by name, or in file order.")] = (
        Order.SIZE
    ),
) -> None:
    """Show the size of each column in the file. Reads the buckets.

    In a paged bucket the size is exact. Other buckets are compressed as a whole: a column's size is
    then estimated from its share of the uncompressed bytes.
    """
    from pymosaic.cli.inputs import mosaic_files, select_names
    from pymosaic.cli.text import count, ratio
    from pymosaic.sizes import format_size

    for source in mosaic_files(files):
        with source.open() as file:
            path = source.path
            names = select_names(columns, file.column_names)
            rows = _sizes(file, names)
            total = sum(row["bytes"] for row in rows)
            raw = sum(row["raw_bytes"] for row in rows)
            stored = sum(group.compressed_size for group in file.metadata.row_groups())
            for row in rows:
                row["share"] = row["bytes"] / stored if stored else 0.0
            if sort is Order.SIZE:
                rows.sort(key=lambda row: -row["bytes"])
            elif sort is Order.NAME:
                rows.sort(key=lambda row: row["column"])
            facts = {
                "file": path,
                "num_columns": file.num_columns,
                "data_bytes": stored,
                "bytes": total,
                "raw_bytes": raw,
            }
            title = (
                f"{path}: {count(len(rows), 'column')}, {format_size(total)} of "
                f"{format_size(stored)} (raw {format_size(raw)}, {ratio(raw, total)})"
            )
            output.document(Document(title, facts, "columns", _FIELDS, rows))


def _sizes(file: MosaicFile, names: list[str] | None) -> list[dict[str, Any]]:
    from pymosaic.cli.inputs import columns_by_bucket

    order = file.column_names if names is None else names
    rows = {
        name: {"column": name, "bytes": 0, "exact": True, "share": 0.0, "raw_bytes": 0}
        for name in order
    }
    for number in range(file.num_row_groups):
        row_group = file.metadata.row_group(number)
        for number_of_bucket in columns_by_bucket(file, names):
            bucket = row_group.bucket(number_of_bucket)
            described = bucket.columns()
            whole = sum(column.raw_size for column in described)
            for column in described:
                row: dict[str, Any] | None = rows.get(column.name)
                if row is None:
                    continue
                row["raw_bytes"] += column.raw_size
                if column.compressed_size is not None:
                    row["bytes"] += column.compressed_size
                elif whole:
                    row["bytes"] += round(bucket.compressed_size * column.raw_size / whole)
                    row["exact"] = row["exact"] and bucket.num_columns == 1
    return list(rows.values())
