"""``pymosaic spark pivot``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from pymosaic.cli.commands.spark.running import (
    Job,
    Source,
    Target,
    split_names,
    split_pairs,
    writing_command,
)

if TYPE_CHECKING:
    from pymosaic.spark.jobs import JobReport

__all__ = ["EXAMPLES", "command"]

EXAMPLES = (
    "pymosaic spark pivot long.parquet wide/ --entity patient --feature test",
    "pymosaic spark pivot long/ wide/ --entity id,day --feature name \\",
    "    --values number,text --duplicates last --order-by at",
)


@writing_command
def command(
    job: Job,
    source: Source,
    target: Target,
    entity: Annotated[
        str, typer.Option(metavar="NAMES", help="Columns that tell what a row is about.")
    ],
    feature: Annotated[str, typer.Option(metavar="NAME", help="The column of features' names.")],
    values: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Columns that hold values; all others by default."),
    ] = None,
    column_names: Annotated[
        str, typer.Option(metavar="TEXT", help="How columns are named: {feature}_{value}.")
    ] = "{feature}",
    duplicates: Annotated[
        str,
        typer.Option(
            metavar="POLICY",
            help="Of several values in a cell: error, first, last, min, max, sum, mean; or for "
            "each column of values: number=mean,text=last.",
        ),
    ] = "error",
    order_by: Annotated[
        str | None, typer.Option(metavar="NAMES", help="What first and last go by.")
    ] = None,
) -> None:
    """Make one wide row of the long rows of each entity."""

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.pivot import pivot

        return pivot(
            spark,
            source,
            target,
            entity=split_names(entity) or (),
            feature=feature,
            values=split_names(values),
            column_names=column_names,
            duplicates=split_pairs(duplicates.split(",")) if "=" in duplicates else duplicates,
            order_by=split_names(order_by),
            progress=progress,
            **job.writing,
        )

    job.run(run)
