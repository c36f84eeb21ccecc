"""Damaged files: an error, or nothing changed, wherever a checksum stands; never a crash."""

from __future__ import annotations

import pathlib
import random

import pyarrow as pa
import pytest

import pymosaic
from tests.conformance.fixtures import DATA, FIXTURES, Fixture
from tests.equality import assert_identical
from tests.writing import write

# Damage may make a file claim more rows than it has; there is no need to allocate for them.
LIMITS = pymosaic.Limits(max_row_group_bytes=64 << 20)

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
        damaged = bytearray(data)
        damaged[position // 8] ^= 1 << position % 8
        try:
            table = pymosaic.read_table(bytes(damaged), limits=LIMITS)
        except pymosaic.MosaicError:
            noticed += 1
        else:
            # A few bits of a zstd frame header say nothing about the content.
            assert_identical(table, expected)
    assert noticed > 0.98 * 8 * index_offset


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
def test_a_file_cut_off_anywhere_is_refused(fixture: Fixture) -> None:
    data = fixture.data
    for length in range(0, len(data), max(1, len(data) // 50)):
        with pytest.raises(pymosaic.MosaicError):
            pymosaic.read_table(data[:length], limits=LIMITS)


@pytest.mark.parametrize(
    "path",
    sorted(path for path in DATA.glob("*/*.mosaic") if path.stat().st_size),
    ids=lambda path: path.stem,
)
def test_random_damage_is_an_error_or_a_valid_table(path: pathlib.Path) -> None:
    data = path.read_bytes()
    chance = random.Random(path.stem)
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(chance.choice([1, 1, 2, 5])):
            # The tail holds the numbers that steer the reader.
            near_end = max(0, len(data) - 400)
            start = chance.choice([0, near_end])
            value = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
            damaged[chance.randrange(start, len(data))] = value
        try:
            table = pymosaic.read_table(bytes(damaged), limits=LIMITS)
        except pymosaic.MosaicError:
            continue
        table.validate(full=True)
