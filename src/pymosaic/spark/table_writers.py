"""Rows saved as a table that is there, with its partition columns in another case.

For tables of sources that are not in its own jars, Spark compares the columns of ``partitionBy``
with those of the table letter by letter, before any rule of a source runs.
"""

from __future__ import annotations

import re
from functools import wraps
from typing import Any

__all__ = ["ignore_case_of_keys"]

_DIFFERENCE = re.compile(r"- provided: (?P<given>.*)\n\s*- table: (?P<table>.*)")
_KEY = re.compile(r"identity\((`(?:[^`]|``)*`|[^`)]*)\)")


def ignore_case_of_keys() -> None:
    """Adapt ``saveAsTable`` of PySpark's class, once for this process."""
    from pyspark.errors import AnalysisException, IllegalArgumentException
    from pyspark.sql.readwriter import DataFrameWriter

    writer_class: Any = DataFrameWriter
    plain = writer_class.saveAsTable
    if hasattr(plain, "__wrapped__"):
        return

    @wraps(plain)
    def save_as_table(self: Any, name: str, *arguments: Any, **options: Any) -> None:
        try:
            plain(self, name, *arguments, **options)
        except IllegalArgumentException as error:
            # Spark has not begun to write when it says this.
            difference = _DIFFERENCE.search(str(error))
            if difference is None or not _is_mosaic(self._spark, name):
                raise
            # In backticks where names need them: Spark parses what partitionBy is given.
            given, keys = (_KEY.findall(difference[which]) for which in ("given", "table"))
            if not _same(self._spark, given, keys):
                advice = f"write partitionBy({str(keys)[1:-1]}), or " if keys else ""
                raise AnalysisException(
                    f"partitionBy does not name the partition columns of table {name}: {advice}"
                    "leave partitionBy out"
                ) from error
            plain(self.partitionBy(keys), name)

    writer_class.saveAsTable = save_as_table


def _same(spark: Any, given: list[str], keys: list[str]) -> bool:
    if spark.conf.get("spark.sql.caseSensitive") == "true":
        return given == keys
    return [name.lower() for name in given] == [name.lower() for name in keys]


def _is_mosaic(spark: Any, name: str) -> bool:
    rows = spark.sql(f"DESCRIBE EXTENDED {name}").where("col_name = 'Provider'").collect()
    return any(row["data_type"].lower() == "mosaic" for row in rows)
