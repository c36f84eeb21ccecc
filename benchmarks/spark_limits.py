"""What must be quick in a warm Spark session: errors, 100,000 columns, a wide write.

``python -m benchmarks.spark_limits errors wide`` prints the time on the clock and the processor
time of all processes (the driver's JVM, this one and the workers) for each case. The driver has
2 GB, or 8 GB with ``write``: Spark's Parquet writer needs it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import pymosaic
from pymosaic.spark import enable

__all__ = ["main"]

_Case = tuple[str, Callable[[], object]]


def _session(directory: Path, memory: str) -> SparkSession:
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", memory)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(directory / "warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    enable(spark)
    return spark


def _processor_seconds() -> float:
    """The processor time of this process and all below it that are alive."""
    found = 0.0
    own = psutil.Process()
    for process in [own, *own.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        found += times.user + times.system
    return found


def _table(columns: int, rows: int) -> pa.Table:
    values = np.random.default_rng(0).random((columns, rows)).round(3)
    names = [f"feature_{place:06d}" for place in range(columns)]
    table = pa.table([pa.array(column) for column in values], names=names)
    return table.append_column("id", pa.array(range(rows)))


def _errors(spark: SparkSession, base: Path) -> Iterator[_Case]:
    """The mistakes that people make; each one is told before a task starts."""
    small, corrupt = str(base / "small"), base / "corrupt"
    spark.range(100).write.format("mosaic").save(small)
    spark.read.format("mosaic").load(small).where("id > 3").collect()
    (base / "empty").mkdir()
    shutil.copytree(small, corrupt)
    for file in corrupt.glob("*.mosaic"):
        file.write_bytes(file.read_bytes()[:-40] + bytes(40))

    def load(path: str, **options: str) -> DataFrame:
        return spark.read.format("mosaic").options(**options).load(path)

    def save(query: str, path: str, mode: str) -> None:
        spark.sql(query).write.format("mosaic").mode(mode).save(path)

    yield "missing path", lambda: load(str(base / "nowhere"))
    yield "empty directory", lambda: load(str(base / "empty"))
    yield "unknown option", lambda: load(small, colums="id")
    yield "bad filter", lambda: load(small, filters='[["idd", ">", 3]]')
    yield "corrupt file", lambda: load(str(corrupt))
    yield "wrong mode", lambda: save("SELECT 1L AS id", small, "error")
    yield "unsupported type", lambda: save("SELECT struct(1) AS x", str(base / "new"), "error")
    yield "append of another type", lambda: save("SELECT 'x' AS id", small, "append")


def _wide(spark: SparkSession, base: Path) -> Iterator[_Case]:
    """Queries over 100,000 columns."""
    path = str(base / "wide")
    pymosaic.write_dataset(_table(100_000, 20), path)

    def load() -> DataFrame:
        return spark.read.format("mosaic").load(path)

    frame = load()
    matching = frame.where("feature_000010 > 0.5")
    yield "load", load
    yield "select 1", lambda: frame.select("feature_050000").collect()
    yield "count", lambda: frame.count()
    yield "load and count", lambda: load().count()
    yield "filter + aggregate", lambda: matching.agg(f.avg("feature_099999")).collect()


def _write(spark: SparkSession, base: Path) -> Iterator[_Case]:
    """A copy of 22,000 columns that are in Parquet, as Parquet and as Mosaic."""
    import pyarrow.parquet as pq

    pq.write_table(_table(22_000, 1_000), base / "source.parquet", row_group_size=500)
    source = spark.read.parquet(str(base / "source.parquet"))
    for name in ("parquet", "mosaic"):
        writer = source.write.format(name).mode("overwrite")
        yield f"write {name}", partial(writer.save, str(base / name))


_GROUPS = {"errors": _errors, "wide": _wide, "write": _write}


def _measured(case: Callable[[], object]) -> tuple[float, float, str]:
    before, start = _processor_seconds(), time.perf_counter()
    told = ""
    try:
        case()
    except Exception as error:  # the error is what is measured
        told = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    return time.perf_counter() - start, _processor_seconds() - before, told


def main(arguments: list[str] | None = None) -> None:
    """Measure groups of cases, and print the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_limits", description=__doc__)
    parser.add_argument("groups", nargs="+", choices=_GROUPS)
    parser.add_argument("--rounds", type=int, default=3, help="samples per case")
    options: Any = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="pymosaic-limits-") as directory:
        base = Path(directory)
        spark = _session(base, "8g" if "write" in options.groups else "2g")
        for group in options.groups:
            for name, case in _GROUPS[group](spark, base):
                samples = [_measured(case) for _ in range(options.rounds)]
                times = "  ".join(f"{clock:.2f}/{used:.2f}" for clock, used, _ in samples)
                print(f"{name:24} {times} s  {samples[-1][2][:120]}", flush=True)
        spark.stop()


if __name__ == "__main__":
    main()
