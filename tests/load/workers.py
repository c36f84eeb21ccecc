"""Worker processes, forked and spawned: ``python -m tests.load.workers --help``.

The parent has read and written with threads before, and has a file open that the workers get, as a
path if they are spawned. Every worker reads, checks and writes with threads of its own.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa

import pymosaic
from tests.figures import show

_ROWS, _COLUMNS = 5_000, 60
_SECONDS = 200


def _table(version: int) -> pa.Table:
    rows = np.arange(version, version + _ROWS)
    return pa.table({f"c{i:02}": rows * 2654435761 % (i + 7) for i in range(_COLUMNS)})


def _work(job: tuple[int, str]) -> int:
    """Read what the parent wrote, write another file, and read that."""
    number, path = job
    pa.set_cpu_count(4)
    if not pymosaic.read_table(path).equals(_table(0)):
        raise AssertionError("a worker read something else")
    mine = Path(path).with_name(f"worker-{number}.mosaic")
    pymosaic.write_table(_table(number), mine)
    if not pymosaic.read_table(mine).equals(_table(number)):
        raise AssertionError("a worker wrote something else")
    return number


_shared: pymosaic.MosaicFile | None = None


def _read_shared(number: int) -> bool:
    """Read through the file that the parent opened before it forked."""
    assert _shared is not None
    names = [f"c{(number + i) % _COLUMNS:02}" for i in range(5)]
    return _shared.read(names).equals(_table(0).select(names))


def _limit_time() -> None:
    """A worker that waits for ever says where, and ends; the parent then fails."""
    faulthandler.dump_traceback_later(_SECONDS, exit=True)


def run(jobs: int, processes: int, directory: Path) -> dict[str, object]:
    global _shared
    pa.set_cpu_count(4)
    path = directory / "shared.mosaic"
    pymosaic.write_table(_table(0), path)
    assert pymosaic.read_table(path).equals(_table(0))
    figures: dict[str, object] = {"jobs": jobs, "processes": processes}
    _shared = pymosaic.MosaicFile(path)
    for method in ("fork", "spawn"):
        begin = time.monotonic()
        context = multiprocessing.get_context(method)
        # Its workers are asked to end, and do: those of multiprocessing.Pool are killed.
        with ProcessPoolExecutor(processes, context, _limit_time) as pool:
            work = [(number, str(path)) for number in range(1, jobs + 1)]
            assert list(pool.map(_work, work)) == list(range(1, jobs + 1))
            if method == "fork":
                assert all(pool.map(_read_shared, range(jobs)))
        figures[f"{method}_seconds"] = round(time.monotonic() - begin, 1)
        # The parent's own threads still work.
        assert pymosaic.read_table(path).equals(_table(0))
        assert _shared.read(["c01"]).equals(_table(0).select(["c01"]))
    _shared.close()
    figures["files"] = len(list(directory.glob("*.mosaic")))
    figures["temporary_files_left"] = len(list(directory.glob(".*")))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.load.workers")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1, help="not needed: nothing is random")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        figures = run(arguments.jobs, arguments.processes, Path(directory))
    show(figures)


if __name__ == "__main__":
    main()
