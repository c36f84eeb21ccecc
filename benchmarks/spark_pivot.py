"""Benchmark of the pivot job and Spark's own pivot, which may not finish."""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.processor import stopwatches
from benchmarks.report import Rows, format_value, plain_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["main", "pivot_rows"]

_ROOT = Path(__file__).parent.parent
_GOAL = 10.0
_ROW_GROUP_ROWS = 1_000_000
_WAYS = ("mosaic", "parquet")
_SECONDS = re.compile(r"^seconds: (\S+) (\S+)$", re.MULTILINE)
# The name of an error, with what it says.
_REASON = re.compile(r"^(?:Caused by: |: )?(?:\w+\.)+(\w+(?:Error|Exception): .{1,60})", re.M)


@dataclass(frozen=True, slots=True)
class _Time:
    """Seconds on the clock, and of all processors."""

    clock: float
    processor: float

    def __str__(self) -> str:
        return f"{format_value(self.clock, 'seconds')} ({format_value(self.processor, 'seconds')})"


def _measure(way: str, source: Path, target: Path, limit: float) -> _Time | str:
    """The time that a separate session took for the pivot, or why there is none."""
    command = [sys.executable, "-m", "benchmarks.spark_pivot", "--child", way]
    log = target.with_suffix(".log")
    with (
        log.open("wb") as stream,
        subprocess.Popen(
            [*command, str(source), str(target)],
            cwd=_ROOT,
            env=os.environ | {"PYSPARK_PYTHON": sys.executable},
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            code = process.wait(limit)
        except subprocess.TimeoutExpired:
            # With the JVM, which is of this group.
            os.killpg(process.pid, signal.SIGKILL)
            return f"> {limit:.0f} s"
    text = log.read_text(errors="replace")
    if not code:
        return _Time(*map(float, _SECONDS.findall(text)[-1]))
    reasons = _REASON.findall(text)
    return f"fails: {reasons[0]}" if reasons else "fails"


def _child(way: str, source: Path, target: Path) -> None:
    from pyspark.sql import functions as f

    from benchmarks.spark_child import start

    spark = start()
    long = spark.read.parquet(str(source))

    def ours(frame: DataFrame, path: Path) -> None:
        from pymosaic.spark.jobs import pivot

        pivot(spark, frame, path, entity="entity", feature="feature", partitions=2)

    def theirs(frame: DataFrame, path: Path) -> None:
        spark.conf.set("spark.sql.pivotMaxValues", str(1 << 20))
        wide = frame.groupBy("entity").pivot("feature").agg(f.first("value", ignorenulls=True))
        wide.coalesce(2).write.parquet(str(path))

    action = ours if way == "mosaic" else theirs
    # What a session does for the first time takes longest, whatever it is.
    action(long.where("feature < 'feature_000010'"), target.with_suffix(".warm"))
    clock, processor, _ = stopwatches(lambda: action(long, target))
    sys.stdout.write(f"seconds: {clock} {processor}\n")


def _make_data(path: Path, columns: int, entities: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = pa.array([f"feature_{number:06d}" for number in range(columns)])
    random = np.random.default_rng(1)
    with pq.ParquetWriter(
        path, pa.schema({"entity": pa.int64(), "feature": pa.string(), "value": pa.float64()})
    ) as writer:
        held: list[pa.Table] = []
        for entity in range(entities):
            values = random.normal(size=columns).round(3)
            table = pa.table([pa.array([entity] * columns), names, values], writer.schema)
            held.append(table.take(pa.array(random.permutation(columns))))
            # Row groups as writers make them, not one for each entity.
            if len(held) * columns >= _ROW_GROUP_ROWS or entity == entities - 1:
                writer.write_table(pa.concat_tables(held))
                held = []


def pivot_rows(directory: Path, shapes: Sequence[tuple[int, int]], limit: float) -> Rows:
    """Measure both ways for each number of columns and entities; the rows of a table about it.

    Time of all processors is in brackets, and the ratio is that of it: it depends less on what else
    the machine does.
    """
    rows = [["", "pivot job", "Spark's pivot", "ratio", "goal", ""]]
    for columns, entities in shapes:
        source = directory / f"long-{columns}.parquet"
        _make_data(source, columns, entities)
        ours, theirs = (
            _measure(way, source, directory / f"pivot-{columns}-{way}", limit) for way in _WAYS
        )
        ratio, verdict = _verdict(ours, theirs, limit)
        name = f"pivot to {columns:,} columns, {entities:,} rows"
        rows.append([name, str(ours), str(theirs), ratio, f"{_GOAL:g}x", verdict])
    return rows


def _verdict(ours: _Time | str, theirs: _Time | str, limit: float) -> tuple[str, str]:
    """How many times faster the job is, and whether that is enough."""
    if isinstance(ours, str):
        return "", "missed"
    if not isinstance(theirs, str):
        ratio = theirs.processor / ours.processor
        return f"{ratio:.1f}x", "met" if ratio >= _GOAL else "missed"
    if not theirs.startswith(">"):
        return "", "Spark fails"
    met = limit / ours.clock >= _GOAL
    return f"> {limit / ours.clock:.1f}x", "met" if met else "time limit too short to tell"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure in separate sessions, and print the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_pivot", description=__doc__)
    parser.add_argument("--columns", type=int, default=10_000, help="features")
    parser.add_argument("--entities", type=int, default=200, help="rows of the wide table")
    parser.add_argument("--limit", type=float, default=900, help="time limit in seconds for each")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        way, source, target = options.child
        _child(way, Path(source), Path(target))
        return 0
    with tempfile.TemporaryDirectory() as name:
        shapes = [(options.columns, options.entities)]
        print(plain_table(pivot_rows(Path(name), shapes, options.limit)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
