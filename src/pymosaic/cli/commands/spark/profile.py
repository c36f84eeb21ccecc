"""``pymosaic spark profile``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pymosaic.cli.commands.spark.running import (
    Job,
    Target,
    job_command,
    split_names,
)
from pymosaic.cli.parameters import Named

if TYPE_CHECKING:
    from pymosaic.spark.jobs import JobReport

__all__ = ["EXAMPLES", "command"]

EXAMPLES = ("pymosaic spark profile table/ --to profile.parquet",)


@job_command
def command(
    job: Job,
    target: Target,
    to: Annotated[
        str | None,
        Named(metavar="FILE", help="Write the profile to this file: .mosaic, .parquet or .json."),
    ] = None,
    columns: Annotated[
        str | None,
        Named("-c", "--columns", metavar="NAMES", help="Names and patterns, comma-separated."),
    ] = None,
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
            storage=job.storage_options(),
        )

    job.run(run)
