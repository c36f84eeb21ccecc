"""What runs on the cluster: a driver of its own that prints, as JSON, what it saw.

Tasks wait for each other by files, so that nothing depends on how fast the machine is.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

import pymosaic.spark
from pymosaic.spark import jobs

ROWS = 40
TASKS = 4
PATIENCE_SECONDS = 90
Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def _context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None
    return context


def _first_here(marker: str) -> bool:
    """Whether no attempt of any task has come here before."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def _in_halves(batches: Iterator[pa.RecordBatch], between: Callable[[], None]) -> Any:
    """Hand rows to the writer, do something, hand it the others."""
    for batch in batches:
        half = batch.num_rows // 2
        yield batch.slice(0, half)
        between()
        yield batch.slice(half)


def failing_once(directory: str) -> Task:
    """The first attempt of task 1 fails with a file half written."""

    def fail() -> None:
        if _context().partitionId() == 1 and _first_here(f"{directory}/failed"):
            raise RuntimeError("a task fails")

    return lambda batches: _in_halves(batches, fail)


def speculated(directory: str) -> Task:
    """Task 0 is in no hurry before a copy of it has started elsewhere."""

    def wait() -> None:
        context = _context()
        if context.partitionId() == 0:
            Path(directory, f"attempt-{context.taskAttemptId()}").touch()
            deadline = time.monotonic() + PATIENCE_SECONDS
            while len(list(Path(directory).glob("attempt-*"))) < 2 and time.monotonic() < deadline:
                time.sleep(0.05)

    return lambda batches: _in_halves(batches, wait)


def killing_its_worker(directory: str) -> Task:
    """The first task to come here kills its executor and the worker that runs it."""

    def kill() -> None:
        import psutil

        if _first_here(f"{directory}/killed"):
            parents = psutil.Process().parents()
            machines = [process for process in parents if process.name() == "java"]
            for machine in machines[1::-1]:
                machine.send_signal(signal.SIGKILL)

    return lambda batches: _in_halves(batches, kill)


def _prefix(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield pa.record_batch({"prefix": [sys.prefix]})


class Driver:
    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self.spark = spark
        self.directory = directory

    def rows(self) -> DataFrame:
        return self.spark.range(ROWS, numPartitions=TASKS)

    def outcome(self, name: str) -> dict[str, Any]:
        """The rows and files that are visible, and all files there are."""
        base = self.directory / name
        frame = pymosaic.spark.read(self.spark, base)
        everything = [path for path in base.rglob("*") if path.is_file()]
        return {
            "ids": sorted(row["id"] for row in frame.collect()),
            "visible": len(pymosaic.dataset(str(base)).files),
            "data": sum("_mosaic" not in path.parts for path in everything),
            "pending": sum(path.suffix == ".pending" for path in everything),
        }

    def write(self, name: str, task: Callable[[str], Task]) -> dict[str, Any]:
        notes = self.directory / f"{name}-notes"
        notes.mkdir()
        frame = self.rows().mapInArrow(task(str(notes)), "id long")
        pymosaic.spark.write(frame, self.directory / name)
        return self.outcome(name) | {"notes": sorted(path.name for path in notes.iterdir())}

    def plain(self) -> dict[str, Any]:
        pymosaic.spark.write(self.rows(), self.directory / "plain")
        prefixes = self.rows().mapInArrow(_prefix, "prefix string").distinct().collect()
        found = pymosaic.spark.read(self.spark, self.directory / "plain").where("id = 7")
        return self.outcome("plain") | {
            "prefixes": [row["prefix"] for row in prefixes],
            "driver": sys.prefix,
            "found": [row["id"] for row in found.collect()],
        }

    def pivot(self) -> dict[str, Any]:
        """Long rows packed by classes that executors get from the driver."""
        long = self.spark.range(ROWS * 30, numPartitions=TASKS).selectExpr(
            f"id % {ROWS} AS id", f"concat('f', id DIV {ROWS}) AS feature", "id * 0.5D AS value"
        )
        target = self.directory / "pivot"
        report = jobs.pivot(self.spark, long, target, entity="id", feature="feature")
        rows = pymosaic.spark.read(self.spark, target).orderBy("id").collect()
        return {
            "shape": [report.rows, report.columns, report.rows_in],
            "rows": [[row["id"], row["f0"], row["f29"]] for row in rows],
        }


def main(master: str, directory: str) -> None:
    builder = SparkSession.builder.master(master).appName("pymosaic cluster tests")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.speculation": "true",
        "spark.speculation.interval": "100ms",
        "spark.speculation.quantile": "0.5",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.minTaskRuntime": "2s",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    support = pymosaic.spark.enable(spark)
    driver = Driver(spark, Path(directory))
    found = {
        "support": [support.push_down, support.driver_planning],
        "plain": driver.plain(),
        "pivot": driver.pivot(),
        "failing": driver.write("failing", failing_once),
        "speculated": driver.write("speculated", speculated),
        "killed": driver.write("killed", killing_its_worker),
    }
    Path(directory, "outcome.json").write_text(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
