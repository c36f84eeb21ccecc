"""The options of writers."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeAlias

import typer

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

_SIZE = re.compile(r"(\d+)\s*([kmgt]?)(i?b)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_bytes(text: str) -> int:
    """A size: a number of bytes, or with a unit.

    Examples
    --------
    >>> from pymosaic.cli.writer_options import parse_bytes
    >>> parse_bytes("64MiB"), parse_bytes("1000")
    (67108864, 1000)
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise typer.BadParameter(f"{text!r} is no size; write 1000, 64KiB, 256MiB or 1GiB")
    scale: int = 1024 ** _POWERS[match[2].lower()]
    return int(match[1]) * scale


def _size_option(name: str, text: str) -> Any:
    return typer.Option(name, metavar="SIZE", parser=parse_bytes, help=text)


Statistics: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--stats",
        metavar="NAMES",
        help="Columns with minimum and maximum for each row group; '*' for all that can have them.",
    ),
]
Compression: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="Mosaic: zstd or none; else what the format has.")
]
CompressionLevel: TypeAlias = Annotated[
    int | None, typer.Option("--level", metavar="N", help="Of zstd; higher is smaller and slower.")
]
NumBuckets: TypeAlias = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Mosaic: buckets; 100 by default.")
]
RowGroupBytes: TypeAlias = Annotated[
    int | None, _size_option("--row-group-bytes", "Mosaic: before compression; 256MiB by default.")
]
MaxDictEntries: TypeAlias = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="Mosaic: of a dictionary; 255 by default.")
]
MaxDictBytes: TypeAlias = Annotated[
    int | None, _size_option("--max-dict-bytes", "Mosaic: of a dictionary; 32KiB by default.")
]
PageSizeThreshold: TypeAlias = Annotated[
    int | None,
    _size_option("--page-size-threshold", "Mosaic: from which buckets are paged; 32KiB."),
]
TargetFileBytes: TypeAlias = Annotated[
    int | None, _size_option("--target-file-bytes", "Of a file; 512MiB by default.")
]
MinRowGroupBytes: TypeAlias = Annotated[
    int | None, _size_option("--min-row-group-bytes", "Smaller ones are written anew; 8MiB.")
]
VerifyCopies: TypeAlias = Annotated[
    bool, typer.Option("--verify", help="Check every bucket before it is copied.")
]
NoChecksum: TypeAlias = Annotated[
    bool,
    typer.Option("--no-checksum", help="Mosaic: leave checksums out, as the reference does."),
]
NoThreads: TypeAlias = Annotated[
    bool, typer.Option("--no-threads", help="Mosaic: encode on one thread.")
]
SplitBatches: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--split-batches/--no-split-batches",
        help="Mosaic: whether a batch may go to several row groups.",
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
    """The options that were given, as :func:`pymosaic.write_table` takes them."""
    options = {name: value for name, value in given.items() if value is not None}
    if statistics:
        names = [name.strip() for entry in statistics for name in entry.split(",")]
        options["statistics"] = True if names == ["*"] else [name for name in names if name]
    if no_checksum:
        options["checksum"] = False
    if no_threads:
        options["use_threads"] = False
    return options
