"""More hand-made files: what else the reader policy of docs/format.md tolerates and refuses."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from tests.conformance.forge import (
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
    of_one,
    paged,
    row_group,
    schema,
    text,
    varint,
)
from tests.equality import assert_identical

A = schema(("a", INTEGER))
WHOLE = entry(0, 0, len(ONE_TWO), len(ONE_TWO))
INDEX = row_group(2, WHOLE)
PLAIN_PAGE = bytes([0, 0]) + ONE_TWO[2:]
LIST = array(INTEGER)
DECIMAL_38 = b"\x0e\x01\x26\x00"
TIMESTAMP_9 = b"\x10\x01\x09"
TIME = b"\x0f\x01\x03"
BYTES = b"\x0d\x01"


def numbers(*values: int, width: int = 4) -> bytes:
    return b"".join(value.to_bytes(width, "big", signed=True) for value in values)


def map_of(value: bytes) -> bytes:
    return map_(b"\x0a\x00", value)


def column(of: pa.DataType, values: list[Any]) -> pa.Table:
    return pa.table({"a": pa.array(values, of)})


ONE_TWO_TABLE = column(pa.int32(), [1, 2])

TOLERATED: dict[str, tuple[bytes, pa.Table]] = {
    "a plain file": (forge(ONE_TWO, A, INDEX), ONE_TWO_TABLE),
    "bytes between buckets and schema": (forge(ONE_TWO + b"junk", A, INDEX), ONE_TWO_TABLE),
    "varints longer than necessary": (
        forge(ONE_TWO, b"\x81\x00" + A[1:], b"\x82\x80\x80\x80\x00" + INDEX[1:]),
        ONE_TWO_TABLE,
    ),
    "an unknown name encoding is front coding": (
        forge(ONE_TWO, schema(("a", INTEGER), names=b"\x07"), INDEX),
        ONE_TWO_TABLE,
    ),
    "a nullable byte of 2": (of_one(b"\x03\x02", ONE_TWO), ONE_TWO_TABLE),
    "BPE rules that no name uses": (
        forge(ONE_TWO, schema(("a", INTEGER), names=b"\x01" + varint(300) + b"ab" * 300), INDEX),
        ONE_TWO_TABLE,
    ),
    "BPE tokens of several levels": (
        forge(
            ONE_TWO, schema((b"\x81x\x80", INTEGER), names=b"\x01\x02" + b"ab" + b"\x80c"), INDEX
        ),
        pa.table({"abcxab": pa.array([1, 2], pa.int32())}),
    ),
    "buckets in any order": (
        forge(
            ONE_TWO + bytes([1, 0]) + numbers(7),
            schema(("a", INTEGER), ("b", INTEGER), num_buckets=2),
            row_group(2, entry(1, len(ONE_TWO), 6, 6), entry(0, 0, 10, 10)),
            num_buckets=2,
        ),
        pa.table({"a": pa.array([1, 2], pa.int32()), "b": pa.array([7, 7], pa.int32())}),
    ),
    "a missing bucket with a list": (
        forge(b"", schema(("a", LIST)), row_group(2)),
        column(pa.list_(pa.int32()), [None, None]),
    ),
    "a missing bucket with a map": (
        forge(b"", schema(("a", map_(b"\x0a\x00", INTEGER))), row_group(2)),
        column(pa.map_(pa.string(), pa.int32()), [None, None]),
    ),
    "one of two buckets missing": (
        forge(
            ONE_TWO,
            schema(("a", INTEGER), ("b", STRING), num_buckets=2),
            row_group(2, entry(0, 0, 10, 10)),
            num_buckets=2,
        ),
        pa.table({"a": pa.array([1, 2], pa.int32()), "b": pa.nulls(2, pa.string())}),
    ),
    "rows without columns": (
        forge(b"", schema(), row_group(5)),
        pa.table({"x": [1] * 5}).select([]),
    ),
    "a dictionary of one entry has no indices": (
        of_one(INTEGER, bytes([2, 0, 1]) + numbers(7), 3),
        column(pa.int32(), [7, 7, 7]),
    ),
    "a dictionary of one entry with nulls": (
        of_one(STRING, bytes([2, 1, 1]) + text("x") + bytes([0b010]), 3),
        column(pa.string(), ["x", None, "x"]),
    ),
    "a dictionary with 300 entries": (
        of_one(
            INTEGER,
            bytes([2, 0])
            + varint(300)
            + numbers(*range(300))
            + (299 | 0 << 9 | 256 << 18).to_bytes(4, "little"),
            3,
        ),
        column(pa.int32(), [299, 0, 256]),
    ),
    "a dictionary whose entries repeat": (
        of_one(INTEGER, bytes([2, 0, 2]) + numbers(7, 7) + bytes([0b10])),
        column(pa.int32(), [7, 7]),
    ),
    "a dictionary nobody uses": (
        of_one(INTEGER, bytes([2, 1, 0]) + bytes([0b11])),
        column(pa.int32(), [None, None]),
    ),
    "spare bits after the indices": (
        of_one(INTEGER, bytes([2, 0, 2]) + numbers(7, 8) + bytes([0b11111110])),
        column(pa.int32(), [7, 8]),
    ),
    "spare bits in the flags": (
        of_one(INTEGER, bytes([0b11111100, 0xFE]) + ONE_TWO[2:]),
        ONE_TWO_TABLE,
    ),
    "a null flag on ALL_NULL": (of_one(INTEGER, bytes([3, 1])), column(pa.int32(), [None, None])),
    "a constant whose rows are all null": (
        of_one(INTEGER, bytes([1, 1]) + numbers(7) + bytes([0b11])),
        column(pa.int32(), [None, None]),
    ),
    "plain without a value": (
        of_one(INTEGER, bytes([0, 1, 0b11])),
        column(pa.int32(), [None, None]),
    ),
    "a null flag without a null": (
        of_one(NOT_NULL_INTEGER, bytes([0, 1, 0]) + ONE_TWO[2:]),
        pa.table([pa.array([1, 2], pa.int32())], pa.schema([pa.field("a", pa.int32(), False)])),
    ),
    "an empty large decimal is 0": (
        of_one(DECIMAL_38, bytes([0, 0]) + bytes([0]) + text(b"\xff")),
        column(pa.decimal128(38, 0), [Decimal(0), Decimal(-1)]),
    ),
    "a large decimal of 16 bytes": (
        of_one(DECIMAL_38, bytes([1, 0]) + text(b"\xff" * 16)),
        column(pa.decimal128(38, 0), [Decimal(-1), Decimal(-1)]),
    ),
    "a scale above the precision": (
        of_one(b"\x0e\x01\x02\x05", bytes([1, 0]) + numbers(7, width=8)),
        pa.table({"a": pa.array([Decimal(7)] * 2, pa.decimal128(2, 0)).view(pa.decimal128(2, 5))}),
    ),
    "an empty time zone": (
        of_one(b"\x11\x01\x03\x00", bytes([1, 0]) + numbers(7, width=8)),
        column(pa.timestamp("ms"), [7, 7]),
    ),
    "varchar": (
        of_one(b"\x09\x01\x01", bytes([1, 0]) + text("longer")),
        column(pa.string(), ["longer", "longer"]),
    ),
    "list with null and empty": (
        of_one(LIST, bytes([1, 1, 1, 0, 1, 0b010]) + numbers(1, 0) + numbers(9), 3),
        column(pa.list_(pa.int32()), [[9], None, []]),
    ),
    "map with a nullable key type": (
        of_one(
            map_(STRING, INTEGER),
            bytes([1, 2, 1, 1, 0b010101, 0]) + numbers(1) + text("k") + numbers(9),
            1,
        ),
        column(pa.map_(pa.string(), pa.int32()), [[("k", 9)]]),
    ),
    "a page with a zero-width dictionary": (
        paged(A, [bytes([2, 0, 1]) + numbers(7)]),
        column(pa.int32(), [7, 7]),
    ),
    "a slot that says ALL_NULL and more": (
        paged(A, [bytes([3, 1, 5, 5])]),
        column(pa.int32(), [None, None]),
    ),
    "statistics of one column twice": (
        monolithic(ONE_TWO, A, statistics=b"\x02" + (b"\x00\x00" + numbers(1, 2)) * 2),
        ONE_TWO_TABLE,
    ),
    "statistics upside down": (
        monolithic(ONE_TWO, A, statistics=b"\x01" + b"\x00\x00" + numbers(2, 1)),
        ONE_TWO_TABLE,
    ),
}

CORRUPT: dict[str, bytes] = {
    "31 bytes": forge(ONE_TWO, A, INDEX)[-31:],
    "a footer alone": forge(ONE_TWO, A, INDEX)[-32:],
    "the end is cut off": forge(ONE_TWO, A, INDEX)[:-1],
    "index behind the footer": forge(ONE_TWO, A, INDEX, index_offset=len(ONE_TWO + A + INDEX) + 5),
    "index offset of 2**64 - 1": forge(ONE_TWO, A, INDEX, index_offset=(1 << 64) - 1),
    "schema block of no bytes": forge(ONE_TWO, A, INDEX, schema_offset=len(ONE_TWO) + 4 + len(A)),
    "schema block of 3 bytes": forge(ONE_TWO, A, INDEX, schema_offset=len(ONE_TWO) + 1 + len(A)),
    "numBuckets differ": forge(ONE_TWO, A, INDEX, num_buckets=2),
    "row groups left over": forge(ONE_TWO, A, INDEX, num_row_groups=0),
    "2**32 - 1 row groups": forge(ONE_TWO, A, INDEX, num_row_groups=(1 << 32) - 1),
    "index cut off": forge(ONE_TWO, A, INDEX[:-1]),
    "index cut off in an offset": forge(ONE_TWO, A, INDEX[:6]),
    "bucket id out of range": forge(ONE_TWO, A, row_group(2, entry(1, 0, 10, 10))),
    "buckets that share bytes": forge(
        ONE_TWO,
        schema(("a", INTEGER), ("b", INTEGER), num_buckets=2),
        row_group(2, entry(0, 0, 10, 10), entry(1, 0, 10, 10)),
        num_buckets=2,
    ),
    "row groups that share a bucket": forge(ONE_TWO, A, INDEX * 3, num_row_groups=3),
    "sizes (0, n)": forge(ONE_TWO, A, row_group(2, entry(0, 0, 0, 10))),
    "more nulls than rows": monolithic(ONE_TWO, A, statistics=b"\x01\x00\x03"),
    "statistics of bytes": monolithic(
        bytes([1, 0]) + text("x"), schema(("a", BYTES)), statistics=b"\x01\x00\x00" + text("x") * 2
    ),
    "statistics of a list": monolithic(
        bytes([1, 1, 0, 0b1101, 0]) + numbers(0),
        schema(("a", LIST)),
        statistics=b"\x01\x00\x00" + numbers(0, 0),
    ),
    "a string statistic cut off": monolithic(
        bytes([1, 0]) + text("x"), schema(("a", STRING)), statistics=b"\x01\x00\x00" + b"\x7fx"
    ),
    "schema size too large without compression": forge(ONE_TWO, A, INDEX, schema_size=len(A) + 1),
    "schema size too small without compression": forge(ONE_TWO, A, INDEX, schema_size=len(A) - 1),
    "schema size too large": forge(b"", A, b"", compression=1, num_row_groups=0, schema_size=99),
    "schema frame cut off": forge(
        b"", A, b"", compression=1, num_row_groups=0, index_offset=4 + len(frame(A)) - 1
    ),
    "empty schema": forge(b"", b"", b"", num_row_groups=0),
    "suffix past the end": forge(b"", b"\x01\x01\x00\x00\x7fa" + INTEGER, b"", num_row_groups=0),
    "duplicate names": forge(b"", schema(("a", INTEGER), ("a", INTEGER)), b"", num_row_groups=0),
    "duplicate names apart": forge(
        b"", schema(("a", INTEGER), ("b", INTEGER), ("a", INTEGER)), b"", num_row_groups=0
    ),
    "a BPE rule that uses itself": forge(
        b"", schema((b"\x80", INTEGER), names=b"\x01\x01\x80a"), b"", num_row_groups=0
    ),
    "BPE rules that use each other": forge(
        b"", schema((b"\x80", INTEGER), names=b"\x01\x02\x81a\x80b"), b"", num_row_groups=0
    ),
    "type cut off": forge(b"", b"\x01\x01\x00\x00\x01a\x03", b"", num_row_groups=0),
    "order with a column twice": forge(
        b"", schema(("a", INTEGER), ("b", INTEGER), order=[0, 0]), b"", num_row_groups=0
    ),
    "order out of range": forge(b"", schema(("a", INTEGER), order=[2]), b"", num_row_groups=0),
    "order beyond 64 bits": forge(b"", A[:-1] + b"\xff" * 10 + b"\x01", b"", num_row_groups=0),
    "precision 0": of_one(b"\x0e\x01\x00\x00", bytes([3, 0])),
    "precision 2**32 - 1": of_one(b"\x0e\x01\xff\xff\xff\xff\x0f\x00", bytes([3, 0])),
    "zone that is not UTF-8": of_one(b"\x11\x01\x03\x01\xff", bytes([3, 0])),
    "zone longer than the block": of_one(b"\x11\x01\x03\xff\xff\xff\xff\x0f", bytes([3, 0])),
    "element name that is not UTF-8": of_one(b"\x12\x01\x01\xff" + INTEGER, bytes([3, 0])),
    "a list as key of a map": of_one(map_(LIST, INTEGER), bytes([1, 3, 0, 0, 0, 0xFF, 0])),
    "flags cut off": of_one(INTEGER, b"\x00"),
    "bitmap cut off": of_one(INTEGER, bytes([0, 1, 0]), 9),
    "constant cut off": of_one(INTEGER, bytes([1, 0, 0, 0, 0])),
    "a value without its last byte": of_one(INTEGER, ONE_TWO[:-1]),
    "string length of 2**32 - 1": of_one(STRING, bytes([1, 0]) + b"\xff\xff\xff\xff\x0f"),
    "dictionary of 2**32 - 1 entries": of_one(INTEGER, bytes([2, 0]) + b"\xff\xff\xff\xff\x0f"),
    "dictionary of 2**32 - 1 strings": of_one(STRING, bytes([2, 0]) + b"\xff\xff\xff\xff\x0f"),
    "indices cut off": of_one(INTEGER, bytes([2, 0, 2]) + numbers(7, 8) + b"\x02", 9),
    "index of 2 in a dictionary of 3": of_one(
        INTEGER, bytes([2, 0, 3]) + numbers(7, 8, 9) + bytes([0b1100])
    ),
    "constant string that is not UTF-8": of_one(STRING, bytes([1, 0]) + text(b"\xff")),
    "dictionary string that is not UTF-8": of_one(
        STRING, bytes([2, 0, 2]) + text("a") + text(b"\xed\xa0\x80") + b"\x02"
    ),
    "a character cut in two by strings": of_one(
        STRING, bytes([0, 0]) + text(b"\xc3") + text(b"\xa9")
    ),
    "a null in a NOT NULL constant": of_one(
        NOT_NULL_INTEGER, bytes([1, 1]) + numbers(7) + bytes([0b10])
    ),
    "a null in a NOT NULL dictionary": of_one(
        NOT_NULL_INTEGER, bytes([2, 1, 1]) + numbers(7) + bytes([0b10])
    ),
    "a missing bucket with a NOT NULL column": forge(
        b"", schema(("a", NOT_NULL_INTEGER)), row_group(2)
    ),
    "TIME before midnight": of_one(TIME, bytes([1, 0]) + numbers(-1)),
    "TIME after midnight": of_one(TIME, bytes([0, 0]) + numbers(0, 86_400_000)),
    "negative nanoseconds": of_one(TIMESTAMP_9, bytes([1, 0]) + numbers(0, width=8) + numbers(-1)),
    "nanoseconds just beyond 64 bits": of_one(
        TIMESTAMP_9, bytes([1, 0]) + numbers(9_223_372_036_854, width=8) + numbers(775_808)
    ),
    "compact decimal beyond its digits": of_one(
        b"\x0e\x01\x12\x00", bytes([1, 0]) + numbers(10**18, width=8)
    ),
    "large decimal beyond its digits": of_one(
        DECIMAL_38, bytes([1, 0]) + text((10**38).to_bytes(16, "big"))
    ),
    "number of columns in the child header": of_one(LIST, bytes([2, 1, 0, 0b1101, 0]) + numbers(0)),
    "lists longer than their elements": of_one(
        LIST, bytes([1, 1, 1, 0b0101, 0]) + numbers(1) + numbers(7)
    ),
    "2**32 - 1 children": of_one(LIST, b"\x01\xff\xff\xff\xff\x0f\x00\x00"),
    "a null in a NOT NULL element": of_one(
        array(NOT_NULL_INTEGER), bytes([1, 1, 2, 0b1101, 0]) + numbers(1)
    ),
    "a null key": of_one(map_(STRING, INTEGER), bytes([1, 2, 2, 2, 0b111101, 0]) + numbers(1)),
    "a page of encoding 4": paged(A, [bytes([4, 0]) + ONE_TWO[2:]]),
    "an empty page": paged(A, [b""]),
    "slots shorter than the bucket": paged(A, [PLAIN_PAGE], compressed_size=1),
    "a slot larger than the bucket": paged(A, [], slots=[b""], head=b"\xff\x00\x00\x00"),
    "a slot without a frame": paged(A, [], slots=[varint(10)]),
    "a slot whose frame is no frame": paged(A, [], slots=[varint(10) + b"0123456789"]),
    "a slot with two frames": paged(
        A, [], slots=[varint(len(PLAIN_PAGE)) + frame(PLAIN_PAGE) + frame(PLAIN_PAGE)]
    ),
    "a slot with bytes after its frame": paged(
        A, [], slots=[varint(len(PLAIN_PAGE)) + frame(PLAIN_PAGE) + b"\x00"]
    ),
    "ALL_NULL page of a NOT NULL column": paged(schema(("a", NOT_NULL_INTEGER)), [None]),
    "page cut off": paged(A, [PLAIN_PAGE[:-1]]),
    "wrong number of children in a paged bucket": paged(
        schema(("a", LIST)), [bytes([1, 0]) + numbers(0), None], head=b"\x02\x00" + bytes(8)
    ),
    "a bucket of two frames": forge(
        frame(ONE_TWO) * 2,
        A,
        row_group(2, entry(0, 0, 2 * len(frame(ONE_TWO)), len(ONE_TWO))),
        compression=1,
    ),
}
LATER_VERSIONS: dict[str, bytes] = {
    "version 2": forge(ONE_TWO, A, INDEX, version=2),
    "compression 255": forge(ONE_TWO, A, INDEX, compression=255),
    "type 255": of_one(b"\xff\x01", ONE_TWO),
    "type 20 in a list": of_one(array(b"\x14\x01"), ONE_TWO),
}


@pytest.mark.parametrize("case", TOLERATED)
def test_tolerated_files_hold_the_right_data(case: str) -> None:
    data, expected = TOLERATED[case]
    assert_identical(pymosaic.read_table(data), expected)


@pytest.mark.parametrize("case", CORRUPT)
def test_corrupt_files_are_refused(case: str) -> None:
    with pytest.raises(pymosaic.CorruptFileError) as caught:
        pymosaic.read_table(CORRUPT[case])
    assert caught.value.structure


@pytest.mark.parametrize("case", LATER_VERSIONS)
def test_what_a_later_version_may_define_is_unsupported(case: str) -> None:
    with pytest.raises(pymosaic.UnsupportedFeatureError):
        pymosaic.read_table(LATER_VERSIONS[case])


class TestLimits:
    @pytest.mark.parametrize("wrap", [array, map_of], ids=["list", "map"])
    def test_types_nest_up_to_the_limit(self, wrap: Callable[[bytes], bytes]) -> None:
        descriptor = INTEGER
        for _ in range(pymosaic.Limits().max_nesting_depth):
            descriptor = wrap(descriptor)
        deepest, too_deep = schema(("a", descriptor)), schema(("a", wrap(descriptor)))
        assert pymosaic.read_table(forge(b"", deepest, row_group(2))).num_rows == 2
        with pytest.raises(pymosaic.LimitExceededError, match="max_nesting_depth"):
            pymosaic.read_table(forge(b"", too_deep, row_group(2)))

    def test_absurd_nesting_is_refused(self) -> None:
        descriptor = b"\x12\x01\x00" * 100_000 + INTEGER
        data = forge(b"", schema(("a", descriptor)), b"", num_row_groups=0)
        with pytest.raises(pymosaic.LimitExceededError, match="max_nesting_depth"):
            pymosaic.read_table(data)

    def test_a_small_frame_that_says_it_is_huge_is_refused(self) -> None:
        bomb = frame(bytes(600 << 20))
        data = forge(bomb, A, row_group(2, entry(0, 0, len(bomb), 600 << 20)), compression=1)
        with pytest.raises(pymosaic.LimitExceededError, match="max_block_bytes"):
            pymosaic.read_table(data)

    @pytest.mark.parametrize(
        ("limit", "value"), [("max_columns", 1), ("max_name_bytes", 2), ("max_names_bytes", 5)]
    )
    def test_limits_are_adjustable(self, limit: str, value: int) -> None:
        content = schema(("aaa", INTEGER), ("bbb", INTEGER))
        data = forge(b"", content, b"", num_row_groups=0)
        assert pymosaic.read_table(data).num_columns == 2
        with pytest.raises(pymosaic.LimitExceededError, match=limit):
            pymosaic.read_table(data, limits=pymosaic.Limits(**{limit: value}))

    def test_list_lengths_may_not_sum_beyond_what_arrow_can_address(self) -> None:
        lengths = numbers((1 << 31) - 1)
        data = of_one(LIST, bytes([1, 1, 1, 0b0101, 0]) + lengths + numbers(7))
        with pytest.raises(pymosaic.LimitExceededError):
            pymosaic.read_table(data)

    def test_a_constant_of_many_rows_is_held_to_the_memory_limit(self) -> None:
        data = of_one(STRING, bytes([1, 0]) + text("x" * 1000), 1_000_000)
        with pytest.raises(pymosaic.LimitExceededError, match="max_row_group_bytes"):
            pymosaic.read_table(data, limits=pymosaic.Limits(max_row_group_bytes=100 << 20))
