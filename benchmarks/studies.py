"""Shared parts of the studies of writer options."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import pymosaic
from benchmarks.data import SEED, constant_doubles, reference_strings, sparse_numbers
from benchmarks.measure import interleave
from benchmarks.recording import RecordedFile

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from benchmarks.profiles import Profile

__all__ = [
    "KINDS",
    "bytes_of_one",
    "median_times",
    "pick_columns",
    "save_samples",
    "time_selections",
]

KINDS: dict[str, Callable[[int, int], pa.Table]] = {
    "strings": reference_strings,
    "sparse": sparse_numbers,
    "doubles": constant_doubles,
}


def pick_columns(names: Sequence[str], num_sets: int, size: int) -> list[list[str]]:
    """Sets of columns chosen at random, the same ones in every run."""
    random = np.random.default_rng(SEED)
    return [
        [names[place] for place in map(int, random.choice(len(names), size, replace=False))]
        for _ in range(num_sets)
    ]


def median_times(
    profile: Profile,
    actions: Mapping[int, Callable[[], object]],
    before: Callable[[], None] | None = None,
) -> dict[int, float]:
    """Median seconds of each action, timed in turns."""
    named = {str(key): action for key, action in actions.items()}
    taken = interleave(named, profile.max_rounds, profile.seconds, before=before)
    return {int(key): median(samples) for key, samples in taken.items()}


def time_selections(
    profile: Profile, paths: Mapping[int, Path], selections: Sequence[list[str] | None]
) -> dict[int, float]:
    """Median seconds of opening each file and reading columns, another selection each time."""

    def read(path: Path) -> Callable[[], object]:
        following = cycle(selections)
        return lambda: pymosaic.read_table(path, columns=next(following))

    return median_times(profile, {key: read(path) for key, path in paths.items()})


def bytes_of_one(path: Path, names: Sequence[str]) -> int:
    """Bytes read to open a file and read one column; median over some columns."""
    counts = []
    for name in names:
        with RecordedFile(path) as file:
            pymosaic.read_table(file, columns=[name])
            counts.append(file.num_bytes)
    return int(median(counts))


def save_samples(path: Path, run: dict[str, Any], samples: Sequence[DataclassInstance]) -> None:
    """Write a study as JSON."""
    content = {"run": run, "samples": [asdict(sample) for sample in samples]}
    path.write_text(json.dumps(content, indent=1) + "\n")
