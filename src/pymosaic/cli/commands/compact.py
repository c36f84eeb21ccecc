"""``pymosaic compact``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from pymosaic.cli.options import reporting
from pymosaic.cli.output import Output
from pymosaic.cli.parameters import Named, Positional
from pymosaic.cli.writer_options import (
    CompressionLevel,
    MinRowGroupBytes,
    NumBuckets,
    RowGroupBytes,
    Statistics,
    TargetFileBytes,
    VerifyCopies,
    writer_options,
)

__all__ = ["EXAMPLES", "USAGE", "command"]

USAGE = "DIRECTORY"
EXAMPLES = [
    "pymosaic compact table/",
    "pymosaic compact table/ --dry-run",
    "pymosaic compact s3://bucket/table --target-file-bytes 1GiB",
]


@reporting
def command(
    output: Output,
    base: Annotated[str, Positional("DIRECTORY")],
    target_file_bytes: TargetFileBytes = None,
    min_row_group_bytes: MinRowGroupBytes = None,
    verify: VerifyCopies = False,
    dry_run: Annotated[
        bool, Named("--dry-run", help="Show what would be done, and change nothing.")
    ] = False,
    statistics: Statistics = None,
    compression_level: CompressionLevel = None,
    num_buckets: NumBuckets = None,
    row_group_bytes: RowGroupBytes = None,
) -> None:
    """Combine many small files of a dataset into a few large ones.

    Readers see the dataset as it was before or as it is afterwards. It can be stopped at any time.
    """
    from pymosaic.cli.inputs import check_directory, paimon_table
    from pymosaic.cli.progress import progress_bar
    from pymosaic.cli.text import count
    from pymosaic.datasets.compact import compact
    from pymosaic.sizes import format_size

    check_directory(base)
    options = writer_options(
        statistics=statistics,
        compression_level=compression_level,
        num_buckets=num_buckets,
        row_group_bytes=row_group_bytes,
        target_file_bytes=target_file_bytes,
        min_row_group_bytes=min_row_group_bytes,
    )
    if paimon_table([base]) is not None:
        given = (
            options | ({"verify": True} if verify else {}) | ({"dry_run": True} if dry_run else {})
        )
        _compact_table(output, base, given)
        return
    if dry_run:
        _show_plan(output, base, options)
        return
    with progress_bar(base) as progress:
        report = compact(base, verify=verify, progress=progress, **options)
    if report.files_written:
        text = (
            f"{base}: {count(report.files_before, 'file')} became "
            f"{count(report.files_after, 'file')} ({report.files_copied:,} copied, "
            f"{report.files_reencoded:,} rewritten, {format_size(report.bytes_written)})"
        )
    else:
        text = f"{base}: nothing to do for {count(report.files_before, 'file')}"
    if report.conflicts:
        text += f"; {count(report.conflicts, 'file')} left to another job"
    output.answer(text, {"dataset": base, **asdict(report)})


def _compact_table(output: Output, base: str, options: dict[str, Any]) -> None:
    """Compact a Paimon table."""
    from pymosaic import paimon
    from pymosaic.cli.text import count
    from pymosaic.errors import InvalidOptionError
    from pymosaic.sizes import format_size

    for name in options:
        raise InvalidOptionError(
            f"--{name.replace('_', '-')} is not for Paimon tables, whose own options tell how "
            "large files are and how they are written"
        )
    report = paimon.compact(base)
    text = f"{base}: nothing to do for {count(report.files_before, 'file')}"
    if report.files_written:
        text = (
            f"{base}: {count(report.files_before, 'file')} became "
            f"{count(report.files_after, 'file')} ({report.files_written:,} written, "
            f"{format_size(report.bytes_written)}) in snapshot {report.snapshot_id}"
        )
    output.answer(text, {"table": base, **asdict(report)})


def _show_plan(output: Output, base: str, options: dict[str, Any]) -> None:
    """Show the files that would be combined."""
    from pymosaic.cli.text import count
    from pymosaic.datasets.compact import plan_compaction
    from pymosaic.io import open_directory
    from pymosaic.sizes import format_size

    storage = open_directory(base)
    if not storage.exists():
        raise FileNotFoundError(2, "No such file or directory", storage.name)
    num_files, groups = plan_compaction(storage, **options)
    copied = sum(len(group.files) for group in groups if group.copies)
    rewritten = sum(len(group.files) for group in groups if not group.copies)
    num_bytes = sum(group.num_bytes for group in groups)
    facts = {
        "dataset": base,
        "files_before": num_files,
        "files_copied": copied,
        "files_reencoded": rewritten,
        "bytes_read": num_bytes,
        "groups": [
            {"directory": group.directory, "files": len(group.files), "copied": group.copies}
            for group in groups
        ],
    }
    if not groups:
        output.answer(f"{base}: nothing to do for {count(num_files, 'file')}", facts)
        return
    output.answer(
        f"{base}: of {count(num_files, 'file')}, {copied:,} would be copied and {rewritten:,} "
        f"rewritten, in {count(len(groups), 'group')} ({format_size(num_bytes)})",
        facts,
    )
