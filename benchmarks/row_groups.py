"""The row group study: size, times, memory and parallelism by ``row_group_bytes``."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

import pymosaic
from benchmarks import child
from benchmarks.data import DEFAULT_LEVEL
from benchmarks.profiles import Profile
from benchmarks.report import format_value
from benchmarks.studies import KINDS, bytes_of_one, median_times, pick_columns, time_selections

__all__ = ["RowGroupSample", "row_group_tables", "run_row_groups"]

# What Spark tasks share out: see pymosaic.spark.reading.
_PIECE_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class RowGroupSample:
    """One file: its table, the size of its row groups, and its costs.

    Parameters
    ----------
    kind, num_columns, num_rows : str, int, int
        The table.
    row_group_bytes : int
        Serialised bytes at which a row group ends.
    num_row_groups : int
        Number of row groups.
    file_bytes : int
        File size.
    write_seconds : float
        Median of writing it.
    one_seconds, scan_seconds : float
        Median of opening the file and reading 1 or all columns.
    one_bytes : int
        Bytes read for one column, opening included; median over several columns.
    write_memory, stream_memory : int
        Growth of memory while the file is written, and while it is read batch by batch.
    num_pieces : int
        Number of parts into which a scan of all columns can be split.
    """

    kind: str
    num_columns: int
    num_rows: int
    row_group_bytes: int
    num_row_groups: int
    file_bytes: int
    write_seconds: float
    one_seconds: float
    scan_seconds: float
    one_bytes: int
    write_memory: int
    stream_memory: int
    num_pieces: int

    @property
    def shape(self) -> str:
        """The table, in words."""
        return f"{self.num_columns:,} columns x {self.num_rows:,} rows, {self.kind}"


def _study_shape(
    profile: Profile, kind: str, num_columns: int, num_rows: int, directory: Path
) -> list[RowGroupSample]:
    table = KINDS[kind](num_columns, num_rows)
    ones = pick_columns(table.column_names, 20, 1)
    arrow_file = directory / f"{kind}.arrow"
    with pa.ipc.new_file(str(arrow_file), table.schema) as writer:
        writer.write_table(table)
    paths = {size: directory / f"{kind}-{size}.mosaic" for size in profile.row_group_sizes}
    write = partial(
        pymosaic.write_table, table, split_batches=True, compression_level=DEFAULT_LEVEL
    )
    writes = median_times(
        profile,
        {size: partial(write, path, row_group_bytes=size) for size, path in paths.items()},
        before=os.sync,
    )
    for path in paths.values():
        if not pymosaic.read_table(path, columns=ones[0]).equals(table.select(ones[0])):
            raise ValueError(f"{path.name} gives other values than were written")
    one = time_selections(profile, paths, ones)
    scan = time_selections(profile, paths, [None])
    again = directory / "again.mosaic"
    samples = []
    for size, path in paths.items():
        with pymosaic.MosaicFile(path) as file:
            num_row_groups = file.num_row_groups
        samples.append(
            RowGroupSample(
                kind,
                num_columns,
                num_rows,
                size,
                num_row_groups,
                path.stat().st_size,
                writes[size],
                one[size],
                scan[size],
                bytes_of_one(path, [name for [name] in ones]),
                child.split_memory(arrow_file, again, DEFAULT_LEVEL, size),
                child.stream_memory(path),
                len(pymosaic.dataset(path).scan().plan(_PIECE_BYTES).pieces),
            )
        )
        path.unlink()
    arrow_file.unlink()
    return samples


def run_row_groups(
    profile: Profile, directory: Path, log: Callable[[str], None]
) -> list[RowGroupSample]:
    """Measure every shape of the profile at every size of row groups."""
    samples = []
    for kind, num_columns, num_rows in profile.row_group_shapes:
        log(f"row groups: {num_columns:,} columns x {num_rows:,} rows, {kind}")
        samples += _study_shape(profile, kind, num_columns, num_rows, directory)
    return samples


def row_group_tables(samples: Sequence[RowGroupSample]) -> dict[str, list[list[str]]]:
    """A text table for each shape, with a line per size."""
    head = ["row_group_bytes", "row groups", "file size", "bytes for 1", "read 1", "read all"]
    head += ["write", "memory to write", "memory to stream", "parts"]
    tables: dict[str, list[list[str]]] = {}
    for sample in samples:
        rows = tables.setdefault(sample.shape, [head])
        rows.append(
            [
                f"{sample.row_group_bytes / (1 << 20):g} MiB",
                f"{sample.num_row_groups:,}",
                format_value(sample.file_bytes, "bytes"),
                format_value(sample.one_bytes, "bytes"),
                format_value(sample.one_seconds, "seconds"),
                format_value(sample.scan_seconds, "seconds"),
                format_value(sample.write_seconds, "seconds"),
                format_value(sample.write_memory, "bytes"),
                format_value(sample.stream_memory, "bytes"),
                f"{sample.num_pieces:,}",
            ]
        )
    return tables
