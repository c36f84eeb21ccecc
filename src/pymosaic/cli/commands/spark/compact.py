"""``pymosaic spark compact``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pymosaic.cli.commands.spark.running import (
    Job,
    Target,
    job_command,
)
from pymosaic.cli.writer_options import MinRowGroupBytes, TargetFileBytes, VerifyCopies

if TYPE_CHECKING:
    from pymosaic.spark.jobs import JobReport

__all__ = ["EXAMPLES", "command"]

EXAMPLES = ("pymosaic spark compact s3://bucket/table --target-file-bytes 1GiB",)


@job_command
def command(
    job: Job,
    target: Target,
    target_file_bytes: TargetFileBytes = None,
    min_row_group_bytes: MinRowGroupBytes = None,
    verify: VerifyCopies = False,
) -> None:
    """Combine the many small files of a dataset into a few large ones, on executors."""

    def run(spark: Any, progress: Any) -> JobReport:
        from pymosaic.spark.jobs.compact import compact

        given = {
            "target_file_bytes": target_file_bytes,
            "min_row_group_bytes": min_row_group_bytes,
        }
        sizes = {name: size for name, size in given.items() if size is not None}
        options: dict[str, Any] = {**sizes, **job.options}
        return compact(spark, target, verify=verify, progress=progress, **options)

    job.run(run)
