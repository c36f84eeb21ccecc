"""``pymosaic buckets``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pymosaic.cli.options import Files, RowGroups, inspecting
from pymosaic.cli.output import Cell, Document, Field, Output

if TYPE_CHECKING:
    from pymosaic.file.reader import MosaicFile

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic buckets data.mosaic",
    "pymosaic buckets data.mosaic --row-group 0 --json",
]

_FIELDS = (
    Field("row_group", Cell.NUMBER, "group"),
    Field("bucket", Cell.NUMBER),
    Field("layout"),
    Field("offset", on_terminal=False),
    Field("compressed_bytes", Cell.BYTES, "size"),
    Field("raw_bytes", Cell.BYTES, "raw"),
    Field("num_columns", Cell.NUMBER, "columns"),
    Field("columns", Cell.NAME, "from ... to", text=lambda row: _ends(row["columns"])),
)


def _ends(names: list[str]) -> str:
    """The first and the last of the names, which are sorted."""
    return names[0] if len(names) == 1 else " ... ".join((*names[:1], *names[-1:]))


@inspecting
def command(output: Output, files: Files, row_groups: RowGroups = None) -> None:
    """Show the buckets: layout, position, size and columns. Reads only the end of the file."""
    from pymosaic.cli.inputs import chosen_row_groups, mosaic_files
    from pymosaic.cli.text import count

    for source in mosaic_files(files):
        with source.open() as file:
            path = source.path
            numbers = chosen_row_groups(row_groups, file)
            facts = {
                "file": path,
                "num_row_groups": file.num_row_groups,
                "num_buckets": file.num_buckets,
            }
            title = (
                f"{path}: {count(file.num_buckets, 'bucket')} in "
                f"{count(file.num_row_groups, 'row group')}"
            )
            rows = _buckets(file, numbers)
            output.document(Document(title, facts, "buckets", _FIELDS, rows))


def _buckets(file: MosaicFile, numbers: list[int]) -> Iterator[dict[str, Any]]:
    for number in numbers:
        for bucket in file.metadata.row_group(number).buckets():
            yield {
                "row_group": number,
                "bucket": bucket.bucket,
                "layout": bucket.layout,
                "offset": bucket.offset,
                "compressed_bytes": bucket.compressed_size,
                "raw_bytes": bucket.raw_size,
                "num_columns": bucket.num_columns,
                "columns": bucket.column_names,
            }
