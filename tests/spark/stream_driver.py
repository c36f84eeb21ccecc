"""A pipeline of two streams, until it is killed: files to a dataset, and that to another.

``python -m tests.spark.stream_driver DIRECTORY`` says that it is ready once both run. With
``cluster`` as a second argument, its executors are two JVMs of their own.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from pymosaic.spark import enable

_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def _session(master: str) -> SparkSession:
    return (
        SparkSession.builder.master(master)
        .config("spark.task.maxFailures", "100")  # a task whose worker is killed runs again
        .config("spark.deploy.maxExecutorRetries", "-1")
        # Most of the time of a session that lives for seconds goes to its best compiler.
        .config("spark.driver.extraJavaOptions", _QUICK)
        .config("spark.executor.extraJavaOptions", _QUICK)
        .config("spark.executor.memory", "512m")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )


def _start(frame: DataFrame, base: Path, name: str) -> None:
    writer = frame.writeStream.format("mosaic").partitionBy("shard")
    writer = writer.option("checkpointLocation", str(base / "checkpoints" / name))
    writer.trigger(processingTime="100 milliseconds").start(str(base / name))


def _end_with(parent: int) -> None:
    """End, with everything that was started, when the process that started this one is gone."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    base = Path(sys.argv[1])
    threading.Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    is_cluster = sys.argv[2:] == ["cluster"]
    spark = _session("local-cluster[2,1,512]" if is_cluster else "local[2,8]")
    spark.sparkContext.setLogLevel("OFF")
    enable(spark)
    source = spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 8)
    _start(source.json(str(base / "in")).selectExpr("id", "id % 3 AS shard"), base, "first")
    while not list((base / "first").glob("shard=*/*.mosaic")):
        time.sleep(0.1)
    second = spark.readStream.format("mosaic").option("maxFilesPerTrigger", 20)
    _start(second.load(str(base / "first")), base, "second")
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
