"""``pymosaic schema``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pymosaic.cli.options import Columns, Files, inspecting
from pymosaic.cli.output import Cell, Document, Field, Output

if TYPE_CHECKING:
    from pymosaic.reader import MosaicFile

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic schema data.mosaic",
    "pymosaic schema data.mosaic -c 'sensor_temp_*'",
    "pymosaic schema data.mosaic --json | jq -r '.columns[].name'",
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
    """Show the columns: names, types, and the buckets they are in."""
    from pymosaic.cli.inputs import mosaic_files, select_names
    from pymosaic.cli.text import count

    for source in mosaic_files(files):
        with source.open() as file:
            path = source.path
            names = select_names(columns, file.column_names)
            facts = {
                "file": path,
                "num_rows": file.num_rows,
                "num_columns": file.num_columns,
                "num_buckets": file.num_buckets,
            }
            title = (
                f"{path}: {count(file.num_rows, 'row')}, {count(file.num_columns, 'column')}, "
                f"{count(file.num_buckets, 'bucket')}"
            )
            output.document(Document(title, facts, "columns", _FIELDS, _columns(file, names)))


def _columns(file: MosaicFile, names: list[str] | None) -> Iterator[dict[str, Any]]:
    schema, metadata = file.schema, file.metadata
    for field in schema if names is None else map(schema.field, names):
        yield {
            "name": field.name,
            "type": str(field.type),
            "mosaic_type": metadata.column_type(field.name),
            "nullable": field.nullable,
            "bucket": metadata.column_bucket(field.name),
        }
