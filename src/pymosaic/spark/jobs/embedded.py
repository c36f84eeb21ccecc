"""The session that a job runs in when it is started as a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["open_session"]


def open_session(
    master: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The session that there is, or a new one: that of ``spark-submit``, or an embedded local one.

    Parameters
    ----------
    master : str, optional
        Where tasks run. By default what ``spark-submit`` or Spark's defaults say, else
        ``local[*]``: in this process, on all cores.
    settings : mapping, optional
        Of Spark, by their names.
    """
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    from pymosaic.spark.session import enable

    given = SparkConf()
    builder = SparkSession.builder.appName(given.get("spark.app.name", "pymosaic") or "pymosaic")
    if master is not None or not given.contains("spark.master"):
        builder = builder.master(master or "local[*]")
    chosen = master or given.get("spark.master", "local[*]") or "local[*]"
    if chosen.startswith("local"):
        # Spark would take whatever `python3` is, which need not have this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        if not given.contains("spark.ui.showConsoleProgress"):
            builder = builder.config("spark.ui.showConsoleProgress", "false")
        if not given.contains("spark.ui.enabled"):
            builder = builder.config("spark.ui.enabled", "false")
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    enable(session)
    return session
