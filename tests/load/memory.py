"""Write and read a large file in bounded memory: ``python -m tests.load.memory --help``.

Batches are made as they are written and dropped as they are read, so that what is measured is what
pymosaic holds. Each step runs in a process of its own; its peak is compared with that of a process
that has only imported pymosaic and made one batch.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import pymosaic
from tests.figures import peak_memory, show

_COLUMNS = 200
_MIB = 1 << 20


def _batch(number: int, batch_bytes: int, seed: int) -> pa.RecordBatch:
    """Values that zstd makes a little smaller, and no dictionary holds."""
    rows = batch_bytes // (8 * _COLUMNS)
    values = np.random.default_rng([seed, number]).integers(0, 1 << 48, size=(_COLUMNS, rows))
    return pa.record_batch({f"c{i:03}": values[i] for i in range(_COLUMNS)})


def _batches(arguments: argparse.Namespace) -> Iterator[pa.RecordBatch]:
    batch_bytes = arguments.batch_mib * _MIB
    for number in range(arguments.mib // arguments.batch_mib):
        yield _batch(number, batch_bytes, arguments.seed)


def _import_only(arguments: argparse.Namespace) -> int:
    return next(_batches(arguments)).num_rows


def _write(arguments: argparse.Namespace) -> int:
    rows = 0
    schema = _batch(0, 8 * _COLUMNS, 0).schema
    size = arguments.row_group_mib * _MIB
    with pymosaic.MosaicWriter(arguments.path, schema, row_group_bytes=size) as writer:
        for batch in _batches(arguments):
            writer.write(batch)
            rows += batch.num_rows
    return rows


def _read(arguments: argparse.Namespace) -> int:
    rows = 0
    expected = _batches(arguments)
    ahead: pa.RecordBatch | None = None
    with pymosaic.MosaicFile(arguments.path) as file:
        for batch in file.iter_batches():
            while batch.num_rows:
                if ahead is None or ahead.num_rows == 0:
                    ahead = next(expected)
                count = min(ahead.num_rows, batch.num_rows)
                if not batch.slice(0, count).equals(ahead.slice(0, count)):
                    raise AssertionError(f"rows from {rows} on differ")
                ahead, batch = ahead.slice(count), batch.slice(count)
                rows += count
    return rows


_STEPS = {"import": _import_only, "write": _write, "read": _read}


def _run_step(step: str, arguments: argparse.Namespace, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.load.memory", "--step", step, "--path", str(path)]
    for name in ("mib", "batch_mib", "row_group_mib", "seed"):
        command += [f"--{name.replace('_', '-')}", str(getattr(arguments, name))]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def run(arguments: argparse.Namespace) -> dict[str, object]:
    with tempfile.TemporaryDirectory(dir=arguments.directory) as directory:
        path = Path(directory) / "large.mosaic"
        steps = {step: _run_step(step, arguments, path) for step in _STEPS}
        size = path.stat().st_size
    baseline = steps["import"]["peak"]
    figures: dict[str, object] = {
        "data_mib": arguments.mib,
        "file_mib": size // _MIB,
        "row_group_mib": arguments.row_group_mib,
        "batch_mib": arguments.batch_mib,
        "baseline_mib": round(baseline / _MIB),
    }
    for step in ("write", "read"):
        figures[f"{step}_above_baseline_mib"] = round((steps[step]["peak"] - baseline) / _MIB)
        figures[f"{step}_seconds"] = steps[step]["seconds"]
        figures[f"{step}_rows"] = steps[step]["rows"]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load.memory")
    parser.add_argument("--mib", type=int, default=5 * 1024, help="size of the data")
    parser.add_argument("--batch-mib", type=int, default=16)
    parser.add_argument("--row-group-mib", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--directory", help="where the file goes")
    parser.add_argument("--step", choices=list(_STEPS), help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    figures: dict[str, object]
    if arguments.step is None:
        figures = run(arguments)
    else:
        begin = time.monotonic()
        rows = _STEPS[arguments.step](arguments)
        figures = {
            "rows": rows,
            "peak": peak_memory(),
            "seconds": round(time.monotonic() - begin, 1),
        }
    show(figures)


if __name__ == "__main__":
    main()
