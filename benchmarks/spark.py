"""Benchmarks of Spark on Mosaic and on its own Parquet: `make bench-spark`."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import pymosaic
from benchmarks.data import DEFAULT_LEVEL, reference_strings
from benchmarks.environment import machine, versions
from benchmarks.report import Rows, format_value, markdown_table, plain_table, replace_block
from benchmarks.spark_child import FORMATS, in_session
from benchmarks.spark_files import file_rows
from benchmarks.spark_pivot import pivot_rows

__all__ = ["GOALS", "main", "make_data"]

_ROOT = Path(__file__).parent.parent
# Case, and the target: how many times faster (or smaller) than Parquet.
GOALS = {
    "new session, smallest query": None,
    "new session, select 1": 3.0,
    "new session, select 10": 3.0,
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
_CHILD = "benchmarks.spark_child"
_NARROW = pa.table({"row_id": pa.array([7], pa.int64())})
_Found = dict[str, dict[str, float]]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("--columns", type=int, default=10_000, help="number of columns")
    parser.add_argument("--rows", type=int, default=100, help="rows per file")
    parser.add_argument("--files", type=int, default=20, help="number of files")
    parser.add_argument("--rounds", type=int, default=7, help="samples per warm case")
    parser.add_argument("--sessions", type=int, default=3, help="samples per case in a new session")
    parser.add_argument(
        "--pivot-limit",
        type=float,
        default=600,
        help="time limit per pivot in seconds; 0 to skip pivots",
    )
    parser.add_argument(
        "--cases",
        nargs="+",
        choices=("tables", "pivots", "files"),
        default=("tables", "pivots"),
        help="what to measure",
    )
    parser.add_argument(
        "--counts",
        nargs="+",
        type=int,
        default=(1_000, 10_000, 100_000),
        help="numbers of files of the case `files`",
    )
    parser.add_argument("--directory", type=Path, help="temporary directory for the measured files")
    parser.add_argument("--output", type=Path, help="write the results to this file as JSON")
    parser.add_argument("--docs", action="store_true", help="also update the results in docs/")
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
    pymosaic.write_table(_NARROW, directory / "narrow.mosaic")
    pq.write_table(_NARROW, directory / "narrow.parquet")


def _measure(directory: Path, sessions: int, rounds: int) -> _Found:
    """Medians by format and case; sessions of the formats take turns."""
    samples: dict[str, dict[str, list[float]]] = {name: {} for name in FORMATS}
    for number in range(sessions):
        print(f"new sessions, turn {number + 1} of {sessions} …", file=sys.stderr, flush=True)
        for select in (1, 10):
            for kind in ("first", "cold"):
                for name in FORMATS:
                    for case, seconds in in_session(_CHILD, kind, directory, name, select).items():
                        samples[name].setdefault(case, []).append(seconds)
    found = {
        name: {case: statistics.median(taken) for case, taken in cases.items()}
        for name, cases in samples.items()
    }
    print("one session, formats in turns …", file=sys.stderr, flush=True)
    for name, cases in in_session(_CHILD, "warm", directory, rounds).items():
        found[name] |= cases
    return found


def _rows(found: _Found) -> Rows:
    rows = [["", "Mosaic", "Parquet", "ratio", "goal", ""]]
    for case, goal in GOALS.items():
        ours, theirs = (found[name].get(case) for name in FORMATS)
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
    """Measure both formats, and print the results."""
    options = _parser().parse_args(arguments)
    tables = []
    with tempfile.TemporaryDirectory(dir=options.directory) as name:
        directory = Path(name)
        found: _Found = {}
        if "tables" in options.cases:
            make_data(directory, options.columns, options.rows, options.files)
            found = _measure(directory, options.sessions, options.rounds)
            tables.append(_rows(found))
        if "files" in options.cases:
            print("many files …", file=sys.stderr, flush=True)
            tables.append(file_rows(directory, options.counts))
        if "pivots" in options.cases and options.pivot_limit:
            # As many long rows each; the wider one is more than Spark's own pivot can do.
            cells = options.columns * options.rows * 2
            shapes = [(width, cells // width) for width in (options.columns, 5 * options.columns)]
            print("pivots …", file=sys.stderr, flush=True)
            tables.append(pivot_rows(directory, shapes, options.pivot_limit))
    facts = {
        "date": datetime.now(UTC).date().isoformat(),
        **machine(),
        **versions("pymosaic", "pyspark", "pyarrow"),
    }
    lines = [
        f"{options.columns:,} columns, {options.files} files of {options.rows:,} rows, local[2]",
        ", ".join(f"{key} {value}" for key, value in facts.items()),
    ]

    def text(table: Callable[[Rows], str]) -> str:
        return "\n\n".join([*lines, *map(table, tables)])

    print(text(plain_table))
    if options.docs and "tables" in options.cases:
        replace_block(_ROOT / "docs" / "benchmarks.md", "spark", text(markdown_table))
    if options.output is not None:
        options.output.write_text(
            json.dumps({"facts": facts, "results": found, "tables": tables}, indent=1)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
