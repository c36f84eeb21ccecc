"""``pymosaic spark pivot``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pymosaic.cli.commands.spark.running import (
    Job,
    Source,
    Target,
    split_names,
    split_pairs,
    writing_command,
)
from pymosaic.cli.parameters import Named

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
        str,
        Named(metavar="NAMES", help="Columns that identify an entity: one wide row each."),
    ],
    feature: Annotated[str, Named(metavar="NAME", help="The column with the feature names.")],
    values: Annotated[
        str | None,
        Named(metavar="NAMES", help="Value columns; by default all others."),
    ] = None,
    column_names: Annotated[
        str,
        Named(metavar="TEXT", help="Pattern for column names, such as {feature}_{value}."),
    ] = "{feature}",
    duplicates: Annotated[
        str,
        Named(
            metavar="POLICY",
            help="What to do with several values for one cell: error, first, last, min, max, sum, "
            "mean; or per value column: number=mean,text=last.",
        ),
    ] = "error",
    order_by: Annotated[
        str | None,
        Named(metavar="NAMES", help="Columns that define the order for first and last."),
    ] = None,
    incremental: Annotated[
        str | None,
        Named(
            metavar="NAME",
            help="Append only rows of values of this partition column that the target lacks.",
        ),
    ] = None,
) -> None:
    """Pivot long rows to wide ones: one row per entity, one column per feature."""

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
            incremental=incremental,
            progress=progress,
            **job.writing,
        )

    job.run(run)
