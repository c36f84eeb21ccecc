"""``pymosaic pages``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pymosaic.cli.options import Columns, Files, RowGroups, inspecting
from pymosaic.cli.output import Cell, Document, Field, Output
from pymosaic.cli.text import child_name

if TYPE_CHECKING:
    from pymosaic.file.reader import MosaicFile

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic pages data.mosaic -c 'sensor_temp_*'",
    "pymosaic pages data.mosaic | jq 'select(.encoding == \"PLAIN\") | .column'",
]

_FIELDS = (
    Field("row_group", Cell.NUMBER, "group"),
    Field("bucket", Cell.NUMBER),
    Field("column", Cell.NAME, text=lambda row: child_name(row["column"], row["child"])),
    Field("child", on_terminal=False),
    Field("encoding"),
    Field("num_values", Cell.NUMBER, "values"),
    Field("null_count", Cell.NUMBER, "nulls"),
    Field("dictionary_entries", Cell.NUMBER, "entries"),
    Field("raw_bytes", Cell.BYTES, "raw"),
    Field("compressed_bytes", Cell.BYTES, "stored"),
)


@inspecting
def command(
    output: Output, files: Files, columns: Columns = None, row_groups: RowGroups = None
) -> None:
    """Show how columns are stored: encoding, nulls, sizes. Reads the buckets.

    The stored size of a column is known if its bucket is paged; other buckets are compressed as a
    whole. Lists and maps store lengths, then their children, which are numbered.
    """
    from pymosaic.cli.inputs import (
        chosen_row_groups,
        mosaic_files,
        select_names,
        split_formats,
    )
    from pymosaic.cli.text import count

    lance, parquet, files = split_formats(files)
    for path in lance:
        from pymosaic.cli.lance_documents import lance_pages

        output.document(lance_pages(path, columns))
    files += parquet  # which are refused, with advice
    for source in mosaic_files(files) if files else ():
        with source.open() as file:
            path = source.path
            numbers = chosen_row_groups(row_groups, file)
            names = select_names(columns, file.column_names)
            facts = {
                "file": path,
                "num_row_groups": file.num_row_groups,
                "num_columns": file.num_columns,
            }
            title = (
                f"{path}: {count(file.num_columns, 'column')} in "
                f"{count(file.num_row_groups, 'row group')}"
            )
            rows = _pages(file, numbers, names)
            output.document(Document(title, facts, "pages", _FIELDS, rows))


def _pages(
    file: MosaicFile, numbers: list[int], names: list[str] | None
) -> Iterator[dict[str, Any]]:
    from pymosaic.cli.inputs import columns_by_bucket

    wanted = columns_by_bucket(file, names)
    for number in numbers:
        row_group = file.metadata.row_group(number)
        for bucket, chosen in wanted.items():
            child = 0
            previous = None
            for column in row_group.bucket(bucket).columns():
                child = child + 1 if column.is_child and column.name == previous else 1
                previous = column.name if column.is_child else None
                if chosen is not None and column.name not in chosen:
                    continue
                yield {
                    "row_group": number,
                    "bucket": bucket,
                    "column": column.name,
                    "child": child if column.is_child else None,
                    "encoding": column.encoding,
                    "num_values": column.num_values,
                    "null_count": column.null_count,
                    "dictionary_entries": column.dictionary_size,
                    "raw_bytes": column.raw_size,
                    "compressed_bytes": column.compressed_size,
                }
