"""Paimon tables: PyPaimon's own reader and pymosaic's, and a column that is added.

``make bench BENCH_ARGS="--cases paimon"`` runs it in `.venv-paimon`.
"""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pypaimon import CatalogFactory

import pymosaic.paimon as paimon

__all__ = ["main"]

_BATCH_ROWS = 10_000


def _times(function: Callable[[], object], rounds: int) -> tuple[float, float]:
    """The best of some runs: seconds, and seconds of processor time."""
    found, busy = [], []
    for _ in range(rounds):
        begin, worked = time.perf_counter(), time.process_time()
        function()
        found.append(time.perf_counter() - begin)
        busy.append(time.process_time() - worked)
    return min(found), min(busy)


def _rows(num_rows: int, num_columns: int, seed: int, num_values: int = 1_000_000) -> pa.Table:
    values = np.random.default_rng(seed).integers(0, num_values, (num_columns, num_rows))
    return pa.table({f"feature_{place:05}": values[place] for place in range(num_columns)})


def _theirs(warehouse: str, columns: list[str] | None) -> pa.Table:
    table = CatalogFactory.create({"warehouse": warehouse}).get_table("bench.wide")
    builder = table.new_read_builder()
    if columns is not None:
        builder = builder.with_projection(columns)
    return builder.new_read().to_arrow(builder.new_scan().plan().splits())


def _reading(
    warehouse: str, num_columns: int, num_rows: int, rounds: int, evolving: bool
) -> list[list[str]]:
    path = f"{warehouse}/bench.db/wide"
    flag = str(evolving).lower()
    options = {"row-tracking.enabled": flag, "data-evolution.enabled": flag}
    paimon.write(_rows(num_rows, num_columns, 1), path, create=True, table_options=options)
    one = [f"feature_{num_columns // 2:05}"]
    lines = []
    for name, columns, their_rounds in (
        ("open, read 1 column", one, rounds),
        ("open, read all columns", None, 1),
    ):

        def ours(columns: list[str] | None = columns) -> pa.Table:
            return paimon.dataset(path).scan(columns).to_table()

        def theirs(columns: list[str] | None = columns) -> pa.Table:
            return _theirs(warehouse, columns)

        assert ours().num_rows == num_rows
        mine, other = _times(ours, rounds), _times(theirs, their_rounds)
        for kind, my_time, their_time in zip(("", " (processor)"), mine, other, strict=True):
            times = [f"{seconds * 1e3:.1f} ms" for seconds in (my_time, their_time)]
            lines.append([f"{name}{kind}", *times, f"{their_time / my_time:.1f}x"])
    return lines


def _files(path: str) -> dict[str, tuple[int, int]]:
    return {
        os.path.join(folder, name): (
            (status := os.stat(os.path.join(folder, name))).st_size,
            status.st_mtime_ns,
        )
        for folder, _, names in os.walk(path)
        for name in names
    }


def _growing(warehouse: str, num_columns: int, num_rows: int, num_values: int) -> list[list[str]]:
    path = f"{warehouse}/bench.db/grown"
    for start in range(0, num_rows, _BATCH_ROWS * 10):
        rows = min(_BATCH_ROWS * 10, num_rows - start)
        parts = (
            _rows(
                min(_BATCH_ROWS, rows - part), num_columns, start + part, num_values
            ).to_batches()[0]
            for part in range(0, rows, _BATCH_ROWS)
        )
        first = next(parts)
        reader = pa.RecordBatchReader.from_batches(first.schema, _chained(first, parts))
        paimon.write(reader, path, create=True, table_options={"target-file-size": "256 mb"})
    before = _files(path)
    begin = time.perf_counter()
    written = paimon.add_columns(path, {"sum": "feature_00001 + feature_00002"})
    seconds = time.perf_counter() - begin
    after = _files(path)
    new = {name: facts for name, facts in after.items() if name not in before}
    changed = [
        name for name in before if before[name] != after.get(name) and not name.endswith("LATEST")
    ]
    data = sum(size for name, (size, _) in new.items() if name.endswith(".mosaic"))
    column = paimon.dataset(path).scan(["sum"]).to_table()
    import pymosaic

    alone = os.path.join(warehouse, "alone.mosaic")
    pymosaic.write_table(column, alone)
    own = os.path.getsize(alone)
    return [
        ["seconds", f"{seconds:.1f}"],
        ["bytes of the table before", f"{sum(size for size, _ in before.values()):,}"],
        ["bytes of data files written", f"{data:,} ({written.num_files} files)"],
        ["bytes of manifests and schema written", f"{sum(s for s, _ in new.values()) - data:,}"],
        ["bytes of the column in one file of its own", f"{own:,} ({data / own:.2f}x)"],
        ["old files changed", str(len(changed))],
    ]


def _chained(first: pa.RecordBatch, others: Any) -> Any:
    yield first
    yield from others


def _show(title: str, lines: list[list[str]]) -> None:
    sys.stdout.write(f"\n{title}\n")
    for line in lines:
        sys.stdout.write(
            "  "
            + "  ".join([f"{line[0]:<44}", *(f"{cell:<16}" for cell in line[1:])]).rstrip()
            + "\n"
        )
    sys.stdout.flush()


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paimon", description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=["paimon"], help="for `make bench`")
    parser.add_argument("--columns", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--evolving", action="store_true", help="read a table with data evolution")
    parser.add_argument("--grown-columns", type=int, default=2_000)
    parser.add_argument("--grown-rows", type=int, default=100_000)
    parser.add_argument(
        "--grown-values", type=int, default=1_000_000, help="how many different ones columns have"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        warehouse = str(Path(directory) / "warehouse")
        lines = _reading(warehouse, given.columns, given.rows, given.rounds, given.evolving)
        title = f"{given.columns:,} columns x {given.rows:,} rows: pymosaic, PyPaimon, ratio"
        _show(title, lines)
        lines = _growing(warehouse, given.grown_columns, given.grown_rows, given.grown_values)
        _show(f"a column for {given.grown_rows:,} rows x {given.grown_columns:,} columns", lines)


if __name__ == "__main__":
    main()
