"""``pymosaic spark assemble``."""

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
    SourceFormat,
    Target,
    named_tables,
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
    "pymosaic spark assemble wide/ people.parquet visits/ sums.csv --on id",
    "pymosaic spark assemble wide/ a=one/ b=two/ --on id \\",
    "    --column-names '{table}_{column}'",
)


@reporting
def command(
    output: Output,
    target: Target,
    tables: Annotated[list[str], typer.Argument(metavar="[NAME=]TABLE...")],
    on: Annotated[str, typer.Option(metavar="NAMES", help="The key columns.")],
    how: Annotated[
        str,
        typer.Option(metavar="KIND", help="Keys of any table, all, the first: outer, inner, left."),
    ] = "outer",
    column_names: Annotated[
        str, typer.Option(metavar="TEXT", help="How columns are named: {table}_{column}.")
    ] = "{column}",
    source_format: SourceFormat = None,
    read_option: ReadOptions = None,
    mode: Mode = "error",
    partition_by: PartitionBy = None,
    partitions: Partitions = None,
    option: Options = None,
    master: Master = None,
    conf: Settings = None,
    report: ReportFile = None,
) -> None:
    """Join many narrow tables on their keys into one wide table."""

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.assemble import assemble

        return assemble(
            spark,
            named_tables(tables),
            target,
            on=split_names(on) or (),
            how=how,
            column_names=column_names,
            mode=mode,
            partition_by=split_names(partition_by),
            partitions=partitions,
            format=source_format,
            read_options=split_pairs(read_option),
            progress=progress,
            **split_pairs(option),
        )

    run_job(output, run, "assemble", master, conf, report)
