"""Scan planning: from file heads, columns and filter to pieces. Pure: no I/O, no threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import numpy.typing as npt

from pymosaic.datasets.partitioning import Partition
from pymosaic.datasets.records import job_of
from pymosaic.file.open_file import FileHead
from pymosaic.format.bucket import buckets_of, is_paged, starts_of
from pymosaic.format.row_group_index import bucket_place
from pymosaic.io import time_of
from pymosaic.kernels.catalog import Catalog
from pymosaic.notebook import ShownFields

__all__ = [
    "BucketShares",
    "FilePlan",
    "Piece",
    "RowGroupPlan",
    "ScanPlan",
    "Share",
    "found_as",
    "make_pieces",
    "plan_file",
]

# Up to this many buckets are measured without numpy.
_FEW = 32


@dataclass(frozen=True, slots=True)
class Piece:
    """Row groups of one file that are read together.

    Parameters
    ----------
    path : str
        The path of the file in its file system.
    row_groups : tuple of int
        The row groups, in ascending order.
    num_rows : int
        Number of rows in them, before filtering.
    num_bytes : int
        Compressed bytes of the wanted columns and the filter's columns. A paged bucket, from which
        only these columns are read, counts in proportion to their number.
    partition : tuple of (str, value)
        Values of the partition columns.
    found : (int, time), optional
        Size of the file and when it was changed, as far as known, when the plan was made. Only for
        files that were not written by :func:`pymosaic.write_dataset`, whose names are never used
        again: it is an error to read another file of the same name.
    """

    path: str
    row_groups: tuple[int, ...]
    num_rows: int
    num_bytes: int
    partition: Partition = ()
    found: tuple[int, object] | None = None


@dataclass(frozen=True, slots=True)
class Share:
    """A total, and the part of it that is read."""

    total: int
    to_read: int

    def __str__(self) -> str:
        return f"{self.to_read:,} of {self.total:,}"

    @property
    def pruned(self) -> int:
        """The part that is not read."""
        return self.total - self.to_read


@dataclass(frozen=True, slots=True)
class ScanPlan(ShownFields):
    """What a scan reads.

    Parameters
    ----------
    pieces : tuple of Piece
        In the order of the resulting rows.
    files : Share
        Files; the others are pruned by their partition, or have no row groups left.
    row_groups, buckets : Share
        Those of files that partition values do not prune.
    bytes : Share
        Sizes of all files, and the bytes of the pieces.
    """

    pieces: tuple[Piece, ...]
    files: Share
    row_groups: Share
    buckets: Share
    bytes: Share

    @property
    def num_rows(self) -> int:
        """Number of rows in the pieces, before filtering."""
        return sum(piece.num_rows for piece in self.pieces)


@dataclass(frozen=True, slots=True)
class RowGroupPlan:
    """One row group to read."""

    row_group: int
    num_rows: int
    num_bytes: int
    num_buckets: int


@dataclass(frozen=True, slots=True)
class FilePlan:
    """The row groups of one file that a scan reads."""

    path: str
    partition: Partition
    row_groups: tuple[RowGroupPlan, ...]
    found: tuple[int, object] | None = None

    @property
    def num_rows(self) -> int:
        """Number of rows before filtering."""
        return sum(item.num_rows for item in self.row_groups)

    def first_rows(self, limit: int) -> FilePlan:
        """The row groups that hold the first rows."""
        kept = []
        for item in self.row_groups:
            if limit <= 0:
                break
            kept.append(item)
            limit -= item.num_rows
        return replace(self, row_groups=tuple(kept))


class BucketShares:
    """The share of each bucket that a set of columns needs."""

    def __init__(self, catalog: Catalog, selections: Sequence[npt.NDArray[np.int64]]) -> None:
        positions = np.unique(np.concatenate(selections))
        # A file may claim billions of buckets, so only the wanted ones are visited.
        self._buckets, wanted = np.unique(buckets_of(catalog, positions), return_counts=True)
        starts = starts_of(catalog, self._buckets)
        self._share = wanted / (starts_of(catalog, self._buckets + 1) - starts)
        self._few: list[tuple[int, float]] | None = None
        if len(self._buckets) <= _FEW:
            self._few = list(zip(self._buckets.tolist(), self._share.tolist(), strict=True))

    def measure(self, head: FileHead, row_group: int) -> tuple[int, int]:
        """The number of buckets, and of compressed bytes, to read from a row group."""
        if self._few is not None:
            return self._measure_few(self._few, head, row_group)
        compressed, raw = head.index.bucket_sizes(row_group, self._buckets)
        share = np.where(is_paged(compressed, raw), self._share, 1.0)
        return int(np.count_nonzero(compressed)), int(np.ceil(compressed * share).sum())

    @staticmethod
    def _measure_few(
        shares: list[tuple[int, float]], head: FileHead, row_group: int
    ) -> tuple[int, int]:
        """The same without numpy, which takes longer to start than a few buckets take."""
        num_buckets = num_bytes = 0
        for bucket, share in shares:
            place = bucket_place(head.index, row_group, bucket)
            if not place.missing:
                num_buckets += 1
                size = place.compressed_size
                num_bytes += ceil(size * share) if place.paged else size
        return num_buckets, num_bytes


def plan_file(
    head: FileHead,
    path: str,
    partition: Partition,
    shares: BucketShares,
    excludes: Callable[[int], bool],
) -> FilePlan:
    """Choose the row groups of one file that may have matching rows.

    Parameters
    ----------
    head : FileHead
    path, partition
        For the pieces.
    shares : BucketShares
        Of the wanted columns and those of the filter.
    excludes : callable
        Whether no row of a row group can match the filter.
    """
    row_groups = []
    for row_group in range(head.index.num_row_groups):
        num_rows = head.index.row_count(row_group)
        if num_rows == 0 or excludes(row_group):
            continue
        num_buckets, num_bytes = shares.measure(head, row_group)
        row_groups.append(RowGroupPlan(row_group, num_rows, num_bytes, num_buckets))
    return FilePlan(path, partition, tuple(row_groups), found_as(head, path))


def found_as(head: FileHead, path: str) -> tuple[int, object] | None:
    """What a piece says of a file that might be replaced before it is read."""
    return None if job_of(path) is not None else (head.size, time_of(head.version))


def make_pieces(files: Iterable[FilePlan], max_bytes: int) -> Iterable[Piece]:
    """Split files into pieces of at most ``max_bytes``, or of one row group if that is larger.

    A row group of which nothing is read counts as a byte: with a maximum of 1, a piece has one.
    """
    for file in files:
        run: list[RowGroupPlan] = []
        size = 0
        for row_group in file.row_groups:
            weight = max(1, row_group.num_bytes)
            if run and size + weight > max_bytes:
                yield _piece(file, run)
                run, size = [], 0
            run.append(row_group)
            size += weight
        if run:
            yield _piece(file, run)


def _piece(file: FilePlan, run: list[RowGroupPlan]) -> Piece:
    return Piece(
        file.path,
        tuple(item.row_group for item in run),
        sum(item.num_rows for item in run),
        sum(item.num_bytes for item in run),
        file.partition,
        file.found,
    )
