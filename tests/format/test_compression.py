"""The table of codecs, and that all of them keep to one interface."""

from __future__ import annotations

import pytest

import pymosaic
from pymosaic.format.compression import BY_CODE, BY_NAME, COMPRESSIONS, NONE, ZSTD, Compression

CONTENT = b"mosaic" * 100
LIMITS = pymosaic.Limits()

every_codec = pytest.mark.parametrize("codec", COMPRESSIONS, ids=lambda codec: codec.name)


def test_codes_and_names_are_those_of_the_format() -> None:
    assert {codec.code: codec.name for codec in COMPRESSIONS} == {0: "none", 1: "zstd"}
    assert {codec.code for codec in COMPRESSIONS} == set(BY_CODE)
    assert {codec.name for codec in COMPRESSIONS} == set(BY_NAME)


@every_codec
@pytest.mark.parametrize("checksum", [False, True])
def test_a_block_gives_back_its_content(codec: Compression, checksum: bool) -> None:
    compressor = codec.compressor(1, checksum)
    block = compressor.compress(CONTENT)
    assert compressor.compression is codec
    assert bytes(codec.decompress(block, len(CONTENT), "block", LIMITS)) == CONTENT
    assert (block == CONTENT) == codec.is_plain
    assert codec.has_checksum(block) == (checksum and not codec.is_plain)


@every_codec
@pytest.mark.parametrize("difference", [-1, 1])
def test_a_block_of_another_size_than_declared_is_refused(
    codec: Compression, difference: int
) -> None:
    block = codec.compressor(1, True).compress(CONTENT)
    with pytest.raises(pymosaic.CorruptFileError, match="declares a size of") as caught:
        codec.decompress(block, len(CONTENT) + difference, "page", LIMITS)
    assert caught.value.structure == "page"


def test_what_writers_put_into_a_block_is_what_readers_take_by_default() -> None:
    assert ZSTD.max_block_bytes == LIMITS.max_block_bytes
    assert NONE.max_block_bytes == (1 << 32) - 1
