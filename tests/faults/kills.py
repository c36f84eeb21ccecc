"""Kill writers at random moments: ``make kill``, or ``python -m tests.faults.kills --help``.

A forked child writes one version of a file after the other over the same target until ``kill -9``.
Afterwards the target must be one of these versions, whole, none older than what was there before,
and beside it there is at most one file, which says that it is temporary.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import pymosaic
from tests.faults.injection import temporaries
from tests.figures import show

_ROWS, _COLUMNS = 3_000, 30


def _table(version: int) -> pa.Table:
    rows = np.arange(version, version + _ROWS) % 1000
    columns = {f"c{i:02}": (rows * 2654435761) ^ (i * version) for i in range(_COLUMNS)}
    return pa.table({"version": np.full(_ROWS, version), **columns})


def _write(version: int, target: Path, use_threads: bool) -> None:
    table = _table(version)
    options: dict[str, Any] = {"row_group_bytes": 100_000, "use_threads": use_threads}
    with pymosaic.MosaicWriter(target, table.schema, **options) as writer:
        for start in range(0, _ROWS, 500):
            writer.write(table.slice(start, 500))


def _whole_version(target: Path) -> int:
    table = pymosaic.read_table(target, use_threads=False)
    version = int(table["version"][0].as_py())
    if not table.equals(_table(version)):
        raise AssertionError(f"{target} is a mixture")
    return version


def _start_writer(version: int, target: Path) -> int:
    """A process that writes versions from this one on, until it is killed."""
    child = os.fork()
    if child == 0:
        try:
            while True:
                _write(version, target, use_threads=True)
                version += 1
        finally:
            os._exit(1)
    return child


def _time_write(target: Path) -> float:
    begin = time.monotonic()
    _write(1, target, use_threads=False)  # threads and forks go ill together
    return time.monotonic() - begin


def run(kills: int, seed: int, directory: Path) -> dict[str, object]:
    chance = random.Random(seed)
    target = directory / "target.mosaic"
    begin = time.monotonic()
    usual = min(_time_write(target) for _ in range(3))
    version = 1
    old = new = leftover = 0
    for _ in range(kills):
        child = _start_writer(version + 1, target)
        time.sleep(chance.uniform(0, 2 * usual))
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        assert os.WIFSIGNALED(status), "the writer failed on its own"
        found = _whole_version(target)
        assert found >= version, "an older version came back"
        old += found == version
        new += found > version
        version = found
        left = temporaries(directory)
        assert len(left) <= 1
        leftover += len(left)
        for name in left:
            assert name.startswith(f".{target.name}.tmp-{child}-")
            (directory / name).unlink()
        assert os.listdir(directory) == [target.name]
    return {
        "kills": kills,
        "seed": seed,
        "old_file_whole": old,
        "newer_file_whole": new,
        "temporary_files_left": leftover,
        "seconds_of_a_write": round(usual, 4),
        "seconds": round(time.monotonic() - begin, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.kills")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        figures = run(arguments.kills, arguments.seed, Path(directory))
    show(figures)


if __name__ == "__main__":
    main()
