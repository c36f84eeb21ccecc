"""Measurements of one session, printed as JSON in seconds: ``first``, ``cold`` or ``warm``."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from benchmarks.measure import stopwatch

__all__ = ["FORMATS", "cold", "first", "in_session", "start", "warm"]

_ROOT = Path(__file__).parent.parent
FORMATS = ("mosaic", "parquet")
_LEVEL = {
    "mosaic": ("compressionLevel", "1"),
    "parquet": ("parquet.compression.codec.zstd.level", "1"),
}
_SLOW_ROUNDS = 2


def start() -> SparkSession:
    """A local session, as all cases are measured in."""
    builder = SparkSession.builder.master("local[2]").appName("pymosaic benchmark")
    settings = {
        # Spark's Parquet writer runs out of memory with 2 GB for 10,000 columns.
        "spark.driver.memory": "8g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.parquet.compression.codec": "zstd",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def in_session(module: str, *arguments: object) -> Any:
    """What a module prints as JSON that is run in a process, and so a session, of its own."""
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        cwd=_ROOT,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{module} {arguments[0]} failed:\n{done.stderr[-4000:]}")
    return json.loads(done.stdout.splitlines()[-1])


class _Data:
    """The rows in one format."""

    def __init__(self, spark: SparkSession, name: str, directory: Path) -> None:
        self.spark = spark
        self._name = name
        self._directory = directory
        self._columns: list[str] = []

    def _load(self, path: Path) -> DataFrame:
        if self._name == "mosaic":
            import pymosaic.spark

            pymosaic.spark.enable(self.spark)
        return self.spark.read.format(self._name).load(str(path))

    def load(self) -> DataFrame:
        return self._load(self._directory / self._name)

    def narrow(self) -> None:
        """The smallest possible query: a table of one column and one row."""
        table = self._load(self._directory / f"narrow.{self._name}").select("row_id").toArrow()
        assert table.num_rows == 1

    def select(self, count: int) -> None:
        frame = self.load()
        columns = self._columns or frame.columns
        self._columns = columns
        width = len(columns)
        names = [columns[(2 * place + 1) * width // (2 * count)] for place in range(count)]
        assert frame.select(*names).toArrow().num_columns == count

    def filtered(self) -> None:
        frame = self.load()
        other = self._columns[len(self._columns) // 3]
        found = frame.where(f.col("row_id") == 7).select(other).where(f.col(other).isNotNull())
        assert found.count() == 1

    def count(self) -> None:
        assert self.load().count()

    def scan(self) -> None:
        self.load().write.format("noop").mode("overwrite").save()

    def write(self, source: DataFrame) -> int:
        """Write rows in this format, and return the size of the files."""
        target = self._directory / f"written-{self._name}"
        writer = source.write.format(self._name).mode("overwrite").option(*_LEVEL[self._name])
        writer.save(str(target))
        return sum(path.stat().st_size for path in target.rglob(f"*.{self._name}"))


def first(spark: SparkSession, name: str, directory: Path, select: int) -> dict[str, float]:
    """The first query of a session, including the setup of the session."""
    data = _Data(spark, name, directory)
    return {f"new session, select {select}": stopwatch(lambda: data.select(select))[0]}


def cold(spark: SparkSession, name: str, directory: Path, select: int) -> dict[str, float]:
    """The first query of the data, in a session that has run a small query before."""
    data = _Data(spark, name, directory)
    return {
        "new session, smallest query": stopwatch(data.narrow)[0],
        f"cold select {select}": stopwatch(lambda: data.select(select))[0],
    }


def warm(spark: SparkSession, directory: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Both formats in turns, in one session, by name."""
    both = {name: _Data(spark, name, directory) for name in FORMATS}
    cases: dict[str, Callable[[_Data], int | None]] = {
        "select 1": lambda data: data.select(1),
        "select 10": lambda data: data.select(10),
        "filter + count": _Data.filtered,
        "count": _Data.count,
        "all columns": _Data.scan,
        # From rows that are quickest to read.
        "write": lambda data: data.write(both["mosaic"].load()),
    }
    found: dict[str, dict[str, float]] = {name: {} for name in FORMATS}
    for case, action in cases.items():
        slow = case in ("all columns", "write")
        samples: dict[str, list[float]] = {name: [] for name in FORMATS}
        for _ in range(1 + (min(rounds, _SLOW_ROUNDS) if slow else rounds)):
            for name, data in both.items():
                seconds, result = stopwatch(partial(action, data))
                samples[name].append(seconds)
                if result is not None:
                    found[name]["size written"] = result
        for name, taken in samples.items():
            # The first is of what Spark compiles for the query.
            found[name][case] = statistics.median(taken[1:])
    return found


def main(kind: str, directory: str, *arguments: str) -> None:
    """Measure in a session of this process."""
    spark = start()
    found: object
    if kind == "warm":
        found = warm(spark, Path(directory), int(arguments[0]))
    else:
        name, select = arguments
        found = (first if kind == "first" else cold)(spark, name, Path(directory), int(select))
    spark.stop()
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
