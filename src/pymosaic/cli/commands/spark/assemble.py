"""``pymosaic spark assemble``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pymosaic.cli.commands.spark.running import (
    Job,
    Target,
    named_tables,
    split_names,
    writing_command,
)
from pymosaic.cli.parameters import Named, Positional

if TYPE_CHECKING:
    from pymosaic.spark.jobs import JobReport

__all__ = ["EXAMPLES", "command"]

EXAMPLES = (
    "pymosaic spark assemble wide/ people.parquet visits/ sums.csv --on id",
    "pymosaic spark assemble wide/ a=one/ b=two/ --on id \\",
    "    --column-names '{table}_{column}'",
)


@writing_command
def command(
    job: Job,
    target: Target,
    tables: Annotated[list[str], Positional("[NAME=]TABLE...")],
    on: Annotated[str, Named(metavar="NAMES", help="The key columns.")],
    how: Annotated[
        str,
        Named(
            metavar="KIND",
            help="Keys to keep: outer (in any table), inner (in all) or left (in the first).",
        ),
    ] = "outer",
    column_names: Annotated[
        str,
        Named(metavar="TEXT", help="Pattern for column names, such as {table}_{column}."),
    ] = "{column}",
) -> None:
    """Join many narrow tables by key into one wide table."""

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.assemble import assemble

        return assemble(
            spark,
            named_tables(tables),
            target,
            on=split_names(on) or (),
            how=how,
            column_names=column_names,
            progress=progress,
            **job.writing,
        )

    job.run(run)
