"""A stream that reads a dataset, under every order of steps that the seeds give.

Others append, compact and delete at once what was replaced; the stream is slow, and restarts.
"""

from __future__ import annotations

import os

import pytest

from pymosaic.datasets.commit import WriteJob
from pymosaic.datasets.snapshot import take_snapshot
from pymosaic.datasets.vacuum import vacuum_storage
from pymosaic.errors import CommitConflictError
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.streams import DatasetStream
from tests.datasets.simulation import SimulatedDirectory, World
from tests.datasets.test_interleavings import Simulation, _simulated_time

SEEDS = range(int(os.environ.get("PYMOSAIC_SEEDS", "10")))
__all__ = ["_simulated_time"]


class _Dataset:
    """A dataset whose files hold the names of rows, line by line."""

    def __init__(self, seed: int, moves: bool) -> None:
        self.simulation = Simulation(seed, moves)
        self.rows = list(self.simulation.old)
        self._positions = World()
        self._position = 0
        self.found: list[str] = []

    def _add(self, job: WriteJob, rows: list[str], removes: list[str]) -> None:
        file = job.file("k=1", 0, 0)
        path = job.storage.relative_path(file.write_path)
        job.storage.write(path, "\n".join(rows).encode())
        job.commit([file], removes, rearranges=bool(removes))

    def append(self) -> None:
        storage = self.simulation.storage()
        for _ in range(3):
            job = WriteJob.start(storage)
            self._add(job, [job.id], [])
            self.rows.append(job.id)

    def compact(self) -> None:
        storage = self.simulation.storage()
        for _ in range(2):
            paths = [entry.path for entry in take_snapshot(storage).files]
            job = WriteJob.start(storage, keep_replaced=0)
            try:
                rows = [row for path in paths for row in storage.read(path).decode().split("\n")]
                self._add(job, rows, paths)
            except (CommitConflictError, FileNotFoundError):
                job.abort()

    def vacuum(self) -> None:
        vacuum_storage(self.simulation.storage(), 10.0)

    def follow(self, batches: int = 9) -> None:
        """Read what is there, in batches of one file; begin anew before each third."""
        for batch in range(batches):
            if batch % 3 == 0:
                options = {"path": "/data", "maxFilesPerTrigger": "1"}
                stream = DatasetStream("/checkpoint", SourceOptions.parse(options))
                stream._storage = self.simulation.storage()
                stream._positions = SimulatedDirectory(self._positions, moves=False)
            self._read(stream)

    def _read(self, stream: DatasetStream) -> None:
        end = stream.next_position(self._position, everything=False)
        for file in stream.listing(self._position, end).files:
            path = stream._storage.relative_path(file.path)
            self.found += stream._storage.read(path).decode().split("\n")
        self._position = end


@pytest.mark.parametrize("moves", [True, False], ids=["staged", "direct"])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_row_is_read_once(seed, moves, monkeypatch):
    monkeypatch.setattr("pymosaic.datasets.followers._TOLERANCE", 0.0)
    monkeypatch.setattr("pymosaic.datasets.followers._STEP", 0.0)
    dataset = _Dataset(seed, moves)
    scheduler = dataset.simulation.scheduler
    actors = {
        "first": dataset.append,
        "second": dataset.append,
        "compaction": dataset.compact,
        "vacuum": dataset.vacuum,
        "stream": dataset.follow,
    }
    for name, action in actors.items():
        scheduler.add(name, action)
    scheduler.run()
    errors = {name: x for name, x in scheduler.results.items() if isinstance(x, BaseException)}
    assert not errors
    dataset.follow(batches=20)
    assert sorted(dataset.found) == sorted(dataset.rows)
