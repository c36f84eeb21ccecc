"""Kill streams at random moments: ``make stream-kills``.

The driver of a pipeline of two streams (:mod:`tests.spark.stream_driver`), the JVMs of its
executors, and the Python workers of its tasks get ``kill -9`` at random moments, while input
arrives and the dataset between the streams is compacted. After the last restart each row of the
input must be in both datasets once: the first proves the sink, the second the source and the sink.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyspark

import pymosaic
from pymosaic.errors import MosaicError
from tests.figures import show, tell

_ROWS = 20
_FILES_AHEAD = 20
_PATIENCE = 600.0
_EXECUTOR = b"CoarseGrainedExecutorBackend"


class _Pipeline:
    """A driver, and what belongs to it."""

    def __init__(self, base: Path, cluster: bool) -> None:
        kind = []
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        if cluster:
            kind = ["cluster"]
            environment["SPARK_HOME"] = str(_spark_home(base))
        with (base / "driver.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.stream_driver", str(base), *kind],
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    def wait_until_ready(self) -> bool:
        assert self._process.stdout is not None
        return self._process.stdout.readline() == b"ready\n"

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        """Kill Python's driver and Spark's JVM; workers notice by themselves."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def kill_worker(self, chance: random.Random) -> str | None:
        """Kill one of the processes in which tasks run; tell which kind."""
        commands = {pid: _command(pid) for pid in _descendants(self._process.pid)}
        kinds = {
            "worker": [pid for pid, command in commands.items() if b"pyspark.daemon" in command],
            "executor": [pid for pid, command in commands.items() if _EXECUTOR in command],
        }
        kind = chance.choice([kind for kind in kinds if kinds[kind]] or [None])
        if kind is not None:
            with suppress(ProcessLookupError):
                os.kill(chance.choice(kinds[kind]), signal.SIGKILL)
        return kind


def _spark_home(base: Path) -> Path:
    """A home of Spark below the base: executors leave their logs there."""
    home = base / "home"
    if not home.exists():
        home.mkdir()
        for path in Path(pyspark.__file__).parent.iterdir():
            (home / path.name).symlink_to(path)
    return home


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *_descendants(child)]
    return found


class _Feed(threading.Thread):
    """Adds a file of rows now and then, and compacts the dataset between the streams."""

    def __init__(self, base: Path, files_ahead: int) -> None:
        super().__init__(daemon=True)
        self._base = base
        self._files_ahead = files_ahead
        self._ended = threading.Event()
        self.wanted = threading.Event()
        self.num_files = 0
        self.compactions = 0

    def run(self) -> None:
        (self._base / "in").mkdir(exist_ok=True)
        while not self._ended.wait(0.3):
            # While no driver takes it, input would only pile up.
            if self.num_files > self._files_ahead and not self.wanted.is_set():
                continue
            self.add()
            if self.num_files % 40 == 0:
                with suppress(MosaicError, OSError):
                    pymosaic.compact(self._base / "first")
                    self.compactions += 1

    def add(self) -> None:
        rows = range(self.num_files * _ROWS, (self.num_files + 1) * _ROWS)
        aside = self._base / "aside.json"
        aside.write_text("".join(json.dumps({"id": row}) + "\n" for row in rows))
        aside.rename(self._base / "in" / f"{self.num_files:06d}.json")
        self.num_files += 1

    def end(self) -> None:
        self._ended.set()
        self.join()


def _ids(base: Path) -> list[int]:
    found: list[int] = pymosaic.dataset(base).scan(["id"]).to_table()["id"].to_pylist()
    return sorted(found)


def _count(base: Path) -> int:
    try:
        return int(pymosaic.dataset(base).count_rows())
    except (OSError, MosaicError):
        return 0


def run(
    kills: int,
    seed: int,
    base: Path,
    worker_kills: int = 12,
    minutes: float = 1e6,
    cluster: bool = False,
    files_ahead: int = _FILES_AHEAD,
) -> dict[str, Any]:
    """Kill this often, or for this long; each driver after up to some kills of its workers."""
    chance = random.Random(seed)
    begin = time.monotonic()
    feed = _Feed(base, files_ahead)
    feed.start()
    drivers = failed = 0
    killed: Counter[str | None] = Counter()
    while drivers + killed.total() - killed[None] < kills and (
        time.monotonic() - begin < 60 * minutes
    ):
        pipeline = _Pipeline(base, cluster)
        try:
            is_ready = chance.random() < 0.1 or pipeline.wait_until_ready()
            feed.wanted.set()
            for _ in range(chance.randint(0, worker_kills) if is_ready else 0):
                time.sleep(chance.uniform(0.2, 2.0))
                killed[pipeline.kill_worker(chance)] += 1
            time.sleep(chance.uniform(0.0, 4.0))
            failed += not pipeline.is_running
        finally:
            feed.wanted.clear()
            pipeline.kill()
            drivers += 1
        tell(
            f"{drivers} drivers, {killed['executor']} executors and {killed['worker']} workers "
            f"killed, {feed.num_files} files"
        )
    feed.end()
    expected = feed.num_files * _ROWS
    pipeline = _Pipeline(base, cluster)
    try:
        deadline = time.monotonic() + _PATIENCE
        while _count(base / "second") < expected and time.monotonic() < deadline:
            assert pipeline.is_running, (base / "driver.log").read_text()[-2000:]
            time.sleep(0.5)
        time.sleep(1.0)  # for rows that come twice
    finally:
        pipeline.kill()
    for name in ("first", "second"):
        assert _ids(base / name) == list(range(expected)), f"rows of {name} are not there once"
    return {
        "drivers killed": drivers,
        "executors killed": killed["executor"],
        "workers killed": killed["worker"],
        "drivers that had ended by themselves": failed,
        "rows, each once in both datasets": expected,
        "compactions": feed.compactions,
        "seconds": round(time.monotonic() - begin),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--worker-kills", type=int, default=12, help="at most so many for each driver"
    )
    parser.add_argument("--minutes", type=float, default=1e6, help="end earlier than that")
    parser.add_argument("--cluster", action="store_true", help="executors are JVMs of their own")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        show(
            run(
                options.kills,
                options.seed,
                Path(directory),
                options.worker_kills,
                minutes=options.minutes,
                cluster=options.cluster,
            )
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
