"""``pymosaic spark compact``."""

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
    split_pairs,
)
from pymosaic.cli.options import reporting
from pymosaic.cli.output import Output
from pymosaic.cli.writer_options import parse_bytes

if TYPE_CHECKING:
    from pymosaic.spark.jobs import JobReport

__all__ = ["EXAMPLES", "command"]

EXAMPLES = ("pymosaic spark compact s3://bucket/table --target-file-bytes 1GiB",)


@reporting
def command(
    output: Output,
    target: Target,
    target_file_bytes: Annotated[
        int | None,
        typer.Option(metavar="SIZE", parser=parse_bytes, help="Of a file; 512MiB by default."),
    ] = None,
    min_row_group_bytes: Annotated[
        int | None,
        typer.Option(
            metavar="SIZE", parser=parse_bytes, help="Smaller ones are written anew; 8MiB."
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check every bucket before it is copied.")
    ] = False,
    option: Options = None,
    master: Master = None,
    conf: Settings = None,
    report: ReportFile = None,
) -> None:
    """Make few large files of a dataset's many small ones, on executors."""

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.compact import compact

        given = {
            "target_file_bytes": target_file_bytes,
            "min_row_group_bytes": min_row_group_bytes,
        }
        sizes = {name: size for name, size in given.items() if size is not None}
        options: dict[str, Any] = {**sizes, **split_pairs(option)}
        return compact(spark, target, verify=verify, progress=progress, **options)

    run_job(output, run, "compact", master, conf, report)
