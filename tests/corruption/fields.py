"""What each byte of a legal file is: the name of the field that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import zstandard

from tests.oracle import Cursor, Schema, decompress, physical_children, read_schema, read_value

FOOTER = (
    ("footer: index offset", 8),
    ("footer: schema offset", 8),
    ("footer: number of buckets", 4),
    ("footer: number of row groups", 4),
    ("footer: compression", 1),
    ("footer: version", 1),
    ("footer: reserved", 2),
    ("footer: magic", 4),
)
GAP = "between structures"


@dataclass(frozen=True)
class Field:
    """A run of bytes; ``in_block`` where they are (or stand for) the content of a block."""

    start: int
    stop: int
    name: str
    in_block: bool = False


def fields_of(data: bytes) -> list[Field]:
    """Every field of a file, gaps included, by rising offset."""
    found = sorted(_fields(data), key=lambda field: field.start)
    filled = []
    end = 0
    for field in found:
        if field.start > end:
            filled.append(Field(end, field.start, GAP))
        filled.append(field)
        end = field.stop
    assert end == len(data)
    return filled


def _fields(data: bytes) -> Iterator[Field]:
    start = len(data) - 32
    for name, size in FOOTER:
        yield Field(start, start + size, name)
        start += size
    footer = Cursor(data, len(data) - 32)
    index_offset, schema_offset = footer.big_endian(8), footer.big_endian(8)
    footer.take(4)
    num_row_groups, compression = footer.big_endian(4), footer.byte()

    if data[:schema_offset].endswith(b"MosAnnex"):
        length = int.from_bytes(data[schema_offset - 20 : schema_offset - 16], "big")
        yield Field(schema_offset - length, schema_offset - length + 8, "annex: head")
        yield Field(schema_offset - length + 8, schema_offset, "annex", in_block=True)
    yield Field(schema_offset, schema_offset + 4, "schema block: size")
    yield from _block(data, schema_offset + 4, index_offset, "schema block", compression)
    stored = data[schema_offset + 4 : index_offset]
    size = int.from_bytes(data[schema_offset : schema_offset + 4], "big")
    schema = read_schema(stored if compression == 0 else decompress(stored, size))
    index = _Walker(data, index_offset, len(data) - 32)
    for _ in range(num_row_groups):
        yield from _row_group(data, index, schema, compression)
    assert index.at_end


class _Walker(Cursor):
    """A cursor that tells what it has passed."""

    def field(self, name: str, step: int | None = None) -> tuple[int, Field]:
        """Step over a varint, or over ``step`` bytes; its value and where it was."""
        start = self.position
        value = self.varint() if step is None else self.big_endian(step)
        return value, Field(start, self.position, name)


def _row_group(data: bytes, index: _Walker, schema: Schema, compression: int) -> Iterator[Field]:
    rows, field = index.field("index: number of rows")
    yield field
    count, field = index.field("index: number of buckets")
    yield field
    for _ in range(count):
        bucket, field = index.field("index: bucket id")
        yield field
        offset, field = index.field("index: bucket offset", 8)
        yield field
        size, field = index.field("index: compressed size")
        yield field
        raw_size, field = index.field("index: raw size")
        yield field
        if raw_size:
            yield from _block(data, offset, offset + size, "bucket", compression)
        elif size:
            yield from _paged(data, offset, size, schema, bucket)
    count, field = index.field("index: number of statistics")
    yield field
    for _ in range(count):
        column, field = index.field("index: column of a statistic")
        yield field
        nulls, field = index.field("index: null count of a statistic")
        yield field
        if nulls < rows:
            for name in ("index: minimum", "index: maximum"):
                start = index.position
                read_value(index, schema.columns[column].type)
                yield Field(start, index.position, name)


def _paged(data: bytes, offset: int, size: int, schema: Schema, bucket: int) -> Iterator[Field]:
    columns = schema.bucket(bucket)
    children = sum(1 for c in columns for _ in physical_children(c.name, c.type))
    position = offset
    if children:
        yield Field(position, position + 2 + 4 * children, "paged bucket: child header")
        position += 2 + 4 * children
    physical = len(columns) + children
    yield Field(position, position + 4 * physical, "paged bucket: directory")
    sizes = Cursor(data, position)
    position += 4 * physical
    for _ in range(physical):
        slot_size = sizes.little_endian(4)
        if slot_size:
            slot = _Walker(data, position, position + slot_size)
            _, field = slot.field("slot: size")
            yield field
            yield from _block(data, slot.position, slot.end, "page", 1)
        position += slot_size
    assert position == offset + size


def _block(data: bytes, start: int, stop: int, name: str, compression: int) -> Iterator[Field]:
    if compression == 0:
        yield Field(start, stop, f"{name}: content", in_block=True)
        return
    frame = data[start:stop]
    head = zstandard.frame_header_size(frame)
    tail = 4 if zstandard.get_frame_parameters(frame).has_checksum else 0
    yield Field(start, start + head, f"{name}: frame header", in_block=True)
    yield Field(start + head, stop - tail, f"{name}: frame content", in_block=True)
    if tail:
        yield Field(stop - tail, stop, f"{name}: frame checksum", in_block=True)
