"""The performance goals of the project, compared with the measurements of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from benchmarks.measure import Measurements
from benchmarks.profiles import Profile

__all__ = ["Outcome", "outcomes"]

# A case, then the target ratio (theirs / ours) for each peer.
_TIMES = (
    ("open + read 1 column", {"paimon": 10.0, "parquet": 60.0, "feather": 3.0}),
    ("open + read 10 neighbours", {"paimon": 8.0, "parquet": 50.0, "feather": 3.0}),
    ("open + read 10 random", {"paimon": 5.0, "parquet": 20.0, "feather": 1.5}),
)
_SCAN = {"paimon": 3.0, "parquet": 10.0, "feather": 2.5}
_WRITE = {9: {"paimon": 1.9, "parquet": 1.0}, 1: {"paimon": 3.0, "parquet": 1.0}}
# Maximum share of the other's value: 1.005 for the reference, 0.7 for the others.
_SIZE = {"paimon": 1 / 1.005, "parquet": 1 / 0.7, "feather": 1 / 0.7}
_LOOK_UP_SECONDS = 0.005


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


def outcomes(profile: Profile, found: Measurements) -> list[Outcome]:
    """Every goal for which the run has numbers."""
    main = f"strings-{profile.main_rows}"
    level_1 = f"{main}-level-1"
    results: list[Outcome] = []
    for case, wanted in _TIMES:
        results += _at_least(found, main, case, wanted)
    for rows in profile.reference_rows:
        if rows <= profile.main_rows:
            results += _at_least(found, f"strings-{rows}", "open + read all", _SCAN)
    results += _at_least(found, main, "write", _WRITE[9])
    results += _at_least(found, level_1, "write", _WRITE[1])
    for table in found.tables():
        wanted = _SIZE if table.startswith("strings") else {"paimon": _SIZE["paimon"]}
        results += _at_most(found, table, "file size", wanted)
    for case in ("memory of a write", "memory of a full read"):
        results += _at_most(found, main, case, {"paimon": 1.0})
    seconds = found.value(main, "look up all names", "pymosaic")
    if seconds is not None:
        goal, measured = f"{_LOOK_UP_SECONDS * 1e3:g} ms", f"{seconds * 1e3:.2f} ms"
        met = seconds <= _LOOK_UP_SECONDS
        results.append(Outcome(main, "look up all names", "", goal, measured, met))
    return results + list(_growth(profile, found))


def _growth(profile: Profile, found: Measurements) -> Iterator[Outcome]:
    """Opening and reading one column grows no faster than the number of columns."""
    case = "open + read 1 column"
    counts = [count for count in profile.column_counts if count >= 1_000]
    for fewer, more in pairwise(counts):
        table = f"doubles-{more}"
        small = found.value(f"doubles-{fewer}", case, "pymosaic")
        large = found.value(table, case, "pymosaic")
        if small and large:
            goal, growth = more / fewer, large / small
            against = f"{fewer:,} columns"
            yield Outcome(table, case, against, f"<= {goal:g}x", f"{growth:.3g}x", growth <= goal)
