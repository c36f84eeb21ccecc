"""Illegal files by name, with the expected error.

Each differs from a legal file in one way. ``reason`` and ``structure`` are pymosaic's own words;
another reader only has to refuse the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from pymosaic.errors import (
    CorruptFileError,
    LimitExceededError,
    MosaicError,
    UnsupportedFeatureError,
)
from pymosaic.testing.illegal_annexes import illegal_annexes
from pymosaic.testing.pieces import (
    INTEGER,
    NOT_NULL_INTEGER,
    ONE_TWO,
    STRING,
    array,
    entry,
    forge,
    frame,
    map_,
    monolithic,
    numbers,
    of_one,
    paged,
    row_group,
    schema,
    text,
    varint,
)

__all__ = ["IllegalFile", "illegal_files"]


@dataclass(frozen=True, slots=True)
class IllegalFile:
    """A file that every reader must refuse.

    Parameters
    ----------
    name : str
        What is wrong with the file.
    data : bytes
    error : type of MosaicError
        The error that pymosaic raises: corrupt, unsupported, or beyond the default limits.
    reason : str
        A regular expression that matches its message.
    structure : str
        The start of the structure that the error names.
    """

    name: str
    data: bytes
    error: type[MosaicError]
    reason: str
    structure: str


# name -> (file, pattern of the message)
_Cases = dict[str, tuple[bytes, str]]

_CONTENT = schema(("a", INTEGER))
_INDEX = row_group(2, entry(0, 0, len(ONE_TWO), len(ONE_TWO)))
_PLAIN_PAGE = bytes([0, 0]) + ONE_TWO[2:]
_LIST = array(INTEGER)
_DECIMAL_38 = b"\x0e\x01\x26\x00"
_TIMESTAMP_9 = b"\x10\x01\x09"
_TIME = b"\x0f\x01\x03"
_BYTES = b"\x0d\x01"
_LARGEST = b"\xff\xff\xff\xff\x0f"


def _file(**lies: int | bytes) -> bytes:
    """The plain file, with the given parts replaced."""
    return forge(ONE_TWO, _CONTENT, _INDEX, **lies)  # type: ignore[arg-type]


def _footer() -> _Cases:
    end = len(ONE_TWO) + 4 + len(_CONTENT)
    return {
        "no bytes": (b"", "too short"),
        "31 bytes": (_file()[-31:], "too short"),
        "the end is cut off": (_file()[:-1], "magic"),
        "wrong magic": (_file(magic=b"MOSB"), "magic"),
        "a footer alone": (_file()[-32:], "offsets"),
        "index behind the footer": (_file(index_offset=end + len(_INDEX) + 5), "offsets"),
        "index offset of 2**64 - 1": (_file(index_offset=(1 << 64) - 1), "offsets"),
        "schema offset of 2**64 - 1": (_file(schema_offset=(1 << 64) - 1), "offsets"),
        "schema block of no bytes": (_file(schema_offset=end), "offsets"),
        "schema block of 3 bytes": (_file(schema_offset=end - 3), "offsets"),
        "schema block behind the index": (_file(schema_offset=end + 1), "offsets"),
        "another number of buckets than in the schema": (_file(num_buckets=2), "buckets"),
        "no buckets": (_file(num_buckets=0), "buckets"),
    }


def _index() -> _Cases:
    two = schema(("a", INTEGER), ("b", INTEGER), num_buckets=2)

    def of_two(*entries: bytes) -> bytes:
        return forge(ONE_TWO * 2, two, row_group(2, *entries), num_buckets=2)

    def of_one_entry(made: bytes) -> bytes:
        return forge(ONE_TWO, _CONTENT, row_group(2, made))

    return {
        "fewer row groups than in the index": (_file(num_row_groups=0), "after the last"),
        "more row groups than in the index": (_file(num_row_groups=2), "ends|fewer"),
        "2**32 - 1 row groups": (_file(num_row_groups=(1 << 32) - 1), "fewer"),
        "index cut off": (forge(ONE_TWO, _CONTENT, _INDEX[:-1]), "ends"),
        "index cut off in an offset": (forge(ONE_TWO, _CONTENT, _INDEX[:6]), "ends"),
        "bytes after the index": (forge(ONE_TWO, _CONTENT, _INDEX + b"\x00"), "after the last"),
        "a varint of six bytes": (
            forge(ONE_TWO, _CONTENT, b"\x82\x80\x80\x80\x80\x00" + _INDEX[1:]),
            "longer than 5",
        ),
        "a varint of 33 bits": (
            forge(ONE_TWO, _CONTENT, b"\x82\x80\x80\x80\x10" + _INDEX[1:]),
            "larger than 32",
        ),
        "more buckets than the file has": (
            forge(ONE_TWO, _CONTENT, b"\x02\x02" + _INDEX[2:]),
            "more buckets",
        ),
        "bucket id out of range": (of_one_entry(entry(1, 0, 10, 10)), "bucket id"),
        "a bucket twice": (of_two(entry(0, 0, 10, 10), entry(0, 10, 10, 10)), "twice"),
        "a bucket in the schema block": (of_one_entry(entry(0, 1, 10, 10)), "before the schema"),
        "a bucket beyond the file": (of_one_entry(entry(0, 10**9, 10, 10)), "before the schema"),
        "a bucket at 2**64 - 1": (of_one_entry(entry(0, (1 << 64) - 1, 10, 10)), "before the"),
        "buckets that share bytes": (of_two(entry(0, 0, 10, 10), entry(1, 0, 10, 10)), "overlap"),
        "buckets that share one byte": (
            of_two(entry(0, 0, 10, 10), entry(1, 9, 10, 10)),
            "overlap",
        ),
        "a bucket inside another": (of_two(entry(0, 0, 20, 20), entry(1, 5, 3, 3)), "overlap"),
        "row groups that share a bucket": (
            forge(ONE_TWO, _CONTENT, _INDEX * 3, num_row_groups=3),
            "overlap",
        ),
        "sizes (0, n)": (of_one_entry(entry(0, 0, 0, 10)), "0 bytes"),
    }


def _statistics() -> _Cases:
    def of_a(statistics: bytes) -> bytes:
        return monolithic(ONE_TWO, _CONTENT, statistics=statistics)

    string = bytes([1, 0]) + text("x")
    strings = schema(("a", STRING))
    return {
        "more nulls than rows": (of_a(b"\x01\x00\x03"), "more nulls"),
        "statistics of a column that is not there": (of_a(b"\x01\x01\x02"), "not there"),
        "statistics cut off": (of_a(b"\x01\x00\x00" + numbers(1)), "ends"),
        "more statistics than bytes": (of_a(b"\xff\x01\x00\x02"), "ends"),
        "two different statistics of a column": (
            of_a(b"\x02" + b"\x00\x00" + numbers(1, 2) + b"\x00\x00" + numbers(1, 3)),
            "two different",
        ),
        "two null counts of a column": (of_a(b"\x02\x00\x02\x00\x00" + numbers(1, 2)), "two diff"),
        "statistics of bytes": (
            monolithic(string, schema(("a", _BYTES)), statistics=b"\x01\x00\x00" + text("x") * 2),
            "type has none",
        ),
        "statistics of a large decimal": (
            monolithic(
                bytes([3, 0]), schema(("a", _DECIMAL_38)), statistics=b"\x01\x00\x00" + b"\x00" * 2
            ),
            "type has none",
        ),
        "statistics of a list": (
            monolithic(
                bytes([1, 1, 0, 0b1101, 0]) + numbers(0),
                schema(("a", _LIST)),
                statistics=b"\x01\x00\x00" + numbers(0, 0),
            ),
            "type has none",
        ),
        "a string statistic cut off": (
            monolithic(string, strings, statistics=b"\x01\x00\x00" + b"\x7fx"),
            "ends",
        ),
    }


def _schema() -> _Cases:
    def of(content: bytes, **lies: int | bytes) -> bytes:
        return forge(b"", content, b"", num_row_groups=0, **lies)  # type: ignore[arg-type]

    def of_names(*names: str | bytes, rules: bytes = b"\x00") -> bytes:
        return of(schema(*((name, INTEGER) for name in names), names=rules))

    def of_type(descriptor: bytes) -> bytes:
        return of_one(descriptor, bytes([3, 0]))

    two = (("a", INTEGER), ("b", INTEGER))
    return {
        "schema size too large without compression": (_file(schema_size=len(_CONTENT) + 1), "size"),
        "schema size too small without compression": (_file(schema_size=len(_CONTENT) - 1), "size"),
        "schema size too large": (of(_CONTENT, compression=1, schema_size=99), "size"),
        "schema size too small": (of(_CONTENT, compression=1, schema_size=2), "size"),
        "schema size without a frame behind it": (
            of(_CONTENT, compression=1, schema_block=b""),
            "zstd",
        ),
        "schema frame cut off": (
            of(_CONTENT, compression=1, index_offset=4 + len(frame(_CONTENT)) - 1),
            "zstd",
        ),
        "schema frame that is no frame": (
            of(_CONTENT, compression=1, schema_block=b"no frame"),
            "zstd",
        ),
        "empty schema": (of(b""), "ends"),
        "no buckets in the schema": (of(schema(("a", INTEGER), num_buckets=0)), "buckets is 0"),
        "more columns than bytes": (of(b"\x7f" + _CONTENT[1:]), "fewer bytes"),
        "suffix past the end": (of(b"\x01\x01\x00\x00\x7fa" + INTEGER), "ends"),
        "more shared bytes than the name before": (
            of(b"\x01\x01\x00\x01\x01a" + INTEGER + b"\x00"),
            "shares more",
        ),
        "an empty name": (of_names(""), "empty"),
        "a name that is not UTF-8": (of_names(b"\xff"), "UTF-8"),
        "a name with a surrogate": (of_names(b"\xed\xa0\x80"), "UTF-8"),
        "a name in an overlong form": (of_names(b"\xc1\x81"), "UTF-8"),
        "duplicate names": (of_names("a", "a"), "twice"),
        "duplicate names apart": (of_names("a", "b", "a"), "twice"),
        "BPE rules cut off": (of(b"\x01\x01\x01\x7f" + b"ab" * 5), "ends|fewer"),
        "a BPE token without a rule": (of_names(b"\x81", rules=b"\x01\x01ab"), "token without"),
        "a BPE rule that uses itself": (of_names(b"\x80", rules=b"\x01\x01\x80a"), "itself"),
        "BPE rules that use each other": (
            of_names(b"\x80", rules=b"\x01\x02\x81a\x80b"),
            "itself or to a later",
        ),
        "type cut off": (of(b"\x01\x01\x00\x00\x01a\x03"), "ends|fewer"),
        "order cut off": (of(schema(*two, order=[0])), "ends"),
        "order with a column twice": (of(schema(*two, order=[0, 0])), "permutation"),
        "order out of range": (of(schema(("a", INTEGER), order=[2])), "permutation"),
        "order before the first": (of(schema(("a", INTEGER), order=[1])), "permutation"),
        "order beyond 64 bits": (of(_CONTENT[:-1] + b"\xff" * 10 + b"\x01"), "64 bits"),
        "precision 0": (of_type(b"\x0e\x01\x00\x00"), "precision"),
        "precision 39": (of_type(b"\x0e\x01\x27\x00"), "precision"),
        "precision 2**32 - 1": (of_type(b"\x0e\x01" + _LARGEST + b"\x00"), "precision"),
        "scale 128": (of_type(b"\x0e\x01\x05\x80\x01"), "scale"),
        "zone that is not UTF-8": (of_type(b"\x11\x01\x03\x01\xff"), "UTF-8"),
        "zone with a NUL": (of_type(b"\x11\x01\x03\x01\x00"), "NUL"),
        "zone longer than the block": (of_type(b"\x11\x01\x03" + _LARGEST), "ends"),
        "element name that is not UTF-8": (of_type(b"\x12\x01\x01\xff" + INTEGER), "UTF-8"),
        "a list as key of a map": (
            of_one(map_(_LIST, INTEGER), bytes([1, 3, 0, 0, 0, 0xFF, 0])),
            "MAP key",
        ),
    }


def _blocks() -> _Cases:
    squeezed = frame(ONE_TWO)

    def of_bucket(bucket: bytes, bulk_size: int = len(ONE_TWO), **lies: int | bytes) -> bytes:
        index = row_group(2, entry(0, 0, len(bucket), bulk_size))
        return forge(bucket, _CONTENT, index, compression=1, **lies)  # type: ignore[arg-type]

    checked = frame(ONE_TWO, checksum=True)
    return {
        "a bucket of two frames": (of_bucket(squeezed * 2), "zstd"),
        "a bucket with bytes after its frame": (of_bucket(squeezed + b"\x00"), "zstd"),
        "a bucket that is no frame": (of_bucket(ONE_TWO), "zstd"),
        "a bucket whose frame is cut off": (of_bucket(squeezed[:-1]), "zstd"),
        "a bucket size too small": (of_bucket(squeezed, 9), "size"),
        "a bucket size too large": (of_bucket(squeezed, 11), "size"),
        "a bucket size too large for its bytes": (of_bucket(squeezed, 1 << 28), "cannot hold"),
        "a frame without a size that holds more": (
            of_bucket(frame(ONE_TWO, content_size=False), 9),
            "zstd|size",
        ),
        "a bucket size without compression": (
            forge(ONE_TWO, _CONTENT, row_group(2, entry(0, 0, 10, 9))),
            "size",
        ),
        "a wrong checksum": (of_bucket(checked[:-1] + bytes([checked[-1] ^ 1])), "checksum"),
        "bytes after data that has a checksum": (
            of_bucket(frame(ONE_TWO + b"\x00", checksum=True), 11),
            "as long as the number of rows",
        ),
        "fewer rows in the index than data with a checksum": (
            forge(checked, _CONTENT, row_group(1, entry(0, 0, len(checked), 10)), compression=1),
            "as long as the number of rows",
        ),
        "more rows in the index than data": (
            forge(ONE_TWO, _CONTENT, row_group(3, entry(0, 0, 10, 10))),
            "ends",
        ),
        "a paged bucket without compression": (
            forge(ONE_TWO, _CONTENT, row_group(2, entry(0, 0, 10, 0))),
            "without compression",
        ),
    }


def _buckets() -> _Cases:
    return {
        "flags cut off": (of_one(INTEGER, b"\x00"), "ends"),
        "bitmap cut off": (of_one(INTEGER, bytes([0, 1, 0]), 9), "ends"),
        "constant cut off": (of_one(INTEGER, bytes([1, 0, 0, 0, 0])), "ends"),
        "a value without its last byte": (of_one(INTEGER, ONE_TWO[:-1]), "ends"),
        "string length of 2**32 - 1": (of_one(STRING, bytes([1, 0]) + _LARGEST), "ends"),
        "string length beyond the data": (of_one(STRING, bytes([0, 0, 1, 97, 5, 97])), "ends"),
        "dictionary of 2**32 - 1 entries": (of_one(INTEGER, bytes([2, 0]) + _LARGEST), "ends"),
        "dictionary of 2**32 - 1 strings": (of_one(STRING, bytes([2, 0]) + _LARGEST), "ends"),
        "an empty dictionary that is used": (of_one(INTEGER, bytes([2, 0, 0])), "dictionary"),
        "indices cut off": (of_one(INTEGER, bytes([2, 0, 2]) + numbers(7, 8) + b"\x02", 9), "ends"),
        "index of 3 in a dictionary of 3": (
            of_one(INTEGER, bytes([2, 0, 3]) + numbers(7, 8, 9) + bytes([0b1100])),
            "dictionary index",
        ),
        "boolean index beyond its dictionary": (
            of_one(b"\x00\x01", bytes([2, 0, 3, 0, 1, 1, 0b1100])),
            "dictionary index",
        ),
        "string index beyond its dictionary": (
            of_one(STRING, bytes([2, 0, 3]) + text("a") * 3 + bytes([0b1100])),
            "dictionary index",
        ),
        "number of columns in the child header": (
            of_one(_LIST, bytes([2, 1, 0, 0b1101, 0]) + numbers(0)),
            "child",
        ),
        "number of children in the child header": (
            of_one(_LIST, bytes([1, 2, 0, 0, 0b1101, 0]) + numbers(0)),
            "child",
        ),
        "2**32 - 1 children": (of_one(_LIST, b"\x01" + _LARGEST + b"\x00\x00"), "child"),
        "lists longer than their elements": (
            of_one(_LIST, bytes([1, 1, 1, 0b0101, 0]) + numbers(1) + numbers(7)),
            "add up",
        ),
        "lists shorter than their elements": (
            of_one(_LIST, bytes([1, 1, 3, 0b0101, 0]) + numbers(1) + numbers(7)),
            "add up",
        ),
        "a negative list length": (
            of_one(_LIST, bytes([1, 1, 0, 0b1100, 0]) + numbers(-1, 1)),
            "negative",
        ),
        "a map with more keys than values": (
            of_one(
                map_(STRING, INTEGER), bytes([1, 2, 1, 0, 0b110101, 0]) + numbers(1) + text("k")
            ),
            "add up",
        ),
    }


def _pages() -> _Cases:
    def of_slot(*slots: bytes) -> bytes:
        return paged(_CONTENT, [], slots=slots)

    size = varint(len(_PLAIN_PAGE))
    lists = schema(("a", _LIST))
    lengths = bytes([1, 0]) + numbers(0)
    return {
        "a page of encoding 4": (paged(_CONTENT, [bytes([4, 0]) + ONE_TWO[2:]]), "encoding"),
        "an empty page": (paged(_CONTENT, [b""]), "ends"),
        "a page of one byte": (paged(_CONTENT, [b"\x00"]), "ends"),
        "page cut off": (paged(_CONTENT, [_PLAIN_PAGE[:-1]]), "ends"),
        "bytes after a page that has a checksum": (
            paged(_CONTENT, [_PLAIN_PAGE + b"\x00"], checksum=True),
            "as long as the number of rows",
        ),
        "fewer rows in the index than a page with a checksum": (
            paged(_CONTENT, [_PLAIN_PAGE], num_rows=1, checksum=True),
            "as long as the number of rows",
        ),
        "a bucket shorter than its directory": (
            paged(_CONTENT, [_PLAIN_PAGE], compressed_size=1),
            "directory",
        ),
        "slots longer than the bucket": (
            paged(_CONTENT, [_PLAIN_PAGE], compressed_size=10),
            "directory",
        ),
        "a slot larger than the bucket": (
            paged(_CONTENT, [], slots=[b""], head=b"\xff\x00\x00\x00"),
            "directory",
        ),
        "a slot of 2**32 - 1 bytes": (
            paged(_CONTENT, [], slots=[b""], head=b"\xff" * 4),
            "directory",
        ),
        "a slot without a size": (of_slot(b"\xff"), "varint"),
        "a slot without a frame": (of_slot(varint(10)), "zstd"),
        "a slot whose frame is no frame": (of_slot(varint(10) + b"0123456789"), "zstd"),
        "a slot with two frames": (of_slot(size + frame(_PLAIN_PAGE) * 2), "zstd"),
        "a slot with bytes after its frame": (of_slot(size + frame(_PLAIN_PAGE) + b"\x00"), "zstd"),
        "a slot size that is not its page's": (of_slot(varint(9) + frame(_PLAIN_PAGE)), "size"),
        "wrong number of children in a paged bucket": (
            paged(lists, [lengths, None], head=b"\x02\x00" + bytes(8)),
            "children|directory",
        ),
        "wrong number of elements in a paged bucket": (
            paged(lists, [lengths, None], head=b"\x01\x00" + b"\x05\x00\x00\x00"),
            "add up",
        ),
    }


def _nulls() -> _Cases:
    null = "declared NOT NULL"
    return {
        "a null in a NOT NULL column": (
            of_one(NOT_NULL_INTEGER, bytes([0, 1, 2]) + numbers(1)),
            null,
        ),
        "a null in a NOT NULL constant": (
            of_one(NOT_NULL_INTEGER, bytes([1, 1]) + numbers(7) + bytes([0b10])),
            null,
        ),
        "a null in a NOT NULL dictionary": (
            of_one(NOT_NULL_INTEGER, bytes([2, 1, 1]) + numbers(7) + bytes([0b10])),
            null,
        ),
        "an ALL_NULL column that is NOT NULL": (of_one(NOT_NULL_INTEGER, bytes([3, 0])), null),
        "ALL_NULL page of a NOT NULL column": (
            paged(schema(("a", NOT_NULL_INTEGER)), [None]),
            null,
        ),
        "a missing bucket with a NOT NULL column": (
            forge(b"", schema(("a", NOT_NULL_INTEGER)), row_group(2)),
            null,
        ),
        "a null in a NOT NULL element": (
            of_one(array(NOT_NULL_INTEGER), bytes([1, 1, 2, 0b1101, 0]) + numbers(1)),
            null,
        ),
        "a null key": (
            of_one(map_(STRING, INTEGER), bytes([1, 2, 2, 2, 0b111101, 0]) + numbers(1)),
            null,
        ),
    }


def _values() -> _Cases:
    utf8 = "UTF-8"
    return {
        "constant string that is not UTF-8": (of_one(STRING, bytes([1, 0]) + text(b"\xff")), utf8),
        "dictionary string that is not UTF-8": (
            of_one(STRING, bytes([2, 0, 2]) + text("a") + text(b"\xed\xa0\x80") + b"\x02"),
            utf8,
        ),
        "a character cut in two by strings": (
            of_one(STRING, bytes([0, 0]) + text(b"\xc3") + text(b"\xa9")),
            utf8,
        ),
        "TIME before midnight": (of_one(_TIME, bytes([1, 0]) + numbers(-1)), "within a day"),
        "TIME after midnight": (of_one(_TIME, bytes([0, 0]) + numbers(0, 86_400_000)), "within a"),
        "negative nanoseconds": (
            of_one(_TIMESTAMP_9, bytes([1, 0]) + numbers(0, width=8) + numbers(-1)),
            "nanoseconds",
        ),
        "a million nanoseconds of a millisecond": (
            of_one(_TIMESTAMP_9, bytes([1, 0]) + numbers(0, width=8) + numbers(1_000_000)),
            "nanoseconds",
        ),
        "nanoseconds just beyond 64 bits": (
            of_one(
                _TIMESTAMP_9, bytes([1, 0]) + numbers(9_223_372_036_854, width=8) + numbers(775_808)
            ),
            "beyond the range",
        ),
        "compact decimal beyond its digits": (
            of_one(b"\x0e\x01\x12\x00", bytes([1, 0]) + numbers(10**18, width=8)),
            "precision",
        ),
        "large decimal beyond its digits": (
            of_one(_DECIMAL_38, bytes([1, 0]) + text((10**38).to_bytes(16, "big"))),
            "precision",
        ),
        "large decimal of 17 bytes": (of_one(_DECIMAL_38, bytes([1, 0]) + text(bytes(17))), "prec"),
    }


def _later_versions() -> _Cases:
    return {
        "version 0": (_file(version=0), "version"),
        "version 2": (_file(version=2), "version"),
        "compression 2": (_file(compression=2), "compression"),
        "compression 255": (_file(compression=255), "compression"),
        "type 20": (of_one(b"\x14\x01", ONE_TWO), "type id"),
        "type 255": (of_one(b"\xff\x01", ONE_TWO), "type id"),
        "type 20 in a list": (of_one(array(b"\x14\x01"), ONE_TWO), "type id"),
    }


def _beyond_limits() -> _Cases:
    def of(content: bytes) -> bytes:
        return forge(b"", content, b"", num_row_groups=0)

    deep = b"\x12\x01\x00" * 100_000 + INTEGER
    # Rule k is twice rule k - 1.
    doubling = b"\x01" + varint(40) + b"aa" + b"".join(bytes([0x80 + k] * 2) for k in range(39))
    return {
        "100,000 lists in each other": (of(schema(("a", deep))), "max_nesting_depth"),
        "2**32 - 1 columns": (of(_LARGEST + _CONTENT[1:]), "max_columns"),
        "a name of 2**40 bytes in byte pairs": (
            of(schema((b"\xa7", INTEGER), names=doubling)),
            "max_name_bytes",
        ),
        "a constant in 2**32 - 1 rows": (
            of_one(INTEGER, bytes([1, 0]) + numbers(7), (1 << 32) - 1),
            "max_row_group_bytes",
        ),
        "2**32 - 1 nulls": (of_one(STRING, bytes([3, 0]), (1 << 32) - 1), "max_row_group_bytes"),
        "a block of 3 GiB": (
            forge(
                frame(ONE_TWO),
                _CONTENT,
                row_group(2, entry(0, 0, len(frame(ONE_TWO)), 3 << 30)),
                compression=1,
            ),
            "max_block_bytes",
        ),
        "lists of 2**32 elements": (
            of_one(_LIST, bytes([1, 1, 1, 0b0101, 0]) + numbers((1 << 31) - 1) + numbers(7)),
            "list elements",
        ),
    }


# The start of the structure that the error names.
_BUCKET = "row group 0, bucket 0"


def _all() -> Iterator[tuple[_Cases, type[MosaicError], str]]:
    yield _footer(), CorruptFileError, "footer"
    yield _index(), CorruptFileError, "row group index"
    yield _statistics(), CorruptFileError, "row group index"
    yield _schema(), CorruptFileError, "schema block"
    for made in (_blocks, _buckets, _pages, _nulls, _values):
        yield made(), CorruptFileError, _BUCKET
    yield _later_versions(), UnsupportedFeatureError, ""
    yield _beyond_limits(), LimitExceededError, ""


@cache
def illegal_files() -> tuple[IllegalFile, ...]:
    """Every illegal file of the catalogue.

    Examples
    --------
    >>> import pymosaic
    >>> file = next(file for file in illegal_files() if file.name == "a bucket twice")
    >>> pymosaic.read_table(file.data)
    Traceback (most recent call last):
    pymosaic.errors.CorruptFileError: row group index, byte ...: a row group lists a bucket twice
    """
    files = [
        IllegalFile(name, data, error, reason, structure)
        for cases, error, structure in _all()
        for name, (data, reason) in cases.items()
    ]
    return (*files, *(IllegalFile(*case) for case in illegal_annexes()))
