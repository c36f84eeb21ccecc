"""Inputs of jobs: DataFrames, or files and tables that Spark reads; and columns by name."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from pymosaic.errors import InvalidOptionError
from pymosaic.spark.api import option_text, read
from pymosaic.spark.storage import locate
from pymosaic.suggestions import did_you_mean

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = [
    "Source",
    "check_apart",
    "check_keys",
    "column",
    "default_parallelism",
    "default_partitions",
    "is_case_sensitive",
    "key_column",
    "load",
    "names_of",
    "resolve_columns",
]

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
_WILDCARD = re.compile(r"[*?\[{]")
_COMPRESSIONS = ("gz", "bz2", "zst", "snappy", "lz4", "deflate")
_ROWS_PER_PARTITION = 4_000_000
_LEAST_ROWS_PER_PARTITION = 50_000


def load(
    spark: SparkSession,
    source: Source,
    format: str | None = None,
    options: Mapping[str, object] | None = None,
) -> DataFrame:
    """The DataFrame for the input of a job.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session that reads it.
    source : DataFrame, str or path-like
        A DataFrame; a path, whose extension or whose files' extension gives the format; or the name
        of a table, with the format ``"table"``.
    format : str, optional
        Spark's name of the format: ``"parquet"``, ``"csv"``, ``"table"``, …
    options : mapping, optional
        Options of the reader. CSV files have a header and inferred types by default.
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


def check_apart(
    frames: Iterable[DataFrame], target: str | os.PathLike[str], target_format: str, mode: str
) -> None:
    """Refuse a target that is also an input of the job, unless both are Mosaic.

    Spark's own writers delete existing files before the job has read them. Mosaic files are
    replaced only after the new ones are committed.
    """
    if mode not in ("append", "overwrite"):
        return  # nothing that is there is touched
    place = _absolute(os.fspath(target))
    for frame in frames:
        ours = {_absolute(path): path for path in _mosaic_locations(frame)}
        for path in frame.inputFiles():
            file = _absolute(path)
            replaced_late = target_format == "mosaic" and any(_is_within(file, x) for x in ours)
            if _is_within(file, place) and not replaced_late:
                raise _overlap(target, path)
        for location, path in () if target_format == "mosaic" else ours.items():
            if _is_within(location, place) or _is_within(place, location):
                raise _overlap(target, path)


def _overlap(target: str | os.PathLike[str], path: str) -> InvalidOptionError:
    return InvalidOptionError(
        f"target {os.fspath(target)} is also an input of the job ({path}): choose another directory"
    )


def _absolute(path: str) -> str:
    """A path to compare with others: without wildcards, links and a scheme of local files."""
    [location], _ = locate([path], {})
    if "://" not in location:
        location = os.path.realpath(unquote(location) if path.startswith("file:") else location)
    wildcard = _WILDCARD.search(location)
    return location if wildcard is None else location[: wildcard.start()].rpartition("/")[0]


def _is_within(path: str, directory: str) -> bool:
    return f"{path}/".startswith(f"{directory.rstrip('/')}/")


def _mosaic_locations(frame: DataFrame) -> list[str]:
    """The Mosaic files that a DataFrame reads; unknown with Spark Connect."""
    plan: Any = getattr(frame, "_jdf", None)
    if plan is None:
        return []
    session: Any = frame.sparkSession
    found: list[str] = []
    leaves = plan.queryExecution().analyzed().collectLeaves()
    for place in range(leaves.size()):
        leaf = leaves.apply(place)
        if leaf.getClass().getSimpleName() != "DataSourceV2Relation":
            continue
        options = leaf.options()
        found += [options.get("path")] if options.containsKey("path") else []
        found += json.loads(options.get("paths")) if options.containsKey("paths") else []
        if leaf.identifier().isDefined():
            identifier = leaf.identifier().get()
            name = session._jvm.org.apache.spark.sql.catalyst.TableIdentifier(
                identifier.name(), session._jvm.scala.Option.apply(identifier.namespace()[0])
            )
            catalog = session._jsparkSession.sessionState().catalog()
            found.append(str(catalog.getTableMetadata(name).location().toString()))
    return found


def guess_format(path: str) -> str:
    """The format given by the extension of a path, or of the files in a directory."""
    found = _extension_format(path)
    if found is None:
        from pymosaic.datasets.records import is_hidden
        from pymosaic.io import open_directory

        [base], filesystem = locate([path], {})
        entries = [] if "*" in base else open_directory(base, filesystem).list_files()
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
    """The column names of an option: one, several, or none."""
    if value is None:
        return ()
    names = (value,) if isinstance(value, str) else tuple(value)
    if len(set(names)) != len(names):
        raise InvalidOptionError(f"{option} names a column twice: {', '.join(names)}")
    return names


def is_case_sensitive(spark: SparkSession) -> bool:
    """Whether names of columns that differ only in case are different in a session."""
    return spark.conf.get("spark.sql.caseSensitive") == "true"


def resolve_columns(
    frame: DataFrame, option: str, names: Sequence[str], what: str = "source"
) -> tuple[str, ...]:
    """The named columns of a DataFrame, in its own spelling.

    Raises
    ------
    InvalidOptionError
        If it has no column, or several columns, of one of the names.
    """
    if not names:
        return ()
    columns = frame.columns
    sensitive = is_case_sensitive(frame.sparkSession)
    found: list[str] = []
    for name in names:
        folded = name.lower()
        same = [x for x in columns if x == name or (not sensitive and x.lower() == folded)]
        if len(same) != 1:
            raise InvalidOptionError(
                f"{option}: the {what} has {len(same) or 'no'} columns named {name!r}"
                f"{'' if same else did_you_mean(name, columns)}"
            )
        found += same
    return names_of(option, found)


def column(name: str) -> Column:
    """A column by its exact name, dots and backticks included."""
    from pyspark.sql import functions as f

    return f.col("`" + name.replace("`", "``") + "`")


def key_column(frame: DataFrame, name: str) -> Column:
    """A column to group by, where equal values are the same: 0.0 and -0.0 are, as in GROUP BY."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import DoubleType, FloatType

    data_type = frame.schema.fields[frame.columns.index(name)].dataType
    if not isinstance(data_type, DoubleType | FloatType):
        return column(name)
    return f.when(column(name) == 0, f.lit(0.0).cast(data_type)).otherwise(column(name))


def default_parallelism(spark: SparkSession) -> int:
    """The number of tasks that can run at once, or a guess of it."""
    return spark.sparkContext.defaultParallelism if hasattr(spark, "_jsparkSession") else 8


def default_partitions(spark: SparkSession, num_rows: int) -> int:
    """The number of tasks for rows that are shuffled by key."""
    busy = min(default_parallelism(spark), num_rows // _LEAST_ROWS_PER_PARTITION)
    return max(1, busy, -(-num_rows // _ROWS_PER_PARTITION))


def check_keys(frame: DataFrame, option: str, names: Sequence[str]) -> None:
    """Refuse keys that cannot be compared."""
    for name in names:
        text = frame.schema.fields[frame.columns.index(name)].dataType.simpleString()
        if text.startswith(("array", "map", "struct", "variant")):
            raise InvalidOptionError(f"{option}: column {name!r} of type {text} cannot be a key")
