"""Writer options of the command line."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import typer

from pymosaic.errors import InvalidOptionError
from pymosaic.sizes import parse_size

__all__ = [
    "Compression",
    "CompressionLevel",
    "MaxDictBytes",
    "MaxDictEntries",
    "MinRowGroupBytes",
    "NoChecksum",
    "NoThreads",
    "NumBuckets",
    "PageSizeThreshold",
    "RowGroupBytes",
    "SplitBatches",
    "Statistics",
    "TargetFileBytes",
    "VerifyCopies",
    "parse_bytes",
    "writer_options",
]


def parse_bytes(text: str) -> int:
    """Parse a size; typer tells the option's name if it is not one."""
    try:
        return parse_size(text)
    except InvalidOptionError as error:
        raise typer.BadParameter(str(error)) from None


def _size_option(name: str, text: str) -> Any:
    return typer.Option(name, metavar="SIZE", parser=parse_bytes, help=text)


Statistics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--stats",
        metavar="NAMES",
        help="Columns that get minimum and maximum per row group; '*' for all that can have them.",
    ),
]
Compression: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="For Mosaic: zstd or none; for others: their own codecs."),
]
CompressionLevel: TypeAlias = Annotated[
    int | None,
    typer.Option("--level", metavar="N", help="zstd level; higher is smaller but slower."),
]
NumBuckets: TypeAlias = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Mosaic: number of buckets; default 100.")
]
RowGroupBytes: TypeAlias = Annotated[
    int | None,
    _size_option("--row-group-bytes", "Mosaic: row group size before compression; default 256MiB."),
]
MaxDictEntries: TypeAlias = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="Mosaic: maximum entries of a dictionary; default 255."),
]
MaxDictBytes: TypeAlias = Annotated[
    int | None,
    _size_option("--max-dict-bytes", "Mosaic: maximum size of a dictionary; default 32KiB."),
]
PageSizeThreshold: TypeAlias = Annotated[
    int | None,
    _size_option(
        "--page-size-threshold",
        "Mosaic: mean column size from which buckets are paged; default 32KiB.",
    ),
]
TargetFileBytes: TypeAlias = Annotated[
    int | None, _size_option("--target-file-bytes", "Target size of files; default 512MiB.")
]
MinRowGroupBytes: TypeAlias = Annotated[
    int | None,
    _size_option(
        "--min-row-group-bytes", "Row groups below this size are rewritten; default 8MiB."
    ),
]
VerifyCopies: TypeAlias = Annotated[
    bool, typer.Option("--verify", help="Check every bucket before copying it.")
]
NoChecksum: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--no-checksum", help="Mosaic: write no checksums, like the reference implementation."
    ),
]
NoThreads: TypeAlias = Annotated[
    bool, typer.Option("--no-threads", help="Mosaic: encode on a single thread.")
]
SplitBatches: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--split-batches/--no-split-batches",
        help="Mosaic: whether a batch may be split across row groups.",
        show_default=False,
    ),
]


def writer_options(
    *,
    statistics: list[str] | None,
    no_checksum: bool = False,
    no_threads: bool = False,
    **given: Any,
) -> dict[str, Any]:
    """The given options as arguments of :func:`pymosaic.write_table`."""
    options = {name: value for name, value in given.items() if value is not None}
    if statistics:
        names = [name.strip() for entry in statistics for name in entry.split(",")]
        options["statistics"] = True if names == ["*"] else [name for name in names if name]
    if no_checksum:
        options["checksum"] = False
    if no_threads:
        options["use_threads"] = False
    return options
