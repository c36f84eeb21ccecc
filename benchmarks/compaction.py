"""The compaction study: merging many files, compared with rewriting Parquet with pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import pyarrow as pa
import pyarrow.parquet as pq

import pymosaic
from benchmarks.data import DEFAULT_LEVEL, reference_strings
from benchmarks.measure import interleave
from benchmarks.profiles import Profile
from benchmarks.report import format_value
from benchmarks.workspace import same_values

__all__ = ["CompactionSample", "compaction_tables", "run_compaction"]


@dataclass(frozen=True, slots=True)
class CompactionSample:
    """One way to merge many files into one.

    Parameters
    ----------
    way : str
        ``"merge"``, ``"merge, verified"``, ``"re-encode"``, or ``"parquet rewrite"``.
    num_files, num_columns, num_rows : int
        The number of files, and the shape of each one's table.
    bytes_before, bytes_after : int
        Sizes of the files before and after.
    seconds : float
        Median time.
    """

    way: str
    num_files: int
    num_columns: int
    num_rows: int
    bytes_before: int
    bytes_after: int
    seconds: float


def _rewrite_mosaic(paths: Sequence[Path], target: Path) -> None:
    with pymosaic.MosaicWriter(
        target, pymosaic.read_schema(paths[0]), compression_level=DEFAULT_LEVEL
    ) as writer:
        for path in paths:
            with pymosaic.MosaicFile(path) as file:
                writer.write(pa.RecordBatchReader.from_batches(file.schema, file.iter_batches()))


def _rewrite_parquet(paths: Sequence[Path], target: Path) -> None:
    """Row group by row group, as for files that do not fit in memory together."""
    schema = pq.read_schema(paths[0])
    with pq.ParquetWriter(
        target, schema, compression="zstd", compression_level=DEFAULT_LEVEL
    ) as writer:
        for path in paths:
            with pq.ParquetFile(path) as file:
                for row_group in range(file.num_row_groups):
                    writer.write_table(file.read_row_group(row_group))


def run_compaction(
    profile: Profile, directory: Path, log: Callable[[str], None]
) -> list[CompactionSample]:
    """Measure every way on the files of the profile."""
    num_files, num_columns, num_rows = profile.compaction_shape
    log(f"compaction: {num_files} files of {num_columns:,} columns x {num_rows:,} rows")
    table = reference_strings(num_columns, num_rows)
    mosaics = [directory / f"part-{number}.mosaic" for number in range(num_files)]
    parquets = [directory / f"part-{number}.parquet" for number in range(num_files)]
    for mosaic, parquet in zip(mosaics, parquets, strict=True):
        pymosaic.write_table(table, mosaic, compression_level=DEFAULT_LEVEL)
        pq.write_table(table, parquet, compression="zstd", compression_level=DEFAULT_LEVEL)
    ways: dict[str, tuple[Callable[[], object], list[Path], Path]] = {}
    for way, action, paths in (
        ("merge", pymosaic.merge, mosaics),
        ("merge, verified", partial(pymosaic.merge, verify=True), mosaics),
        ("re-encode", _rewrite_mosaic, mosaics),
        ("parquet rewrite", _rewrite_parquet, parquets),
    ):
        target = directory / f"{way}{paths[0].suffix}"
        ways[way] = partial(action, paths, target), paths, target
    actions = {way: action for way, (action, _, _) in ways.items()}
    taken = interleave(actions, profile.max_rounds, profile.seconds)
    expected = pa.concat_tables([table] * num_files)
    samples = []
    for way, (_, paths, target) in ways.items():
        found = pq.read_table(target) if way.startswith("parquet") else pymosaic.read_table(target)
        if not same_values(found, expected):
            raise ValueError(f"{way} gives other values than were written")
        samples.append(
            CompactionSample(
                way,
                num_files,
                num_columns,
                num_rows,
                sum(path.stat().st_size for path in paths),
                target.stat().st_size,
                median(taken[way]),
            )
        )
    return samples


def compaction_tables(samples: Sequence[CompactionSample]) -> dict[str, list[list[str]]]:
    """A text table with a line per way; times are also given as multiples of the first."""
    rows = [["way", "bytes before", "bytes after", "time", "times merge"]]
    rows += [
        [
            sample.way,
            format_value(sample.bytes_before, "bytes"),
            format_value(sample.bytes_after, "bytes"),
            format_value(sample.seconds, "seconds"),
            f"{sample.seconds / samples[0].seconds:.1f}x",
        ]
        for sample in samples
    ]
    first = samples[0]
    shape = f"{first.num_files} files of {first.num_columns:,} columns x {first.num_rows:,} rows"
    return {shape: rows}
