"""One session on one format: its first query, then warm ones; prints seconds as JSON."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.measure import stopwatch

__all__ = ["measure", "start"]

_LEVEL = {
    "mosaic": ("compressionLevel", "1"),
    "parquet": ("parquet.compression.codec.zstd.level", "1"),
}


def start() -> SparkSession:
    """A local session, as all cases are measured in."""
    builder = SparkSession.builder.master("local[2]").appName("pymosaic benchmark")
    settings = {
        "spark.driver.memory": "8g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


class _Session:
    def __init__(self, spark: SparkSession, name: str, directory: Path) -> None:
        self.spark = spark
        self._name = name
        self._directory = directory
        self.columns: list[str] = []

    def load(self) -> DataFrame:
        return self.spark.read.format(self._name).load(str(self._directory / self._name))

    def first(self, select: int) -> None:
        """The first query of a session, with all that makes the session ready for it."""
        if self._name == "mosaic":
            import pymosaic.spark

            pymosaic.spark.enable(self.spark)
        frame = self.load()
        self.columns = frame.columns
        self.select(frame, select)

    def select(self, frame: DataFrame, count: int) -> None:
        width = len(self.columns)
        names = [self.columns[(2 * place + 1) * width // (2 * count)] for place in range(count)]
        assert frame.select(*names).toArrow().num_columns == count

    def filtered(self, frame: DataFrame) -> None:
        other = self.columns[len(self.columns) // 3]
        found = frame.where(f.col("row_id") == 7).select(other).where(f.col(other).isNotNull())
        assert found.count() == 1

    def write(self, target: Path) -> None:
        """The rows of the Parquet files, to this format."""
        source = self.spark.read.parquet(str(self._directory / "parquet"))
        writer = source.write.format(self._name).mode("overwrite").option(*_LEVEL[self._name])
        writer.save(str(target))


def measure(
    spark: SparkSession, name: str, directory: Path, select: int, rounds: int
) -> dict[str, float]:
    """Seconds of each case; with no rounds, of the first query alone."""
    session = _Session(spark, name, directory)
    found = {f"cold select {select}": stopwatch(lambda: session.first(select))[0]}
    if not rounds:
        return found
    written = directory / f"written-{name}"
    warm: dict[str, Callable[[], object]] = {
        "select 1": lambda: session.select(session.load(), 1),
        "select 10": lambda: session.select(session.load(), 10),
        "filter + count": lambda: session.filtered(session.load()),
        "count": lambda: session.load().count(),
        "all columns": lambda: session.load().write.format("noop").mode("overwrite").save(),
        "write": lambda: session.write(written),
    }
    for case, action in warm.items():
        action()
        samples = range(min(rounds, 2) if case in ("all columns", "write") else rounds)
        found[case] = statistics.median(stopwatch(action)[0] for _ in samples)
    files = [path for path in written.rglob(f"*.{name}") if path.is_file()]
    found["size written"] = sum(path.stat().st_size for path in files)
    return found


if __name__ == "__main__":
    started = start()
    results = measure(started, sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    started.stop()
    sys.stdout.write(json.dumps(results) + "\n")
