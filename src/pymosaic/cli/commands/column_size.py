"""``pymosaic column-size``."""

from __future__ import annotations

import enum
from typing import Annotated, Any

from pymosaic.cli.column_sizes import By, ColumnSize, add_column_sizes, added, grouped
from pymosaic.cli.options import Columns, Files, inspecting
from pymosaic.cli.output import Cell, Document, Field, Output
from pymosaic.cli.parameters import Named
from pymosaic.errors import InvalidOptionError

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic column-size data.mosaic -n 20",
    "pymosaic column-size table/ --by prefix",
    "pymosaic column-size data.mosaic -c 'sensor_*' --sort name",
]


class Order(enum.StrEnum):
    """Sort orders of columns."""

    SIZE = "size"
    NAME = "name"
    FILE = "file"


def _fields(by: str) -> tuple[Field, ...]:
    return (
        Field(by, Cell.NAME if by in ("column", "prefix") else Cell.TEXT),
        *([] if by == "column" else [Field("num_columns", Cell.NUMBER, "columns")]),
        Field("bytes", Cell.BYTES, "size"),
        Field("exact", text=lambda row: "exact" if row["exact"] else "estimated"),
        Field("share", Cell.SHARE),
        Field("raw_bytes", Cell.BYTES, "raw"),
    )


@inspecting
def command(
    output: Output,
    files: Files,
    columns: Columns = None,
    sort: Annotated[Order, Named(help="Largest first, by name, or in file order.")] = (Order.SIZE),
    by: Annotated[
        By,
        Named("--by", help="Sum up sizes by prefix (first word), type, encoding or bucket."),
    ] = By.COLUMN,
    limit: Annotated[
        int | None,
        Named("-n", "--rows", min=0, metavar="N", help="Maximum number of lines."),
    ] = None,
) -> None:
    """Show the size of each column in the file. Reads the buckets.

    In a paged bucket the size is exact. Other buckets are compressed as a whole: a column's size is
    then estimated from its share of the uncompressed bytes. Several files are summed up. Sizes in
    Parquet and Lance files come from their metadata, and are exact.
    """
    from pymosaic.cli.inputs import mosaic_files, select_names, split_formats
    from pymosaic.cli.text import count, ratio
    from pymosaic.sizes import format_size

    lance, parquet, others = split_formats(files)
    foreign = parquet + lance
    if foreign and by is By.BUCKET:
        raise InvalidOptionError(f"{foreign[0]}: only Mosaic files have buckets")
    sources = mosaic_files(others) if others else []
    paths = [source.path for source in sources] + foreign
    sizes: dict[str, ColumnSize] = {}
    stored = num_columns = 0
    for source in sources:
        with source.open() as file:
            names = select_names(columns, file.column_names) if len(paths) == 1 else None
            add_column_sizes(sizes, file, names)
            stored += sum(group.compressed_size for group in file.metadata.row_groups())
            num_columns = max(num_columns, file.num_columns)
    for path in parquet:
        from pymosaic.cli.parquet_documents import add_parquet_sizes

        stored += add_parquet_sizes(sizes, path)
    for path in lance:
        from pymosaic.cli.lance_documents import add_lance_sizes

        stored += add_lance_sizes(sizes, path)
    if len(paths) > 1 or foreign:
        num_columns = len(sizes)
        wanted = select_names(columns, list(sizes))
        sizes = sizes if wanted is None else {name: sizes[name] for name in wanted}
    total = sum(size.num_bytes for size in sizes.values())
    raw: int | None = 0
    for size in sizes.values():
        raw = added(raw, size.raw_bytes)
    found = grouped(sizes.values(), by)
    if sort is Order.SIZE:
        found.sort(key=lambda size: -size.num_bytes)
    elif sort is Order.NAME:
        found.sort(key=lambda size: size.name)
    facts = {
        "file": paths[0] if len(paths) == 1 else ", ".join(files),
        "num_files": len(paths),
        "num_columns": num_columns,
        "data_bytes": stored,
        "bytes": total,
        "raw_bytes": raw,
    }
    title = (
        f"{facts['file']}: {count(len(paths), 'file') + ', ' if len(paths) > 1 else ''}"
        f"{count(len(sizes), 'column')}, {format_size(total)} of "
        f"{format_size(stored)}"
    )
    if raw is not None:
        compressed = f", {ratio(raw, total)}" if total else ""
        title += f" (raw {format_size(raw)}{compressed})"
    rows = [_row(size, by.value, stored) for size in found[:limit]]
    key = "columns" if by is By.COLUMN else "groups"
    output.document(Document(title, facts, key, _fields(by.value), rows))
    if limit is not None and len(found) > limit:
        output.total(f"{len(found) - limit:,} more; without -n all are shown")


def _row(size: ColumnSize, by: str, stored: int) -> dict[str, Any]:
    return {
        by: size.name,
        **({} if by == "column" else {"num_columns": size.num_columns}),
        "bytes": size.num_bytes,
        "exact": size.exact,
        "share": size.num_bytes / stored if stored else 0.0,
        "raw_bytes": size.raw_bytes,
    }
