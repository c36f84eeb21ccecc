"""What jobs read: DataFrames, or files and tables that Spark reads; and columns by their names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from pymosaic.errors import InvalidOptionError
from pymosaic.spark.api import option_text, read
from pymosaic.suggestions import did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["Source", "check_columns", "column", "load", "names_of"]

Source: TypeAlias = "DataFrame | str | os.PathLike[str]"
_FORMATS = {
    "avro": "avro",
    "csv": "csv",
    "json": "json",
    "jsonl": "json",
    "mosaic": "mosaic",
    "ndjson": "json",
    "orc": "orc",
    "parquet": "parquet",
    "tsv": "csv",
}
# After the extension that tells the format.
_COMPRESSIONS = ("gz", "bz2", "zst", "snappy", "lz4", "deflate")


def load(
    spark: SparkSession,
    source: Source,
    format: str | None = None,
    options: Mapping[str, object] | None = None,
) -> DataFrame:
    """A DataFrame of what a job is to read.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        Who reads it.
    source : DataFrame, str or path-like
        A DataFrame as it is; a path, whose extension or whose files' extension tells the format;
        the name of a table, with the format ``"table"``.
    format : str, optional
        What Spark calls it: ``"parquet"``, ``"csv"``, ``"table"``, …
    options : mapping, optional
        Of the reader. CSV files have a header and types of their own unless these say otherwise.
    """
    if not isinstance(source, str | os.PathLike):
        return source
    path = os.fspath(source)
    name = guess_format(path) if format is None else format
    given = {key: option_text(value) for key, value in (options or {}).items()}
    if name == "table":
        return spark.read.options(**given).table(path)
    if name == "mosaic":
        return read(spark, path, **given)
    if name == "csv":
        given = {"header": "true", "inferSchema": "true"} | given
        if path.endswith(".tsv"):
            given.setdefault("sep", "\t")
    return spark.read.format(name).options(**given).load(path)


def guess_format(path: str) -> str:
    """The format that an extension tells, of a path or of the files in a directory."""
    found = _extension_format(path)
    if found is None:
        from pymosaic.datasets.records import is_hidden
        from pymosaic.datasets.storage import open_storage
        from pymosaic.spark.storage import locate

        [base], filesystem = locate([path], {})
        entries = [] if "*" in base else open_storage(base, filesystem).list_files()
        told = {_extension_format(x.path) for x in entries if not is_hidden(x.path)} - {None}
        found = told.pop() if len(told) == 1 else None
    if found is None:
        raise InvalidOptionError(
            f"{path}: the extension does not give the format; name it: parquet, csv, json, orc, "
            "avro, mosaic, table, or what else Spark reads"
        )
    return found


def _extension_format(path: str) -> str | None:
    parts = path.rstrip("/").rpartition("/")[2].lower().split(".")
    while len(parts) > 1 and parts[-1] in _COMPRESSIONS:
        parts.pop()
    return _FORMATS.get(parts[-1]) if len(parts) > 1 else None


def names_of(option: str, value: str | Iterable[str] | None) -> tuple[str, ...]:
    """Column names that an option gives: one, several, or none."""
    if value is None:
        return ()
    names = (value,) if isinstance(value, str) else tuple(value)
    if len(set(names)) != len(names):
        raise InvalidOptionError(f"{option} names a column twice: {', '.join(names)}")
    return names


def check_columns(
    frame: DataFrame, option: str, names: Sequence[str], what: str = "source"
) -> None:
    """Refuse names that a DataFrame does not have, or has twice."""
    columns = frame.columns
    for name in names:
        count = columns.count(name)
        if count == 1:
            continue
        hint = "" if count else did_you_mean(name, columns)
        raise InvalidOptionError(
            f"{option}: the {what} has {count or 'no'} columns named {name!r}{hint}"
        )


def column(name: str) -> Column:
    """A column by its exact name, dots and backticks included."""
    from pyspark.sql import functions as f

    return f.col("`" + name.replace("`", "``") + "`")
