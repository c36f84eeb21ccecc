"""Followers: readers that come back for the files of commits that they have not seen.

A follower leaves a small file beside the records::

    _mosaic/<id>.follower     {"since": time, "keep_seconds": duration}

Files that were replaced at or after ``since`` are not deleted, however old they are: the follower
may not have read them yet. It moves ``since`` forward as it reads. A follower that has not renewed
its file for ``keep_seconds`` no longer counts, so one that never comes back does not keep files for
ever. All times are of the dataset's file system.

A follower's file that is damaged keeps all files, until it is a week old.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pymosaic.datasets.checkpoint import ReplacedFile
from pymosaic.datasets.records import (
    DAY_SECONDS,
    RECORDS_DIRECTORY,
    Listing,
    emit_document,
    parse_document,
    record_path,
)
from pymosaic.errors import MosaicError
from pymosaic.io import Directory, Entry

__all__ = ["KEEP_UNREAD_SECONDS", "Follower", "Holds", "newest_time", "read_holds"]

KEEP_UNREAD_SECONDS = 7 * DAY_SECONDS
_STATE = "follower"
# Clients cut times off at different places, and machines of one store may differ a little.
_TOLERANCE = 60.0
# A follower that has read on by less than this does not say so.
_STEP = 60.0
_RENEW_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Holds:
    """What followers keep.

    Parameters
    ----------
    since : float or None
        Files that were replaced at or after this time are kept; None if no follower needs any.
    expired : tuple of str
        Paths of the files of followers that no longer count.
    """

    since: float | None = None
    expired: tuple[str, ...] = ()

    def keeps(self, gone: ReplacedFile) -> bool:
        """Whether a follower may still need a file."""
        if self.since is None:
            return False
        return gone.since is None or gone.since >= self.since - _TOLERANCE


def read_holds(storage: Directory, listing: Listing, now: float | None) -> Holds:
    """What the followers of a listing keep.

    Parameters
    ----------
    storage : Directory
    listing : Listing
        Made after everything was replaced that is to be judged.
    now : float or None
        The time by the file system's clock.
    """
    since: list[float] = []
    expired: list[str] = []
    for name, entry in listing.entries.items():
        if name.endswith(f".{_STATE}"):
            begin, keep_seconds = _read(storage, entry)
            if None not in (now, entry.modified) and now - entry.modified > keep_seconds:  # type: ignore[operator]
                expired.append(entry.path)
            else:
                since.append(begin)
    return Holds(min(since, default=None), tuple(expired))


def _read(storage: Directory, entry: Entry) -> tuple[float, float]:
    try:
        parsed = parse_document(storage.read(entry.path), entry.path)
    except (OSError, MosaicError):
        return 0.0, KEEP_UNREAD_SECONDS
    return _number(parsed.get("since")), _number(parsed.get("keep_seconds"), KEEP_UNREAD_SECONDS)


def _number(value: Any, default: float = 0.0) -> float:
    return float(value) if isinstance(value, int | float) and value >= 0 else default


def newest_time(entries: Iterable[Entry]) -> float:
    """A time that no later commit comes before: that of the newest of these files."""
    return max((entry.modified or 0.0 for entry in entries), default=0.0)


class Follower:
    """The file of one follower.

    Parameters
    ----------
    storage : Directory
        The dataset.
    identifier : str
        32 hexadecimal digits; the same whenever the follower comes back.
    keep_seconds : float
        How long it may stay away.
    """

    def __init__(self, storage: Directory, identifier: str, keep_seconds: float) -> None:
        self._storage = storage
        self._path = record_path(identifier, _STATE)
        self._keep_seconds = keep_seconds
        self._since: float | None = None
        self._renewed = -_RENEW_SECONDS
        self._is_refused = False

    def hold(self, since: float | None = None) -> None:
        """Say that the files of commits that were replaced before ``since`` are no longer needed.

        Without an argument, go on to need what was needed before. A dataset that cannot be written
        to, and a directory without records, is read without a file of the follower.
        """
        is_recent = time.monotonic() - self._renewed < _RENEW_SECONDS
        if is_recent and self._is_refused:
            return
        if is_recent and self._since is not None and (since or 0.0) <= self._since + _STEP:
            return
        try:
            entries = self._storage.list_files(RECORDS_DIRECTORY, recursive=False)
            if not entries:
                return
            if since is None:
                since = self._since
            if since is None:
                known = [entry for entry in entries if entry.path == self._path]
                since = _read(self._storage, known[0])[0] if known else 0.0
            content = {"version": 2, "since": since, "keep_seconds": self._keep_seconds}
            self._storage.write(self._path, emit_document(content))
            self._since = since
            self._is_refused = False
        except (OSError, MosaicError) as error:
            if not self._is_refused:
                warnings.warn(
                    f"{self._storage.name} cannot be written to, so it does not know what this "
                    "stream has not read: replaced files are deleted as if there were no stream "
                    f"({error})",
                    stacklevel=2,
                )
            self._is_refused = True
        self._renewed = time.monotonic()
