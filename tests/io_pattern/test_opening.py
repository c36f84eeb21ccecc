"""What is read to open a file: its end, in one read where that is long enough."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from tests.equality import assert_identical
from tests.io_pattern.recording import RecordingSource, end_structures, file_of, opened

SMALL = pa.table({"a": [1, 2, 3], "b": ["x", None, "y"]})
DEFAULT_TAIL = 128 << 10


@pytest.fixture(scope="module")
def large() -> bytes:
    """A file of 800 kB of random numbers."""
    values = np.random.default_rng(7).integers(1 << 62, size=(10, 10_000))
    return file_of(pa.table({f"c{i}": column for i, column in enumerate(values)}))


class CountingFile(io.BytesIO):
    """A caller's file object that notes what it is asked for."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.reads: list[tuple[int, int | None]] = []

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads.append((self.tell(), size))
        return super().read(size)


def test_an_ordinary_file_is_opened_with_one_read_of_its_end(large: bytes) -> None:
    source = RecordingSource(large, tail_bytes=DEFAULT_TAIL)
    pymosaic.MosaicFile(source)
    assert source.reads == [(len(large) - DEFAULT_TAIL, DEFAULT_TAIL)]


def test_a_local_path_is_opened_with_one_read(
    large: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large.mosaic"
    path.write_bytes(large)
    reads = []
    pread = os.pread

    def recorded(descriptor: int, length: int, offset: int) -> bytes:
        reads.append((offset, length))
        return pread(descriptor, length, offset)

    monkeypatch.setattr(os, "pread", recorded)
    with pymosaic.MosaicFile(path):
        pass
    assert reads == [(len(large) - DEFAULT_TAIL, DEFAULT_TAIL)]


def test_a_file_object_is_opened_with_one_read(large: bytes) -> None:
    file = CountingFile(large)
    pymosaic.MosaicFile(file)
    assert file.reads == [(len(large) - DEFAULT_TAIL, DEFAULT_TAIL)]


def test_a_small_file_is_read_once_and_never_again() -> None:
    data = file_of(SMALL)
    source = RecordingSource(data, tail_bytes=DEFAULT_TAIL)
    with pymosaic.MosaicFile(source) as file:
        assert_identical(file.read(), SMALL)
        assert_identical(file.read(columns=["b"]), SMALL.select(["b"]))
        assert file.metadata.row_group(0).bucket(0).columns()
    assert source.reads == [(0, len(data))]


def test_a_schema_block_longer_than_the_tail_takes_a_second_read() -> None:
    data = file_of(SMALL)
    start, length = end_structures(data)
    source = RecordingSource(data, tail_bytes=length - 1)
    with pymosaic.MosaicFile(source) as file:
        assert source.reads == [(start + 1, length - 1), (start, 1)]
        assert_identical(file.read(), SMALL)


def test_an_index_longer_than_the_tail_takes_a_second_read() -> None:
    data = file_of(SMALL)
    start, length = end_structures(data)
    source = RecordingSource(data, tail_bytes=1)
    with pymosaic.MosaicFile(source) as file:
        assert source.reads == [(len(data) - 32, 32), (start, length - 32)]
        assert_identical(file.read(), SMALL)


def test_a_tail_that_just_reaches_takes_one_read() -> None:
    data = file_of(SMALL)
    start, length = end_structures(data)
    source = RecordingSource(data)
    pymosaic.MosaicFile(source)
    assert source.reads == [(start, length)]


def test_names_types_counts_and_statistics_need_no_other_read() -> None:
    file, source = opened(file_of(SMALL, statistics=True))
    assert file.schema.names == file.column_names == ["a", "b"]
    assert (file.num_rows, file.num_columns, file.num_row_groups, file.num_buckets) == (3, 2, 1, 2)
    assert file.statistics(0)["a"].max == 3
    assert file.metadata.row_group(0).bucket(1).layout == "monolithic"
    assert source.reads == []


@pytest.mark.parametrize("data", [b"MOSA", b"x" * 31])
def test_a_file_too_short_for_a_footer_is_read_once(data: bytes) -> None:
    source = RecordingSource(data, tail_bytes=DEFAULT_TAIL)
    with pytest.raises(pymosaic.CorruptFileError, match="short"):
        pymosaic.MosaicFile(source)
    assert source.reads == [(0, len(data))]


def test_an_empty_file_is_not_read() -> None:
    source = RecordingSource(b"", tail_bytes=DEFAULT_TAIL)
    with pytest.raises(pymosaic.CorruptFileError, match="short"):
        pymosaic.MosaicFile(source)
    assert source.reads == []


def test_a_schema_offset_at_the_start_of_a_large_file_is_held_to_the_limit() -> None:
    # The footer claims that all before it is schema block; nothing of that size is read.
    data = bytes(2 << 20) + (2 << 20).to_bytes(8, "big") + bytes(8) + bytes([0, 0, 0, 1] * 2)
    data += bytes([0, 1, 0, 0]) + b"MOSA"
    source = RecordingSource(data, tail_bytes=32)
    with pytest.raises(pymosaic.LimitExceededError, match="max_index_bytes"):
        pymosaic.MosaicFile(source, limits=pymosaic.Limits(max_index_bytes=1 << 20))
    assert source.reads == [(2 << 20, 32)]
