"""Interrupt writes and reads at random moments: ``python -m tests.faults.interrupts --help``.

A timer's signal raises KeyboardInterrupt, as Ctrl-C does, once in each round at most. After every
round the target is the old file or dataset, or a new one, whole, and the process reads and writes
on. A dataset is replaced, scanned and compacted, in turn by its path and through a file system,
whose directories are asked by several threads. What Python's own modules lose when they are
interrupted is beyond us; hence, with ``--strict``, bounds that do not grow with the number of
rounds instead of exact counts.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import fs

import pymosaic
from tests.faults.injection import temporaries
from tests.figures import show

_ROWS, _COLUMNS = 6_000, 40
_LOST_AT_MOST = 4
_GROWTH_AT_MOST = 96 << 20


def _table(version: int) -> pa.Table:
    rows = np.arange(version, version + _ROWS)
    return pa.table({f"c{i:02}": rows * (i + 1) for i in range(_COLUMNS)})


class _Alarm:
    """Raises KeyboardInterrupt in the main thread, once, after a while."""

    def __init__(self) -> None:
        self.armed = False
        self.raised = 0
        signal.signal(signal.SIGALRM, self._interrupt)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.armed:
            self.armed = False
            self.raised += 1
            raise KeyboardInterrupt

    def set(self, seconds: float) -> None:
        self.armed = True
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _work(target: Path, table: pa.Table) -> None:
    pymosaic.write_table(table, target)
    pymosaic.read_table(target)
    pymosaic.read_table(target, columns=["c0*"], filters=[("c01", ">", 100)])


def _dataset_work(target: Path, table: pa.Table) -> None:
    version = int(table["c00"][0].as_py())
    place: tuple[Any, Any] = (target, None)
    if version % 2:
        place = (target.name, fs.SubTreeFileSystem(str(target.parent), fs.LocalFileSystem()))
    base, filesystem = place
    small: dict[str, Any] = {"target_file_bytes": 60_000, "row_group_bytes": 60_000}
    small["compression"] = "none"
    pymosaic.write_dataset(table, base, mode="overwrite", filesystem=filesystem, **small)
    opened = pymosaic.dataset(base, filesystem=filesystem)
    opened.to_table()
    opened.scan(["c0*"], [("c01", ">", 100)]).to_table()
    pymosaic.compact(base, filesystem=filesystem)


def _version(target: Path) -> int | None:
    """Which version the target is; None if it is not a whole one."""
    try:
        if target.is_dir():
            table = pymosaic.dataset(target).to_table().sort_by("c00")
        else:
            table = pymosaic.read_table(target)
    except (pymosaic.MosaicError, FileNotFoundError):
        return None
    version = int(table["c00"][0].as_py())
    return version if table.equals(_table(version)) else None


def _descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run(rounds: int, seed: int, directory: Path, kind: str) -> dict[str, object]:
    chance = random.Random(seed)
    pa.set_cpu_count(4)
    target = directory / {"file": "target.mosaic", "dataset": "target"}[kind]
    work = {"file": _work, "dataset": _dataset_work}[kind]
    table = _table(0)
    for _ in range(3):
        begin = time.monotonic()
        work(target, table)
    usual = time.monotonic() - begin
    alarm = _Alarm()
    torn = leftover = version = 0
    descriptors, resident, pool_threads = _descriptors(), _resident(), threading.active_count()
    for round_number in range(1, rounds + 1):
        table = _table(round_number)
        try:
            alarm.set(chance.uniform(1e-6, usual * 1.1))
            work(target, table)
            alarm.armed = False
        except KeyboardInterrupt:
            pass
        signal.setitimer(signal.ITIMER_REAL, 0)
        found = _version(target)
        if found is None or found < version:
            torn += 1
        version = found or 0
        for name in temporaries(directory):
            leftover += 1
            (directory / name).unlink()
        assert os.listdir(directory) == [target.name]
        if round_number == min(20, rounds):
            # What the first interrupts left for later, such as memory kept for the next read.
            resident = max(resident, _resident())
    return {
        "kind": kind,
        "rounds": rounds,
        "seed": seed,
        "interrupts": alarm.raised,
        "torn_files": torn,
        "temporary_files_left": leftover,
        "descriptors_lost": _descriptors() - descriptors,
        "threads_more": threading.active_count() - pool_threads,
        "memory_growth_bytes": _resident() - resident,
        "seconds": round(time.monotonic() - begin, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.interrupts")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", choices=("file", "dataset"), default="file")
    parser.add_argument("--strict", action="store_true", help="fail on growth, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        figures = run(arguments.rounds, arguments.seed, Path(directory), arguments.kind)
    show(figures)
    failed = figures["torn_files"] != 0
    if arguments.strict:
        failed |= int(str(figures["descriptors_lost"])) > _LOST_AT_MOST
        failed |= int(str(figures["memory_growth_bytes"])) > _GROWTH_AT_MOST
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
