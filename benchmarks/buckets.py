"""The bucket study: size, latency of one column and scan time against the number of buckets."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

import pymosaic
from benchmarks.data import (
    DEFAULT_LEVEL,
    SEED,
    constant_doubles,
    reference_strings,
    sparse_numbers,
)
from benchmarks.measure import interleave, stopwatch
from benchmarks.profiles import Profile
from benchmarks.recording import RecordedFile
from benchmarks.report import format_value

__all__ = ["BucketSample", "load_samples", "run_study", "save_samples", "study_rows"]

_KINDS: dict[str, Callable[[int, int], pa.Table]] = {
    "strings": reference_strings,
    "sparse": sparse_numbers,
    "doubles": constant_doubles,
}


@dataclass(frozen=True, slots=True)
class BucketSample:
    """One file: its table, its number of buckets, and what it costs.

    Parameters
    ----------
    kind, num_columns, num_rows : str, int, int
        The table.
    num_buckets : int
        Buckets that its columns are spread over.
    file_bytes : int
        File size.
    write_seconds : float
        One write.
    one_seconds, ten_seconds, scan_seconds : float
        Median of opening the file and reading 1, 10 random or all columns.
    one_bytes : int
        Bytes read for one column, opening included; median over several columns.
    auto_buckets : int
        What ``num_buckets="auto"`` takes for the table.
    """

    kind: str
    num_columns: int
    num_rows: int
    num_buckets: int
    file_bytes: int
    write_seconds: float
    one_seconds: float
    ten_seconds: float
    scan_seconds: float
    one_bytes: int
    auto_buckets: int

    @property
    def shape(self) -> str:
        """The table, in words."""
        return (
            f"{self.num_columns:,} columns x {self.num_rows:,} rows, {self.kind} "
            f"(auto takes {self.auto_buckets:,})"
        )


def _next_read(path: Path, selections: Sequence[list[str]]) -> Callable[[], object]:
    """An action that reads another selection each time."""
    following = cycle(selections)
    return lambda: pymosaic.read_table(path, columns=next(following))


def _bytes_of_one(path: Path, names: Sequence[str]) -> int:
    counts = []
    for name in names:
        with RecordedFile(path) as file:
            pymosaic.read_table(file, columns=[name])
            counts.append(file.num_bytes)
    return int(median(counts))


def _study_shape(
    profile: Profile, kind: str, num_columns: int, num_rows: int, directory: Path
) -> list[BucketSample]:
    table = _KINDS[kind](num_columns, num_rows)
    names = table.column_names
    random = np.random.default_rng(SEED)
    picked = [names[place] for place in random.choice(num_columns, 20, replace=False)]
    ones = [[name] for name in picked]
    tens = [
        [names[place] for place in random.choice(num_columns, 10, replace=False)] for _ in range(5)
    ]
    paths, writes = {}, {}
    for count in profile.bucket_counts:
        if count <= num_columns:
            paths[count] = path = directory / f"{kind}-{num_columns}-{num_rows}-{count}.mosaic"
            writes[count], _ = stopwatch(
                partial(
                    pymosaic.write_table,
                    table,
                    path,
                    num_buckets=count,
                    compression_level=DEFAULT_LEVEL,
                )
            )
            if not pymosaic.read_table(path, columns=tens[0]).equals(table.select(tens[0])):
                raise ValueError(f"{path.name} gives other values than were written")
    chosen = directory / "auto.mosaic"
    pymosaic.write_table(table, chosen, num_buckets="auto", compression_level=DEFAULT_LEVEL)
    with pymosaic.MosaicFile(chosen) as file:
        auto_buckets = file.num_buckets
    chosen.unlink()
    rounds, seconds = profile.max_rounds, profile.seconds

    def time(action: Callable[[Path], Callable[[], object]]) -> dict[int, float]:
        actions = {str(count): action(path) for count, path in paths.items()}
        taken = interleave(actions, rounds, seconds)
        return {int(count): median(samples) for count, samples in taken.items()}

    one = time(partial(_next_read, selections=ones))
    ten = time(partial(_next_read, selections=tens))
    scan = time(lambda path: partial(pymosaic.read_table, path))
    samples = []
    for count, path in paths.items():
        read = _bytes_of_one(path, picked)
        size = path.stat().st_size
        samples.append(
            BucketSample(
                kind,
                num_columns,
                num_rows,
                count,
                size,
                writes[count],
                one[count],
                ten[count],
                scan[count],
                read,
                auto_buckets,
            )
        )
        path.unlink()
    return samples


def run_study(profile: Profile, directory: Path, log: Callable[[str], None]) -> list[BucketSample]:
    """Measure every shape of the profile at every number of buckets."""
    samples = []
    for kind, num_columns, num_rows in profile.bucket_shapes:
        log(f"buckets: {num_columns:,} columns x {num_rows:,} rows, {kind}")
        samples += _study_shape(profile, kind, num_columns, num_rows, directory)
    return samples


def save_samples(path: Path, run: dict[str, Any], samples: Sequence[BucketSample]) -> None:
    """Write the study as JSON."""
    content = {"run": run, "samples": [asdict(sample) for sample in samples]}
    path.write_text(json.dumps(content, indent=1) + "\n")


def load_samples(path: Path) -> list[BucketSample]:
    """Read what :func:`save_samples` wrote."""
    return [BucketSample(**item) for item in json.loads(path.read_text())["samples"]]


def study_rows(samples: Sequence[BucketSample]) -> dict[str, list[list[str]]]:
    """A table of text for each shape, a line per number of buckets."""
    tables: dict[str, list[list[str]]] = {}
    for sample in samples:
        head = ["buckets", "file size", "bytes for 1", "read 1", "read 10", "read all", "write"]
        rows = tables.setdefault(sample.shape, [head])
        rows.append(
            [
                f"{sample.num_buckets:,}",
                format_value(sample.file_bytes, "bytes"),
                format_value(sample.one_bytes, "bytes"),
                format_value(sample.one_seconds, "seconds"),
                format_value(sample.ten_seconds, "seconds"),
                format_value(sample.scan_seconds, "seconds"),
                format_value(sample.write_seconds, "seconds"),
            ]
        )
    return tables
