"""The commit protocol under every order of steps that the seeds give, deaths included."""

from __future__ import annotations

import json
import os
import random
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import ClassVar

import pytest

from pymosaic.datasets.claim import Claim
from pymosaic.datasets.commit import StagedFile, WriteJob
from pymosaic.datasets.maintenance import maintain
from pymosaic.datasets.modes import WriteMode
from pymosaic.datasets.records import job_of
from pymosaic.datasets.snapshot import take_snapshot, visible_files
from pymosaic.datasets.vacuum import vacuum_storage
from pymosaic.errors import CommitConflictError, DatasetExistsError, MosaicError
from pymosaic.io import Entry
from tests.datasets.simulation import Killed, Scheduler, SimulatedDirectory, SimulatedTime, World

SEEDS = range(int(os.environ.get("PYMOSAIC_SEEDS", "10")))
BOTH = pytest.mark.parametrize("moves", [True, False], ids=["staged", "direct"])
LINKED = "L=1/linked.mosaic"


@pytest.fixture(autouse=True)
def _simulated_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting is a step like any other; processes that made claims are found dead if they are."""
    dead: set[str] = set()
    monkeypatch.setattr(Simulation, "dead", dead)
    steps = SimulatedTime(lambda _: Simulation.step())
    monkeypatch.setattr("pymosaic.datasets.claim.time", steps)
    monkeypatch.setattr("pymosaic.datasets.publishing.time", steps)
    monkeypatch.setattr("pymosaic.datasets.commit.uuid.uuid4", lambda: Simulation.new_id())
    monkeypatch.setattr("pymosaic.datasets.maintenance.RECORDS_PER_CHECKPOINT", 2)
    monkeypatch.setattr(
        "pymosaic.datasets.publishing._is_void",
        lambda storage, mark, now: mark.path.split("/")[1][:32] in dead,
    )
    monkeypatch.setattr(
        Claim, "_is_dead", lambda self, entry: entry.path.split("/")[1][:32] in dead
    )


class Simulation:
    """A dataset with files ``A=1/x.mosaic`` and ``z=1/y.mosaic`` of nobody, and one behind a link.

    ``states`` is what is committed after each record appears: what every reader must see, as of
    some moment while it looked.
    """

    dead: ClassVar[set[str]] = set()
    step: Callable[[], None] = staticmethod(lambda: None)
    ids = random.Random(0)

    def __init__(self, seed: int, moves: bool, base: str = "") -> None:
        self.moves = moves
        self.base = base
        self.scheduler = Scheduler(seed)
        self.world = World(self.scheduler.step, seed)
        self.world.on_write = self._note
        Simulation.step = self.scheduler.step
        Simulation.ids = random.Random(seed)
        self.old = tuple(f"{base}{path}" for path in ("A=1/x.mosaic", "z=1/y.mosaic"))
        for path in self.old:
            self.world.files[path] = path.encode(), self.world.tick()
        self.states: list[frozenset[str]] = [frozenset(self.old)]
        self.recorded: list[str] = []
        self.transactions: list[list[str | int]] = []
        self.succeeded: list[str] = []
        self.views: list[frozenset[str]] = []

    def add_link(self) -> None:
        self.world.files[LINKED] = b"of others", self.world.tick()
        self.states = [self.states[0] | {LINKED}]

    def _note(self, path: str, data: bytes) -> None:
        base, marker, name = path.rpartition("_mosaic/")
        if marker and name.endswith(".committed.json"):
            record = json.loads(data)
            adds, removes = (
                {base + file["path"] for file in record[key]} for key in ("adds", "removes")
            )
            assert removes <= self.states[-1], "what is replaced is there"
            self.recorded.append(name[:32])
            self.transactions += [record["transaction"]] if "transaction" in record else []
            self.states.append((self.states[-1] | adds) - removes)

    @classmethod
    def new_id(cls) -> uuid.UUID:
        return uuid.UUID(int=cls.ids.getrandbits(128))

    def storage(self, kill_at: int | None = None, base: str | None = None) -> SimulatedDirectory:
        prefix = self.base if base is None else base
        return SimulatedDirectory(self.world, moves=self.moves, kill_at=kill_at, prefix=prefix)

    def writer(
        self,
        mode: str,
        removes: tuple[str, ...] = (),
        kill_at: int | None = None,
        times: int = 1,
        base: str | None = None,
        application: str | None = None,
    ) -> Callable[[], str]:
        """A writer of two files; its result is what it published last.

        An application numbers its commits from 0.
        """
        storage = self.storage(kill_at, base)

        def write_once(number: int) -> str:
            job = None
            try:
                job = WriteJob.start(storage, mode=mode)
                transaction = None if application is None else (application, number)
                job.commit(_write_files(job), removes, transaction=transaction)
            except Killed:
                if job is not None:
                    self.dead.add(job.id)
                raise
            except BaseException:
                assert job is not None or mode == "error"
                if job is not None:
                    job.abort()
                raise
            self.succeeded.append(job.id)
            return job.id

        def write() -> str:
            return [write_once(number) for number in range(times)][-1]

        return write

    def compactor(self, times: int = 1) -> Callable[[], int]:
        """Replaces what it finds by two files; conflicts are left to others."""
        storage = self.storage()

        def compact() -> int:
            done = 0
            for _ in range(times):
                files = take_snapshot(storage).files
                paths = [entry.path for entry in files if not entry.outside]
                job = WriteJob.start(storage, keep_replaced=0)
                try:
                    job.commit(_write_files(job, place=paths[0]), paths)
                    self.succeeded.append(job.id)
                    done += 1
                except MosaicError:
                    job.abort()
            return done

        return compact

    def vacuum(self, times: int = 3, older_than: float = 0.0) -> None:
        """Removes at once what was replaced; jobs at work are spared: they look alive."""
        for _ in range(times):
            vacuum_storage(self.storage(), older_than)

    def reader(self) -> None:
        for _ in range(4):
            self.views.append(self.look())

    def look(self, base: str | None = None) -> frozenset[str]:
        """A view, which must be what was committed at some moment while it was taken."""
        before = len(self.states)
        storage = self.storage(base=base)
        files: Iterable[Entry] = visible_files(storage).files
        view = frozenset(storage.prefix + entry.path for entry in files)
        assert view in self.states[before - 1 :], (view, self.states[before - 1 :])
        return view


@pytest.fixture(autouse=True)
def _nothing_behind_links_changes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    worlds: list[World] = []
    original = World.__init__

    def remember(world: World, *arguments: object, **options: object) -> None:
        original(world, *arguments, **options)  # type: ignore[arg-type]
        worlds.append(world)

    monkeypatch.setattr(World, "__init__", remember)
    yield
    for world in worlds:
        outside = {path for path in world.files if world.is_outside(path)}
        assert outside <= {LINKED}


def _write_files(job: WriteJob, place: str | None = None) -> list[StagedFile]:
    files = [job.file(directory, 0, number) for number, directory in enumerate(("A=1", "z=1"))]
    for file in files:
        job.storage.write(job.storage.relative_path(file.write_path), b"rows")
    return [StagedFile(file.write_path, file.final_path, place=place) for file in files]


def jobs_in(view: frozenset[str]) -> list[str]:
    """The jobs whose files are in a view; each is there with both files."""
    jobs = sorted(job for path in view if (job := job_of(path)) is not None)
    assert jobs[::2] == jobs[1::2], view
    return jobs[::2]


def run(simulation: Simulation) -> None:
    """Run all actors; what readers found wrong is raised."""
    simulation.scheduler.run()
    for name, result in simulation.scheduler.results.items():
        if isinstance(result, AssertionError) or (
            isinstance(result, Exception) and name.startswith(("reader", "vacuum"))
        ):
            raise result


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_readers_see_all_files_of_an_append_or_none(seed: int, moves: bool) -> None:
    simulation = Simulation(seed, moves)
    for name in ("one", "two"):
        simulation.scheduler.add(name, simulation.writer("append"))
    simulation.scheduler.add("reader", simulation.reader)
    run(simulation)
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
    run(simulation)
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
    simulation.states = [frozenset()]
    for name in ("one", "two", "three"):
        simulation.scheduler.add(name, simulation.writer("error"))
    simulation.scheduler.add("reader", simulation.reader)
    run(simulation)
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
    run(simulation)
    results = simulation.scheduler.results
    for name in ("one", "two"):
        assert isinstance(results[name], str | CommitConflictError), results[name]
    for view in [*simulation.views, simulation.look()]:
        assert (len(jobs_in(view)) == 1) != (view >= set(simulation.old)), view
    if seed % 2:
        assert jobs_in(simulation.look()) == [results["three"]] or results["three"] is None


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_every_view_is_a_committed_state_whatever_others_do(seed: int, moves: bool) -> None:
    """Appends, compactions, overwrites and vacuum at once, with a checkpoint every other commit.

    Replaced files are deleted at once here: readers never look into them.
    """
    simulation = Simulation(seed, moves)
    simulation.add_link()
    simulation.scheduler.add("append", simulation.writer("append", times=4))
    simulation.scheduler.add("compact", simulation.compactor(times=2))
    simulation.scheduler.add("overwrite", simulation.writer("overwrite", times=2))
    # The clock ticks a second for every change: jobs at work look young.
    simulation.scheduler.add("vacuum", lambda: simulation.vacuum(older_than=1e5))
    simulation.scheduler.add("reader", simulation.reader)
    simulation.scheduler.add("reader two", simulation.reader)
    run(simulation)
    for name in ("append", "compact", "overwrite"):
        result = simulation.scheduler.results[name]
        assert isinstance(result, str | int | CommitConflictError), result
    assert any("/checkpoint-" in path for path in simulation.world.files)
    final = simulation.look()
    assert final == simulation.states[-1]
    simulation.vacuum(older_than=0.0)
    assert simulation.look() == final
    present = {path for path in simulation.world.files if not path.startswith("_mosaic/")}
    assert present - {LINKED} == final - {LINKED}
    assert LINKED in present


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_vacuum_of_everything_misleads_no_reader(seed: int, moves: bool) -> None:
    """With ``older_than=0`` and no job at work: records and files go while they are looked at."""
    simulation = Simulation(seed, moves)
    for mode in ("append", "overwrite", "append", "append", "overwrite", "append"):
        simulation.writer(mode)()
    simulation.scheduler.add("vacuum", simulation.vacuum)
    for name in ("reader", "reader two", "reader three"):
        simulation.scheduler.add(name, simulation.reader)
    run(simulation)


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_that_vacuum_takes_for_dead_has_published_or_fails(seed: int, moves: bool) -> None:
    """``older_than=0`` while jobs commit: a job succeeds if and only if its rows are visible."""
    simulation = Simulation(seed, moves)

    def try_often(mode: str) -> None:
        for _ in range(3):
            with suppress(MosaicError, FileNotFoundError):
                simulation.writer(mode)()

    simulation.scheduler.add("append", lambda: try_often("append"))
    simulation.scheduler.add("append two", lambda: try_often("append"))
    if seed % 2:
        simulation.scheduler.add("overwrite", lambda: try_often("overwrite"))
    if seed % 3 == 1:
        simulation.scheduler.add("compact", lambda: simulation.compactor(times=2)())
    simulation.scheduler.add("vacuum", lambda: simulation.vacuum(times=4))
    simulation.scheduler.add("reader", simulation.reader)
    simulation.scheduler.add("reader two", simulation.reader)
    run(simulation)
    assert sorted(simulation.recorded) == sorted(simulation.succeeded)
    assert simulation.look() == simulation.states[-1]
    simulation.vacuum(times=2)
    assert simulation.look() == simulation.states[-1]
    present = {path for path in simulation.world.files if not path.startswith("_mosaic/")}
    assert present == simulation.states[-1]


@BOTH
@pytest.mark.parametrize("first", ["commit", "vacuum"])
def test_vacuum_and_a_commit_meet_at_each_of_their_changes(first: str, moves: bool) -> None:
    """One stops just before a change, then the other before one of its own, then all go on."""
    second = "vacuum" if first == "commit" else "commit"
    most = {first: 0, second: 0}
    stops = {first: 1, second: 1}
    while stops[first] <= most[first] + 1:
        simulation = Simulation(97 * stops[first] + stops[second], moves)
        storages = {first: simulation.storage(), second: simulation.storage()}
        job = WriteJob.start(simulation.storage())
        files = _write_files(job)
        _meet(simulation, WriteJob(job.id, storages["commit"], WriteMode.APPEND), files, storages)
        simulation.scheduler.prefer = _stopping([(storages[x], stops[x], x) for x in stops])
        simulation.scheduler.run()
        results = simulation.scheduler.results
        for name in ("reader", "vacuum"):
            assert results[name] is None, results[name]
        assert isinstance(results["commit"], bool), results["commit"]
        assert simulation.recorded == ([job.id] if results["commit"] else [])
        assert simulation.look() == simulation.states[-1]
        _check_that_others_can_go_on(simulation, simulation.states[-1])
        for name, storage in storages.items():
            most[name] = max(most[name], storage.changes)
        if stops[second] <= most[second]:
            stops[second] += 1
        else:
            stops[first] += 1
            stops[second] = 1
    assert min(most.values()) > 5


def _stopping(stops: list[tuple[SimulatedDirectory, int, str]]) -> Callable[[], str | None]:
    """Prefer the first, then the second, until each is about to make a certain change."""

    def prefer() -> str | None:
        return next((name for storage, at, name in stops if storage.begun < at), None)

    return prefer


def _meet(
    simulation: Simulation,
    job: WriteJob,
    files: list[StagedFile],
    storages: dict[str, SimulatedDirectory],
) -> None:
    def commit() -> bool:
        try:
            job.commit(files)
        except (MosaicError, FileNotFoundError):
            job.abort()
            return False
        return True

    def vacuum() -> None:
        vacuum_storage(storages["vacuum"], 0.0)

    simulation.scheduler.add("commit", commit)
    simulation.scheduler.add("vacuum", vacuum)
    simulation.scheduler.add("reader", simulation.reader)


@BOTH
@pytest.mark.parametrize("victim", ["append", "vacuum"])
def test_death_while_a_job_is_ended_leaves_it_whole_or_not_at_all(victim: str, moves: bool) -> None:
    """A job commits while vacuum takes it for dead; either dies at each of its changes."""
    survived = False
    kill_at = 0
    while not survived:
        survived = True
        for seed in range(3):
            simulation = Simulation(1000 * seed + kill_at, moves)
            dies = simulation.storage(kill_at)

            def vacuum(dies: SimulatedDirectory = dies, world: Simulation = simulation) -> str:
                for _ in range(3):
                    vacuum_storage(dies if victim == "vacuum" else world.storage(), 0.0)
                return "done"

            kill = kill_at if victim == "append" else None
            simulation.scheduler.add("append", simulation.writer("append", kill_at=kill))
            simulation.scheduler.add("vacuum", vacuum)
            simulation.scheduler.add("reader", simulation.reader)
            simulation.scheduler.run()
            results = simulation.scheduler.results
            assert results["reader"] is None, results["reader"]
            simulation.dead.update(
                path.split("/")[1][:32]
                for path in simulation.world.files
                if path.endswith(".claim")
            )
            if not isinstance(results["append"], Killed):
                assert simulation.recorded == simulation.succeeded
            survived = survived and not isinstance(results[victim], Killed)
            before = simulation.look()
            assert jobs_in(before) == simulation.recorded
            _check_that_others_can_go_on(simulation, before)
        kill_at += 1
    assert kill_at > 5


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_a_clock_that_jumps_takes_no_record_and_no_row(
    seed: int, moves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both clocks are set right and wrong by days: that of the file system, and the machine's."""
    simulation = Simulation(seed, moves)
    simulation.world.jump = 10 * 86400.0
    clock = random.Random(seed)
    monkeypatch.setattr(time, "time", lambda: clock.uniform(0.0, 4e9))
    published: list[str] = []

    def append() -> None:
        published.extend(simulation.writer("append")() for _ in range(8))

    def look_after() -> None:
        for _ in range(4):
            maintain(simulation.storage(), Simulation.new_id().hex)

    simulation.scheduler.add("append", append)
    simulation.scheduler.add("maintain", look_after)
    simulation.scheduler.add("reader", simulation.reader)
    run(simulation)
    assert isinstance(simulation.scheduler.results["maintain"], type(None))
    assert len(published) == 8
    assert jobs_in(simulation.look()) == sorted(published)


@BOTH
@pytest.mark.parametrize("seed", SEEDS)
def test_a_reader_further_up_sees_committed_states_too(seed: int, moves: bool) -> None:
    """The dataset lies in a directory that is read as a whole."""
    simulation = Simulation(seed, moves, base="year/ds/")
    simulation.scheduler.add("append", simulation.writer("append", times=2))
    simulation.scheduler.add("compact", simulation.compactor(times=2))
    simulation.scheduler.add("overwrite", simulation.writer("overwrite"))

    def read() -> None:
        for base in ("", "year/", "year/ds/", ""):
            simulation.look(base=base)

    simulation.scheduler.add("reader", read)
    simulation.scheduler.add("reader two", read)
    run(simulation)
    assert simulation.look(base="") == simulation.states[-1]


@BOTH
def test_a_dataset_that_holds_another_is_not_overwritten(moves: bool) -> None:
    simulation = Simulation(0, moves)
    simulation.writer("append", base="inner/")()
    with pytest.raises(MosaicError, match="inner"):
        WriteJob.start(simulation.storage(), mode="overwrite")
    assert simulation.states[-1] == simulation.look()


@BOTH
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_death_at_any_change_leaves_the_old_dataset_or_the_new_one(mode: str, moves: bool) -> None:
    survived = False
    kill_at = 0
    while not survived:
        simulation = Simulation(kill_at, moves)
        simulation.scheduler.add("writer", simulation.writer(mode, kill_at=kill_at))
        simulation.scheduler.add("reader", simulation.reader)
        run(simulation)
        survived = isinstance(simulation.scheduler.results["writer"], str)
        for view in [*simulation.views, simulation.look()]:
            jobs = jobs_in(view)
            assert len(jobs) <= 1
            assert (set(simulation.old) <= view) == (mode == "append" or not jobs)
        before = simulation.look()
        _check_that_others_can_go_on(simulation, before)
        kill_at += 1
    assert kill_at > 5


@BOTH
def test_death_during_upkeep_changes_nothing(moves: bool) -> None:
    """Checkpoints, deletions of files and of records: a death at each of these steps."""
    survived = False
    kill_at = 0
    while not survived:
        simulation = Simulation(kill_at, moves)
        for mode in ("append", "overwrite", "append", "append", "append"):
            simulation.writer(mode)()
        simulation.states = simulation.states[-1:]
        storage = simulation.storage(kill_at)

        def upkeep(storage: SimulatedDirectory = storage) -> str:
            for _ in range(3):
                vacuum_storage(storage, 0.0)
            return "done"

        simulation.scheduler.add("upkeep", upkeep)
        simulation.scheduler.add("reader", simulation.reader)
        run(simulation)
        result = simulation.scheduler.results["upkeep"]
        assert isinstance(result, str | Killed), result
        survived = result == "done"
        simulation.dead.update(
            path.split("/")[1][:32] for path in simulation.world.files if path.endswith(".claim")
        )
        _check_that_others_can_go_on(simulation, simulation.look())
        kill_at += 1
    assert kill_at > 10


def _check_that_others_can_go_on(simulation: Simulation, before: frozenset[str]) -> None:
    """Whatever a dead job left: upkeep changes nothing that is seen, and an overwrite works."""
    simulation.vacuum(times=2)
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
        published = any(".committed.json" in path for path in simulation.world.files)
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
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_transaction_takes_effect_once_whoever_tries_it(
    seed: int, moves: bool, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two drivers of one stream, a compaction, and upkeep with a checkpoint every other commit."""
    waits = random.Random(seed)

    def wait(_: float) -> None:
        # Many wait for the claim here: who gives way waits for many steps of others.
        for _step in range(waits.randrange(100)):
            Simulation.step()

    monkeypatch.setattr("pymosaic.datasets.claim.time", SimulatedTime(wait))
    simulation = Simulation(seed, moves)
    for name in ("driver", "restarted driver"):
        simulation.scheduler.add(name, simulation.writer(mode, times=3, application="stream"))
    simulation.scheduler.add("other", simulation.writer("append", times=2, application="other"))
    simulation.scheduler.add("compact", simulation.compactor(times=2))
    simulation.scheduler.add("vacuum", lambda: simulation.vacuum(older_than=1e5))
    simulation.scheduler.add("reader", simulation.reader)
    run(simulation)
    for name in ("driver", "restarted driver", "other"):
        assert isinstance(simulation.scheduler.results[name], str), simulation.scheduler.results
    of_stream = [number for name, number in simulation.transactions if name == "stream"]
    assert of_stream == [0, 1, 2]
    assert simulation.look() == simulation.states[-1]
    assert take_snapshot(simulation.storage()).transactions == {"stream": 2, "other": 1}


@BOTH
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_transaction_survives_death_at_any_change(mode: str, moves: bool) -> None:
    """A driver dies before each of its changes; the next one tries the same batches again."""
    kill_at = 0
    dies = True
    while dies:
        simulation = Simulation(kill_at, moves)
        try:
            simulation.writer(mode, kill_at=kill_at, times=3, application="stream")()
            dies = False
        except Killed:
            pass
        simulation.writer(mode, times=3, application="stream")()
        assert simulation.transactions == [["stream", 0], ["stream", 1], ["stream", 2]]
        assert simulation.look() == simulation.states[-1]
        simulation.vacuum(times=2)
        assert take_snapshot(simulation.storage()).transactions == {"stream": 2}
        simulation.writer(mode, times=3, application="stream")()
        assert len(simulation.transactions) == 3, "vacuum does not forget"
        kill_at += 1
    assert kill_at > 10


@BOTH
def test_transactions_are_remembered_when_their_files_are_gone(
    moves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upkeep forgets jobs whose files are gone, never the last transaction of an application."""
    monkeypatch.setattr("pymosaic.datasets.maintenance._MEMORY_SECONDS", 0.0)
    simulation = Simulation(0, moves)
    simulation.writer("append", times=2, application="stream")()
    for _ in range(4):
        simulation.compactor(times=3)()
        simulation.vacuum(times=2)
    log = take_snapshot(simulation.storage()).log
    assert len(log.state.jobs) < len(simulation.recorded)
    simulation.writer("append", times=2, application="stream")()
    assert simulation.transactions == [["stream", 0], ["stream", 1]]
