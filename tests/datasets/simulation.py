"""A file system in memory whose every operation is a step that a scheduler orders.

Actors (writers, readers) run on threads of their own, but one at a time: before each step an actor
waits for its turn, and the scheduler draws who is next from a seed. The same seed gives the same
run. Listings are not atomic: they go on from name to name, in an order of their own, and others may
act in between. Directories may be links out of the dataset, and datasets lie in each other.
"""

from __future__ import annotations

import random
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from pymosaic.errors import DatasetError
from pymosaic.io import Directory, Entry, Location


class Killed(BaseException):
    """The actor died; nothing that it does afterwards has any effect."""


class Scheduler:
    """Runs actors to their ends, one step of one actor after the other.

    Parameters
    ----------
    seed : int
        Draws who is next.
    prefer : callable
        Who is next instead, as long as it names an actor that has not ended.
    """

    def __init__(self, seed: int, prefer: Callable[[], str | None] = lambda: None) -> None:
        self._random = random.Random(seed)
        self.prefer = prefer
        self._actors: dict[str, Callable[[], object]] = {}
        self._turns: dict[str, threading.Semaphore] = {}
        self._yielded = threading.Semaphore(0)
        self._done: set[str] = set()
        self._acting = threading.local()
        self.results: dict[str, Any] = {}

    def add(self, name: str, action: Callable[[], object]) -> None:
        self._actors[name] = action
        self._turns[name] = threading.Semaphore(0)

    def step(self) -> None:
        """Called by the actor whose turn it is: let the scheduler draw who goes on."""
        name: str | None = getattr(self._acting, "name", None)
        if name is None:
            return  # a test acts by itself, or a thread that is none of the actors
        self._yielded.release()
        self._turns[name].acquire()

    def run(self) -> None:
        threads = [threading.Thread(target=self._act, args=(name,)) for name in self._actors]
        for thread in threads:
            thread.start()
        while len(self._done) < len(self._actors):
            waiting = [name for name in self._actors if name not in self._done]
            preferred = self.prefer()
            drawn = self._random.choice(waiting)
            self._turns[preferred if preferred in waiting else drawn].release()
            self._yielded.acquire()
        for thread in threads:
            thread.join()

    def _act(self, name: str) -> None:
        self._acting.name = name
        self._turns[name].acquire()
        try:
            self.results[name] = self._actors[name]()
        except BaseException as error:  # what came of it is for the test to say
            self.results[name] = error
        self._done.add(name)
        self._yielded.release()


def _place(salt: int, path: str) -> int:
    """Where a name comes in a listing; the same in every run."""
    return zlib.crc32(f"{salt} {path}".encode())


class SimulatedTime:
    """A module ``time`` for code under test: the real clock, and waiting that takes steps.

    Replaced in the module that waits alone: other threads of the process sleep as ever.
    """

    monotonic = staticmethod(time.monotonic)

    def __init__(self, sleep: Callable[[float], None]) -> None:
        self.sleep = sleep


class World:
    """The files, and a clock that ticks with every change.

    Parameters
    ----------
    step : callable
        Called before each operation.
    seed : int
        Draws the orders in which listings show names.
    outside : str
        A directory that is a link out of the dataset: files below it must never change.
    """

    def __init__(
        self, step: Callable[[], None] = lambda: None, seed: int = 0, outside: str = "L=1/"
    ) -> None:
        self.files: dict[str, tuple[bytes, float]] = {}
        self.step = step
        self.random = random.Random(seed)
        self.clock = 1_700_000_000.0
        self.jump = 0.0
        self.outside = outside
        self.on_write: Callable[[str, bytes], None] = lambda path, data: None

    def tick(self) -> float:
        self.clock += 1.0
        if self.jump:
            # A server that is set right and wrong, by days, in both directions.
            self.clock += self.random.choice([0.0, 0.0, self.jump, -self.jump])
        return self.clock

    def is_outside(self, path: str) -> bool:
        return path.startswith(self.outside)


class SimulatedDirectory(Directory):
    """A view of the world by one actor, who dies before its ``kill_at``-th change.

    A listing goes from name to name in an order of its own, as that of a hashed directory does. So
    it may show neither of two names, if one is made and the other deleted while it runs.
    """

    def __init__(
        self, world: World, *, moves: bool, kill_at: int | None = None, prefix: str = ""
    ) -> None:
        super().__init__(Location("simulated", "base"))
        self.world = world
        self.moves = moves
        self.one_listing = not moves
        self.kill_at = kill_at
        self.begun = 0
        self.changes = 0
        self.prefix = prefix

    def _source(self, path: str) -> NoReturn:
        raise AssertionError("files are read as a whole")

    def _sink(self, path: str) -> NoReturn:
        raise AssertionError("files are written as a whole")

    def within(self, directory: str) -> Directory:
        return SimulatedDirectory(self.world, moves=self.moves, prefix=f"{self.prefix}{directory}/")

    def _change(self, path: str) -> None:
        self.begun += 1
        self.world.step()
        if self.kill_at is not None and self.changes >= self.kill_at:
            raise Killed
        self.changes += 1
        if self.world.is_outside(path):
            raise DatasetError(f"{path} is behind a link")

    def list_files(
        self, directory: str = "", recursive: bool = True, skip: Callable[[str], bool] | None = None
    ) -> list[Entry]:
        prefix = f"{self.prefix}{directory}/" if directory else self.prefix
        salt = self.world.random.getrandbits(32)
        entries: list[Entry] = []
        last = -1, ""
        while True:
            self.world.step()
            following = [
                key
                for path in self.world.files
                if path.startswith(prefix) and (key := (_place(salt, path), path)) > last
            ]
            if not following:
                return entries
            last = min(following)
            full = last[1]
            path = full[len(self.prefix) :]
            if skip is not None and skip(path):
                continue
            if recursive or "/" not in full[len(prefix) :]:
                content, modified = self.world.files[full]
                outside = self.world.is_outside(full)
                entries.append(Entry(path, len(content), modified, outside))

    def exists(self) -> bool:
        return True

    def size(self, path: str) -> int:
        return len(self.read(path))

    def read(self, path: str) -> bytes:
        self.world.step()
        try:
            return self.world.files[self.prefix + path][0]
        except KeyError:
            raise FileNotFoundError(path) from None

    def write(self, path: str, data: bytes) -> None:
        self._change(path)
        self.world.files[self.prefix + path] = data, self.world.tick()
        self.world.on_write(self.prefix + path, data)

    def _delete(self, path: str) -> None:
        self._change(path)
        if self.world.files.pop(self.prefix + path, None) is None:
            raise FileNotFoundError(path)

    def _move(self, source: str, target: str) -> None:
        self._change(target)
        if (moved := self.world.files.pop(self.prefix + source, None)) is None:
            raise FileNotFoundError(source)
        self.world.files[self.prefix + target] = moved
        self.world.on_write(self.prefix + target, moved[0])

    def each(self, function: Callable[[Any], Any], items: Any) -> list[Any]:
        return [function(item) for item in items]

    def remove_tree(self, directory: str) -> None:
        prefix = f"{self.prefix}{directory}/"
        for path in [path for path in self.world.files if path.startswith(prefix)]:
            with suppress(FileNotFoundError):
                self._delete(path[len(self.prefix) :])

    def remove_empty(self, directory: str) -> None:
        """There are no directories."""
