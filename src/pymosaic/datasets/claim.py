"""The claim: jobs that replace files of the same dataset examine it and publish one at a time.

Every file system that we know guarantees this: a file that was written is in every later listing,
and one that was deleted is in none. That is enough for a lock. A job writes its claim and *then*
lists claims: of two jobs, the one that wrote last sees the other's claim, unless the other has
finished. A job that sees another claim withdraws its own and tries again after a random time. Both
jobs may withdraw, but they never both continue.

A job that died with its claim must not block others for ever. A claim is void

- if it was made on this machine by a process that is gone; or
- when it is 20 minutes older than a new one, by the file system's own clock. The holder does not
  publish later than 10 minutes after it claimed, by its own clock.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterable
from contextlib import suppress

from pymosaic.datasets.records import RECORDS_DIRECTORY, record_path
from pymosaic.errors import CommitConflictError
from pymosaic.io import Directory, Entry

__all__ = ["HOLD_SECONDS", "VOID_SECONDS", "Claim", "holder", "is_gone"]

_SUFFIX = ".claim"
# A job publishes at most this long after it said that it would, and is taken for dead after more.
HOLD_SECONDS = 600.0
VOID_SECONDS = 1200.0
_WAIT_SECONDS = 60.0


def _machine() -> str | None:
    """An identifier of this boot of this machine and of its process-id namespace."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return f"{file.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return None


def holder() -> bytes:
    """The content of a claim: the process that makes it."""
    return json.dumps({"machine": _machine(), "process": os.getpid()}).encode()


def is_gone(content: bytes) -> bool:
    """Whether the process that wrote this content ran on this machine and is gone."""
    try:
        found = json.loads(content)
        machine, process = found["machine"], int(found["process"])
    except (ValueError, TypeError, KeyError):
        return False
    if machine is None or machine != _machine() or process <= 0:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


class Claim:
    """A job's claim on a dataset, for use in a ``with`` statement.

    Parameters
    ----------
    storage : Directory
    job : str
    patience : float, optional
        How many seconds to keep trying; by default a minute.

    Attributes
    ----------
    job : str
    moment : float or None
        When the claim was made, by the file system's clock.

    Raises
    ------
    CommitConflictError
        If other jobs have held claims for that long.
    """

    def __init__(self, storage: Directory, job: str, patience: float | None = None) -> None:
        self._storage = storage
        self.job = job
        self._path = record_path(job, "claim")
        self._since = 0.0
        self._patience = _WAIT_SECONDS if patience is None else patience
        self.moment: float | None = None

    def __enter__(self) -> Claim:
        deadline = time.monotonic() + self._patience
        content = holder()
        try:
            while True:
                self._since = time.monotonic()
                self._storage.write(self._path, content)
                rival = self._find_rival()
                if rival is None:
                    return self
                self._storage.delete(self._path)
                if time.monotonic() > deadline:
                    break
                time.sleep(random.uniform(0.01, 0.25))
        except BaseException:
            self._release()
            raise
        raise CommitConflictError(
            f"{self._storage.name}: job {rival} has been about to publish for "
            f"{self._patience:.0f} seconds; if it died, its claim counts for "
            f"{VOID_SECONDS / 60:.0f} minutes at most"
        )

    def __exit__(self, *details: object) -> None:
        self._release()

    def _release(self) -> None:
        with suppress(Exception):  # it becomes void by itself
            self._storage.delete(self._path)

    def check(self, entries: Iterable[Entry]) -> None:
        """Raise if the claim is too old to publish under, or is no longer in a listing."""
        gone = all(entry.path != self._path for entry in entries)
        if gone or time.monotonic() - self._since > HOLD_SECONDS:
            raise CommitConflictError(
                f"{self._storage.name}: looking at the dataset took over {HOLD_SECONDS:.0f} "
                "seconds, and others may have changed it meanwhile"
            )

    def _find_rival(self) -> str | None:
        """Return a job that holds a valid claim, if any."""
        entries = self._storage.list_files(RECORDS_DIRECTORY, recursive=False)
        claims = [entry for entry in entries if entry.path.endswith(_SUFFIX)]
        mine = next((entry for entry in claims if entry.path == self._path), None)
        if mine is None:
            return self.job  # another job considered it void
        self.moment = mine.modified
        for entry in claims:
            if entry is mine:
                continue
            if not _is_older(entry, mine) and not self._is_dead(entry):
                return entry.path.rpartition("/")[2].removesuffix(_SUFFIX)
            self._storage.delete(entry.path)
        return None

    def _is_dead(self, entry: Entry) -> bool:
        """Whether the process that made a claim on this machine is gone, as far as is known."""
        try:
            return is_gone(self._storage.read(entry.path))
        except OSError:
            return False  # it is being withdrawn, which stores report in many ways


def _is_older(entry: Entry, mine: Entry) -> bool:
    if mine.modified is None or entry.modified is None:
        return False
    return mine.modified - entry.modified > VOID_SECONDS
