"""Benchmark of datasets of very many small files: `load()` and a query of one column."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.datasets.many_files import PARTITIONS, link_files, make_dataset
from tests.figures import peak_memory

from benchmarks.processor import stopwatches
from benchmarks.report import Rows, format_value
from benchmarks.spark_child import FORMATS, in_session, start

__all__ = ["file_rows"]

# Files are a tenth as many in each step; a step may take this many times as long.
_SLACK = 1.2


def file_rows(directory: Path, counts: Sequence[int]) -> Rows:
    """Measure both formats for each number of files; the rows of a table about it."""
    rows = [["files", "Mosaic", "Parquet", "ratio", "growth", "", "processor time", "memory"]]
    before: tuple[int, float] | None = None
    for count in counts:
        make_dataset(directory / f"mosaic-{count}", count)
        _make_parquet(directory / f"parquet-{count}", count)
        found = {
            name: in_session("benchmarks.spark_files", name, directory / f"{name}-{count}")
            for name in FORMATS
        }
        ours, theirs = found["mosaic"]["seconds"], found["parquet"]["seconds"]
        busy = [found[name]["processor"] for name in FORMATS]
        print(
            f"{count:,} files: {ours:.1f} s ({busy[0]:.1f} s of processor time), "
            f"Parquet {theirs:.1f} s ({busy[1]:.1f} s)",
            file=sys.stderr,
            flush=True,
        )
        growth = verdict = ""
        if before is not None:
            # By processor time, which depends less on what else the machine does.
            share = (busy[0] / before[1]) / (count / before[0])
            growth = f"{share:.2f} of linear"
            verdict = "met" if share <= _SLACK else "missed"
        before = count, busy[0]
        rows.append(
            [
                f"{count:,}",
                format_value(ours, "seconds"),
                format_value(theirs, "seconds"),
                f"{theirs / ours:.1f}x",
                growth,
                verdict,
                " and ".join(format_value(seconds, "seconds") for seconds in busy),
                format_value(found["mosaic"]["memory"], "bytes"),
            ]
        )
    return rows


def _make_parquet(base: Path, count: int) -> None:
    """The same rows, as Spark lays out a partitioned table."""
    paths = []
    for number in range(count):
        path = base / f"k={number % PARTITIONS}" / f"part-{number:06d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        paths.append(path)

    def write(path: Path, table: pa.Table) -> None:
        pq.write_table(table, path)

    link_files(paths, write)


def _child(name: str, path: str) -> None:
    spark = start()
    if name == "mosaic":
        import pymosaic.spark

        pymosaic.spark.enable(spark)
    # What a session does for the first time takes long, whatever it is.
    spark.range(10).selectExpr("sum(id)").collect()

    def query() -> int:
        frame = spark.read.format(name).load(path)
        return int(frame.where("n >= 0").selectExpr("count(n) AS rows").collect()[0].rows)

    seconds, processor, rows = stopwatches(query)
    assert rows > 0
    found = {"seconds": seconds, "processor": processor, "memory": peak_memory()}
    sys.stdout.write(json.dumps(found) + "\n")
    spark.stop()


if __name__ == "__main__":
    _child(*sys.argv[1:])
