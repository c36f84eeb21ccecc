"""The last 32 bytes of a file."""

from __future__ import annotations

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.format.compression import NONE, ZSTD
from pymosaic.format.footer import FOOTER_SIZE, Footer
from tests.writing import write

FOOTER = Footer(
    index_offset=0x0102030405060708,
    schema_offset=0x01020304,
    num_buckets=100,
    num_row_groups=3,
    compression=ZSTD,
)
BYTES = bytes.fromhex("0102030405060708 0000000001020304 00000064 00000003 01 01 0000") + b"MOSA"
FILE_SIZE = FOOTER.index_offset + FOOTER_SIZE


def changed(offset: int, *values: int) -> bytes:
    return BYTES[:offset] + bytes(values) + BYTES[offset + len(values) :]


def test_the_bytes_of_a_footer() -> None:
    assert FOOTER.emit() == BYTES


def test_a_footer_is_read_as_it_was_written() -> None:
    assert Footer.parse(BYTES, FILE_SIZE) == FOOTER


def test_the_last_32_bytes_count() -> None:
    assert Footer.parse(b"before" + BYTES, FILE_SIZE) == FOOTER


def test_no_compression() -> None:
    assert Footer.parse(changed(24, 0), FILE_SIZE).compression is NONE
    assert Footer(9, 5, 1, 0, NONE).emit()[24] == 0


def test_reserved_bytes_are_not_looked_at() -> None:
    assert Footer.parse(changed(26, 0xAB, 0xCD), FILE_SIZE) == FOOTER


@pytest.mark.parametrize("length", [0, 1, 31])
def test_a_file_that_is_too_short(length: int) -> None:
    with pytest.raises(pymosaic.CorruptFileError, match=rf"too short: {length} bytes.* 32"):
        Footer.parse(BYTES[:length], length)


@pytest.mark.parametrize("offset", [28, 29, 30, 31])
def test_a_wrong_magic_is_no_mosaic_file(offset: int) -> None:
    with pytest.raises(pymosaic.CorruptFileError, match="not a Mosaic file") as caught:
        Footer.parse(changed(offset, 0), FILE_SIZE)
    assert (caught.value.structure, caught.value.offset) == ("footer", 28)


@pytest.mark.parametrize("version", [0, 2, 255])
def test_another_version_is_not_supported(version: int) -> None:
    with pytest.raises(pymosaic.UnsupportedFeatureError, match=f"version {version}") as caught:
        Footer.parse(changed(25, version), FILE_SIZE)
    assert caught.value.offset == 25


@pytest.mark.parametrize("compression", [2, 255])
def test_another_compression_is_not_supported(compression: int) -> None:
    with pytest.raises(pymosaic.UnsupportedFeatureError, match=f"compression {compression}"):
        Footer.parse(changed(24, compression), FILE_SIZE)


@pytest.mark.parametrize(
    ("schema_offset", "index_offset", "fits"),
    [
        (0, 4, True),
        (0, 68, True),
        (64, 68, True),
        (0, 69, False),  # the index would end behind the footer's start
        (65, 68, False),  # no room for the schema block's size
        (0, 3, False),
        (0, (1 << 64) - 1, False),
        ((1 << 64) - 1, 68, False),
        ((1 << 64) - 4, 0, False),
    ],
)
def test_structures_follow_each_other_inside_the_file(
    schema_offset: int, index_offset: int, fits: bool
) -> None:
    data = Footer(index_offset, schema_offset, 1, 0, NONE).emit()
    if fits:
        assert Footer.parse(data, 100).index_offset == index_offset
    else:
        with pytest.raises(pymosaic.CorruptFileError, match="do not fit a file of 100 bytes"):
            Footer.parse(data, 100)


def test_the_footer_of_a_written_file_tells_where_things_are() -> None:
    batch = pa.record_batch({"a": [1], "b": ["x"], "c": [None]})
    data = write([batch, batch], batch.schema, num_buckets=2, row_group_bytes=1)
    footer = Footer.parse(data, len(data))
    assert (footer.num_buckets, footer.num_row_groups, footer.compression) == (2, 2, ZSTD)
    assert data[footer.index_offset] == 1  # the first row group's number of rows
