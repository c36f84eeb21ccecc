"""Streams that read a dataset: positions, and the files between two of them.

A position is a number, which Spark keeps in its log of offsets. What it stands for is kept beside
Spark's own logs, in the checkpoint of the query, before Spark hears of it::

    <checkpoint>/sources/<n>/position-<number>.json

Each of these files tells how a position follows from the one before: what was found, and how many
of the files that wait make up the batch. Now and then one tells everything, so that those before it
are no longer needed. A batch that runs again reads the same files, whatever happened meanwhile.

The dataset keeps the files that a stream has not read (:mod:`pymosaic.datasets.followers`), by an
id that is in ``follower.json`` beside the positions.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pymosaic.datasets.discovery import DataFile, Packs
from pymosaic.datasets.followers import Follower, newest_time
from pymosaic.datasets.following import (
    FileVersion,
    Seen,
    look,
    look_first,
    replaced_in_place,
)
from pymosaic.datasets.partitioning import split_partition
from pymosaic.datasets.path_patterns import find_wildcard
from pymosaic.datasets.records import emit_document, is_hidden, parse_document
from pymosaic.datasets.snapshot import Snapshot, take_snapshot
from pymosaic.errors import CorruptFileError, DatasetError, InvalidOptionError, MosaicError
from pymosaic.io import open_directory, resolve_location, status_of
from pymosaic.spark.listing import FileListing
from pymosaic.spark.moments import parse_moment
from pymosaic.spark.options import SourceOptions
from pymosaic.spark.storage import locate

__all__ = ["DatasetStream", "Streams"]

_NAME = re.compile(r"position-([0-9]{1,18})\.json")
# Every how many positions one tells everything, and how many of those are kept.
_WHOLE_EVERY = 16
_MAX_STREAMS = 64
_IDENTITY = "follower.json"
_IDENTIFIER = re.compile(r"[0-9a-f]{32}")

_Look: TypeAlias = "tuple[Seen, tuple[FileVersion, ...], float]"


@dataclass(frozen=True, slots=True)
class _State:
    """What a position stands for: what was seen, what waits, and the files of its batch."""

    number: int = 0
    seen: Seen | None = None
    waiting: tuple[FileVersion, ...] = ()
    batch: tuple[FileVersion, ...] = ()
    since: float = 0.0
    """Of files that were replaced before this time, none is needed after this position."""


class DatasetStream:
    """A stream of one query.

    Parameters
    ----------
    checkpoint : str
        The directory in which Spark lets the source keep what it needs.
    options : SourceOptions
        What is read, and how.
    """

    def __init__(self, checkpoint: str, options: SourceOptions) -> None:
        if len(options.locations) != 1 or find_wildcard(options.locations[0]) is not None:
            raise InvalidOptionError("a stream reads one directory, not several or a pattern")
        for option in ("path_glob_filter", "modified_before", "modified_after", "base_path"):
            if getattr(options, option) is not None:
                raise InvalidOptionError(
                    f"{option}: a stream reads all files that are added to a directory"
                )
        if options.starting_version is not None and options.starting_timestamp is not None:
            raise InvalidOptionError("set startingVersion or startingTimestamp, not both")
        self._options = options
        [base], filesystem = locate(options.locations, options.storage)
        status = status_of(resolve_location(base, filesystem))
        if status is not None and status.is_file:
            raise InvalidOptionError(f"{base} is a file: a stream reads a directory")
        self._storage = open_directory(base, filesystem)
        storage = options.storage if "://" in checkpoint else {}
        [place], place_filesystem = locate([checkpoint], storage)
        self._positions = open_directory(place, place_filesystem)
        self._lock = threading.Lock()
        self._last: _State | None = None
        # The last position before the end was fixed, and what was seen and found then.
        self._end: tuple[int, _Look] | None = None
        self._follower: Follower | None = None
        # The last position that was written here, until Spark goes on from it.
        self._written: tuple[int, bytes] | None = None

    def fix_end(self) -> None:
        """Look now, and never again: positions follow until all that is there was read."""
        with self._lock:
            last = max(self._numbers(), default=0)
            state = self._state_at(last)
            self._hold(None)
            self._end = last, self._look(state.seen)

    def next_position(self, start: int, *, everything: bool) -> int:
        """The position after one; the same if nothing is new.

        Parameters
        ----------
        start : int
        everything : bool
            Disregard the options that limit a batch.
        """
        with self._lock:
            if start + 1 in self._numbers():
                return start + 1  # it was planned, and Spark died before it heard of it
            self._insist(start)
            if self._written is not None and self._written[0] <= start:
                self._written = None
            state = self._state_at(start)
            self._hold(state.since)
            if self._end is None:
                seen, found, moment = self._look(state.seen)
            else:
                last, (seen, found, moment) = self._end
                found = found if start == last else ()  # later positions have it
            waiting = state.waiting + found
            count = len(waiting) if everything else self._count(waiting)
            if not count and state.seen is not None and _is_nothing_new(state.seen, seen):
                return start
            since = state.since if waiting[count:] else moment
            following = _State(start + 1, seen, waiting[count:], waiting[:count], since)
            content = emit_document(_document(state, following, found))
            self._positions.make_directory("")
            self._positions.write(_name(start + 1), content)
            self._last, self._written = following, (start + 1, content)
            return start + 1

    def listing(self, start: int, end: int) -> FileListing:
        """The files after one position, up to another."""
        with self._lock:
            self._insist(end)
            files = [file for n in range(start + 1, end + 1) for file in self._state_at(n).batch]
        if not files:
            return FileListing(self._storage.base, ())
        snapshot = self._snapshot()
        types = tuple(sorted(snapshot.partition_types.items()))
        with_keys = not self._options.recursive_file_lookup and self._options.partitioning
        found = []
        for file in self._as_they_are(snapshot, files):
            path = self._storage.full_path(file.path)
            keys = file.path.split("/")[:-1] if with_keys else []
            partition = split_partition([key for key in keys if "=" in key])
            found.append(DataFile(path, self._size(file), partition, types, file.modified))
        chosen = tuple(file for file in found if file.size is not None)
        packs: Packs = ()
        if 2 * len(chosen) > len(snapshot.files):  # the ends of fewer are less than packs of all
            packs = tuple(
                (self._storage.full_path(directory), tuple(sizes.items()))
                for directory, sizes in snapshot.packs
            )
        return FileListing(self._storage.base, chosen, packs)

    def _as_they_are(self, snapshot: Snapshot, files: list[FileVersion]) -> list[FileVersion]:
        """Files of a batch, of which others may have replaced some in place since these were found.

        A look takes what is there now for a change, too: it skips it, or finds it anew.
        """
        changed = replaced_in_place(snapshot, files)
        if not changed:
            return files
        options = self._options
        if options.ignore_changes and not options.skip_change_commits:
            return [file for file in files if file not in changed]
        if options.skip_change_commits:
            return [changed.get(file, file) for file in files]
        path = self._storage.full_path(next(iter(changed)).path)
        raise DatasetError(
            f"{path} was replaced by another of this name, or completed, since this stream found "
            "it; move files there when they are complete, each under a new name. Set the option "
            "skipChangeCommits to read it once, as it is now"
        )

    def forget_before(self, number: int) -> None:
        """Delete what no position from this one on needs."""
        with self._lock:
            whole = [n for n in self._numbers() if n <= number and n % _WHOLE_EVERY == 1]
            if len(whole) > 1:
                first = sorted(whole)[-2]
                names = [_name(n) for n in self._numbers() if n < first]
                self._positions.delete_many(names)

    def _insist(self, number: int) -> None:
        """Write a position again that another driver with the same checkpoint has written over.

        To be called once Spark goes on from this position: the other driver cannot, because Spark
        lets one of them write its log of offsets, and ends the other.
        """
        if self._written is None or self._written[0] != number:
            return
        name, content = _name(number), self._written[1]
        if self._positions.read(name) != content:
            self._positions.write(name, content)

    def _hold(self, since: float | None) -> None:
        """Tell the dataset which files are needed; None if all that were needed before are."""
        if self._follower is None:
            self._follower = Follower(
                self._storage, self._identifier(), self._options.keep_unread_files
            )
        self._follower.hold(since)

    def _identifier(self) -> str:
        """What the dataset knows this stream by; made once, and kept in the checkpoint."""
        try:
            parsed = parse_document(self._positions.read(_IDENTITY), _IDENTITY)
            identifier = parsed.get("id")
        except (OSError, CorruptFileError):
            identifier = None
        if not isinstance(identifier, str) or not _IDENTIFIER.fullmatch(identifier):
            identifier = uuid.uuid4().hex
            self._positions.make_directory("")
            self._positions.write(_IDENTITY, emit_document({"version": 2, "id": identifier}))
        return identifier

    def _look(self, seen: Seen | None) -> _Look:
        """What is seen now, the files that are new, and a time before which none was replaced."""
        snapshot = self._snapshot()
        return *self._found(snapshot, seen), newest_time(snapshot.log.listing.entries.values())

    def _found(self, snapshot: Snapshot, seen: Seen | None) -> tuple[Seen, tuple[FileVersion, ...]]:
        options = self._options
        since = None
        if options.starting_timestamp is not None:
            text = options.starting_timestamp
            since = parse_moment("startingTimestamp", text, options.zone) / 1e6
        latest = options.starting_version is not None
        on_change = "skip" if options.skip_change_commits else "error"
        if options.ignore_changes:
            on_change = "read"
        allowed: dict[str, Any] = {
            "on_change": on_change,
            "allow_missing": options.ignore_missing_files,
        }
        try:
            if seen is None:
                return self._chosen(*look_first(snapshot, since, latest=latest, **allowed))
            return self._chosen(*look(snapshot, seen, is_read=self._is_read, **allowed))
        except DatasetError as error:
            raise DatasetError(
                f"{self._storage.name}: {error}; a stream reads what is appended: set the option "
                "skipChangeCommits or ignoreChanges for commits that replace rows, "
                "ignoreMissingFiles to go on without rows that are gone, or start with a new "
                "checkpoint. Files that a stream has not read stay for as long as its option "
                "keepUnreadFiles says, by default a week after it was stopped"
            ) from error

    def _snapshot(self) -> Snapshot:
        snapshot = take_snapshot(self._storage, allow_missing=self._options.ignore_missing_files)
        for directory in snapshot.nested:
            if self._is_read(f"{directory}/of-jobs.mosaic"):
                raise DatasetError(
                    f"{self._storage.full_path(directory)} is a dataset of its own inside of "
                    f"{self._storage.name}: read each of them by a stream of its own"
                )
        return snapshot

    def _is_read(self, path: str) -> bool:
        """Whether a batch read of the same directory would read a file."""
        everywhere = self._options.recursive_file_lookup
        return path.endswith(".mosaic") and (
            everywhere or all("=" in part for part in path.split("/")[:-1])
        )

    def _chosen(
        self, seen: Seen, files: Iterable[FileVersion]
    ) -> tuple[Seen, tuple[FileVersion, ...]]:
        return seen, tuple(file for file in files if self._is_read(file.path))

    def _size(self, file: FileVersion) -> int | None:
        """The size; None for a file that is gone, if that is allowed."""
        if file.size is not None:
            return file.size
        try:
            return self._storage.size(file.path)
        except OSError as error:
            if self._options.ignore_missing_files:
                return None
            raise DatasetError(
                f"{self._storage.full_path(file.path)} was replaced, and deleted before this "
                "stream read it; a stream that is stopped for long needs the option "
                "keepUnreadFiles, and vacuum must not be told to remove unread files. Set the "
                f"option ignoreMissingFiles to go on without its rows ({error})"
            ) from error

    def _count(self, waiting: tuple[FileVersion, ...]) -> int:
        """How many of the files that wait make up a batch."""
        count = min(len(waiting), self._options.max_files_per_trigger or len(waiting))
        most = self._options.max_bytes_per_trigger
        if most is None:
            return count
        total = 0
        for place, file in enumerate(waiting[:count]):
            total += self._size(file) or 0
            if place and total > most:
                return place
        return count

    def _numbers(self) -> frozenset[int]:
        names = (entry.path for entry in self._positions.list_files("", recursive=False))
        return frozenset(int(match[1]) for name in names if (match := _NAME.fullmatch(name)))

    def _state_at(self, number: int) -> _State:
        if number == 0:
            return _State()
        if self._last is not None and self._last.number == number:
            return self._last
        first = number - (number - 1) % _WHOLE_EVERY
        state = _State()
        for place in range(first, number + 1):
            path = _name(place)
            try:
                content = self._positions.read(path)
            except OSError as error:
                raise MosaicError(
                    f"{self._positions.full_path(path)} is missing: the checkpoint of this stream "
                    "is incomplete; start with a new one"
                ) from error
            state = _parse(content, state, place, self._positions.full_path(path))
        self._last = state
        return state


def _is_nothing_new(before: Seen, after: Seen) -> bool:
    return after.jobs <= before.jobs and after.others <= before.others


def _name(number: int) -> str:
    return f"position-{number}.json"


def _document(before: _State, after: _State, found: Iterable[FileVersion]) -> dict[str, Any]:
    """How a state follows from the one before; all of it at every sixteenth."""
    assert after.seen is not None
    seen = before.seen or Seen()
    is_whole = after.number % _WHOLE_EVERY == 1
    if is_whole:
        seen, found = Seen(), (*after.batch, *after.waiting)
    return {
        "version": 2,
        "number": after.number,
        "whole": is_whole,
        "found": [file.document() for file in found],
        "taken": len(after.batch),
        "jobs": sorted(after.seen.jobs - seen.jobs),
        "forgotten_jobs": sorted(seen.jobs - after.seen.jobs),
        "others": [file.document() for file in after.seen.others - seen.others],
        "gone_others": [file.document() for file in seen.others - after.seen.others],
        "num_forgotten": after.seen.num_forgotten,
        "num_deleted": after.seen.num_deleted,
        "since": after.since,
    }


def _parse(content: bytes, before: _State, number: int, path: str) -> _State:
    parsed = parse_document(content, path)
    try:
        found = _parse_files(parsed["found"])
        others, gone = (frozenset(_parse_files(parsed[x])) for x in ("others", "gone_others"))
        jobs, forgotten = (frozenset(map(str, parsed[x])) for x in ("jobs", "forgotten_jobs"))
        taken, counts = int(parsed["taken"]), (parsed["num_forgotten"], parsed["num_deleted"])
        is_whole, since = bool(parsed["whole"]), float(parsed.get("since", 0.0))
        if parsed["number"] != number or taken < 0 or not all(x >= 0 for x in counts):
            raise ValueError("numbers do not fit")
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptFileError(f"not a position of a stream ({error})", path) from error
    if is_whole != (number % _WHOLE_EVERY == 1):
        raise CorruptFileError("not the position that its name says", path)
    seen = Seen() if is_whole or before.seen is None else before.seen
    waiting = found if is_whole else before.waiting + found
    after = Seen((seen.jobs | jobs) - forgotten, (seen.others | others) - gone, *counts)
    return _State(number, after, waiting[taken:], waiting[:taken], since)


def _parse_files(items: Any) -> tuple[FileVersion, ...]:
    for path, size, modified in items:
        if is_hidden(path) or any(part in ("", ".", "..") for part in path.split("/")):
            raise ValueError(f"{path!r} is not a file of a dataset")
        if not isinstance(size, int | None) or not isinstance(modified, float | int | None):
            raise ValueError(f"{path!r} must have a size and a time")
    return tuple(FileVersion(*item) for item in items)


class Streams:
    """The streams of this process, by id; one that was not used for long is opened again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[str, DatasetStream] = OrderedDict()

    def get(self, name: str, checkpoint: str, options: SourceOptions) -> DatasetStream:
        """The stream of a name, opened if it is not."""
        with self._lock:
            stream = self._open.get(name)
            if stream is None:
                options = replace(options, state=None, pushed={})
                stream = self._open[name] = DatasetStream(checkpoint, options)
                while len(self._open) > _MAX_STREAMS:
                    self._open.popitem(last=False)
            self._open.move_to_end(name)
            return stream
