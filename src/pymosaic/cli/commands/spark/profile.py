"""``pymosaic spark profile``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pymosaic.cli.commands.spark.running import (
    Master,
    Options,
    ReportFile,
    Settings,
    Target,
    run_job,
    split_names,
    storage_options,
)
from pymosaic.cli.options import reporting
from pymosaic.cli.output import Output

if TYPE_CHECKING:
    from pymosaic.spark.jobs import JobReport

__all__ = ["EXAMPLES", "command"]

EXAMPLES = ("pymosaic spark profile table/ --to profile.parquet",)


@reporting
def command(
    output: Output,
    target: Target,
    to: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The table of columns: .mosaic, .parquet or .json."),
    ] = None,
    columns: Annotated[
        str | None, typer.Option("-c", "--columns", metavar="NAMES", help="Names and globs.")
    ] = None,
    option: Options = None,
    master: Master = None,
    conf: Settings = None,
    report: ReportFile = None,
) -> None:
    """Describe each column: nulls, range, distinct values, sizes, encodings."""

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.profile import profile

        return profile(
            spark,
            target,
            output=to,
            columns=split_names(columns),
            progress=progress,
            storage=storage_options(option),
        )

    run_job(output, run, "profile", master, conf, report)
