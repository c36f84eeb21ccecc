"""The driver of a Connect server, which ``spark-submit`` runs as a script."""

import signal
import sys
import threading

from pyspark.sql import SparkSession

from pymosaic.spark import enable

__all__ = ["serve"]


def serve() -> None:
    """Serve until the process is told to end."""
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    spark = SparkSession.builder.appName("Spark Connect server with Mosaic").getOrCreate()
    sys.stderr.write(f"Mosaic in Spark Connect: {enable(spark)}\n")
    ended.wait()
    spark.stop()


if __name__ == "__main__":
    serve()
