"""``pymosaic stats``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pymosaic.cli.options import Columns, Files, RowGroups, inspecting
from pymosaic.cli.output import Cell, Document, Field, Output
from pymosaic.errors import InvalidOptionError

if TYPE_CHECKING:
    from pymosaic.file.reader import MosaicFile

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic stats data.mosaic",
    "pymosaic stats data.mosaic -c 'price*' --row-group 0",
]

_FIELDS = (
    Field("row_group", Cell.NUMBER, "group"),
    Field("column", Cell.NAME),
    Field("num_rows", Cell.NUMBER, "rows"),
    Field("null_count", Cell.NUMBER, "nulls"),
    Field("min", Cell.VALUE),
    Field("max", Cell.VALUE),
)


@inspecting
def command(
    output: Output, files: Files, columns: Columns = None, row_groups: RowGroups = None
) -> None:
    """Show stored statistics by row group: minimum, maximum, nulls.

    Lance files store none; profile computes such figures from the rows.
    """
    from pymosaic.cli.inputs import chosen_row_groups, mosaic_files, select_names, split_formats

    lance, parquet, files = split_formats(files)
    for path in parquet:
        from pymosaic.cli.parquet_documents import parquet_statistics

        output.document(parquet_statistics(path, columns, row_groups, _FIELDS))
    for path in lance:
        from pymosaic.cli.lance_documents import lance_statistics

        if row_groups:
            raise InvalidOptionError(f"{path}: --row-group does not apply to Lance files")
        output.document(lance_statistics(path, columns, _FIELDS))
    for source in mosaic_files(files) if files else ():
        with source.open() as file:
            path = source.path
            numbers = chosen_row_groups(row_groups, file)
            names = select_names(columns, file.column_names)
            facts = {"file": path, "num_rows": file.num_rows, "num_row_groups": file.num_row_groups}
            rows = _statistics(file, numbers, names)
            empty = "no statistics; convert --stats adds them, as does statistics= in Python"
            output.document(Document(path, facts, "statistics", _FIELDS, rows, empty=empty))


def _statistics(
    file: MosaicFile, numbers: list[int], names: list[str] | None
) -> Iterator[dict[str, Any]]:
    from pymosaic.cli.values import plain_value

    for number in numbers:
        found = file.statistics(number)
        for name in file.column_names if names is None else names:
            statistics = found.get(name)
            if statistics is not None:
                yield {
                    "row_group": number,
                    "column": name,
                    "num_rows": statistics.num_rows,
                    "null_count": statistics.null_count,
                    "min": plain_value(statistics.min_scalar),
                    "max": plain_value(statistics.max_scalar),
                }
