"""The annex: bytes in and out, and what the format says about them."""

from __future__ import annotations

from zlib import crc32

import pytest

import pymosaic
from pymosaic.format import annex
from pymosaic.format.annex import Body, Integrity, SectionType, Trailer
from pymosaic.testing.annex import annex as forged


def parse(data: bytes) -> tuple[annex.Section, ...]:
    trailer = Trailer.parse(data)
    assert trailer is not None
    return annex.parse_table(trailer, data[-trailer.closing_size :], len(data))


def test_an_annex_is_what_the_forge_makes() -> None:
    bodies = [Body(900, b"later"), Body(1, bytes(16)), Body(901, b"", required=True)]
    expected = forged((900, b"later"), (1, bytes(16)), (901, b""), required=[901])
    assert annex.emit(bodies) == expected


def test_what_is_emitted_is_parsed() -> None:
    data = annex.emit([Body(900, b"later", required=True), Body(1, b"0123456789abcdef")])
    first, second = parse(data)
    assert (first.kind, first.required, data[first.start : first.stop]) == (900, True, b"later")
    assert (second.kind, second.required, second.size) == (1, False, 16)
    assert second.checksum == crc32(b"0123456789abcdef")
    annex.check_body(first, b"later")
    with pytest.raises(pymosaic.CorruptFileError, match="type 900 does not match"):
        annex.check_body(first, b"latex")


def test_without_metadata_it_has_56_bytes() -> None:
    assert len(annex.emit([Body(SectionType.INTEGRITY, Integrity(1, 2, 3, 4).emit())])) == 56
    assert annex.size_of([annex.INTEGRITY_SIZE]) == 56


def test_checksums_come_back() -> None:
    stated = Integrity(1, 1 << 31, (1 << 32) - 1, 0)
    assert Integrity.parse(stated.emit()) == stated


def test_the_head_is_no_possible_size_of_a_schema_block() -> None:
    assert int.from_bytes(annex.HEAD_MAGIC, "big") > pymosaic.Limits().max_index_bytes


@pytest.mark.parametrize("length", range(20))
def test_fewer_bytes_than_a_trailer_are_none(length: int) -> None:
    assert Trailer.parse(annex.emit([])[-length:] if length else b"") is None


def test_every_flipped_bit_of_table_and_trailer_is_noticed() -> None:
    data = annex.emit([Body(1, bytes(16)), Body(2, bytes(8))])
    for position in range(8 * (8 + 16 + 8), 8 * len(data)):
        damaged = bytearray(data)
        damaged[position // 8] ^= 1 << position % 8
        trailer = Trailer.parse(bytes(damaged))
        if trailer is not None:
            with pytest.raises(pymosaic.MosaicError):
                annex.parse_table(trailer, bytes(damaged)[-trailer.closing_size :], len(data))


def test_more_than_fits_is_not_written() -> None:
    with pytest.raises(ValueError, match="256 sections"):
        annex.emit([Body(900, b"")] * 256)
