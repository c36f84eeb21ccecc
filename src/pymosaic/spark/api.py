"""Convenience functions to read, write and vacuum, besides ``spark.read`` and ``df.write``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pymosaic.datasets.modes import WriteMode
from pymosaic.errors import InvalidOptionError, UnsupportedFeatureError
from pymosaic.spark.options import CASE_SENSITIVE, MODE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import StructType

    from pymosaic.datasets.vacuum import VacuumReport
    from pymosaic.filters.given import Filters
    from pymosaic.filters.row_filter import Filter

__all__ = ["check_mode", "option_text", "read", "vacuum", "write"]

Path = str | os.PathLike[str]


def read(
    spark: SparkSession,
    path: Path | Iterable[Path],
    *,
    columns: Iterable[str] | None = None,
    filters: Filters | None = None,
    **options: object,
) -> DataFrame:
    """Read Mosaic files as a DataFrame.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session; :func:`enable` is called if necessary.
    path : str, path-like, or list of those
        Directories, files or patterns.
    columns : list of str, optional
        Names and patterns of the columns to read.
    filters : str, list of tuples, list of lists of tuples, or pyarrow expression, optional
        Rows to keep, as in :func:`pymosaic.read_table`. An expression may compare columns with
        values only.
    **options
        Options of the source, by their names in Spark: ``maxPartitionBytes="64m"``.

    Returns
    -------
    pyspark.sql.DataFrame

    Examples
    --------
    >>> import pymosaic.spark
    >>> rows = [(1, 20.5, 1.0), (2, 21.5, 1.5)]
    >>> frame = spark.createDataFrame(rows, "id long, sensor_temp double, sensor_rain double")
    >>> pymosaic.spark.write(frame, "sensors")
    >>> pymosaic.spark.read(
    ...     spark, "sensors", columns=["id", "sensor_t*"], filters=[("id", ">", 1)]
    ... ).show()
    +---+-----------+
    | id|sensor_temp|
    +---+-----------+
    |  2|       21.5|
    +---+-----------+
    """
    from pymosaic.spark.session import enable

    enable(spark)
    reader = spark.read.format("mosaic")
    if columns is not None:
        if isinstance(columns, str):
            raise InvalidOptionError(
                f"columns must be a list of names or patterns: write columns=[{columns!r}]"
            )
        reader = reader.option("columns", json.dumps(list(columns)))
    if filters is not None:
        from pymosaic.filters import wire

        row_filter = _row_filter(filters, lambda: _load(reader, path).schema)
        reader = reader.option("filters", wire.dumps(row_filter.as_tuples()))
    for key, value in options.items():
        reader = reader.option(key, option_text(value))
    return _load(reader, path)


def _load(reader: DataFrameReader, path: Path | Iterable[Path]) -> DataFrame:
    if isinstance(path, str | os.PathLike):
        return reader.load(os.fspath(path))
    return reader.load([os.fspath(item) for item in path])


def _row_filter(filters: object, schema: Callable[[], StructType]) -> Filter:
    """Text, tuples or an expression of pyarrow as a filter that can be sent to tasks."""
    import pyarrow.compute as pc

    from pymosaic.filters.arrow_expressions import push_down
    from pymosaic.filters.tuples import parse_filters

    if not isinstance(filters, pc.Expression):
        row_filter = parse_filters(filters)
        assert row_filter is not None
        return row_filter
    from pymosaic.spark.types import arrow_schema

    pushdown = push_down(filters, arrow_schema(schema()))
    if pushdown.row_filter is None or not pushdown.exact:
        raise UnsupportedFeatureError(
            f"filters: {filters} is more than comparisons of columns with values; "
            "use DataFrame.filter for it"
        )
    return pushdown.row_filter


def write(
    df: DataFrame,
    path: Path,
    *,
    mode: str = "error",
    partition_by: Iterable[str] | None = None,
    **options: object,
) -> None:
    """Write a DataFrame as Mosaic files, which appear all at once or not at all.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The data to write.
    path : str or path-like
        The dataset's directory.
    mode : {"error", "append", "overwrite", "ignore"}
        What to do if the directory has files.
    partition_by : list of str, optional
        Columns that become ``key=value`` directories. By default those of the dataset.
    **options
        Options of the source, by their names in Spark: ``compressionLevel=9``.

    Examples
    --------
    >>> import pymosaic.spark
    >>> frame = spark.createDataFrame([(1, "mon"), (2, "tue")], "id long, day string")
    >>> pymosaic.spark.write(frame, "events", partition_by=["day"], statistics=["id"])
    >>> pymosaic.spark.write(frame, "events", mode="append")
    >>> pymosaic.dataset("events").count_rows([("day", "=", "tue")])
    2
    """
    mode = check_mode(mode)
    from pymosaic.spark.session import active, enable

    enable(df.sparkSession)
    writer = df.write.format("mosaic").mode("overwrite" if mode.replaces else "append")
    writer = writer.option(CASE_SENSITIVE, df.sparkSession.conf.get("spark.sql.caseSensitive"))
    if mode in (WriteMode.ERROR, WriteMode.IGNORE):
        writer = writer.option(MODE, mode.value)
    if partition_by is not None:
        if isinstance(partition_by, str):
            raise InvalidOptionError(
                f"partition_by must be a list of names: write partition_by=[{partition_by!r}]"
            )
        writer = writer.option("partitionBy", json.dumps(list(partition_by)))
    for key, value in options.items():
        writer = writer.option(key, option_text(value))
    with active(df.sparkSession):
        writer.save(os.fspath(path))


def vacuum(
    path: Path,
    *,
    older_than: timedelta | float | None = None,
    keep_unread: bool = True,
    **storage: str,
) -> VacuumReport:
    """Remove leftovers of dead writes from a dataset; see :func:`pymosaic.vacuum`.

    Parameters
    ----------
    path : str or path-like
        The dataset's directory, also as Spark spells it (``s3a://…``).
    older_than : timedelta or float, optional
        Leave writers alone that did something since; a day by default.
    keep_unread : bool
        Whether replaced files stay that a stream has not read.
    **storage
        Values of the source's ``storage.*`` options.

    Returns
    -------
    VacuumReport

    Examples
    --------
    >>> import pymosaic.spark
    >>> pymosaic.spark.write(spark.range(3), "tidy")
    >>> pymosaic.spark.vacuum("tidy").files
    ()
    """
    import pymosaic
    from pymosaic.spark.storage import locate

    [base], filesystem = locate([os.fspath(path)], storage)
    settings: dict[str, Any] = {} if older_than is None else {"older_than": older_than}
    return pymosaic.vacuum(base, filesystem=filesystem, keep_unread=keep_unread, **settings)


def check_mode(mode: str) -> WriteMode:
    """A write mode of Spark."""
    return WriteMode.parse(mode, without=(WriteMode.OVERWRITE_PARTITIONS,))


def option_text(value: object) -> str:
    """The value of an option as Spark stores it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return json.dumps(list(value))
    return str(value)
