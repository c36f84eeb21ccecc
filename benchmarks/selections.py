"""Which columns the cases read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.data import SEED

__all__ = ["one", "prefix", "ten_neighbours", "ten_random"]


def one(names: Sequence[str]) -> list[str]:
    """One name, from the middle."""
    return [names[len(names) * 4 // 9]]


def ten_random(names: Sequence[str]) -> list[str]:
    """Ten names, the same ones in every run."""
    places = np.random.default_rng(SEED).choice(len(names), min(10, len(names)), replace=False)
    return [names[place] for place in sorted(map(int, places))]


def ten_neighbours(names: Sequence[str]) -> list[str]:
    """Ten names that are adjacent in name order, like columns that belong together."""
    middle = len(names) * 4 // 9
    return sorted(names)[middle : middle + 10]


def prefix(names: Sequence[str]) -> str:
    """A prefix that about 60 of 10,000 columns have: one line of machines of one plant."""
    return ten_neighbours(names)[0].partition("_machine_")[0] + "_"
