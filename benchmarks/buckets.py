"""The bucket study: size, latency of one column and scan time by number of buckets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pymosaic
from benchmarks.data import DEFAULT_LEVEL
from benchmarks.measure import stopwatch
from benchmarks.profiles import Profile
from benchmarks.report import format_value
from benchmarks.studies import KINDS, bytes_of_one, pick_columns, time_selections

__all__ = ["BucketSample", "bucket_tables", "run_buckets"]


@dataclass(frozen=True, slots=True)
class BucketSample:
    """One file: its table, its number of buckets, and its costs.

    Parameters
    ----------
    kind, num_columns, num_rows : str, int, int
        The table.
    num_buckets : int
        Number of buckets.
    file_bytes : int
        File size.
    write_seconds : float
        One write.
    one_seconds, ten_seconds, scan_seconds : float
        Median of opening the file and reading 1, 10 random or all columns.
    one_bytes : int
        Bytes read for one column, opening included; median over several columns.
    auto_buckets : int
        The number that ``num_buckets="auto"`` chooses for the table.
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


def _study_shape(
    profile: Profile, kind: str, num_columns: int, num_rows: int, directory: Path
) -> list[BucketSample]:
    table = KINDS[kind](num_columns, num_rows)
    ones = pick_columns(table.column_names, 20, 1)
    tens = pick_columns(table.column_names, 5, 10)
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
                raise ValueError(f"{path.name} returned other values than were written")
    chosen = directory / "auto.mosaic"
    pymosaic.write_table(table, chosen, num_buckets="auto", compression_level=DEFAULT_LEVEL)
    with pymosaic.MosaicFile(chosen) as file:
        auto_buckets = file.num_buckets
    chosen.unlink()
    one = time_selections(profile, paths, ones)
    ten = time_selections(profile, paths, tens)
    scan = time_selections(profile, paths, [None])
    samples = []
    for count, path in paths.items():
        read = bytes_of_one(path, [name for [name] in ones])
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


def run_buckets(
    profile: Profile, directory: Path, log: Callable[[str], None]
) -> list[BucketSample]:
    """Measure every shape of the profile at every number of buckets."""
    samples = []
    for kind, num_columns, num_rows in profile.bucket_shapes:
        log(f"buckets: {num_columns:,} columns x {num_rows:,} rows, {kind}")
        samples += _study_shape(profile, kind, num_columns, num_rows, directory)
    return samples


def bucket_tables(samples: Sequence[BucketSample]) -> dict[str, list[list[str]]]:
    """A text table for each shape, with a line per number of buckets."""
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
