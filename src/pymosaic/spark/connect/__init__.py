"""Spark Connect: ``python -m pymosaic.spark.connect`` starts a server that knows Mosaic.

Arguments are those of ``spark-submit``: ``--master``, ``--conf``, ``--jars`` and so on. The driver
is a Python process that calls :func:`pymosaic.spark.enable`. Sessions of clients are made from its
session, so that they read only what their queries need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SETTING", "local_server", "server_is_ready"]

# Tells clients that the server's optimizer knows the source.
SETTING = "spark.mosaic.server"


def local_server(spark: SparkSession) -> SparkSession | None:
    """The session of the client's server, if it runs in this process (``remote("local")``)."""
    from pyspark.sql import SparkSession

    server: Any = SparkSession._instantiatedSession
    if server is None or server._sc._jsc is None:
        return None
    same = server.sparkContext.applicationId == spark.conf.get("spark.app.id", None)
    return server if same else None


def server_is_ready(spark: SparkSession) -> bool:
    """Whether the server of a client is one that this package started."""
    return spark.conf.get(SETTING, None) == "true"
