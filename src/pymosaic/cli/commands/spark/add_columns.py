"""``pymosaic spark add-columns``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pymosaic.cli.commands.spark.running import Job, job_command, split_pairs
from pymosaic.cli.parameters import Named, Positional

if TYPE_CHECKING:
    from pymosaic.spark.jobs import JobReport

__all__ = ["EXAMPLES", "command"]

EXAMPLES = ("pymosaic spark add-columns shop.db/sales --column 'ratio=clicks / views'",)


@job_command
def command(
    job: Job,
    target: Annotated[str, Positional("TABLE")],
    column: Annotated[
        list[str],
        Named(metavar="NAME=EXPRESSION", help="A column and its expression; repeatable."),
    ],
    update: Annotated[
        bool, Named("--update", help="Give columns that are there new values.")
    ] = False,
) -> None:
    """Add columns to a Paimon table, on executors; only the new columns are written."""

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.add_columns import add_columns

        values = split_pairs(column)
        return add_columns(spark, target, values, update=update, progress=progress, **job.options)

    job.run(run)
