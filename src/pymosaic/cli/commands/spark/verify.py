"""``pymosaic spark verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pymosaic.cli.commands.spark.running import (
    Job,
    ReadOptions,
    SourceFormat,
    Target,
    job_command,
    split_pairs,
)
from pymosaic.cli.parameters import Named

if TYPE_CHECKING:
    from pymosaic.spark.jobs import JobReport

__all__ = ["EXAMPLES", "command"]

EXAMPLES = (
    "pymosaic spark verify table/",
    "pymosaic spark verify table/ --source events.parquet --json",
)


@job_command
def command(
    job: Job,
    target: Target,
    source: Annotated[
        str | None, Named(metavar="SOURCE", help="Compare the dataset with this source.")
    ] = None,
    source_format: SourceFormat = None,
    read_option: ReadOptions = None,
    quick: Annotated[bool, Named("--quick", help="Check only the metadata, not the data.")] = False,
) -> int:
    """Verify all files in parallel, and compare them with their source.

    Exit code 0: no findings; 1: damage or differences.
    """

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.verify import verify

        return verify(
            spark,
            target,
            source=source,
            format=source_format,
            read_options=split_pairs(read_option),
            deep=not quick,
            progress=progress,
            storage=job.storage_options(),
        )

    found: Any = job.run(run)
    return 0 if found.ok else 1
