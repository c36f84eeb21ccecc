"""What versions of Spark can do: tests ask here, and the guide's table is made from it."""

from dataclasses import dataclass

import pyspark

__all__ = ["CAPABILITIES", "VERSION", "VERSIONS", "Capability", "can"]

VERSION = tuple(int(part) for part in pyspark.__version__.split(".")[:2])
# Those that `make test-spark` is run with.
VERSIONS = ((4, 0), (4, 1), (4, 2), (4, 3))


@dataclass(frozen=True, slots=True)
class Capability:
    """Something that Spark can do since a version, and what happens before that.

    `refusal` is part of the error of earlier versions; without one, they give other rows.
    """

    since: tuple[int, int]
    what: str
    before: str
    refusal: str = ""


CAPABILITIES = {
    "constraints": Capability(
        (4, 1),
        "`CHECK` and `PRIMARY KEY` of columns",
        "Spark's parser refuses them",
        "PARSE_SYNTAX_ERROR",
    ),
    "time": Capability((4, 1), "`TIME` columns", "Spark has no such type", "UNSUPPORTED_"),
    "void": Capability(
        (4, 1),
        "`VOID` columns in Parquet files",
        "Spark refuses them for Parquet, too",
        "CAST(x AS STRING)",
    ),
    "keep tables of others": Capability(
        (4, 1),
        "`saveAsTable` with `overwrite` over a table of another source keeps that table",
        "**Spark drops that table**, and then fails; "
        '`df.writeTo(table).using("mosaic").createOrReplace()` is safe',
    ),
    "recursive": Capability(
        (4, 2),
        "`recursiveFileLookup` of a table with partitions is an error for Parquet, too",
        "Parquet ignores the option",
        "ecursive",
    ),
    "missing columns": Capability(
        (4, 1),
        "`INSERT INTO table (some columns)`, and `BY NAME` with a column missing",
        "Spark refuses it for sources that are not in its jars; "
        "give all columns, with `DEFAULT` in `VALUES` or `NULL AS name` in a query",
        "CANNOT_FIND_DATA",
    ),
    "describe partitions": Capability(
        (4, 2),
        "`DESCRIBE table PARTITION (…)`",
        "Spark refuses it for sources that are not in its jars",
        "DESCRIBE does not support partition for v2 tables",
    ),
    "describe names": Capability(
        (4, 2),
        "`DESCRIBE EXTENDED` has a row for the database and one for the table",
        "one row, `Name`, tells both",
    ),
}


def can(name: str) -> bool:
    """Whether this Spark has a capability."""
    return CAPABILITIES[name].since <= VERSION
