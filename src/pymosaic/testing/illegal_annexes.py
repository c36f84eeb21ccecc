"""Files with annexes that readers of the annex must refuse; other readers never see them."""

from __future__ import annotations

import struct
from zlib import crc32

from pymosaic.errors import CorruptFileError, MosaicError, UnsupportedFeatureError
from pymosaic.testing.annex import with_annex
from pymosaic.testing.pieces import INTEGER, ONE_TWO, entry, forge, row_group, schema

__all__ = ["illegal_annexes"]

_CONTENT = schema(("a", INTEGER))
_INDEX = row_group(2, entry(0, 0, len(ONE_TWO), len(ONE_TWO)))
_PLAIN = forge(ONE_TWO, _CONTENT, _INDEX)
_WRONG = bytes(4)
# name -> (file, pattern of the message, structure)
_Cases = dict[str, tuple[bytes, str, str]]


def _damaged(offset: int) -> bytes:
    data = bytearray(with_annex(_PLAIN))
    data[offset] ^= 1
    return bytes(data)


def _structures() -> _Cases:
    size = len(with_annex(_PLAIN))
    mismatch = "does not match its checksum"
    right, wrong = struct.pack(">I", crc32(ONE_TWO)), _WRONG
    return {
        "an index that is not that of its checksum": (
            _damaged(size - 33),
            mismatch,
            "row group index",
        ),
        "reserved bytes that are not those of their checksum": (
            _damaged(size - 5),
            mismatch,
            "footer",
        ),
        "a schema block that is not that of its checksum": (
            _damaged(size - 32 - len(_INDEX) - 1),
            mismatch,
            "schema block",
        ),
        "a bucket that is not that of its checksum": (
            with_annex(_PLAIN, (2, wrong)),
            mismatch,
            "row group 0, bucket 0",
        ),
        "checksums of more buckets than there are": (
            with_annex(_PLAIN, (2, right * 2)),
            "8 bytes of bucket checksums",
            "annex",
        ),
    }


def _parts() -> _Cases:
    extra = (900, b"later")
    return {
        "a trailer that is not that of its checksum": (
            with_annex(_PLAIN, seal=1),
            "table and trailer",
            "annex",
        ),
        "an annex that starts before the file": (
            with_annex(_PLAIN, length=1 << 20),
            "do not fit",
            "annex",
        ),
        "an annex of 2**32 - 1 bytes": (
            with_annex(_PLAIN, length=(1 << 32) - 1),
            "do not fit",
            "annex",
        ),
        "an annex shorter than its parts": (
            with_annex(_PLAIN, length=30),
            "its length is",
            "annex",
        ),
        "an annex that starts inside a bucket": (
            with_annex(_PLAIN, extra, sizes=[9, 16], length=77),
            "before the last bucket",
            "annex",
        ),
        "255 sections in 56 bytes": (with_annex(_PLAIN, count=255), "table", "annex"),
        "a section longer than the annex": (
            with_annex(_PLAIN, extra, sizes=[1 << 31, 16]),
            "its length is",
            "annex",
        ),
        "two sections of checksums": (
            with_annex(_PLAIN, (1, bytes(16))),
            "two sections of type 1",
            "annex",
        ),
        "a section of checksums of 15 bytes": (
            with_annex(_PLAIN, (1, bytes(15)), guard=False),
            "15 bytes, not 16",
            "annex",
        ),
        "a head without a trailer": (
            with_annex(_PLAIN, magic=b"MosAnney"),
            "none ends before the schema block",
            "annex",
        ),
    }


def _later() -> _Cases:
    return {
        "annex version 2": (with_annex(_PLAIN, version=2), "annex version 2", "annex"),
        "a required section of an unknown type": (
            with_annex(_PLAIN, (900, b"later"), required=[900]),
            "required section of unknown type 900",
            "annex",
        ),
    }


def illegal_annexes() -> list[tuple[str, bytes, type[MosaicError], str, str]]:
    """Name, file, error, pattern of its message, and structure that it names."""
    kinds: list[tuple[_Cases, type[MosaicError]]] = [
        (_structures(), CorruptFileError),
        (_parts(), CorruptFileError),
        (_later(), UnsupportedFeatureError),
    ]
    return [
        (name, data, error, reason, structure)
        for cases, error in kinds
        for name, (data, reason, structure) in cases.items()
    ]
