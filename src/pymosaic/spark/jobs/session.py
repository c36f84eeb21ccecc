"""The session of a job that is started as a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["open_session"]

# Default name of a session.
_UNNAMED = "pyspark-shell"


def open_session(
    master: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The existing session, or a new one: that of ``spark-submit``, or an embedded local one.

    Parameters
    ----------
    master : str, optional
        Where tasks run. By default the master of ``spark-submit`` or of Spark's defaults, otherwise
        ``local[*]``: in this process, on all cores.
    settings : mapping, optional
        Spark settings by name.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    from pymosaic.spark.session import enable

    wanted = SparkConf(loadDefaults=False)
    for key, value in (settings or {}).items():
        wanted.set(key, value)
    if master is not None:
        wanted.setMaster(master)
    asked = master or wanted.get("spark.master")
    # Spark would take whatever `python3` is, which need not have this package. A JVM that starts
    # reads it once, before it can say where its tasks run.
    own_python = "PYSPARK_PYTHON" not in os.environ and (asked or "local").startswith("local")
    if own_python:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    # Only a JVM, that of spark-submit or a new one, knows what was said elsewhere.
    SparkContext._ensure_initialized(conf=wanted)
    given = SparkConf()
    builder = SparkSession.builder
    for key, value in wanted.getAll():
        builder = builder.config(key, value)
    if given.get("spark.app.name", _UNNAMED) == _UNNAMED and not wanted.contains("spark.app.name"):
        builder = builder.appName("pymosaic")
    chosen = asked or given.get("spark.master") or "local[*]"
    if own_python and not chosen.startswith("local"):
        del os.environ["PYSPARK_PYTHON"]
    if chosen.startswith("local"):
        for key in ("spark.ui.showConsoleProgress", "spark.ui.enabled"):
            if not given.contains(key) and not wanted.contains(key):
                builder = builder.config(key, "false")
    session = builder.master(chosen).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    enable(session)
    return session
