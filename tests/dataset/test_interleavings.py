"""The commit protocol under every order of steps that the seeds give, deaths included."""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import Callable
from typing import ClassVar

import pytest

from pymosaic.dataset.claim import Claim
from pymosaic.dataset.commit import StagedFile, WriteJob
from pymosaic.dataset.modes import WriteMode
from pymosaic.dataset.records import job_of, record_path, take_snapshot
from pymosaic.dataset.sweep import sweep
from pymosaic.errors import CommitConflictError, DatasetExistsError
from tests.dataset.simulation import Killed, Scheduler, SimulatedStorage, World

SEEDS = range(int(os.environ.get("PYMOSAIC_SEEDS", "10")))
BOTH = pytest.mark.parametrize("moves", [True, False], ids=["staged", "direct"])


@pytest.fixture(autouse=True)
def _simulated_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting is a step like any other; processes that made claims are found dead if they are."""
    dead: set[str] = set()
    monkeypatch.setattr(Simulation, "dead", dead)
    monkeypatch.setattr("pymosaic.dataset.claim.time.sleep", lambda _: Simulation.step())
    monkeypatch.setattr("pymosaic.dataset.commit.uuid.uuid4", lambda: Simulation.new_id())
    monkeypatch.setattr(
        Claim, "_is_dead", lambda self, entry: entry.path.split("/")[1][:32] in dead
    )


class Simulation:
    """A dataset with files ``a=1/x.mosaic`` and ``z=1/y.mosaic`` that nobody knows the job of."""

    dead: ClassVar[set[str]] = set()
    step: Callable[[], None] = staticmethod(lambda: None)
    ids = random.Random(0)

    def __init__(self, seed: int, moves: bool) -> None:
        self.moves = moves
        self.scheduler = Scheduler(seed)
        self.world = World(self.scheduler.step)
        Simulation.step = self.scheduler.step
        Simulation.ids = random.Random(seed)
        self.old = ("A=1/x.mosaic", "z=1/y.mosaic")
        for path in self.old:
            self.world.files[path] = path.encode(), self.world.tick()
        self.views: list[frozenset[str]] = []

    @classmethod
    def new_id(cls) -> uuid.UUID:
        return uuid.UUID(int=cls.ids.getrandbits(128))

    def storage(self, kill_at: int | None = None) -> SimulatedStorage:
        return SimulatedStorage(self.world, moves=self.moves, kill_at=kill_at)

    def writer(
        self, mode: str, removes: tuple[str, ...] = (), kill_at: int | None = None
    ) -> Callable[[], str]:
        """A writer of two files; its result is what it published."""
        storage = self.storage(kill_at)

        def write() -> str:
            job = None
            try:
                job = WriteJob.start(storage, mode=mode)
                job.commit(_write_files(job), removes)
            except Killed:
                if job is not None:
                    self.dead.add(job.id)
                raise
            except BaseException:
                assert job is not None or mode == "error"
                if job is not None:
                    job.abort()
                raise
            return job.id

        return write

    def reader(self) -> None:
        for _ in range(4):
            self.views.append(self.look())

    def look(self) -> frozenset[str]:
        return frozenset(entry.path for entry in take_snapshot(self.storage()).files)


def _write_files(job: WriteJob) -> list[StagedFile]:
    files = [job.file(directory, 0, number) for number, directory in enumerate(("A=1", "z=1"))]
    for file in files:
        job.storage.write(job.storage.relative_path(file.write_path), b"rows")
    return files


def jobs_in(view: frozenset[str]) -> list[str]:
    """The jobs whose files are in a view; each is there with both files."""
    jobs = sorted(job for path in view if (job := job_of(path)) is not None)
    assert jobs[::2] == jobs[1::2], view
    return jobs[::2]


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_readers_see_all_files_of_an_append_or_none(seed: int, moves: bool) -> None:
    simulation = Simulation(seed, moves)
    for name in ("one", "two"):
        simulation.scheduler.add(name, simulation.writer("append"))
    simulation.scheduler.add("reader", simulation.reader)
    simulation.scheduler.run()
    published: list[str] = []
    for view in simulation.views:
        assert view >= set(simulation.old)
        jobs = jobs_in(view)
        assert set(published) <= set(jobs), "what was seen once is seen ever after"
        published = jobs
    results = simulation.scheduler.results
    assert jobs_in(simulation.look()) == sorted([results["one"], results["two"]])


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_the_last_of_two_overwrites_replaces_the_other(seed: int, moves: bool) -> None:
    simulation = Simulation(seed, moves)
    for name in ("one", "two"):
        simulation.scheduler.add(name, simulation.writer("overwrite"))
    simulation.scheduler.add("reader", simulation.reader)
    simulation.scheduler.run()
    for view in [*simulation.views, simulation.look()]:
        jobs = jobs_in(view)
        assert len(jobs) <= 1
        assert (view == set(simulation.old)) == (not jobs)
    assert len(jobs_in(simulation.look())) == 1


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_at_most_one_first_writer_wins(seed: int, moves: bool) -> None:
    simulation = Simulation(seed, moves)
    simulation.world.files.clear()
    for name in ("one", "two", "three"):
        simulation.scheduler.add(name, simulation.writer("error"))
    simulation.scheduler.add("reader", simulation.reader)
    simulation.scheduler.run()
    results = [simulation.scheduler.results[name] for name in ("one", "two", "three")]
    winners = [result for result in results if isinstance(result, str)]
    assert all(isinstance(result, str | DatasetExistsError) for result in results), results
    assert len(winners) == 1
    assert jobs_in(simulation.look()) == winners
    for view in simulation.views:
        assert jobs_in(view) in ([], winners)


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_files_are_replaced_by_one_job_only(seed: int, moves: bool) -> None:
    """Two compactions of the same files, and an overwrite: rows are never doubled."""
    simulation = Simulation(seed, moves)
    simulation.scheduler.add("one", simulation.writer("append", simulation.old))
    simulation.scheduler.add("two", simulation.writer("append", simulation.old))
    if seed % 2:
        simulation.scheduler.add("three", simulation.writer("overwrite"))
    simulation.scheduler.add("reader", simulation.reader)
    simulation.scheduler.run()
    results = simulation.scheduler.results
    for name in ("one", "two"):
        assert isinstance(results[name], str | CommitConflictError), results[name]
    for view in [*simulation.views, simulation.look()]:
        assert (len(jobs_in(view)) == 1) != (view >= set(simulation.old)), view
    if seed % 2:
        assert jobs_in(simulation.look()) == [results["three"]] or results["three"] is None


@BOTH
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_death_at_any_change_leaves_the_old_dataset_or_the_new_one(mode: str, moves: bool) -> None:
    survived = False
    kill_at = 0
    while not survived:
        simulation = Simulation(kill_at, moves)
        simulation.scheduler.add("writer", simulation.writer(mode, kill_at=kill_at))
        simulation.scheduler.add("reader", simulation.reader)
        simulation.scheduler.run()
        survived = isinstance(simulation.scheduler.results["writer"], str)
        for view in [*simulation.views, simulation.look()]:
            jobs = jobs_in(view)
            assert len(jobs) <= 1
            assert (set(simulation.old) <= view) == (mode == "append" or not jobs)
        before = simulation.look()
        _check_that_others_can_go_on(simulation, before)
        kill_at += 1
    assert kill_at > 5


def _check_that_others_can_go_on(simulation: Simulation, before: frozenset[str]) -> None:
    """Whatever a dead job left: sweeping changes nothing that is seen, and an overwrite works."""
    sweep(simulation.storage(), before=simulation.world.clock + 1)
    sweep(simulation.storage(), before=simulation.world.clock + 1)
    assert simulation.look() == before
    job = simulation.writer("overwrite")()
    assert jobs_in(simulation.look()) == [job]
    assert len(simulation.look()) == 2


@BOTH
def test_abort_undoes_everything_at_any_point(moves: bool) -> None:
    for fail_at in range(20):
        simulation = Simulation(fail_at, moves)
        storage = simulation.storage()
        job = WriteJob.start(storage, mode="append")
        dying = WriteJob(job.id, simulation.storage(kill_at=fail_at), WriteMode.APPEND)
        try:
            dying.commit(_write_files(dying))
        except Killed:
            ended = False
        else:
            ended = True
        published = record_path(job.id, "committed.json") in simulation.world.files
        assert published or not ended
        job.abort()
        if published:
            assert jobs_in(simulation.look()) == [job.id]
        else:
            left = {path for path in simulation.world.files if not path.endswith(".aborted")}
            assert left == set(simulation.old)
            assert simulation.look() == set(simulation.old)
        if ended:
            return
    pytest.fail("the commit never ended")


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_a_sweep_while_others_read_and_write_changes_nothing(seed: int, moves: bool) -> None:
    simulation = Simulation(seed, moves)
    first = simulation.writer("overwrite", kill_at=3 + seed % 7)
    with pytest.raises(Killed):
        first()
    before = simulation.look()
    # Records of jobs that end from now on are needed by readers that have begun.
    ended = simulation.world.tick()

    def sweep_twice() -> None:
        for _ in range(2):
            sweep(simulation.storage(), before=ended)

    simulation.scheduler.add("sweep", sweep_twice)
    simulation.scheduler.add("writer", simulation.writer("append"))
    simulation.scheduler.add("reader", simulation.reader)
    simulation.scheduler.run()
    added = simulation.scheduler.results["writer"]
    assert isinstance(added, str)
    for view in [*simulation.views, simulation.look()]:
        assert {path for path in view if job_of(path) != added} == before
