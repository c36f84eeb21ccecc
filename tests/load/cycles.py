"""Open, read, write and close over and over: ``python -m tests.load.cycles --help``.

Descriptors and threads must be as many afterwards as before; memory must not grow with the number
of cycles.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import pymosaic
from tests.figures import show


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _cycle(path: Path, copy: Path, table: pa.Table, number: int) -> None:
    with pymosaic.MosaicFile(path) as file:
        assert file.num_rows == table.num_rows
        file.read(["c00", "c17"])
    pymosaic.MosaicFile(path)  # forgotten, not closed
    assert pymosaic.read_metadata(path).num_rows == table.num_rows
    with path.open("rb") as stream:
        pymosaic.read_schema(stream)
    next(pymosaic.MosaicFile(path).iter_batches(batch_size=10))  # left early
    try:
        pymosaic.read_table(path.read_bytes()[:-1])
    except pymosaic.CorruptFileError:
        pass
    else:
        raise AssertionError("a file that was cut off was read")
    if number % 10 == 0:
        pymosaic.read_table(path)
        pymosaic.write_table(table, copy)
        pymosaic.MosaicWriter(copy, table.schema).write(table)  # forgotten: aborted


def run(cycles: int, directory: Path) -> dict[str, object]:
    rows = np.arange(2_000)
    table = pa.table({f"c{i:02}": rows * i for i in range(40)})
    path, copy = directory / "file.mosaic", directory / "copy.mosaic"
    pymosaic.write_table(table, path)
    begin = time.monotonic()
    for number in range(cycles // 10 + 10):
        _cycle(path, copy, table, number)
    gc.collect()
    descriptors, resident = len(os.listdir("/proc/self/fd")), _resident()
    threads = threading.active_count()
    for number in range(cycles):
        _cycle(path, copy, table, number)
    gc.collect()
    return {
        "cycles": cycles,
        "files_opened": 6 * cycles,
        "descriptors_more": len(os.listdir("/proc/self/fd")) - descriptors,
        "threads_more": threading.active_count() - threads,
        "memory_growth_bytes": _resident() - resident,
        "files_left": sorted(os.listdir(directory)),
        "seconds": round(time.monotonic() - begin, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load.cycles")
    parser.add_argument("--cycles", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1, help="not needed: every cycle is the same")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        figures = run(arguments.cycles, Path(directory))
    show(figures)


if __name__ == "__main__":
    main()
