"""``pymosaic spark convert``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pymosaic.cli.commands.spark.running import (
    Master,
    Mode,
    Options,
    PartitionBy,
    Partitions,
    ReadOptions,
    ReportFile,
    Settings,
    Source,
    SourceFormat,
    Target,
    run_job,
    split_names,
    split_pairs,
)
from pymosaic.cli.options import reporting
from pymosaic.cli.output import Output

if TYPE_CHECKING:
    from pymosaic.spark.jobs import JobReport

__all__ = ["EXAMPLES", "command"]

EXAMPLES = (
    "pymosaic spark convert events.parquet events/ --cluster-by user",
    "pymosaic spark convert events/ back/ --to parquet",
)


@reporting
def command(
    output: Output,
    source: Source,
    target: Target,
    to: Annotated[str, typer.Option(metavar="NAME", help="Format of the target.")] = "mosaic",
    source_format: SourceFormat = None,
    read_option: ReadOptions = None,
    mode: Mode = "error",
    partition_by: PartitionBy = None,
    cluster_by: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Sort the whole by these columns.")
    ] = None,
    partitions: Partitions = None,
    option: Options = None,
    master: Master = None,
    conf: Settings = None,
    report: ReportFile = None,
) -> None:
    """Convert whatever Spark reads to Mosaic, and back."""

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.convert import convert

        return convert(
            spark,
            source,
            target,
            format=source_format,
            read_options=split_pairs(read_option),
            target_format=to,
            mode=mode,
            partition_by=split_names(partition_by),
            cluster_by=split_names(cluster_by),
            partitions=partitions,
            progress=progress,
            **split_pairs(option),
        )

    run_job(output, run, "convert", master, conf, report)
