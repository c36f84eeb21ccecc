"""The performance goals of the project, compared with the measurements of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from benchmarks.many_readers import (
    ALL_AT_ONCE,
    BY_BATCHES,
    BY_ONE_THREAD,
    BY_THREADS,
    SMALL_FILES,
)
from benchmarks.measure import Measurements
from benchmarks.object_store import store_case
from benchmarks.profiles import Profile

__all__ = ["Outcome", "outcomes"]

_ONE, _ALL = "open + read 1 column", "open + read all"
# A case, then the target ratio (theirs / ours) for each peer.
_TIMES = (
    (_ONE, {"paimon": 12.0, "parquet": 60.0, "feather": 3.0}),
    ("open + read 10 neighbours", {"paimon": 8.0, "parquet": 50.0, "feather": 3.0}),
    ("open + read 10 random", {"paimon": 5.0, "parquet": 20.0, "feather": 1.5}),
)
_SCAN = {"paimon": 3.0, "parquet": 10.0, "feather": 2.5}
# Of ten rows, nothing but the cost of each column is left.
_SCAN_OF_FEW_ROWS = {**_SCAN, "paimon": 4.0}
_FEW_ROWS = 10
_WRITE = {9: {"paimon": 2.8, "parquet": 1.0}, 1: {"paimon": 5.7, "parquet": 1.0}}
_NARROW = (
    (_ONE, {"parquet": 1.0}),
    (_ALL, {"parquet": 2.0}),
    ("open + take 10 rows", {"parquet": 1.0}),
)
# Maximum share of the other's value: 1.005 for the reference, 0.7 for the others.
_SIZE = {"paimon": 1 / 1.005, "parquet": 1 / 0.7, "feather": 1 / 0.7}
_ONE_OF_ZSTD_ALONE = 1.6
_SECONDS = (("look up all names", 0.005), ("cold process to first value", 0.090))
_SECONDS_OF_A_SMALL_FILE = 1.5 / 5_000
_BATCHES_OF_A_SCAN = 1.1
# Of the time that two cores would take if they shared the work of one thread evenly.
_THREADS_OF_TWO_CORES = 1.7
_GROWTH = {100_000: 8.0}
_ROUND_TRIPS = (("1 column", 3), ("10 random", 4))


@dataclass(frozen=True, slots=True)
class Outcome:
    """One goal: the target ratio (or seconds), and the measured one."""

    table: str
    work: str
    against: str
    goal: str
    measured: str
    met: bool

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def _at_least(
    found: Measurements, table: str, case: str, wanted: dict[str, float]
) -> Iterator[Outcome]:
    for peer, goal in wanted.items():
        ratio = found.ratio(table, case, peer)
        if ratio is not None:
            met = ratio >= goal
            yield Outcome(table, case, peer, f"{goal:g}x", f"{ratio:.3g}x", met)


def _at_most(
    found: Measurements, table: str, case: str, wanted: dict[str, float]
) -> Iterator[Outcome]:
    """Goals stated the other way round, as our share of the other's value."""
    for peer, goal in wanted.items():
        ratio = found.ratio(table, case, peer)
        if ratio is not None:
            share = f"<= {1 / goal:.4g} of theirs"
            yield Outcome(table, case, peer, share, f"{1 / ratio:.4g}", ratio >= goal)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def _limit(
    found: Measurements, table: str, case: str, limit: float, text: Callable[[float], str]
) -> Iterator[Outcome]:
    """A limit for our own value."""
    value = found.value(table, case, "pymosaic")
    if value is not None:
        yield Outcome(table, case, "", f"<= {text(limit)}", text(value), value <= limit)


def _multiple(
    found: Measurements, table: str, case: str, of: str, limit: float, scale: float = 1.0
) -> Iterator[Outcome]:
    """A limit for our value in one case as a multiple of that in another, times ``scale``."""
    value, base = found.value(table, case, "pymosaic"), found.value(table, of, "pymosaic")
    if value is not None and base:
        multiple = value / (base * scale)
        against = of if scale == 1.0 else f"{of}, times {scale:g}"
        met = multiple <= limit
        yield Outcome(table, case, against, f"<= {limit:g}x", f"{multiple:.3g}x", met)


def outcomes(profile: Profile, found: Measurements) -> list[Outcome]:
    """Every goal for which the run has numbers."""
    main = f"strings-{profile.main_rows}"
    level_1 = f"{main}-level-1"
    results: list[Outcome] = []
    for case, wanted in _TIMES:
        results += _at_least(found, main, case, wanted)
    results += _at_most(found, main, _ONE, {"zstd-1": 1 / _ONE_OF_ZSTD_ALONE})
    for rows in profile.reference_rows:
        if rows <= profile.main_rows:
            wanted = _SCAN_OF_FEW_ROWS if rows <= _FEW_ROWS else _SCAN
            results += _at_least(found, f"strings-{rows}", _ALL, wanted)
    results += _at_least(found, main, "write", _WRITE[9])
    results += _at_least(found, level_1, "write", _WRITE[1])
    for case, wanted in _NARROW:
        results += _at_least(found, "narrow", case, wanted)
    for table in found.tables():
        wanted = _SIZE if table.startswith("strings") else {"paimon": _SIZE["paimon"]}
        results += _at_most(found, table, "file size", wanted)
    for case in ("memory of a write", "memory of a full read"):
        results += _at_most(found, main, case, {"paimon": 1.0})
    for case, seconds in _SECONDS:
        results += _limit(found, main, case, seconds, _milliseconds)
    results += _multiple(found, main, BY_BATCHES, ALL_AT_ONCE, _BATCHES_OF_A_SCAN)
    results += _multiple(found, main, BY_THREADS, BY_ONE_THREAD, _THREADS_OF_TWO_CORES, 0.5)
    small = profile.small_files[0] * _SECONDS_OF_A_SMALL_FILE
    results += _limit(found, "files", SMALL_FILES, small, _milliseconds)
    for selection, most in _ROUND_TRIPS:
        case = store_case("round trips", selection)
        results += _limit(found, main, case, most, lambda count: f"{count:g}")
    return results + list(_growth(profile, found))


def _growth(profile: Profile, found: Measurements) -> Iterator[Outcome]:
    """Opening and reading one column grows no faster than the number of columns."""
    counts = [count for count in profile.column_counts if count >= 1_000]
    for fewer, more in pairwise(counts):
        table = f"doubles-{more}"
        small = found.value(f"doubles-{fewer}", _ONE, "pymosaic")
        large = found.value(table, _ONE, "pymosaic")
        if small and large:
            goal, growth = _GROWTH.get(more, more / fewer), large / small
            against = f"{fewer:,} columns"
            yield Outcome(table, _ONE, against, f"<= {goal:g}x", f"{growth:.3g}x", growth <= goal)
