"""Kill writers of Paimon tables, and let two write at once: ``make paimon-kills``."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.paimon.killing import kill, write_at_once


def main() -> None:
    """Kill many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5, help="four pairs of writers each")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        killed = kill(given.kills, given.seed, Path(directory))
        sys.stdout.write(f"{given.kills} kills, the table was whole: {dict(killed)}\n")
        ended = write_at_once(given.rounds, Path(directory))
        sys.stdout.write(f"two writers at once: {dict(ended)}\n")


if __name__ == "__main__":
    main()
