"""A small Mosaic file, byte by byte: ``python -m tests.docs.annotation FILE`` lists it.

A line of the listing is an offset, up to eight bytes and, where a field begins, its meaning. The
examples of docs/format.md are cut from such listings. For files as small as those: where there are
zstd frames, their content must be too short to compress, so that it lies bare in the file.
"""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

import zstandard

from tests.oracle import (
    ALL_NULL,
    CONST,
    DICT,
    ENCODING_NAMES,
    PLAIN,
    Column,
    Cursor,
    MosaicType,
    Schema,
    Slot,
    bit,
    bits,
    expand,
    physical_children,
    read_type,
    read_value,
    scalars,
)

BYTES_PER_LINE = 8
TYPE_NAMES = [
    *("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT", "DOUBLE", "DATE"),
    *("CHAR", "VARCHAR", "STRING", "BINARY", "VARBINARY", "BYTES"),
    *("DECIMAL", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "ARRAY", "MAP"),
]
ARRAY, MAP = 18, 19
SECTIONS = {1: "integrity", 2: "bucket checksums"}
COMPRESSIONS = ("none", "zstd")

T = TypeVar("T")
Rules = tuple[tuple[int, int], ...]


def listing(data: bytes) -> list[str]:
    """The lines of a whole file."""
    lines = []
    position = 0
    for offset, (field, meaning) in sorted(Annotator(data).fields.items()):
        assert offset == position, "every byte has one meaning"
        position += len(field)
        for start in range(0, len(field), BYTES_PER_LINE):
            part = field[start : start + BYTES_PER_LINE].hex(" ")
            text = "" if start else meaning
            lines.append(f"{offset + start:04x}  {part:{3 * BYTES_PER_LINE - 1}}  {text}".rstrip())
    assert position == len(data)
    return lines


class Annotator:
    """Walks through a file; ``fields`` are the bytes and the meaning of each, by offset."""

    def __init__(self, data: bytes) -> None:
        self.fields: dict[int, tuple[bytes, str]] = {}
        self._data = data
        self._cursor = Cursor(data, len(data) - 32)
        index_offset, schema_offset, num_row_groups = self._footer()
        if data[:schema_offset].endswith(b"MosAnnex"):
            self._annex(schema_offset)
        self._cursor.position = schema_offset
        self._schema = self._schema_block(index_offset)
        for _ in range(num_row_groups):
            self._row_group()
        assert self._cursor.position == len(data) - 32

    def _note(self, read: Callable[[], T], meaning: Callable[[T], str]) -> T:
        """Read a field and keep what it means; a field of no bytes is none."""
        start = self._cursor.position
        value = read()
        if self._cursor.position > start:
            assert start not in self.fields
            self.fields[start] = self._data[start : self._cursor.position], meaning(value)
        return value

    def _number(self, read: Callable[[], int], name: str) -> int:
        return self._note(read, lambda value: f"{name} {value}")

    def _take(self, count: int, meaning: str) -> bytes:
        return self._note(lambda: self._cursor.take(count), lambda _: meaning)

    def _byte(self) -> int:
        return self._cursor.byte()

    def _varint(self) -> int:
        return self._cursor.varint()

    def _u32(self) -> int:
        return self._cursor.big_endian(4)

    def _u64(self) -> int:
        return self._cursor.big_endian(8)

    def _u32le(self) -> int:
        return self._cursor.little_endian(4)

    # Footer

    def _footer(self) -> tuple[int, int, int]:
        index_offset = self._note(self._u64, lambda at: f"indexOffset {at:04x}")
        schema_offset = self._note(self._u64, lambda at: f"schemaOffset {at:04x}")
        self._number(self._u32, "numBuckets")
        num_row_groups = self._number(self._u32, "numRowGroups")
        self._compression = self._note(
            self._byte, lambda kind: f"compression {kind}, {COMPRESSIONS[kind]}"
        )
        self._number(self._byte, "version")
        self._take(2, "reserved")
        assert self._take(4, 'magic, "MOSA"') == b"MOSA"
        return index_offset, schema_offset, num_row_groups

    # Annex

    def _annex(self, end: int) -> None:
        trailer = end - 20
        count = self._data[trailer + 4]
        self._cursor.position = trailer - 12 * count
        sizes = []
        for _ in range(count):
            kind = self._note(self._u16, lambda kind: f"type {kind}, {SECTIONS[kind]}")
            self._note(self._u16, lambda flags: f"flags {flags}")
            sizes.append((kind, self._number(self._u32, "length")))
            self._take(4, "checksum of the section")
        length = self._number(self._u32, "length of the annex")
        self._number(self._byte, "numSections")
        self._number(self._byte, "version")
        self._take(2, "reserved")
        self._take(4, "checksum of table and trailer")
        self._take(8, 'magic, "MosAnnex"')
        self._cursor.position = end - length
        self._take(4, "annex, magic")
        self._number(self._u32, "length of the annex")
        for kind, size in sizes:
            body_end = self._cursor.position + size
            if kind == 1:
                for name in ("buckets", "schema block", "row group index", "footer"):
                    self._take(4, f"checksum of the {name}")
            elif kind == 2:
                for number in range(size // 4):
                    self._take(4, f"checksum of a bucket, number {number}")
            assert self._cursor.position == body_end
        assert self._cursor.position == trailer - 12 * count

    def _u16(self) -> int:
        return self._cursor.big_endian(2)

    @contextmanager
    def _block(self, stored_size: int, raw_size: int) -> Iterator[None]:
        """What surrounds a content of ``raw_size`` bytes: nothing, or a frame of one raw block."""
        end = self._cursor.position + stored_size
        if self._compression == 0:
            yield
        else:
            frame = self._data[self._cursor.position : end]
            parameters = zstandard.get_frame_parameters(frame)
            assert parameters.content_size == raw_size
            self._take(4, "zstd frame, magic number")
            checksum = ", checksum" * parameters.has_checksum
            assert self._take(1, f"content size in 1 byte, no window{checksum}")[0] & ~4 == 0x20
            assert self._number(self._byte, "content size") == raw_size
            header = self._note(
                lambda: self._cursor.little_endian(3),
                lambda header: f"last block, stored as it is, {header >> 3} bytes",
            )
            assert header == raw_size << 3 | 1
            start = self._cursor.position
            yield
            assert zstandard.decompress(frame) == self._data[start : self._cursor.position]
            if parameters.has_checksum:
                self._take(4, "checksum of the content")
        assert self._cursor.position == end

    # Schema

    def _schema_block(self, end: int) -> Schema:
        size = self._number(self._u32, "content length")
        with self._block(end - self._cursor.position, size):
            return self._schema_content()

    def _schema_content(self) -> Schema:
        num_columns = self._number(self._varint, "numColumns")
        num_buckets = self._number(self._varint, "numBuckets")
        kinds = {0: "front coding", 1: "byte pairs and front coding"}
        name_encoding = self._note(self._byte, lambda kind: f"nameEncoding {kind}, {kinds[kind]}")
        rules: Rules = ()
        if name_encoding == 1:
            for _ in range(self._number(self._varint, "numRules")):
                rules = self._rule(rules)
        columns: list[Column] = []
        coded = b""
        for _ in range(num_columns):
            coded = self._name(coded, rules)
            columns.append(Column(expand(coded, rules).decode(), self._type()))
        position = 0
        order = []
        for _ in range(num_columns):
            position = self._next_position(position, columns)
            order.append(position)
        return Schema(num_buckets, name_encoding, rules, tuple(columns), tuple(order))

    def _rule(self, rules: Rules) -> Rules:
        def meaning(pair: tuple[int, int]) -> str:
            token = 0x80 + len(rules)
            parts = " and ".join(quoted(bytes([symbol])) for symbol in pair)
            whole = quoted(expand(bytes([token]), (*rules, pair)))
            return f"{token:02x} is {parts}" + (f": {whole}" if max(pair) >= 0x80 else "")

        return (*rules, self._note(lambda: (self._byte(), self._byte()), meaning))

    def _name(self, previous: bytes, rules: Rules) -> bytes:
        def read() -> tuple[int, bytes]:
            return self._varint(), self._cursor.take(self._varint())

        def meaning(found: tuple[int, bytes]) -> str:
            shared, suffix = found
            name = expand(previous[:shared] + suffix, rules).decode()
            return f"shared {shared}, suffixLength {len(suffix)}: {name}"

        shared, suffix = self._note(read, meaning)
        return previous[:shared] + suffix

    def _type(self) -> MosaicType:
        start = self._cursor.position
        self._note_type()
        again = Cursor(self._data, start)
        found = read_type(again)
        assert again.position == self._cursor.position
        return found

    def _note_type(self) -> None:
        type_id = self._data[self._cursor.position]
        if type_id in (ARRAY, MAP):
            self._take(2, self._type_text(Cursor(self._data, self._cursor.position)))
            if type_id == MAP:
                self._note_text("name of the entries")
                self._note_text("name of the keys")
                self._note_type()
            self._note_text("name of the values" if type_id == MAP else "name of the elements")
            self._note_type()
        else:
            self._note(lambda: self._type_text(self._cursor), lambda text: text)

    def _note_text(self, name: str) -> None:
        self._note(
            lambda: self._cursor.take(self._varint()), lambda text: f"{name}, {quoted(text)}"
        )

    @staticmethod
    def _type_text(cursor: Cursor) -> str:
        """Reads a descriptor (of a list or map: its first two bytes) and says it in words."""
        name, nullable = TYPE_NAMES[cursor.byte()], cursor.byte()
        parameters: list[object] = []
        if name in ("CHAR", "VARCHAR", "BINARY", "VARBINARY", "TIME", "TIMESTAMP"):
            parameters = [cursor.varint()]
        elif name == "DECIMAL":
            precision, scale = cursor.varint(), cursor.varint()
            parameters = [precision, scale - (scale >> 31 << 32)]
        elif name == "TIMESTAMP_LTZ":
            parameters = [cursor.varint(), cursor.text()]
        text = name + (f"({', '.join(map(str, parameters))})" if parameters else "")
        return text + (", nullable" if nullable else ", NOT NULL")

    def _next_position(self, before: int, columns: list[Column]) -> int:
        delta = self._note(
            self._cursor.zigzag,
            lambda delta: (
                f"delta {delta:+d}: position {before + delta}, {columns[before + delta].name}"
            ),
        )
        return before + delta

    # Row group index

    def _row_group(self) -> None:
        num_rows = self._number(self._varint, "numRows")
        entries = []
        for _ in range(self._number(self._varint, "bucketCount")):
            bucket_id = self._number(self._varint, "bucketId")
            offset = self._note(self._u64, lambda at: f"offset {at:04x}")
            compressed_size = self._number(self._varint, "compressedSize")
            bulk_size = self._note(
                self._varint,
                lambda size: f"bulkSize {size}, {'monolithic' if size else 'paged'}",
            )
            entries.append((bucket_id, offset, compressed_size, bulk_size))
        for _ in range(self._number(self._varint, "statCount")):
            self._statistic(num_rows)
        next_group = self._cursor.position
        for bucket_id, offset, compressed_size, bulk_size in entries:
            self._cursor.position = offset
            columns = self._schema.bucket(bucket_id)
            slots = [Slot(column.name, column.type) for column in columns]
            for column in columns:
                slots.extend(physical_children(column.name, column.type))
            if bulk_size:
                with self._block(compressed_size, bulk_size):
                    self._monolithic(slots, num_rows)
            else:
                self._paged(slots, num_rows)
            assert self._cursor.position == offset + compressed_size
        self._cursor.position = next_group

    def _statistic(self, num_rows: int) -> None:
        columns = self._schema.columns
        position = self._note(self._varint, lambda at: f"columnIndex {at}, {columns[at].name}")
        if self._number(self._varint, "nullCount") < num_rows:
            for name in ("minimum", "maximum"):
                self._value(columns[position].type, name)

    # Values

    def _value(self, of: MosaicType, name: str) -> bytes:
        return self._note(
            lambda: read_value(self._cursor, of), lambda value: f"{name} {shown(of, value)}"
        )

    # Buckets

    def _monolithic(self, slots: list[Slot], num_rows: int) -> None:
        rows = [num_rows] * sum(not slot.is_child for slot in slots)
        if len(rows) < len(slots):
            assert self._number(self._varint, "columns of the bucket:") == len(rows)
            for slot in slots[len(slots) - self._number(self._varint, "children:") :]:
                rows.append(self._number(self._varint, f"rows of {label(slot)}:"))
        count = len(slots)
        flags = self._note(
            lambda: self._cursor.take((2 * count + 7) // 8),
            lambda flags: encodings_text(slots, flags),
        )
        encodings = [bits(flags, 2 * i, 2) for i in range(count)]
        null_flags = self._note(
            lambda: self._cursor.take((count + 7) // 8),
            lambda flags: (
                "null bitmaps: "
                + (
                    ", ".join(label(slot) for i, slot in enumerate(slots) if bit(flags, i))
                    or "none"
                )
            ),
        )
        for slot, encoding in zip(slots, encodings, strict=True):
            if encoding == CONST:
                self._constant(slot)
        entries = [
            self._dictionary(slot) if encoding == DICT else 0
            for slot, encoding in zip(slots, encodings, strict=True)
        ]
        present = [
            self._bitmap(slot, rows[i]) if bit(null_flags, i) else rows[i]
            for i, slot in enumerate(slots)
        ]
        for i, slot in enumerate(slots):
            self._values(slot, encodings[i], entries[i], present[i])

    def _paged(self, slots: list[Slot], num_rows: int) -> None:
        rows = [num_rows] * sum(not slot.is_child for slot in slots)
        if len(rows) < len(slots):
            children = self._number(lambda: self._cursor.little_endian(2), "children:")
            for slot in slots[len(slots) - children :]:
                rows.append(self._number(self._u32le, f"rows of {label(slot)}:"))
        directory = [self._number(self._u32le, f"slot of {label(slot)}:") for slot in slots]
        for slot, slot_rows, size in zip(slots, rows, directory, strict=True):
            if size:
                end = self._cursor.position + size
                page_size = self._number(self._varint, f"{label(slot)}: length of the page")
                with self._block(end - self._cursor.position, page_size):
                    self._page(slot, slot_rows)
                assert self._cursor.position == end

    def _page(self, slot: Slot, rows: int) -> None:
        encoding = self._note(self._byte, lambda kind: f"encoding {kind}, {ENCODING_NAMES[kind]}")
        flags = self._note(
            self._byte, lambda flags: f"flags {flags}, {'nulls' if flags & 1 else 'no nulls'}"
        )
        assert encoding != ALL_NULL
        entries = 0
        if encoding == CONST:
            self._constant(slot)
        elif encoding == DICT:
            entries = self._dictionary(slot)
        present = self._bitmap(slot, rows) if flags & 1 else rows
        self._values(slot, encoding, entries, present)

    def _constant(self, slot: Slot) -> None:
        self._value(slot.type, f"{label(slot)}: constant")

    def _dictionary(self, slot: Slot) -> int:
        count = self._number(self._varint, f"{label(slot)}: dictionary entries:")
        for i in range(count):
            self._value(slot.type, f"entry {i}:")
        return count

    def _bitmap(self, slot: Slot, rows: int) -> int:
        """Note a null bitmap; returns how many rows are not null."""

        def nulls(bitmap: bytes) -> list[int]:
            return [row for row in range(rows) if bit(bitmap, row)]

        bitmap = self._note(
            lambda: self._cursor.take((rows + 7) // 8),
            lambda bitmap: f"{label(slot)}: null in {rows_text(nulls(bitmap))}",
        )
        return rows - len(nulls(bitmap))

    def _values(self, slot: Slot, encoding: int, entries: int, present: int) -> None:
        if encoding == PLAIN and (slot.type.width or 0) >= BYTES_PER_LINE:
            for _ in range(present):
                self._value(slot.type, f"{label(slot)}:")
        elif encoding == PLAIN:
            self._note(
                lambda: [read_value(self._cursor, slot.type) for _ in range(present)],
                lambda values: (
                    f"{label(slot)}: " + ", ".join(shown(slot.type, value) for value in values)
                ),
            )
        elif encoding == DICT:
            width = (entries - 1).bit_length()
            self._note(
                lambda: self._cursor.take((present * width + 7) // 8),
                lambda packed: (
                    f"{label(slot)}: entries "
                    + " ".join(str(bits(packed, i * width, width)) for i in range(present))
                ),
            )


def label(slot: Slot) -> str:
    """A physical column in words."""
    path = slot.path.replace("[]", " elements").replace("{key}", " keys")
    path = path.replace("{value}", " values")
    return f"{path} lengths" if slot.type.children else path


def quoted(data: bytes) -> str:
    """ASCII in quotes, tokens of byte pairs as numbers."""
    if data.isascii():
        return f'"{data.decode()}"'
    return data.hex(" ")


def encodings_text(slots: list[Slot], flags: bytes) -> str:
    names = [ENCODING_NAMES[bits(flags, 2 * i, 2)] for i in range(len(slots))]
    if len(set(names)) == 1 < len(names):
        return f"encodings: all {names[0]}"
    pairs = [f"{label(slot)} {name}" for slot, name in zip(slots, names, strict=True)]
    return f"encodings: {', '.join(pairs)}"


def rows_text(rows: list[int]) -> str:
    return ("row " if len(rows) == 1 else "rows ") + ", ".join(map(str, rows))


def shown(of: MosaicType, value: bytes) -> str:
    """A value in words."""
    if of.children:
        return str(int.from_bytes(value, "big", signed=True))
    found = scalars(of, [value])[0]
    if of.width == 12:
        # More digits than a datetime has.
        return str(found)
    value_of = found.as_py()
    match value_of:
        case bool():
            return str(value_of).lower()
        case str():
            return f'"{value_of}"'
        case bytes():
            return f"[{value_of.hex(' ')}]"
        case Decimal():
            return f"{value_of:f}"
        case datetime.datetime():
            digits = "milliseconds" if of.arrow.unit == "ms" else "microseconds"
            return value_of.isoformat(" ", timespec=digits)
    return str(value_of)


if __name__ == "__main__":
    sys.stdout.write("\n".join(listing(Path(sys.argv[1]).read_bytes())) + "\n")
