"""Which ranges a matrix reads, and how many at once."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.io.file_object import FileObjectSource
from pymosaic.io.local import LocalSource
from tests.io_pattern.recording import bucket_ranges, file_of, joined, opened

SMALL = file_of(pa.table({name: [float(ord(name)), None, 7.0] for name in "dabcef"}), num_buckets=3)


@pytest.fixture(scope="module")
def large() -> bytes:
    """Eight buckets of half a megabyte, which cannot be compressed."""
    values = np.random.default_rng(5).integers(-(2**62), 2**62, (64, 8_192))
    table = pa.table({f"c{place:02d}": row for place, row in enumerate(values)})
    return file_of(table, num_buckets=8)


@pytest.mark.parametrize("use_threads", [False, True])
def test_large_buckets_are_read_one_by_one(large: bytes, use_threads: bool) -> None:
    file, source = opened(large)
    source.reads_when_decoded = True
    matrix, _ = file.to_numpy(dtype="float64", use_threads=use_threads)
    assert sorted(source.reads) == bucket_ranges(large)
    assert np.array_equal(matrix[:, 63], file.read(columns=["c63"])["c63"].to_numpy())


def test_small_buckets_are_read_together() -> None:
    file, source = opened(SMALL)
    source.reads_when_decoded = True
    file.to_numpy()
    assert source.reads == [joined(*bucket_ranges(SMALL))]


def test_storage_with_latency_is_asked_for_all_at_once(large: bytes) -> None:
    file, source = opened(large)
    file.to_numpy(dtype="float64")
    assert source.reads == [joined(*bucket_ranges(large))]


@pytest.mark.parametrize(
    ("columns", "wanted"), [(["c00"], [0]), (["c63", "c08"], [1, 7]), (["c0*1"], [0])]
)
def test_buckets_without_wanted_columns_are_not_read(
    large: bytes, columns: list[str], wanted: list[int]
) -> None:
    file, source = opened(large)
    source.reads_when_decoded = True
    file.to_numpy(columns=columns, dtype="float64")
    size = bucket_ranges(large)[0][1]
    # Buckets are paged: the directory of each, and a slot of 8,192 numbers for each column.
    assert sorted({offset // size for offset, _ in source.reads}) == wanted
    assert sum(length for _, length in source.reads) < 66_000 * len(columns)


def test_memory_holds_a_few_buckets_beside_the_matrix(large: bytes) -> None:
    out = np.empty((8_192, 64))
    file, source = opened(large)
    source.reads_when_decoded = True
    tracemalloc.start()
    file.to_numpy(dtype="float64", use_threads=False, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(large) // 2


@pytest.mark.parametrize("columns", [["b"], None])
def test_many_row_groups_are_decoded_at_once_each_into_its_rows(columns: list[str] | None) -> None:
    table = pa.table({name: np.arange(1_000) * (place + 1) for place, name in enumerate("abc")})
    data = pa.BufferOutputStream()
    pymosaic.write_table(table, data, row_group_rows=10)
    with pymosaic.MosaicFile(data.getvalue()) as file:
        assert file.num_row_groups == 100
        everything, names = file.to_numpy(columns=columns, dtype="int64", nulls="error")
        some, _ = file.to_numpy(columns=columns, dtype="int64", nulls="error", filters="a > 505")
    expected = np.stack([table[name].to_numpy() for name in names], axis=1)
    assert np.array_equal(everything, expected)
    assert np.array_equal(some, expected[506:])


def test_local_files_are_read_bucket_by_bucket() -> None:
    assert LocalSource.reads_when_decoded
    assert not FileObjectSource.reads_when_decoded, "it may be a file in an object store"
