"""The table of codecs, and that all of them keep to one interface."""

from __future__ import annotations

import random

import pytest
import zstandard

import pymosaic
from pymosaic.format.compression import (
    BY_CODE,
    BY_NAME,
    COMPRESSIONS,
    NONE,
    ZSTD,
    Compression,
    Scratch,
)

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


def _contents() -> list[bytes]:
    """Frames with every size of header, and blocks that are stored, compressed or one run."""
    noise = random.Random(5).randbytes(300_000)
    return [b"a", noise[:255], noise[:256], noise[:70_000], noise, noise * 3, b"r" * 1_000_000]


@every_codec
@pytest.mark.parametrize("checksum", [False, True])
def test_scratch_memory_holds_the_same_content(codec: Compression, checksum: bool) -> None:
    scratch = Scratch()
    for content in [*_contents(), b"", *_contents()]:
        block = codec.compressor(1, checksum).compress(content)
        scratch.restart()
        assert codec.decompress(block, len(content), "block", LIMITS, scratch) == content


def test_contents_after_a_restart_are_decompressed_into_the_same_memory() -> None:
    scratch = Scratch()
    contents = []
    for content in (b"first", b"other"):
        scratch.restart()
        block = ZSTD.compressor(1, True).compress(content)
        contents.append(ZSTD.decompress(block, 5, "block", LIMITS, scratch))
    assert contents == [b"other", b"other"]


class TestScratch:
    def test_what_is_taken_before_a_restart_does_not_overlap(self) -> None:
        scratch = Scratch()
        for _ in range(3):
            scratch.restart()
            taken = [scratch.take(size) for size in (5, 0, 70, 3_000_000)]
            for number, memory in enumerate(taken):
                memory[:] = bytes([number]) * len(memory)
            for number, memory in enumerate(taken):
                assert memory == bytes([number]) * len(memory)

    def test_after_a_restart_there_is_room_for_as_much_as_before(self) -> None:
        scratch = Scratch()
        before = [scratch.take(1000), scratch.take(2000)]
        scratch.restart()
        first = [scratch.take(1000), scratch.take(2000)]
        scratch.restart()
        again = [scratch.take(1000), scratch.take(2000)]
        assert [len(memory) for memory in before] == [1000, 2000]
        assert first[0].obj is first[1].obj is again[0].obj is again[1].obj

    def test_large_contents_are_not_kept(self) -> None:
        scratch = Scratch()
        taken = scratch.take(9 << 20)
        scratch.restart()
        assert len(scratch._kept) == 0
        assert scratch.take(9 << 20).obj is not taken.obj


@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("content", _contents(), ids=len)
def test_scratch_memory_takes_exactly_one_frame(content: bytes, checksum: bool) -> None:
    block = ZSTD.compressor(1, checksum).compress(content)
    empty = zstandard.ZstdCompressor().compress(b"")
    skippable = b"\x50\x2a\x4d\x18\x00\x00\x00\x00"
    for wrong in (
        block + b"\0",
        block + empty,
        block + skippable,
        block * 2,
        block[:-1],
        block[:9],
    ):
        with pytest.raises(pymosaic.CorruptFileError):
            ZSTD.decompress(wrong, len(content), "block", LIMITS, Scratch())


@pytest.mark.parametrize("content", _contents(), ids=len)
def test_scratch_memory_compares_the_checksum(content: bytes) -> None:
    block = bytearray(ZSTD.compressor(1, True).compress(content))
    block[-1] ^= 1
    with pytest.raises(pymosaic.CorruptFileError, match=r"zstd: .*checksum"):
        ZSTD.decompress(bytes(block), len(content), "block", LIMITS, Scratch())
