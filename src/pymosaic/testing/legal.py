"""Legal files by name, with the expected table.

Most hold one table in layouts that no writer chooses. The rest are made by hand, each for one thing
that the reader policy of the format page tolerates.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any
from zlib import crc32

import pyarrow as pa

from pymosaic.format.types import Encoding
from pymosaic.testing.annex import with_annex
from pymosaic.testing.layout import Layout, forge_table, stored_order
from pymosaic.testing.pieces import (
    INTEGER,
    NOT_NULL_INTEGER,
    ONE_TWO,
    STRING,
    array,
    entry,
    forge,
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
from pymosaic.testing.stored import can_have_statistics

__all__ = ["LegalFile", "legal_files", "sample_table"]

PLAIN, CONST, DICT, ALL_NULL = Encoding


@dataclass(frozen=True, slots=True)
class LegalFile:
    """A file that every reader must read.

    Parameters
    ----------
    name : str
        What is special about the file.
    data : bytes
    table : pyarrow.Table
        The table it holds.
    """

    name: str
    data: bytes
    table: pa.Table


@cache
def sample_table() -> pa.Table:
    """Ten rows of every type of the format: with nulls, constant, few values, many."""
    nested = pa.list_(pa.list_(pa.int16()))
    nano = pa.timestamp("ns")
    decimals = [Decimal(n) * 10**20 for n in (1, -1, 0, 7, -128, 255, 65535, 3)]
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {
        "bool": (pa.bool_(), [True, False, None] * 3 + [True]),
        "bool_constant": (pa.bool_(), [True] * 10),
        "date": (pa.date32(), [0, -1, None, 19_000, 0, 0, 0, None, 5, 5]),
        "decimal_compact": (
            pa.decimal128(9, 2),
            [Decimal("1.25"), Decimal("-9.99"), None] * 3 + [None],
        ),
        "decimal_large": (pa.decimal128(30, 0), [*decimals, None, None]),
        "double": (pa.float64(), [0.0, -0.0, float("inf"), None, 1.5, 1.5, 2.5, 3.5, 4.5, 1e-300]),
        "empty_lists": (pa.list_(pa.string()), [[], None] * 5),
        "float": (pa.float32(), [0.5, float("nan"), None, 1.0, 1.0, 2.0, 2.0, -1.0, None, 0.5]),
        "float_constant": (pa.float32(), [2.5, None] * 5),
        "int": (pa.int32(), list(range(10))),
        "int_few": (pa.int32(), [1, 1, 2, 2, 3, 1, 2, 3, 3, 1]),
        "large": (pa.int64(), [1 << 60, -(1 << 60), 0, None, 1, 2, 3, 4, 5, 6]),
        "list": (
            pa.list_(pa.int32()),
            [[1, 2], [], None, [3], [4, None], [5], [], [6, 7], [8], [9]],
        ),
        "map": (
            pa.map_(pa.string(), pa.float64()),
            [[("a", 1.0), ("b", None)], None, []] * 3 + [[]],
        ),
        "nested": (nested, [[[1], [], None], None, [[2, 3]], []] * 2 + [[[4]], [None]]),
        "nulls_int": (pa.int32(), [None] * 10),
        "nulls_string": (pa.string(), [None] * 10),
        "short": (pa.int16(), [300, -300, None, 5, 5, 5, 5, 5, 5, 5]),
        "stamp_micros_zone": (
            pa.timestamp("us", "Asia/Shanghai"),
            [1, 2, 3, None, 5, 5, 5, 5, 5, 5],
        ),
        "stamp_millis": (pa.timestamp("ms"), [0, -1, None, 10**12, 5, 5, 5, 5, 5, 5]),
        "stamp_nanos": (nano, [-1, 0, 1_000_001, None, 5, 5, 5, 5, 5, 10**18]),
        "string": (pa.string(), ["", "a", "bb", None, "é", "𝕞", "x" * 200, "a", "a", "a"]),
        "string_constant": (pa.string(), ["same"] * 10),
        "time": (pa.time32("ms"), [0, 86_399_999, None, 5, 5, 5, 6, 6, 6, 6]),
        "tiny": (pa.int8(), [-128, 127, None, 0, 0, 0, 1, 1, 1, 1]),
        "values": (
            pa.binary(),
            [b"", b"\xff\x00", None, b"abc", b"abc", b"z", b"", b"", b"q", b"w"],
        ),
    }
    # Not sorted by name, so that files without an original order differ.
    names = sorted(columns, key=lambda name: (len(name), name))
    table = pa.table({name: pa.array(columns[name][1], columns[name][0]) for name in names})
    required = pa.field("int", pa.int32(), nullable=False)
    return table.cast(table.schema.set(table.schema.get_field_index("int"), required))


def _layouts() -> dict[str, Layout]:
    statistics = tuple(
        field.name for field in sample_table().schema if can_have_statistics(field.type)
    )
    mixed = (PLAIN, DICT, CONST)
    return {
        "PLAIN where CONST, DICT and ALL_NULL fit": Layout(),
        "PLAIN pages where CONST, DICT and ALL_NULL fit": Layout(paged=(True,)),
        "dictionaries of every size, one entry and none included": Layout(encodings=(DICT,)),
        "dictionary pages of every size": Layout(encodings=(DICT,), paged=(True,)),
        "dictionary entries that no row uses": Layout(encodings=(DICT,), spare_entries=300),
        "constants wherever they fit": Layout(encodings=(CONST,)),
        "constant pages, with nulls after the value": Layout(encodings=(CONST,), paged=(True,)),
        "ALL_NULL wherever it fits": Layout(encodings=(ALL_NULL,)),
        "ALL_NULL slots": Layout(encodings=(ALL_NULL,), paged=(True,), null_slots=True),
        "null bitmaps without nulls": Layout(encodings=mixed, null_flags=True),
        "null bitmaps without nulls in pages": Layout(
            encodings=mixed, null_flags=True, paged=(True,)
        ),
        "missing buckets": Layout(num_buckets=26, null_buckets="missing"),
        "buckets of size (0, 0)": Layout(num_buckets=26, null_buckets="empty"),
        "one column per bucket, all paged": Layout(num_buckets=26, paged=(True,)),
        "paged and monolithic in turn": Layout(num_buckets=7, paged=(True, False), encodings=mixed),
        "more buckets than columns": Layout(num_buckets=1000),
        "buckets in descending order in the index": Layout(num_buckets=7, reverse_index=True),
        "buckets in descending order in the file": Layout(num_buckets=7, reverse_data=True),
        "gaps between buckets": Layout(num_buckets=7, gap=5),
        "no original order": Layout(original_order=False, num_buckets=3),
        "names that are not sorted": Layout(sorted_names=False, num_buckets=3),
        "names that are not sorted and have no order": Layout(
            sorted_names=False, original_order=False
        ),
        "names that share nothing": Layout(names="whole"),
        "names in byte pairs": Layout(names="bpe"),
        "names in byte pairs with 300 unused rules": Layout(names="bpe", spare_rules=300),
        "another number for front coding": Layout(name_encoding=7),
        "types with foreign parameters": Layout(foreign_types=1),
        "types with other foreign parameters": Layout(foreign_types=2),
        "types with yet other foreign parameters": Layout(foreign_types=3),
        "row groups with different encodings": Layout(
            row_groups=(3, 3, 1), encodings=mixed, paged=(False, True), num_buckets=2
        ),
        "row groups without rows": Layout(row_groups=(0, 4, 0), encodings=mixed),
        "a row group for each row": Layout(row_groups=(1,) * 10, num_buckets=4, encodings=mixed),
        "varints longer than necessary everywhere": Layout(
            long_varints=True, encodings=mixed, num_buckets=2, paged=(False, True)
        ),
        "no compression": Layout(compression="none", encodings=mixed, num_buckets=3),
        "no compression, bytes after every content": Layout(
            compression="none", slack=3, schema_slack=4, encodings=mixed
        ),
        "no checksums": Layout(checksum=False, encodings=mixed, paged=(False, True), num_buckets=2),
        "no checksums, bytes after every content": Layout(
            checksum=False, slack=3, schema_slack=4, paged=(False, True), num_buckets=2
        ),
        "frames that do not state their size": Layout(
            content_size=False, paged=(False, True), num_buckets=2
        ),
        "spare bits that are set": Layout(
            spare_bits=True, encodings=mixed, paged=(False, True), num_buckets=2
        ),
        "reserved bytes that are set": Layout(reserved=b"\xff\xff"),
        "statistics of every column that can have them": Layout(
            statistics=statistics, row_groups=(4,)
        ),
    }


def _sample_files() -> Iterator[LegalFile]:
    table = sample_table()
    for name, layout in _layouts().items():
        order = table.column_names if layout.original_order else stored_order(table, layout)
        yield LegalFile(name, forge_table(table, layout), table.select(order))
    one = table.select(["string"])
    yield LegalFile("paged with one column", forge_table(one, Layout(paged=(True,))), one)
    none = table.slice(0, 0)
    yield LegalFile("no rows and no row group", forge_table(none), none)
    yield LegalFile("no rows in two row groups", forge_table(none, Layout(row_groups=(0, 0))), none)


def _column(of: pa.DataType, values: list[Any]) -> pa.Table:
    return pa.table({"a": pa.array(values, of)})


_INT_LIST = array(INTEGER)
_DECIMAL_38 = b"\x0e\x01\x26\x00"


def _hand_made() -> dict[str, tuple[bytes, pa.Table]]:
    one_two = _column(pa.int32(), [1, 2])
    content = schema(("a", INTEGER))
    index = row_group(2, entry(0, 0, len(ONE_TWO), len(ONE_TWO)))
    return {
        "a plain file": (forge(ONE_TWO, content, index), one_two),
        "bytes between buckets and schema": (forge(ONE_TWO + b"junk", content, index), one_two),
        "varints longer than necessary": (
            forge(ONE_TWO, b"\x81\x00" + content[1:], b"\x82\x80\x80\x80\x00" + index[1:]),
            one_two,
        ),
        "an unknown name encoding is front coding": (
            forge(ONE_TWO, schema(("a", INTEGER), names=b"\x07"), index),
            one_two,
        ),
        "a nullable byte of 2": (of_one(b"\x03\x02", ONE_TWO), one_two),
        "BPE rules that no name uses": (
            forge(
                ONE_TWO, schema(("a", INTEGER), names=b"\x01" + varint(300) + b"ab" * 300), index
            ),
            one_two,
        ),
        "BPE tokens of several levels": (
            forge(
                ONE_TWO,
                schema((b"\x81x\x80", INTEGER), names=b"\x01\x02" + b"ab" + b"\x80c"),
                index,
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
            forge(b"", schema(("a", _INT_LIST)), row_group(2)),
            _column(pa.list_(pa.int32()), [None, None]),
        ),
        "a missing bucket with a map": (
            forge(b"", schema(("a", map_(b"\x0a\x00", INTEGER))), row_group(2)),
            _column(pa.map_(pa.string(), pa.int32()), [None, None]),
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
            _column(pa.int32(), [7, 7, 7]),
        ),
        "a dictionary of one entry with nulls": (
            of_one(STRING, bytes([2, 1, 1]) + text("x") + bytes([0b010]), 3),
            _column(pa.string(), ["x", None, "x"]),
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
            _column(pa.int32(), [299, 0, 256]),
        ),
        "a dictionary whose entries repeat": (
            of_one(INTEGER, bytes([2, 0, 2]) + numbers(7, 7) + bytes([0b10])),
            _column(pa.int32(), [7, 7]),
        ),
        "a dictionary nobody uses": (
            of_one(INTEGER, bytes([2, 1, 0]) + bytes([0b11])),
            _column(pa.int32(), [None, None]),
        ),
        "spare bits after the indices": (
            of_one(INTEGER, bytes([2, 0, 2]) + numbers(7, 8) + bytes([0b11111110])),
            _column(pa.int32(), [7, 8]),
        ),
        "spare bits in the flags": (
            of_one(INTEGER, bytes([0b11111100, 0xFE]) + ONE_TWO[2:]),
            one_two,
        ),
        "a null flag on ALL_NULL": (
            of_one(INTEGER, bytes([3, 1])),
            _column(pa.int32(), [None, None]),
        ),
        "a constant whose rows are all null": (
            of_one(INTEGER, bytes([1, 1]) + numbers(7) + bytes([0b11])),
            _column(pa.int32(), [None, None]),
        ),
        "plain without a value": (
            of_one(INTEGER, bytes([0, 1, 0b11])),
            _column(pa.int32(), [None, None]),
        ),
        "a null flag without a null": (
            of_one(NOT_NULL_INTEGER, bytes([0, 1, 0]) + ONE_TWO[2:]),
            pa.table([pa.array([1, 2], pa.int32())], pa.schema([pa.field("a", pa.int32(), False)])),
        ),
        "a boolean that is neither 0 nor 1": (
            of_one(b"\x00\x01", bytes([0, 0, 5, 0])),
            _column(pa.bool_(), [True, False]),
        ),
        "an empty large decimal is 0": (
            of_one(_DECIMAL_38, bytes([0, 0]) + bytes([0]) + text(b"\xff")),
            _column(pa.decimal128(38, 0), [Decimal(0), Decimal(-1)]),
        ),
        "a large decimal of 16 bytes": (
            of_one(_DECIMAL_38, bytes([1, 0]) + text(b"\xff" * 16)),
            _column(pa.decimal128(38, 0), [Decimal(-1), Decimal(-1)]),
        ),
        "a scale above the precision": (
            of_one(b"\x0e\x01\x02\x05", bytes([1, 0]) + numbers(7, width=8)),
            pa.table(
                {"a": pa.array([Decimal(7)] * 2, pa.decimal128(2, 0)).view(pa.decimal128(2, 5))}
            ),
        ),
        "an empty time zone": (
            of_one(b"\x11\x01\x03\x00", bytes([1, 0]) + numbers(7, width=8)),
            _column(pa.timestamp("ms"), [7, 7]),
        ),
        "a time zone that nobody knows": (
            of_one(b"\x11\x01\x03" + text("Mars/Olympus"), bytes([1, 0]) + numbers(7, width=8)),
            _column(pa.timestamp("ms", "Mars/Olympus"), [7, 7]),
        ),
        "varchar": (
            of_one(b"\x09\x01\x01", bytes([1, 0]) + text("longer")),
            _column(pa.string(), ["longer", "longer"]),
        ),
        "list with null and empty": (
            of_one(_INT_LIST, bytes([1, 1, 1, 0, 1, 0b010]) + numbers(1, 0) + numbers(9), 3),
            _column(pa.list_(pa.int32()), [[9], None, []]),
        ),
        "map with a nullable key type": (
            of_one(
                map_(STRING, INTEGER),
                bytes([1, 2, 1, 1, 0b010101, 0]) + numbers(1) + text("k") + numbers(9),
                1,
            ),
            _column(pa.map_(pa.string(), pa.int32()), [[("k", 9)]]),
        ),
        "a page with a zero-width dictionary": (
            paged(content, [bytes([2, 0, 1]) + numbers(7)]),
            _column(pa.int32(), [7, 7]),
        ),
        "a slot that says ALL_NULL and more": (
            paged(content, [bytes([3, 1, 5, 5])]),
            _column(pa.int32(), [None, None]),
        ),
        "statistics of one column twice": (
            monolithic(ONE_TWO, content, statistics=b"\x02" + (b"\x00\x00" + numbers(1, 2)) * 2),
            one_two,
        ),
        "statistics upside down": (
            monolithic(ONE_TWO, content, statistics=b"\x01" + b"\x00\x00" + numbers(2, 1)),
            one_two,
        ),
        "statistics that are NaN": (
            monolithic(
                bytes([1, 0]) + bytes.fromhex("3f800000"),
                schema(("a", b"\x05\x01")),
                statistics=b"\x01\x00\x00" + bytes.fromhex("7fc00000") * 2,
            ),
            _column(pa.float32(), [1.0, 1.0]),
        ),
        "statistics in descending order": (
            monolithic(
                bytes([0b0101, 0]) + numbers(7, 8),
                schema(("a", INTEGER), ("b", INTEGER)),
                statistics=b"\x02" + b"\x01\x00" + numbers(8, 8) + b"\x00\x00" + numbers(7, 7),
            ),
            pa.table({"a": pa.array([7, 7], pa.int32()), "b": pa.array([8, 8], pa.int32())}),
        ),
        "an annex": (
            with_annex(monolithic(ONE_TWO, content), (2, crc32(ONE_TWO).to_bytes(4, "big"))),
            one_two,
        ),
        "an annex with sections of unknown types": (
            with_annex(monolithic(ONE_TWO, content), (900, b"later"), (901, b"")),
            one_two,
        ),
        "an annex without sections": (
            with_annex(monolithic(ONE_TWO, content), guard=False),
            one_two,
        ),
        "bytes before the schema block that end like an annex": (
            monolithic(bytes([1, 0]) + text("MosAnnex"), schema(("a", STRING))),
            _column(pa.string(), ["MosAnnex"] * 2),
        ),
        "control characters and directions in names and zones": (
            monolithic(
                bytes([0b0101, 0]) + numbers(7) + numbers(7, width=8),
                schema(
                    ("\x1b[31m\r\n", INTEGER), ("a\u202eb", b"\x11\x01\x03" + text("\x07\x1b]0;x"))
                ),
            ),
            pa.table(
                {
                    "\x1b[31m\r\n": pa.array([7, 7], pa.int32()),
                    "a\u202eb": pa.array([7, 7], pa.timestamp("ms", "\x07\x1b]0;x")),
                }
            ),
        ),
    }


@cache
def legal_files() -> tuple[LegalFile, ...]:
    """Every legal file of the catalogue.

    Examples
    --------
    >>> import pymosaic
    >>> file = legal_files()[0]
    >>> file.name
    'PLAIN where CONST, DICT and ALL_NULL fit'
    >>> pymosaic.read_table(file.data).num_rows == file.table.num_rows
    True
    """
    made = [LegalFile(name, *made) for name, made in _hand_made().items()]
    return (*_sample_files(), *made)
