"""``pymosaic convert``."""

from __future__ import annotations

from typing import Annotated

import typer

from pymosaic.cli.options import Columns, Limit, Offset, Where, reporting
from pymosaic.cli.output import Output
from pymosaic.cli.writer_options import (
    Compression,
    CompressionLevel,
    MaxDictBytes,
    MaxDictEntries,
    NoChecksum,
    NoThreads,
    NumBuckets,
    PageSizeThreshold,
    RowGroupBytes,
    SplitBatches,
    Statistics,
    writer_options,
)

__all__ = ["EXAMPLES", "USAGE", "command"]

USAGE = "SOURCE... TARGET"
EXAMPLES = [
    "pymosaic convert data.csv data.mosaic",
    "pymosaic convert today.csv today.mosaic --schema-from yesterday.mosaic",
    "pymosaic convert data.parquet data.mosaic --stats id,day --num-buckets 200",
    "pymosaic convert data.mosaic some.jsonl.zst -c id,'price*' -w 'price > 9.5'",
    "pymosaic convert 'days/*.mosaic' -o all.parquet --overwrite",
]


@reporting
def command(
    output: Output,
    files: Annotated[
        list[str], typer.Argument(metavar="SOURCE... TARGET", hidden=True, show_default=False)
    ],
    target: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="TARGET", help="The target, if it is not the last argument."
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the target if it exists.")
    ] = False,
    schema_from: Annotated[
        str | None,
        typer.Option(
            "--schema-from",
            metavar="FILE",
            help="Take column types for CSV and JSON lines from this file.",
        ),
    ] = None,
    columns: Columns = None,
    where: Where = None,
    limit: Limit = None,
    offset: Offset = 0,
    statistics: Statistics = None,
    compression: Compression = None,
    compression_level: CompressionLevel = None,
    num_buckets: NumBuckets = None,
    row_group_bytes: RowGroupBytes = None,
    max_dict_entries: MaxDictEntries = None,
    max_dict_bytes: MaxDictBytes = None,
    page_size_threshold: PageSizeThreshold = None,
    no_checksum: NoChecksum = False,
    split_batches: SplitBatches = None,
    no_threads: NoThreads = False,
) -> None:
    """Convert to and from Parquet, ORC, Arrow, CSV, JSON lines, ...

    The extension selects the format: .mosaic .parquet .orc .arrow .feather .csv .jsonl .lance, and
    .gz .zst .bz2 .lz4 after .csv and .jsonl. CSV and JSON lines are read twice to infer types. The
    target appears when it is complete, or not at all.
    """
    from pymosaic.cli.progress import progress_bar
    from pymosaic.cli.rows import open_rows
    from pymosaic.cli.targets import check_target, split_target, target_bytes, write_batches
    from pymosaic.cli.text import count
    from pymosaic.progress import Meter
    from pymosaic.sizes import format_size

    sources, target = split_target(files, target)
    options = writer_options(
        statistics=statistics,
        compression=compression,
        compression_level=compression_level,
        num_buckets=num_buckets,
        row_group_bytes=row_group_bytes,
        max_dict_entries=max_dict_entries,
        max_dict_bytes=max_dict_bytes,
        page_size_threshold=page_size_threshold,
        no_checksum=no_checksum,
        no_threads=no_threads,
        split_batches=split_batches,
    )
    check_target(target, overwrite)
    known = None
    if schema_from is not None:
        with open_rows([schema_from]) as example:
            known = example.schema
    with progress_bar(target) as progress, open_rows(sources, progress, known) as rows:
        names = rows.names(columns)
        total = rows.num_rows if where is None else None
        if total is not None:
            total = max(0, total - offset)
            total = total if limit is None else min(total, limit)
        batches = rows.batches(names, where, offset, limit)
        meter = Meter(progress, total, "rows")
        written = write_batches(target, rows.selected_schema(names), batches, options, meter)
    num_bytes = target_bytes(target)
    facts = {
        "target": target,
        "num_rows": written,
        "num_columns": len(names),
        "file_bytes": num_bytes,
    }
    output.answer(
        f"wrote {target}: {count(written, 'row')}, {count(len(names), 'column')}, "
        f"{format_size(num_bytes)}",
        facts,
    )
