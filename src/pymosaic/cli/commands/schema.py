"""``pymosaic schema``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pymosaic.cli.options import Columns, Files, inspecting
from pymosaic.cli.output import Cell, Document, Field, Output

if TYPE_CHECKING:
    import pyarrow as pa

    from pymosaic.cli.rows import Rows
    from pymosaic.file.reader import MosaicFile

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic schema data.mosaic",
    "pymosaic schema data.mosaic -c 'sensor_temp_*'",
    "pymosaic schema table/ --json | jq -r '.columns[].name'",
]

_FIELDS = (
    Field("name", Cell.NAME, "column"),
    Field("type"),
    Field("mosaic_type", header="in the file"),
    Field("nullable"),
    Field("bucket", Cell.NUMBER),
)


@inspecting
def command(output: Output, files: Files, columns: Columns = None) -> None:
    """Show the columns: names, types and buckets.

    Several files are shown as one table, merged by column name.
    """
    import os

    if len(files) == 1 and os.path.isfile(files[0]) and files[0].endswith(".mosaic"):
        # The most common case needs little of the library, and is fast.
        _show_file(output, files[0], columns)
        return
    from pymosaic.cli.rows import open_rows

    with open_rows(files) as rows:
        names = rows.names(columns)
        path = files[0] if len(files) == 1 else ", ".join(files)
        output.document(
            _document(path, rows.num_rows, len(rows.schema), None, _united(rows, names))
        )


def _show_file(output: Output, path: str, columns: list[str] | None) -> None:
    from pymosaic.cli.inputs import select_names
    from pymosaic.file.reader import MosaicFile

    with MosaicFile(path) as file:
        names = select_names(columns, file.column_names)
        rows = _columns(file, names)
        output.document(_document(path, file.num_rows, file.num_columns, file.num_buckets, rows))


def _document(
    path: str,
    num_rows: int | None,
    num_columns: int,
    num_buckets: int | None,
    rows: Iterator[dict[str, Any]],
) -> Document:
    from pymosaic.cli.text import count

    facts = {
        "file": path,
        "num_rows": num_rows,
        "num_columns": num_columns,
        "num_buckets": num_buckets,
    }
    parts = [] if num_rows is None else [count(num_rows, "row")]
    parts.append(count(num_columns, "column"))
    parts += [] if num_buckets is None else [count(num_buckets, "bucket")]
    return Document(f"{path}: {', '.join(parts)}", facts, "columns", _FIELDS, rows)


def _columns(file: MosaicFile, names: list[str] | None) -> Iterator[dict[str, Any]]:
    schema, metadata = file.schema, file.metadata
    described = zip(schema.names, metadata.column_types(), metadata.column_buckets(), strict=True)
    if names is None:
        for index, (name, kind, bucket) in enumerate(described):
            yield _column(schema.field(index), name, kind, bucket)
        return
    found = {name: (kind, bucket) for name, kind, bucket in described}
    for name in names:
        yield _column(schema.field(name), name, *found[name])


def _column(field: pa.Field, name: str, kind: str, bucket: int) -> dict[str, Any]:
    return {
        "name": name,
        "type": str(field.type),
        "mosaic_type": kind,
        "nullable": field.nullable,
        "bucket": bucket,
    }


def _united(rows: Rows, names: list[str]) -> Iterator[dict[str, Any]]:
    for field in rows.selected_schema(names):
        yield {
            "name": field.name,
            "type": str(field.type),
            "mosaic_type": None,
            "nullable": field.nullable,
            "bucket": None,
        }
