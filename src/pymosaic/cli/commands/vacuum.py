"""``pymosaic vacuum``."""

from __future__ import annotations

from typing import Annotated

from pymosaic.cli.options import reporting
from pymosaic.cli.output import Output
from pymosaic.cli.parameters import Named, Positional

__all__ = ["EXAMPLES", "USAGE", "command"]

USAGE = "DIRECTORY"
EXAMPLES = [
    "pymosaic vacuum table/",
    "pymosaic vacuum s3://bucket/table --older-than 1",
]


@reporting
def command(
    output: Output,
    base: Annotated[str, Positional("DIRECTORY")],
    older_than: Annotated[
        float,
        Named(
            "--older-than",
            min=0,
            metavar="HOURS",
            help="Minimum age of what is removed. Use 0 only if nobody reads or writes.",
        ),
    ] = 24.0,
    forget_missing: Annotated[
        bool,
        Named("--forget-missing", help="Take files that are missing out of the dataset's records."),
    ] = False,
    keep_unread: Annotated[
        bool,
        Named(
            "--keep-unread/--no-keep-unread",
            help="Keep replaced files that a Spark stream has not read.",
        ),
    ] = True,
) -> None:
    """Delete files of a dataset that readers no longer see.

    These are replaced files, and files of writers that were killed before their commit.
    """
    from pymosaic.cli.inputs import check_directory
    from pymosaic.cli.text import count
    from pymosaic.datasets.vacuum import vacuum
    from pymosaic.sizes import format_size

    check_directory(base)
    report = vacuum(
        base,
        older_than=older_than * 3600,
        forget_missing=forget_missing,
        keep_unread=keep_unread,
    )
    text = f"{base}: deleted {count(len(report.files), 'file')} ({format_size(report.num_bytes)})"
    if report.jobs:
        text += f", of {count(len(report.jobs), 'job')} that did not finish"
    if report.forgotten:
        text += f"; forgot {count(len(report.forgotten), 'missing file')}"
    if report.files_unread:
        text += f"; kept {count(report.files_unread, 'file')} that a stream has not read"
    facts = {
        "dataset": base,
        "files_deleted": len(report.files),
        "bytes_deleted": report.num_bytes,
        "jobs_ended": len(report.jobs),
        "files_forgotten": list(report.forgotten),
        "files_unread": report.files_unread,
    }
    output.answer(text, facts)
