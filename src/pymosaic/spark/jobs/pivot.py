"""The pivot job: long rows to one wide row per entity, with 10,000 columns and more.

::

    long rows ─► packed, and their features counted      Spark keeps them
              ─► the driver plans columns and their types
              ─► shuffle by entity              a few columns wide, whatever the result's width
              ─► in each task: chunks of whole entities ─► wide Arrow batches ─► Mosaic files
              ─► one commit

No Spark plan has the wide columns; only the tasks do, as Arrow arrays. Where rows cannot be packed,
Spark counts the features, reads the rows once more, and sorts them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pymosaic.errors import InvalidOptionError
from pymosaic.file.options import check_int
from pymosaic.progress import Progress
from pymosaic.spark.jobs import packed_shuffle
from pymosaic.spark.jobs.feature_counts import Features, find_features
from pymosaic.spark.jobs.frames import (
    Source,
    check_apart,
    default_parallelism,
    default_partitions,
    is_case_sensitive,
    load,
    names_of,
    resolve_columns,
)
from pymosaic.spark.jobs.long_rows import LongColumns
from pymosaic.spark.jobs.new_partitions import known_values, without_values
from pymosaic.spark.jobs.report import JobReport, Stopwatch
from pymosaic.spark.jobs.tasks import Watch
from pymosaic.spark.jobs.wide_rows import make_plan, schema_of
from pymosaic.spark.jobs.writing import Written, open_writer, write_by_tasks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["PivotReport", "pivot"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PivotReport(JobReport):
    """The result of a pivot; ``rows_in`` counts long rows, ``features`` their distinct names."""

    rows_in: int
    features: int


def pivot(
    spark: SparkSession,
    source: Source,
    target: str | os.PathLike[str],
    *,
    entity: str | Sequence[str],
    feature: str,
    values: str | Sequence[str] | None = None,
    column_names: str = "{feature}",
    duplicates: str | Mapping[str, str] = "error",
    order_by: str | Sequence[str] | None = None,
    mode: str = "error",
    partition_by: str | Sequence[str] | None = None,
    partitions: int | None = None,
    incremental: str | None = None,
    format: str | None = None,
    read_options: Mapping[str, object] | None = None,
    progress: Progress | None = None,
    **options: object,
) -> PivotReport:
    """Pivot long rows to one wide row per entity, and write them as Mosaic files.

    Columns are those of ``entity``, then one for each feature, sorted by name. A missing or null
    value gives null; an entity with only nulls still gets a row. Null in a column of ``entity`` is
    a value like any other, as in GROUP BY. In each file, rows are sorted by entity.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session.
    source : DataFrame, str or path-like
        The long rows; a path or table as Spark reads it.
    target : str or path-like
        The dataset's directory.
    entity : str or list of str
        Columns that identify an entity.
    feature : str
        The column with the feature names; other types than strings are cast by Spark.
    values : str or list of str, optional
        Value columns, of any types that can be stored; by default all others. A feature gets the
        type of the column that has its values; a feature without values that of the first.
    column_names : str
        Pattern for column names. If a feature has values in several columns of ``values``,
        ``"{feature}_{value}"`` makes a column for each; otherwise that is an error.
    duplicates : str or dict, optional
        What to do with several non-null values for one cell; nulls never count.

        - ``"error"``: :class:`pymosaic.InvalidDataError` that names one of them.
        - ``"first"``, ``"last"``: in the order of ``order_by``, nulls first; ties go to the row
          with the smallest (for last: largest) value.
        - ``"min"``, ``"max"``: in Spark's order, where NaN is larger than all numbers.
        - ``"sum"``, ``"mean"``: as in Spark, including types: integers sum to bigint, and overflow
          is an error; means are double, or decimals with four more digits.

        As a dict, one policy for each column of ``values``.
    order_by : str or list of str, optional
        Columns that define the order for ``"first"`` and ``"last"``.
    mode : {"error", "append", "overwrite", "ignore"}
        What to do if the target has files.
    partition_by : str or list of str, optional
        Columns that become ``key=value`` directories.
    partitions : int, optional
        Number of tasks to spread the entities over; by default one per 4 million long rows, and as
        many as can run at once if there is enough work for them.
    incremental : str, optional
        A column of ``entity`` and ``partition_by``, such as a day: only rows with values that the
        target has no partition for are read, and their wide rows are appended. Rows that arrive
        late, for a value that is there, are not looked at.
    format, read_options
        How to read a path, see :func:`pymosaic.spark.jobs.convert`.
    progress : callable, optional
        Called with tasks done, total tasks and ``"tasks"``.
    **options
        Options of the `mosaic` source, by their names in Spark: ``compressionLevel=9``.

    Returns
    -------
    PivotReport

    Examples
    --------
    >>> from pymosaic.spark import jobs
    >>> rows = [("ann", "height", 1.68), ("ann", "weight", 60.0), ("bob", "height", 1.81)]
    >>> long = spark.createDataFrame(rows, "person string, feature string, value double")
    >>> report = jobs.pivot(spark, long, "people", entity="person", feature="feature")
    >>> report.rows, report.columns
    (2, 3)
    >>> spark.read.format("mosaic").load("people").orderBy("person").show()
    +------+------+------+
    |person|height|weight|
    +------+------+------+
    |   ann|  1.68|  60.0|
    |   bob|  1.81|  NULL|
    +------+------+------+
    """
    from pymosaic.spark.session import enable
    from pymosaic.spark.types import spark_schema

    stopwatch = Stopwatch()
    enable(spark)
    frame = load(spark, source, format, read_options)
    if incremental is not None:
        if mode not in ("error", "append"):
            raise InvalidOptionError(f"incremental appends: mode={mode!r} does not go with it")
        mode = "append"
    check_apart([frame], target, "mosaic", mode)
    names = LongColumns.check(frame, entity, feature, values, order_by, duplicates)
    known: frozenset[str | None] = frozenset()
    if incremental is not None:
        (key,) = resolve_columns(frame, "incremental", (incremental,))
        if key not in names.entity or key not in names_of("partition_by", partition_by):
            raise InvalidOptionError(
                f"incremental: {key!r} must be one of entity and of partition_by"
            )
        known = known_values(target, _storage_of(options), key)
        frame = without_values(frame, key, known)
    watch = Watch(spark, progress)
    long = names.select(frame)
    keys = [f"key_{place}" for place in range(len(names.entity))]
    if partitions is not None:
        check_int("partitions", partitions, 1, 1 << 20)
    with ExitStack() as context:
        packed = None
        schema = schema_of(names, long)
        slots = partitions or packed_shuffle.slots_for(default_parallelism(spark))
        if (
            names.combine_nothing
            and packed_shuffle.can_pack(schema)
            and packed_shuffle.may_fit(long, slots)
        ):
            packed = context.enter_context(packed_shuffle.kept(watch, long, schema, keys, slots))
            found = packed.features
        else:
            found = watch.run(lambda: find_features(long, len(names.values)))
        if known and not found.num_rows:
            return _report(stopwatch, found, 0, Written())
        wanted = partitions or default_partitions(spark, found.num_rows)
        cells = names.aggregate(long.repartition(wanted, *keys), keys)
        plan = make_plan(names, cells, found, column_names)
        writer = open_writer(
            target,
            spark_schema(plan.schema),
            mode=mode,
            partition_by=names_of("partition_by", partition_by) or None,
            options=options,
            case_sensitive=is_case_sensitive(spark),
        )
        if packed is not None and packed.fits(tasks := packed.partitions_for(wanted)):
            rows = packed.payloads(tasks)
            written = write_by_tasks(watch, rows, writer, plan.assemble_packed)
        else:
            rows = cells.sortWithinPartitions(*keys)
            written = write_by_tasks(watch, rows, writer, plan.assemble)
    watch.finish()
    return _report(stopwatch, found, len(plan.schema), written)


def _report(
    stopwatch: Stopwatch, found: Features, num_columns: int, written: Written
) -> PivotReport:
    return PivotReport(
        job="pivot",
        rows=written.rows,
        columns=num_columns,
        files=written.files,
        bytes_in=written.bytes_in,
        bytes_out=written.bytes_out,
        seconds=stopwatch.seconds,
        rows_in=found.num_rows,
        features=len(found.counts),
    )


def _storage_of(options: Mapping[str, object]) -> dict[str, str]:
    prefix = "storage."
    return {
        key.removeprefix(prefix): str(value)
        for key, value in options.items()
        if key.startswith(prefix)
    }
