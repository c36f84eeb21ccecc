"""The examples in docstrings that need a Spark session: ``python -m tests.spark.examples``.

They take ``spark`` for the session, as those of PySpark do, and write to the working directory.
"""

from __future__ import annotations

import doctest
import sys
from importlib import import_module

__all__ = ["MODULES", "run_examples"]

# Not collected as other doctests are: see conftest.py.
MODULES = (
    "pymosaic.spark.api",
    "pymosaic.spark.session",
    "pymosaic.spark.jobs.assemble",
    "pymosaic.spark.jobs.compact",
    "pymosaic.spark.jobs.convert",
    "pymosaic.spark.jobs.pivot",
    "pymosaic.spark.jobs.profile",
    "pymosaic.spark.jobs.verify",
)


def run_examples() -> tuple[int, int]:
    """Run them all in one local session; returns how many lines ran, and how many failed."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("examples")
    for key, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    ran = failed = 0
    try:
        for name in MODULES:
            flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            found = doctest.testmod(
                import_module(name), extraglobs={"spark": spark}, optionflags=flags
            )
            ran += found.attempted
            failed += found.failed
    finally:
        spark.stop()
    return ran, failed


if __name__ == "__main__":
    ran, failed = run_examples()
    sys.stdout.write(f"{ran} lines, {failed} failures\n")
    sys.exit(bool(failed))
