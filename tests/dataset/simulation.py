"""A file system in memory whose every operation is a step that a scheduler orders.

Actors (writers, readers) run on threads of their own, but one at a time: before each step an actor
waits for its turn, and the scheduler draws who is next from a seed. The same seed gives the same
run. Listings are not atomic: they go on from name to name, and others may act in between.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pymosaic.dataset.storage import Entry, Storage
from pymosaic.io import Location


class Killed(BaseException):
    """The actor died; nothing that it does afterwards has any effect."""


class Scheduler:
    """Runs actors to their ends, one step of one actor after the other."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._actors: dict[str, Callable[[], object]] = {}
        self._turns: dict[str, threading.Semaphore] = {}
        self._yielded = threading.Semaphore(0)
        self._done: set[str] = set()
        self._current: str | None = None
        self.results: dict[str, Any] = {}

    def add(self, name: str, action: Callable[[], object]) -> None:
        self._actors[name] = action
        self._turns[name] = threading.Semaphore(0)

    def step(self) -> None:
        """Called by the actor whose turn it is: let the scheduler draw who goes on."""
        name = self._current
        if name is None:
            return  # a test acts by itself
        self._yielded.release()
        self._turns[name].acquire()

    def run(self) -> None:
        threads = [threading.Thread(target=self._act, args=(name,)) for name in self._actors]
        for thread in threads:
            thread.start()
        while len(self._done) < len(self._actors):
            waiting = [name for name in self._actors if name not in self._done]
            self._current = self._random.choice(waiting)
            self._turns[self._current].release()
            self._yielded.acquire()
        self._current = None
        for thread in threads:
            thread.join()

    def _act(self, name: str) -> None:
        self._turns[name].acquire()
        try:
            self.results[name] = self._actors[name]()
        except BaseException as error:  # what came of it is for the test to say
            self.results[name] = error
        self._done.add(name)
        self._yielded.release()


class World:
    """The files, and a clock that ticks with every step."""

    def __init__(self, step: Callable[[], None] = lambda: None) -> None:
        self.files: dict[str, tuple[bytes, float]] = {}
        self.step = step
        self.clock = time.time()

    def tick(self) -> float:
        self.clock += 1.0
        return self.clock


class SimulatedStorage(Storage):
    """A view of the world by one actor, who dies before its ``kill_at``-th change."""

    def __init__(self, world: World, *, moves: bool, kill_at: int | None = None) -> None:
        super().__init__(Location("simulated", "base"))
        self.world = world
        self.moves = moves
        self.one_listing = not moves
        self.kill_at = kill_at
        self.changes = 0

    def _change(self) -> None:
        self.world.step()
        if self.kill_at is not None and self.changes >= self.kill_at:
            raise Killed
        self.changes += 1

    def list_files(
        self, directory: str = "", recursive: bool = True, skip: Callable[[str], bool] | None = None
    ) -> list[Entry]:
        prefix = f"{directory}/" if directory else ""
        entries: list[Entry] = []
        last = ""
        while True:
            self.world.step()
            following = [path for path in self.world.files if path > last]
            if not following:
                return entries
            last = min(following)
            if not last.startswith(prefix) or (skip is not None and skip(last)):
                continue
            if recursive or "/" not in last[len(prefix) :]:
                content, modified = self.world.files[last]
                entries.append(Entry(last, len(content), modified))

    def read(self, path: str) -> bytes:
        self.world.step()
        try:
            return self.world.files[path][0]
        except KeyError:
            raise FileNotFoundError(path) from None

    def write(self, path: str, data: bytes) -> None:
        self._change()
        self.world.files[path] = data, self.world.tick()

    def _delete(self, path: str) -> None:
        self._change()
        if self.world.files.pop(path, None) is None:
            raise FileNotFoundError(path)

    def _move(self, source: str, target: str) -> None:
        self._change()
        self.world.files[target] = self.world.files.pop(source)

    def each(self, function: Callable[[Any], Any], items: Any) -> list[Any]:
        return [function(item) for item in items]

    def remove_tree(self, directory: str) -> None:
        for path in [path for path in self.world.files if path.startswith(f"{directory}/")]:
            with suppress(FileNotFoundError):
                self._delete(path)

    def remove_empty(self, directory: str) -> None:
        """There are no directories."""
