"""``pymosaic spark verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pymosaic.cli.commands.spark.running import (
    Master,
    Options,
    ReadOptions,
    ReportFile,
    Settings,
    SourceFormat,
    Target,
    run_job,
    split_pairs,
    storage_options,
)
from pymosaic.cli.options import reporting
from pymosaic.cli.output import Output

if TYPE_CHECKING:
    from pymosaic.spark.jobs import JobReport

__all__ = ["EXAMPLES", "command"]

EXAMPLES = (
    "pymosaic spark verify table/",
    "pymosaic spark verify table/ --source events.parquet --json",
)


@reporting
def command(
    output: Output,
    target: Target,
    source: Annotated[
        str | None, typer.Option(metavar="SOURCE", help="What the dataset is to be equal to.")
    ] = None,
    source_format: SourceFormat = None,
    read_option: ReadOptions = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only what is around the data, not the data itself.")
    ] = False,
    option: Options = None,
    master: Master = None,
    conf: Settings = None,
    report: ReportFile = None,
) -> int:
    """Verify all files at once, and compare them with their source.

    Exit code 0: nothing wrong; 1: damage or differences were found.
    """

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.verify import verify

        return verify(
            spark,
            target,
            source=source,
            format=source_format,
            read_options=split_pairs(read_option),
            deep=not quick,
            progress=progress,
            storage=storage_options(option),
        )

    found: Any = run_job(output, run, "verify", master, conf, report)
    return 0 if found.ok else 1
