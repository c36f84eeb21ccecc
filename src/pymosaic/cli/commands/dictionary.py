"""``pymosaic dictionary``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pymosaic.cli.options import Files, RowGroups, SomeColumns, inspecting
from pymosaic.cli.output import Cell, Document, Field, Output
from pymosaic.cli.text import child_name

if TYPE_CHECKING:
    from pymosaic.file.reader import MosaicFile

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic dictionary data.mosaic -c city",
    "pymosaic dictionary data.mosaic -c city --format csv",
]

_FIELDS = (
    Field("row_group", Cell.NUMBER, "group"),
    Field("column", Cell.NAME, text=lambda row: child_name(row["column"], row["child"])),
    Field("child", on_terminal=False),
    Field("encoding"),
    Field("entry", Cell.NUMBER),
    Field("value", Cell.VALUE),
)


@inspecting
def command(
    output: Output, files: Files, columns: SomeColumns, row_groups: RowGroups = None
) -> None:
    """Show the stored dictionaries of columns. Reads their buckets.

    A constant column shows its one value. Columns with other encodings show nothing.
    """
    from pymosaic.cli.inputs import chosen_row_groups, mosaic_files, select_names
    from pymosaic.cli.text import count

    for source in mosaic_files(files):
        with source.open() as file:
            path = source.path
            numbers = chosen_row_groups(row_groups, file)
            names = select_names(columns, file.column_names) or []
            facts = {"file": path, "num_row_groups": file.num_row_groups, "columns": names}
            title = f"{path}: {count(len(names), 'column')}"
            rows = _entries(file, numbers, names)
            output.document(Document(title, facts, "entries", _FIELDS, rows))


def _entries(file: MosaicFile, numbers: list[int], names: list[str]) -> Iterator[dict[str, Any]]:
    from pymosaic.cli.values import plain_values

    metadata = file.metadata
    for number in numbers:
        row_group = metadata.row_group(number)
        for name in names:
            dictionaries = row_group.bucket(metadata.column_bucket(name)).dictionary(name)
            for child, (column, entries) in enumerate(dictionaries):
                for index, value in enumerate(plain_values(entries)):
                    yield {
                        "row_group": number,
                        "column": name,
                        "child": child if column.is_child else None,
                        "encoding": column.encoding,
                        "entry": index,
                        "value": value,
                    }
