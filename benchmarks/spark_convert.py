"""Benchmark of the job `convert` beside `df.write`, for a wide table.

Each is measured in a session of its own, after a small table: what a session does for the first
time takes longest, whatever it is.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.processor import stopwatches
from benchmarks.report import format_value, plain_table
from benchmarks.spark_child import in_session, start

__all__ = ["main"]

_WAYS = ("convert", "df.write")


def _make_data(directory: Path, columns: int, rows: int, files: int, source: str) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    import pymosaic

    random = np.random.default_rng(1)
    directory.mkdir()
    for number in range(files):
        values = {f"c{place:06d}": random.normal(size=rows).round(3) for place in range(columns)}
        path = directory / f"{number}.{source}"
        if source == "parquet":
            pq.write_table(pa.table(values), path)
        else:
            pymosaic.write_table(pa.table(values), path, compression_level=1)


def _child(way: str, directory: Path, format: str) -> None:
    import pymosaic.spark
    from pymosaic.spark.jobs import convert

    spark = start()
    pymosaic.spark.enable(spark)

    def action(source: Path, target: Path) -> None:
        if way == "convert":
            convert(spark, source, target, format=format, compressionLevel=1)
        else:
            frame = spark.read.format(format).load(str(source))
            frame.write.format("mosaic").option("compressionLevel", "1").save(str(target))

    action(directory / "small", directory / f"small-{way}")
    clock, processor, _ = stopwatches(lambda: action(directory / "wide", directory / f"wide-{way}"))
    sys.stdout.write(json.dumps({"clock": clock, "processor": processor}) + "\n")
    spark.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure both in separate sessions, and print the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_convert", description=__doc__)
    parser.add_argument("--columns", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=250, help="rows of each file")
    parser.add_argument("--files", type=int, default=4)
    parser.add_argument("--source", default="mosaic", choices=("mosaic", "parquet"))
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        way, directory = options.child
        _child(way, Path(directory), options.source)
        return 0
    rows = [["", "by the clock", "processor time"]]
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        _make_data(base / "small", 10, 10, 1, options.source)
        _make_data(base / "wide", options.columns, options.rows, options.files, options.source)
        for way in _WAYS:
            child = ("--source", options.source, "--child", way, base)
            found = in_session("benchmarks.spark_convert", *child)
            texts = [format_value(found[key], "seconds") for key in ("clock", "processor")]
            rows.append([way, *texts])
    print(plain_table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
