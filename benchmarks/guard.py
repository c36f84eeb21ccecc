"""The guard against slowdowns: ``python -m benchmarks.guard``.

Measures reading and writing of the quick suite, and compares how many times as fast as each peer
pymosaic is with the recorded run. A ratio that fell by more than 15 % is measured once more,
because other work on the machine disturbs single runs. If it is still low, the command fails.
``--record`` replaces the recorded run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.__main__ import run_suite
from benchmarks.measure import Measurements
from benchmarks.profiles import PROFILES
from benchmarks.report import plain_table

__all__ = ["RECORD", "Ratios", "fallen", "main", "ratios"]

RECORD = Path(__file__).parent / "recorded.json"
_CASES = ("read", "write")
_PEERS = ("pymosaic", "paimon", "parquet", "feather")
_TOLERANCE = 0.15

# The peer's time divided by ours, by "table, case, peer".
Ratios = dict[str, float]


def ratios(found: Measurements) -> Ratios:
    """How many times as fast as each peer we are, in every case with both."""
    return {
        f"{item.table}, {item.case}, {item.peer}": round(ratio, 3)
        for item in found
        if item.metric == "seconds" and item.peer in _PEERS[1:]
        if (ratio := found.ratio(item.table, item.case, item.peer)) is not None
    }


def fallen(before: Mapping[str, float], now: Mapping[str, float]) -> list[str]:
    """What is slower than recorded by more than the tolerance, or has not been measured."""
    return [name for name, ratio in before.items() if now.get(name, 0.0) < ratio * (1 - _TOLERANCE)]


def _measure(profile: str) -> Ratios:
    with tempfile.TemporaryDirectory(prefix="pymosaic-guard-") as directory:
        report = run_suite(PROFILES[profile], _CASES, _PEERS, Path(directory))
    return ratios(report.measurements)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and record or compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("--record", action="store_true", help="replace the recorded run")
    parser.add_argument("--profile", choices=PROFILES, default="quick", help="size of the run")
    parser.add_argument("--file", type=Path, default=RECORD, help="the recorded run")
    options = parser.parse_args(arguments)
    now = _measure(options.profile)
    if options.record:
        options.file.write_text(json.dumps(now, indent=2) + "\n", encoding="utf-8")
        return 0
    before: Ratios = json.loads(options.file.read_text(encoding="utf-8"))
    if fallen(before, now):
        again = _measure(options.profile)
        now = {name: max(ratio, again.get(name, 0.0)) for name, ratio in now.items()}
    low = fallen(before, now)
    rows = [
        [name, f"{ratio:.2f}x", f"{now.get(name, 0.0):.2f}x", "slower" if name in low else ""]
        for name, ratio in before.items()
    ]
    print(plain_table([["case", "recorded", "now", ""], *rows]))
    return int(bool(low))


if __name__ == "__main__":
    sys.exit(main())
