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

__all__ = ["main", "session"]

_LEVEL = {
    "mosaic": ("compressionLevel", "1"),
    "parquet": ("parquet.compression.codec.zstd.level", "1"),
}


def session() -> SparkSession:
    """A local session, as all cases are measured in."""
    builder = SparkSession.builder.master("local[2]").appName("pymosaic benchmark")
    settings = {
        "spark.driver.memory": "2g",
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
    def __init__(self, name: str, directory: Path) -> None:
        self._name = name
        self._directory = directory
        self.spark = session()
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
        step = len(self.columns) // (count + 1)
        names = self.columns[step :: step + 1][:count]
        assert frame.select(*names).toArrow().num_columns == count

    def filtered(self, frame: DataFrame) -> None:
        other = self.columns[len(self.columns) // 3]
        found = frame.where(f.col("row_id") == 77).select(other).where(f.col(other).isNotNull())
        assert found.count() == 1

    def write(self, target: Path) -> None:
        """The rows of the Parquet files, to this format."""
        source = self.spark.read.parquet(str(self._directory / "parquet"))
        writer = source.write.format(self._name).mode("overwrite").option(*_LEVEL[self._name])
        writer.save(str(target))


def main(name: str, directory: Path, select: int, rounds: int) -> None:
    """Measure; with no rounds, the first query alone."""
    measured = _Session(name, directory)
    found = {f"cold select {select}": stopwatch(lambda: measured.first(select))[0]}
    warm: dict[str, Callable[[], object]] = {
        "select 1": lambda: measured.select(measured.load(), 1),
        "select 10": lambda: measured.select(measured.load(), 10),
        "filter + count": lambda: measured.filtered(measured.load()),
        "count": lambda: measured.load().count(),
        "all columns": lambda: measured.load().write.format("noop").mode("overwrite").save(),
        "write": lambda: measured.write(directory / f"written-{name}"),
    }
    for case, action in warm.items() if rounds else ():
        action()
        samples = range(min(rounds, 2) if case in ("all columns", "write") else rounds)
        found[case] = statistics.median(stopwatch(action)[0] for _ in samples)
    written = directory / f"written-{name}"
    if written.exists():
        files = [path for path in written.rglob(f"*.{name}") if path.is_file()]
        found["size written"] = sum(path.stat().st_size for path in files)
    measured.spark.stop()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
