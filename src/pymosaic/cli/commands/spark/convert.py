"""``pymosaic spark convert``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pymosaic.cli.commands.spark.running import (
    Job,
    Source,
    Target,
    split_names,
    writing_command,
)
from pymosaic.cli.parameters import Named

if TYPE_CHECKING:
    from pymosaic.spark.jobs import JobReport

__all__ = ["EXAMPLES", "command"]

EXAMPLES = (
    "pymosaic spark convert events.parquet events/ --cluster-by user",
    "pymosaic spark convert events/ back/ --to parquet",
)


@writing_command
def command(
    job: Job,
    source: Source,
    target: Target,
    to: Annotated[str, Named(metavar="NAME", help="Format of the target.")] = "mosaic",
    cluster_by: Annotated[
        str | None, Named(metavar="NAMES", help="Sort the whole dataset by these columns.")
    ] = None,
) -> None:
    """Convert any format that Spark reads to Mosaic, and back."""

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.convert import convert

        return convert(
            spark,
            source,
            target,
            target_format=to,
            cluster_by=split_names(cluster_by),
            progress=progress,
            **job.writing,
        )

    job.run(run)
