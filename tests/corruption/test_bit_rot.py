"""Flipped bits: an error, or nothing changed, wherever a checksum stands."""

from __future__ import annotations

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.testing.annex import without_annex
from tests.corruption.corpus import LIMITS
from tests.corruption.mutations import flip
from tests.equality import assert_identical
from tests.writing import write

BATCH = pa.record_batch(
    {
        "plain": pa.array([1, 5, None, 7, 1 << 40]),
        "dict": pa.array(["x", "y", None, "x", "y"]),
        "const": pa.array([1.5] * 5),
        "list": pa.array([[1, 2], None, [], [3], [4, 5]], pa.list_(pa.int16())),
    }
)


@pytest.mark.parametrize("page_size_threshold", [0, 1 << 20], ids=["paged", "monolithic"])
def test_every_flipped_bit_under_a_checksum_is_noticed(page_size_threshold: int) -> None:
    data = write([BATCH], BATCH.schema, page_size_threshold=page_size_threshold)
    expected = pymosaic.read_table(data)
    index_offset = int.from_bytes(data[-32:-24], "big")
    noticed = 0
    for position in range(8 * index_offset):
        try:
            table = pymosaic.read_table(flip(data, position).data, limits=LIMITS)
        except pymosaic.MosaicError:
            noticed += 1
        else:
            # A few bits of a zstd frame header say nothing about the content.
            assert_identical(table, expected)
    # And so do the 64 bits of the head of the annex.
    assert noticed > 0.98 * 8 * index_offset - 64


def row_count_offset(data: bytes) -> int:
    """Of a file with one row group: the first byte of the index."""
    return int.from_bytes(data[-32:-24], "big")


COLUMNS = {
    "numbers": pa.array(range(100), pa.int32()),
    "flags": pa.array([True, False] * 50),
    "strings": pa.array([str(i) for i in range(100)]),
    "sparse": pa.array([None, 2.5, 3.5, 4.5] * 25),
    "lists": pa.array([[i] for i in range(100)]),
}


@pytest.mark.parametrize("page_size_threshold", [0, 1 << 20], ids=["paged", "monolithic"])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_wrong_row_count_does_not_fit_data_with_a_checksum(
    name: str, page_size_threshold: int
) -> None:
    batch = pa.record_batch({name: COLUMNS[name]})
    options = {"page_size_threshold": page_size_threshold, "max_dict_entries": 0}
    data = without_annex(write([batch], batch.schema, **options))
    offset = row_count_offset(data)
    assert data[offset] == 100
    for rows in range(128):
        damaged = data[:offset] + bytes([rows]) + data[offset + 1 :]
        # A row group without rows has no values to look at.
        if rows not in (0, 100):
            with pytest.raises(pymosaic.MosaicError):
                pymosaic.read_table(damaged)


def test_a_wrong_row_count_shows_in_any_column_where_no_value_tells_its_length() -> None:
    batch = pa.record_batch({name: COLUMNS[name] for name in ("flags", "numbers")})
    data = without_annex(write([batch], batch.schema, num_buckets=1, max_dict_entries=0))
    offset = row_count_offset(data)
    damaged = data[:offset] + bytes([99]) + data[offset + 1 :]
    for name in batch.schema.names:
        with pytest.raises(pymosaic.CorruptFileError, match="number of rows in the index"):
            pymosaic.read_table(damaged, columns=[name])


def test_bytes_after_data_without_a_checksum_are_tolerated() -> None:
    batch = pa.record_batch({"numbers": COLUMNS["numbers"]})
    data = write([batch], batch.schema, checksum=False, max_dict_entries=0)
    offset = row_count_offset(data)
    damaged = data[:offset] + bytes([99]) + data[offset + 1 :]
    assert pymosaic.read_table(damaged).num_rows == 99
