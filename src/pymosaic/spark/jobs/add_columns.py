"""Columns of a Paimon table on executors: a task for each range of rows, one snapshot."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pymosaic.progress import Progress
from pymosaic.spark.jobs.report import JobReport, Stopwatch
from pymosaic.spark.jobs.tasks import Watch, map_items
from pymosaic.spark.options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["AddColumnsReport", "add_columns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumnsReport(JobReport):
    """The result of adding columns.

    Parameters
    ----------
    snapshot : int or None
        The snapshot that has the columns; None if the table has no rows.
    """

    snapshot: int | None


def add_columns(
    spark: SparkSession,
    target: str | os.PathLike[str],
    values: object,
    *,
    key: str | None = None,
    columns: Iterable[str] | None = None,
    update: bool = False,
    progress: Progress | None = None,
    **options: object,
) -> AddColumnsReport:
    """Add columns to a Paimon table, like :func:`pymosaic.paimon.add_columns`, on executors.

    Each range of rows is a task, which reads the columns that it needs and writes a file with the
    new ones. The driver commits all files as one snapshot.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session.
    target : str or path-like
        The table.
    values, key, columns
        As for :func:`pymosaic.paimon.add_columns`.
    update : bool
        Whether the columns are there, and get new values.
    progress : callable, optional
        Called with tasks done, total tasks and ``"tasks"``.
    **options
        Options of PyPaimon's storage: ``**{"storage.s3.endpoint": "…"}``.

    Returns
    -------
    AddColumnsReport

    Examples
    --------
    A session and a table of Paimon are needed:

    >>> from pymosaic.spark import jobs
    >>> jobs.add_columns(spark, "warehouse/shop.db/sales", {"ratio": "a / b"})  # doctest: +SKIP
    """
    from pymosaic.paimon.growth import Growth
    from pymosaic.paimon.table import open_table
    from pymosaic.spark.api import option_text
    from pymosaic.spark.storage import locate

    stopwatch = Stopwatch()
    parsed = SourceOptions.parse({name: option_text(value) for name, value in options.items()})
    [base], _ = locate([os.fspath(target)], {})
    growth = Growth(open_table(base, parsed.storage), values, key, columns, new=not update)

    def write_range(number: int, name: str) -> Any:
        return growth.write(number)

    watch = Watch(spark, progress)
    files = map_items(watch, spark, range(len(growth.ranges)), write_range)
    written = growth.commit(files)
    watch.finish()
    return AddColumnsReport(
        job="add-columns",
        rows=written.num_rows,
        columns=len(growth.names),
        files=written.num_files,
        bytes_in=sum(rows.size for rows in growth.ranges),
        bytes_out=written.num_bytes,
        seconds=stopwatch.seconds,
        snapshot=written.snapshot_id,
    )
