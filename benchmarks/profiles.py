"""Sizes of runs: the full suite, a quick look, or the smoke run of the tests."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FULL", "PROFILES", "QUICK", "SMOKE", "Profile"]

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Profile:
    """Shapes, peers and effort of a run.

    Parameters
    ----------
    name : str
        Name in commands and reports.
    peers : tuple of str, or None
        Peers that take part unless the caller names others; None for all.
    num_columns : int
        Width of the wide tables.
    reference_rows : tuple of int
        Rows of the reference table, ascending.
    main_rows : int
        Which of them most cases use.
    sparse_rows : int
        Rows of the sparse table.
    column_counts : tuple of int
        Widths of the scaling test, ascending.
    narrow_shape, dense_shape : tuple of int
        Columns and rows of the tables on which Mosaic is expected to lose.
    small_files : tuple of int
        Number of files of a dataset of small files, and columns of each.
    bucket_counts : tuple of int
        Numbers of buckets that the bucket study tries.
    bucket_shapes : tuple of (str, int, int)
        Kind (``strings``, ``sparse`` or ``doubles``), columns and rows of its tables.
    row_group_sizes : tuple of int
        Values of ``row_group_bytes`` that the row group study tries.
    row_group_shapes : tuple of (str, int, int)
        Kind, columns and rows of its tables.
    compaction_shape : tuple of int
        Number of files that the compaction study merges, and columns and rows of each.
    training_shapes : tuple of (int, int)
        Columns and rows of the tables of the training study.
    max_rounds : int
        Samples per measurement, as far as the time allows.
    seconds : float
        Time limit for all samples of one peer in one case.
    write_limit : float
        A peer expected to take longer than this to write a table is skipped for it.
    memory_limit : float
        If a peer takes longer than this to write, its memory is not measured.
    """

    name: str
    peers: tuple[str, ...] | None
    num_columns: int
    reference_rows: tuple[int, ...]
    main_rows: int
    sparse_rows: int
    column_counts: tuple[int, ...]
    narrow_shape: tuple[int, int]
    dense_shape: tuple[int, int]
    small_files: tuple[int, int]
    bucket_counts: tuple[int, ...]
    bucket_shapes: tuple[tuple[str, int, int], ...]
    row_group_sizes: tuple[int, ...]
    row_group_shapes: tuple[tuple[str, int, int], ...]
    compaction_shape: tuple[int, int, int]
    training_shapes: tuple[tuple[int, int], ...]
    max_rounds: int
    seconds: float
    write_limit: float
    memory_limit: float


FULL = Profile(
    name="full",
    peers=None,
    num_columns=10_000,
    reference_rows=(10, 500, 4_500),
    main_rows=500,
    sparse_rows=1_500,
    column_counts=(100, 1_000, 10_000, 100_000),
    narrow_shape=(12, 500_000),
    dense_shape=(1_000, 10_000),
    small_files=(5_000, 2_000),
    bucket_counts=(1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000),
    bucket_shapes=(
        ("strings", 10_000, 10),
        ("strings", 10_000, 500),
        ("strings", 10_000, 4_500),
        ("strings", 1_000, 500),
        ("sparse", 10_000, 1_500),
        ("doubles", 100_000, 8),
    ),
    row_group_sizes=tuple(size * _MIB for size in (1, 4, 16, 64, 256, 1024)),
    row_group_shapes=(
        ("strings", 10_000, 4_500),
        ("strings", 1_000, 45_000),
        ("sparse", 10_000, 20_000),
    ),
    compaction_shape=(20, 10_000, 500),
    training_shapes=((1_000, 2_000), (10_000, 2_000)),
    max_rounds=15,
    seconds=2.0,
    write_limit=40.0,
    memory_limit=5.0,
)

QUICK = Profile(
    name="quick",
    peers=("pymosaic", "paimon", "parquet", "feather"),
    num_columns=10_000,
    reference_rows=(10, 500),
    main_rows=500,
    sparse_rows=1_500,
    column_counts=(100, 1_000, 10_000),
    narrow_shape=(12, 100_000),
    dense_shape=(1_000, 2_000),
    small_files=(500, 2_000),
    bucket_counts=(1, 10, 100, 1_000, 10_000),
    bucket_shapes=(("strings", 10_000, 10), ("strings", 10_000, 500), ("doubles", 10_000, 8)),
    row_group_sizes=tuple(size * _MIB for size in (1, 4, 16, 64, 256)),
    row_group_shapes=(
        ("strings", 10_000, 2_000),
        ("strings", 1_000, 20_000),
        ("sparse", 10_000, 5_000),
    ),
    compaction_shape=(5, 10_000, 500),
    training_shapes=((1_000, 2_000), (10_000, 2_000)),
    max_rounds=7,
    seconds=1.0,
    write_limit=20.0,
    memory_limit=5.0,
)

SMOKE = Profile(
    name="smoke",
    peers=None,
    num_columns=60,
    reference_rows=(3, 20),
    main_rows=20,
    sparse_rows=25,
    column_counts=(30, 60),
    narrow_shape=(4, 200),
    dense_shape=(10, 50),
    small_files=(5, 30),
    bucket_counts=(1, 10),
    bucket_shapes=(("strings", 60, 10), ("doubles", 60, 8)),
    row_group_sizes=(4 << 10, _MIB),
    row_group_shapes=(("strings", 60, 100),),
    compaction_shape=(3, 60, 20),
    training_shapes=((60, 600),),
    max_rounds=1,
    seconds=0.0,
    write_limit=40.0,
    memory_limit=5.0,
)

PROFILES = {profile.name: profile for profile in (FULL, QUICK, SMOKE)}
