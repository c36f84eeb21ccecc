"""Which rows of a source a partitioned dataset does not have yet, told by its directories."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pymosaic.datasets.replacement import partition_of
from pymosaic.datasets.snapshot import take_snapshot
from pymosaic.errors import InvalidOptionError
from pymosaic.io import open_directory
from pymosaic.spark.jobs.frames import column
from pymosaic.spark.storage import locate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["known_values", "without_values"]

# Types whose values are the same as text in a directory and in a query.
_PARSE: dict[str, Callable[[str], Any]] = {
    "string": str,
    "date": datetime.date.fromisoformat,
    "tinyint": int,
    "smallint": int,
    "int": int,
    "bigint": int,
}


def known_values(
    target: str | os.PathLike[str], storage: dict[str, str], key: str
) -> frozenset[str | None]:
    """The values of a partition column for which a dataset has files; no file is opened.

    Raises
    ------
    InvalidOptionError
        If the dataset has files that are not partitioned by the column.
    """
    [base], filesystem = locate([os.fspath(target)], storage)
    directory = open_directory(base, filesystem)
    found: set[str | None] = set()
    for entry in take_snapshot(directory).files if directory.exists() else ():
        values = dict(partition_of(entry.path))
        if key not in values:
            raise InvalidOptionError(
                f"incremental: {entry.path} of the target is not in a directory {key}=…"
            )
        found.add(values[key])
    return frozenset(found)


def without_values(frame: DataFrame, key: str, known: frozenset[str | None]) -> DataFrame:
    """The rows whose value of a column is none of these; Spark skips partitions of the source.

    Raises
    ------
    InvalidOptionError
        If the column is not of text, integers or dates.
    """
    kind = frame.schema[key].dataType.simpleString()
    if kind not in _PARSE:
        raise InvalidOptionError(
            f"incremental: column {key!r} must be text, integers or dates, not {kind}"
        )
    values = [_PARSE[kind](text) for text in known if text is not None]
    is_new = ~column(key).isin(values) if values else column(key).isNotNull()
    if None not in known:
        is_new = is_new | column(key).isNull()
    else:
        is_new = is_new & column(key).isNotNull()
    return frame.where(is_new) if known else frame
