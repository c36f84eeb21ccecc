"""``pymosaic convert``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pymosaic.cli.options import Columns, Limit, Offset, Where, reporting
from pymosaic.cli.output import Output
from pymosaic.cli.parameters import Named, Positional
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
    RowGroupRows,
    SplitBatches,
    Statistics,
    writer_options,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from pymosaic.cli.rows import Rows
    from pymosaic.progress import Progress

__all__ = ["EXAMPLES", "USAGE", "command"]

USAGE = "SOURCE... TARGET"
EXAMPLES = [
    "pymosaic convert data.csv data.mosaic",
    "pymosaic convert today.csv today.mosaic --schema-from yesterday.mosaic",
    "pymosaic convert data.parquet data.mosaic --stats id,day --num-buckets 200",
    "pymosaic convert data.mosaic some.jsonl.zst -c id,'price*' -w 'price > 9.5'",
    "pymosaic convert 'days/*.mosaic' -o all.parquet --overwrite",
    "pymosaic convert data.parquet table/ --partition-by day",
    "zcat x.csv.gz | pymosaic convert - - --from csv --to mosaic > x.mosaic",
]


@reporting
def command(
    output: Output,
    files: Annotated[list[str], Positional("SOURCE... TARGET")],
    target: Annotated[
        str | None,
        Named(
            "-o", "--output", metavar="TARGET", help="The target, if it is not the last argument."
        ),
    ] = None,
    overwrite: Annotated[
        bool, Named("--overwrite", help="Replace the target if it exists.")
    ] = False,
    schema_from: Annotated[
        str | None,
        Named(
            "--schema-from",
            metavar="FILE",
            help="Take column types for CSV and JSON lines from this file.",
        ),
    ] = None,
    from_format: Annotated[
        str | None,
        Named("--from", metavar="FORMAT", help="Format of SOURCE -, the standard input."),
    ] = None,
    to_format: Annotated[
        str | None,
        Named("--to", metavar="FORMAT", help="Format of TARGET -, the standard output."),
    ] = None,
    partition_by: Annotated[
        str | None,
        Named(
            "--partition-by",
            metavar="NAMES",
            help="Target is a dataset: columns whose values become directories, comma-separated.",
        ),
    ] = None,
    append: Annotated[
        bool, Named("--append", help="Target is a dataset: add the rows to it.")
    ] = False,
    flatten: Annotated[
        str | None,
        Named(
            "--flatten",
            metavar="TEXT",
            help="Mosaic: make columns of the fields of structs, with this text between the "
            "names, such as a point.",
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
    row_group_rows: RowGroupRows = None,
    max_dict_entries: MaxDictEntries = None,
    max_dict_bytes: MaxDictBytes = None,
    page_size_threshold: PageSizeThreshold = None,
    no_checksum: NoChecksum = False,
    split_batches: SplitBatches = None,
    no_threads: NoThreads = False,
) -> None:
    """Convert to and from Parquet, ORC, Arrow, CSV and others.

    The extension selects the format: .mosaic .parquet .orc .arrow .feather .csv .jsonl .lance, and
    .gz .zst .bz2 .lz4 after .csv and .jsonl. CSV and JSON lines are read twice to infer types. A
    target that ends with / is a dataset, a directory of Mosaic files; - is a pipe. The target
    appears when it is complete, or not at all.
    """
    from pymosaic.cli.notices import tell
    from pymosaic.cli.pipes import piped_sources, piped_target
    from pymosaic.cli.progress import progress_bar
    from pymosaic.cli.rows import open_rows
    from pymosaic.cli.targets import (
        check_target,
        is_dataset,
        split_target,
        target_bytes,
        write_batches,
        write_to_dataset,
    )
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
        row_group_rows=row_group_rows,
        max_dict_entries=max_dict_entries,
        max_dict_bytes=max_dict_bytes,
        page_size_threshold=page_size_threshold,
        no_checksum=no_checksum,
        no_threads=no_threads,
        split_batches=split_batches,
        flatten=flatten,
    )
    to_dataset = is_dataset(target, partition_by, append)
    if not to_dataset and target != "-":
        check_target(target, overwrite)
    known = None
    if schema_from is not None:
        with open_rows([schema_from]) as example:
            known = example.schema
    with (
        piped_sources(sources, from_format) as inputs,
        piped_target(target, to_format) as path,
        progress_bar(target) as progress,
        _open(inputs, progress, known, None if to_dataset else path) as rows,
    ):
        names = rows.names(columns)
        total = rows.num_rows if where is None else None
        if total is not None:
            total = max(0, total - offset)
            total = total if limit is None else min(total, limit)
        batches = rows.batches(names, where, offset, limit)
        meter = Meter(progress, total, "rows")
        schema = rows.selected_schema(names)
        user = rows.user_metadata
        if to_dataset:
            written, num_bytes = write_to_dataset(
                target, schema, batches, options, meter, partition_by, append, overwrite, user
            )
        else:
            written = write_batches(path, schema, batches, options, meter, user)
            num_bytes = target_bytes(path)
    facts = {
        "target": target,
        "num_rows": written,
        "num_columns": len(names),
        "file_bytes": num_bytes,
    }
    text = (
        f"wrote {target}: {count(written, 'row')}, {count(len(names), 'column')}, "
        f"{format_size(num_bytes)}"
    )
    if target == "-":
        tell(text)
    else:
        output.answer(text, facts)


def _open(
    sources: list[str], progress: Progress | None, known: pa.Schema | None, target: str | None
) -> Rows:
    """The rows, in the types that they were written from if the target has these.

    The target is None for a dataset.
    """
    from pymosaic.cli.formats import can_write
    from pymosaic.cli.rows import open_rows

    rows = open_rows(sources, progress, known, "arrow")
    if (
        target is None
        or not rows.is_mosaic
        or can_write(target, rows.schema, one_file=len(sources) == 1)
    ):
        return rows
    rows.close()
    return open_rows(sources, progress, known, "mosaic")
