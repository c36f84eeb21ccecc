"""Writer options of the command line."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import click

from pymosaic.cli.parameters import Named
from pymosaic.datasets.options import CompactionOptions, DatasetOptions
from pymosaic.errors import InvalidOptionError
from pymosaic.file.options import WriterOptions
from pymosaic.option_text import SIZE, options_of
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
    "RowGroupRows",
    "SplitBatches",
    "Statistics",
    "TargetFileBytes",
    "VerifyCopies",
    "parse_bytes",
    "writer_options",
]


_OPTIONS = options_of(WriterOptions) | options_of(DatasetOptions) | options_of(CompactionOptions)


def parse_bytes(text: str) -> int:
    """Parse a size; click tells the option's name if it is not one."""
    try:
        return parse_size(text)
    except InvalidOptionError as error:
        raise click.BadParameter(str(error)) from None


def _option(name: str, flag: str | None = None, prefix: str = "", suffix: str = "") -> Any:
    """An option as the library describes it."""
    found = _OPTIONS[name]

    def read(text: str) -> Any:
        if found.form is SIZE:
            return parse_bytes(text)
        try:
            return found.form.parse(text)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not {found.form.expected}") from None

    description = f"{prefix}{found.description}"
    default = "" if found.default is None else f"; default {found.default}"
    return Named(
        flag or found.flag,
        metavar=found.form.placeholder,
        parser=read,
        help=f"{description[0].upper()}{description[1:]}{suffix}{default}.",
    )


_MOSAIC = "Mosaic: "
Statistics: TypeAlias = Annotated[
    list[str] | None,
    Named(
        "--stats",
        metavar="NAMES",
        help="Columns that get minimum and maximum per row group; '*' for all that can have them.",
    ),
]
Compression: TypeAlias = Annotated[
    Any, _option("compression", prefix=_MOSAIC, suffix="; other formats: their own codecs")
]
CompressionLevel: TypeAlias = Annotated[Any, _option("compression_level", "--level")]
NumBuckets: TypeAlias = Annotated[Any, _option("num_buckets", prefix=_MOSAIC)]
RowGroupBytes: TypeAlias = Annotated[Any, _option("row_group_bytes", prefix=_MOSAIC)]
RowGroupRows: TypeAlias = Annotated[Any, _option("row_group_rows", prefix=_MOSAIC)]
MaxDictEntries: TypeAlias = Annotated[Any, _option("max_dict_entries", prefix=_MOSAIC)]
MaxDictBytes: TypeAlias = Annotated[Any, _option("max_dict_bytes", prefix=_MOSAIC)]
PageSizeThreshold: TypeAlias = Annotated[Any, _option("page_size_threshold", prefix=_MOSAIC)]
TargetFileBytes: TypeAlias = Annotated[Any, _option("target_file_bytes")]
MinRowGroupBytes: TypeAlias = Annotated[Any, _option("min_row_group_bytes")]
VerifyCopies: TypeAlias = Annotated[
    bool, Named("--verify", help="Check every bucket before copying it.")
]
NoChecksum: TypeAlias = Annotated[
    bool,
    Named("--no-checksum", help="Mosaic: write no checksums, like the reference implementation."),
]
NoThreads: TypeAlias = Annotated[
    bool, Named("--no-threads", help="Mosaic: encode on a single thread.")
]
SplitBatches: TypeAlias = Annotated[
    bool | None,
    Named(
        "--split-batches/--no-split-batches",
        help="Mosaic: whether a batch may be split across row groups.",
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
