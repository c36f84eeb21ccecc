"""``pymosaic meta``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pymosaic.cli.options import Files, inspecting
from pymosaic.cli.output import Cell, Document, Field, Output

if TYPE_CHECKING:
    from pymosaic.file.reader import MosaicFile

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic meta data.mosaic",
    "pymosaic meta 'table/day=*/*.mosaic' --format csv",
    "pymosaic meta data.mosaic --json | jq '.row_groups[].num_rows'",
]

_SHOWN_PAIRS = 5
_SHOWN_TEXT = 60
_FIELDS = (
    Field("row_group", Cell.NUMBER),
    Field("num_rows", Cell.NUMBER, "rows"),
    Field("compressed_bytes", Cell.BYTES, "size"),
    Field("monolithic_buckets", Cell.NUMBER, "monolithic"),
    Field("paged_buckets", Cell.NUMBER, "paged"),
    Field("missing_buckets", Cell.NUMBER, "missing"),
    Field("columns_with_statistics", Cell.NUMBER, "statistics"),
)


@inspecting
def command(output: Output, files: Files) -> None:
    """Show the structure of a file: rows, row groups, sizes. Reads only the end of the file.

    For a Paimon table, shows the row ranges of its newest snapshot, and their column files.
    """
    from pymosaic import __build__
    from pymosaic.cli.inputs import mosaic_files, paimon_table, split_formats
    from pymosaic.cli.text import count
    from pymosaic.sizes import format_size

    table = paimon_table(files)
    if table is not None:
        from pymosaic.cli.paimon_documents import paimon_meta

        output.document(paimon_meta(table))
        return
    lance, parquet, files = split_formats(files)
    for path in lance:
        from pymosaic.cli.lance_documents import lance_meta

        output.document(lance_meta(path))
    for path in parquet:
        from pymosaic.cli.parquet_documents import parquet_meta

        output.document(parquet_meta(path))
    sources = mosaic_files(files) if files else []
    rows = row_groups = num_bytes = 0
    for source in sources:
        with source.open() as file:
            path = source.path
            metadata = file.metadata
            facts = {
                "file": path,
                "num_rows": metadata.num_rows,
                "num_columns": metadata.num_columns,
                "num_row_groups": metadata.num_row_groups,
                "num_buckets": metadata.num_buckets,
                "compression": metadata.compression,
                "name_encoding": metadata.name_encoding,
                "file_bytes": metadata.file_size,
                "schema_bytes": metadata.schema_block_size,
                "index_bytes": metadata.index_size,
                "annex_bytes": metadata.annex_size,
                "guarded": metadata.guarded,
                "metadata": metadata.user,
                "loaded_libzstd": __build__.libzstd,
            }
            title = (
                f"{path}: {count(metadata.num_rows, 'row')}, "
                f"{count(metadata.num_columns, 'column')}, "
                f"{count(metadata.num_row_groups, 'row group')}, "
                f"{count(metadata.num_buckets, 'bucket')}, {metadata.compression}, "
                f"{format_size(metadata.file_size)}{_shown(metadata.user)}"
            )
            output.document(Document(title, facts, "row_groups", _FIELDS, _row_groups(file)))
            rows += metadata.num_rows
            row_groups += metadata.num_row_groups
            num_bytes += metadata.file_size
    if len(sources) > 1:
        output.total(
            f"{count(len(sources), 'file')}: {count(rows, 'row')}, "
            f"{count(row_groups, 'row group')}, {format_size(num_bytes)}"
        )


def _shown(metadata: dict[str, str]) -> str:
    """The first keys and values of the user, shortened."""
    from pymosaic.errors import printable

    pairs = [
        f"; {printable(key[:_SHOWN_TEXT])} = {printable(value[:_SHOWN_TEXT])}"
        for key, value in list(metadata.items())[:_SHOWN_PAIRS]
    ]
    more = len(metadata) - len(pairs)
    return "".join(pairs) + (f"; {more} more keys" if more else "")


def _row_groups(file: MosaicFile) -> Iterator[dict[str, Any]]:
    for number, row_group in enumerate(file.metadata.row_groups()):
        layouts = [bucket.layout for bucket in row_group.buckets()]
        yield {
            "row_group": number,
            "num_rows": row_group.num_rows,
            "compressed_bytes": row_group.compressed_size,
            "monolithic_buckets": layouts.count("monolithic"),
            "paged_buckets": layouts.count("paged"),
            "missing_buckets": layouts.count("missing"),
            "columns_with_statistics": row_group.num_statistics,
        }
