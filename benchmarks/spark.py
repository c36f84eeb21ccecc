"""Spark on Mosaic against Spark on its own Parquet: `make bench-spark`."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import pymosaic
from benchmarks.data import DEFAULT_LEVEL, reference_strings
from benchmarks.environment import machine, versions
from benchmarks.report import format_value, plain_table

__all__ = ["FORMATS", "GOALS", "main", "make_data"]

_ROOT = Path(__file__).parent.parent
FORMATS = ("mosaic", "parquet")
# Case, and how many times faster (or smaller) than Parquet it is to be.
GOALS = {
    "cold select 1": 3.0,
    "cold select 10": 3.0,
    "select 1": 3.0,
    "select 10": 3.0,
    "filter + count": 3.0,
    "count": None,
    "all columns": 1.0,
    "write": 1.3,
    "size written": 1.0,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("--columns", type=int, default=10_000, help="width of the table")
    parser.add_argument("--rows", type=int, default=100, help="rows of each file")
    parser.add_argument("--files", type=int, default=20, help="files of the dataset")
    parser.add_argument("--rounds", type=int, default=5, help="samples of a warm case")
    parser.add_argument("--directory", type=Path, help="where the measured files go, for the run")
    parser.add_argument("--output", type=Path, help="where to put the results as JSON")
    return parser


def _tables(columns: int, rows: int, files: int) -> Iterator[pa.Table]:
    table = reference_strings(columns - 1, rows * files)
    table = table.append_column("row_id", pa.array(range(rows * files), pa.int64()))
    for number in range(files):
        yield table.slice(number * rows, rows)


def make_data(directory: Path, columns: int, rows: int, files: int) -> None:
    """The same rows in both formats, compressed alike, with statistics of the filtered column."""
    for name in FORMATS:
        (directory / name).mkdir()
    for number, table in enumerate(_tables(columns, rows, files)):
        name = f"part-{number:02d}"
        pymosaic.write_table(
            table,
            directory / "mosaic" / f"{name}.mosaic",
            compression_level=DEFAULT_LEVEL,
            statistics=["row_id"],
        )
        pq.write_table(
            table,
            directory / "parquet" / f"{name}.parquet",
            compression="zstd",
            compression_level=DEFAULT_LEVEL,
        )


def _measure(name: str, directory: Path, select: int, rounds: int) -> dict[str, float]:
    """What a new session takes; its first query selects ``select`` columns."""
    command = [sys.executable, "-m", "benchmarks.spark_child", name, str(directory)]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [*command, str(select), str(rounds)],
        cwd=_ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def _rows(found: dict[str, dict[str, float]]) -> list[list[str]]:
    rows = [["", "Mosaic", "Parquet", "ratio", "goal", ""]]
    for case, goal in GOALS.items():
        ours, theirs = found["mosaic"].get(case), found["parquet"].get(case)
        if ours is None or theirs is None:
            continue
        metric = "bytes" if case.startswith("size") else "seconds"
        ratio = theirs / ours
        rows.append(
            [
                case,
                format_value(ours, metric),
                format_value(theirs, metric),
                f"{ratio:.1f}x",
                "" if goal is None else f"{goal:g}x",
                "" if goal is None else "met" if ratio >= goal else "missed",
            ]
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure both formats in sessions of their own, and print what came out."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        directory = Path(name)
        make_data(directory, options.columns, options.rows, options.files)
        found: dict[str, dict[str, float]] = {}
        for format_name in FORMATS:
            print(f"measuring {format_name} …", file=sys.stderr, flush=True)
            found[format_name] = {
                **_measure(format_name, directory, 10, 0),
                **_measure(format_name, directory, 1, options.rounds),
            }
    facts = machine() | versions()
    print(
        f"{options.columns:,} columns, {options.files} files of {options.rows:,} rows, local[2]; "
        + ", ".join(f"{key} {value}" for key, value in facts.items())
    )
    print(plain_table(_rows(found)))
    if options.output is not None:
        options.output.write_text(json.dumps({"facts": facts, "results": found}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
