"""The driver of a Connect server, which ``spark-submit`` runs as a script."""

import signal
import sys
import threading
from typing import Any

from pyspark.sql import SparkSession

from pymosaic.spark import enable

__all__ = ["serve"]


def serve() -> None:
    """Serve until the process is told to end.

    The server listens only after the session is set up. A client that came earlier would get
    Spark's plain Python source, which reads all columns.
    """
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    spark = SparkSession.builder.appName("Spark Connect server with Mosaic").getOrCreate()
    sys.stderr.write(f"Mosaic in Spark Connect: {enable(spark)}\n")
    context: Any = spark.sparkContext
    service = context._jvm.org.apache.spark.sql.connect.service.SparkConnectService
    service.start(context._jsc.sc())
    ended.wait()
    # Requests in progress end with the session.
    spark.stop()


if __name__ == "__main__":
    serve()
