"""(file heads, columns, filter) -> pieces to read. Pure: no I/O, no threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pymosaic.datasets.partitioning import Partition
from pymosaic.file.open_file import FileHead
from pymosaic.format.bucket import buckets_of, is_paged, starts_of
from pymosaic.kernels.catalog import Catalog

__all__ = [
    "BucketShares",
    "FilePlan",
    "Piece",
    "RowGroupPlan",
    "ScanPlan",
    "Share",
    "make_pieces",
    "plan_file",
]


@dataclass(frozen=True, slots=True)
class Piece:
    """Row groups of one file, to be read together.

    Parameters
    ----------
    path : str
        The file, as its file system knows it.
    row_groups : tuple of int
        Which of its row groups, ascending.
    num_rows : int
        Rows in them, before filtering.
    num_bytes : int
        Compressed bytes of the wanted columns and those of the filter. A paged bucket, of which
        only the wanted columns are read, counts in proportion to their number.
    partition : tuple of (str, value)
        Values of the partition columns.
    """

    path: str
    row_groups: tuple[int, ...]
    num_rows: int
    num_bytes: int
    partition: Partition = ()


@dataclass(frozen=True, slots=True)
class Share:
    """How much there is, and how much of it is to be read."""

    total: int
    to_read: int

    @property
    def pruned(self) -> int:
        """What is not read."""
        return self.total - self.to_read


@dataclass(frozen=True, slots=True)
class ScanPlan:
    """What a scan reads.

    Parameters
    ----------
    pieces : tuple of Piece
        In the order of the result's rows.
    files : Share
        Files; those outside are pruned by their partition, or have no row group left.
    row_groups, buckets : Share
        Of the files that partition values do not prune.
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
        """Rows in the pieces, before filtering."""
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

    @property
    def num_rows(self) -> int:
        """Rows before filtering."""
        return sum(item.num_rows for item in self.row_groups)

    def first_rows(self, limit: int) -> FilePlan:
        """The row groups that hold the first rows."""
        kept = []
        for item in self.row_groups:
            if limit <= 0:
                break
            kept.append(item)
            limit -= item.num_rows
        return FilePlan(self.path, self.partition, tuple(kept))


class BucketShares:
    """How much of each bucket a set of columns needs."""

    def __init__(self, catalog: Catalog, selections: Sequence[npt.NDArray[np.int64]]) -> None:
        positions = np.unique(np.concatenate(selections))
        # Of a file's buckets, of which it may claim billions, only the wanted ones are looked at.
        self._buckets, wanted = np.unique(buckets_of(catalog, positions), return_counts=True)
        starts = starts_of(catalog, self._buckets)
        self._share = wanted / (starts_of(catalog, self._buckets + 1) - starts)

    def measure(self, head: FileHead, row_group: int) -> tuple[int, int]:
        """Number of buckets and compressed bytes to read from a row group."""
        compressed, raw = head.index.bucket_sizes(row_group, self._buckets)
        share = np.where(is_paged(compressed, raw), self._share, 1.0)
        return int(np.count_nonzero(compressed)), int(np.ceil(compressed * share).sum())


def plan_file(
    head: FileHead,
    path: str,
    partition: Partition,
    shares: BucketShares,
    excludes: Callable[[int], bool],
) -> FilePlan:
    """Choose the row groups of one file that may hold rows.

    Parameters
    ----------
    head : FileHead
    path, partition
        As they shall stand in the pieces.
    shares : BucketShares
        Of the wanted columns and those of the filter.
    excludes : callable
        Tells that no row of a row group passes the filter.
    """
    row_groups = []
    for row_group in range(head.index.num_row_groups):
        num_rows = head.index.row_count(row_group)
        if num_rows == 0 or excludes(row_group):
            continue
        num_buckets, num_bytes = shares.measure(head, row_group)
        row_groups.append(RowGroupPlan(row_group, num_rows, num_bytes, num_buckets))
    return FilePlan(path, partition, tuple(row_groups))


def make_pieces(files: Iterable[FilePlan], max_bytes: int) -> Iterable[Piece]:
    """Cut files into pieces of at most ``max_bytes``, or one row group where that is more."""
    for file in files:
        run: list[RowGroupPlan] = []
        size = 0
        for row_group in file.row_groups:
            if run and size + row_group.num_bytes > max_bytes:
                yield _piece(file, run)
                run, size = [], 0
            run.append(row_group)
            size += row_group.num_bytes
        if run:
            yield _piece(file, run)


def _piece(file: FilePlan, run: list[RowGroupPlan]) -> Piece:
    return Piece(
        file.path,
        tuple(item.row_group for item in run),
        sum(item.num_rows for item in run),
        sum(item.num_bytes for item in run),
        file.partition,
    )
