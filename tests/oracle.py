"""A second opinion: a literal decoder of Mosaic v1 in plain Python.

Written from docs/format.md, section by section, and sharing nothing with ``src/``: clear rather
than fast, and for legal files only.  ``decode`` returns the values *and* the structure (layouts,
encodings, sizes, name coding), so that tests can assert what a writer chose and not only that the
values came back.

Every value travels as the bytes the file holds (``None`` for null) until the last step, where a
column of them becomes an Arrow array; no float is ever converted, so NaN payloads survive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import zstandard

PLAIN, CONST, DICT, ALL_NULL = range(4)
ENCODING_NAMES = ("PLAIN", "CONST", "DICT", "ALL_NULL")

Values = list[bytes | None]


@dataclass(frozen=True)
class PhysicalColumn:
    """One encoded column of a bucket: a scalar, the lengths of a list or map, or a child of one."""

    path: str
    is_child: bool
    rows: int
    null_count: int
    encoding: str
    has_nulls: bool
    dict_entries: int | None
    raw_entries: tuple[bytes, ...]


@dataclass(frozen=True)
class Bucket:
    """One bucket of one row group; ``layout`` is ``monolithic``, ``paged`` or ``missing``."""

    layout: str
    offset: int | None
    compressed_size: int
    raw_size: int | None
    raw: bytes | None
    frames: tuple[bytes, ...]
    columns: tuple[PhysicalColumn, ...]


@dataclass(frozen=True)
class Statistics:
    """One entry of the index, min and max as stored but without a length prefix."""

    column: str
    column_index: int
    null_count: int
    min: bytes | None
    max: bytes | None


@dataclass(frozen=True)
class RowGroup:
    num_rows: int
    buckets: tuple[Bucket, ...]
    statistics: tuple[Statistics, ...]
    batch: pa.RecordBatch


@dataclass(frozen=True)
class MosaicContent:
    """All that a file says."""

    schema: pa.Schema
    sorted_names: tuple[str, ...]
    bucket_names: tuple[tuple[str, ...], ...]
    num_buckets: int
    compression: int
    name_encoding: int
    bpe_rules: tuple[tuple[int, int], ...]
    schema_bytes: bytes
    schema_frame: bytes | None
    index_bytes: bytes
    row_groups: tuple[RowGroup, ...]

    @property
    def table(self) -> pa.Table:
        return pa.Table.from_batches([group.batch for group in self.row_groups], self.schema)

    @property
    def frames(self) -> list[bytes]:
        """Every zstd frame of the file."""
        if self.schema_frame is None:
            return []
        buckets = [bucket for group in self.row_groups for bucket in group.buckets]
        return [self.schema_frame] + [frame for bucket in buckets for frame in bucket.frames]

    def columns(self, row_group: int = 0) -> dict[str, PhysicalColumn]:
        """The physical columns of a row group by path: ``a``, ``a[]``, ``m{key}``, ``m{value}``."""
        buckets = self.row_groups[row_group].buckets
        return {column.path: column for bucket in buckets for column in bucket.columns}

    def encodings(self, row_group: int = 0) -> dict[str, str]:
        """What each physical column of a row group was encoded as, by path."""
        return {path: label(column) for path, column in self.columns(row_group).items()}

    def layouts(self, row_group: int = 0) -> list[str]:
        return [bucket.layout for bucket in self.row_groups[row_group].buckets]


def label(column: PhysicalColumn) -> str:
    """The encoding, marked when the column holds a null bitmap: ``DICT``, ``DICT+nulls``."""
    return column.encoding + ("+nulls" if column.has_nulls else "")


def decode(data: bytes) -> MosaicContent:
    """Decode a whole file."""
    footer = Cursor(data, len(data) - 32)
    index_offset, schema_offset = footer.big_endian(8), footer.big_endian(8)
    num_buckets, num_row_groups = footer.big_endian(4), footer.big_endian(4)
    compression, version = footer.byte(), footer.byte()
    footer.take(2)
    assert version == 1
    assert footer.take(4) == b"MOSA"

    schema_block = Cursor(data, schema_offset)
    schema_size = schema_block.big_endian(4)
    stored = data[schema_block.position : index_offset]
    schema_bytes = stored if compression == 0 else decompress(stored, schema_size)
    schema = read_schema(schema_bytes)
    assert schema.num_buckets == num_buckets

    index = Cursor(data, index_offset, len(data) - 32)
    row_groups = tuple(
        read_row_group(data, index, schema, compression) for _ in range(num_row_groups)
    )
    assert index.at_end
    return MosaicContent(
        schema=schema.arrow_schema,
        sorted_names=tuple(column.name for column in schema.columns),
        bucket_names=tuple(
            tuple(column.name for column in schema.bucket(i)) for i in range(num_buckets)
        ),
        num_buckets=num_buckets,
        compression=compression,
        name_encoding=schema.name_encoding,
        bpe_rules=schema.bpe_rules,
        schema_bytes=schema_bytes,
        schema_frame=stored if compression == 1 else None,
        index_bytes=data[index_offset : len(data) - 32],
        row_groups=row_groups,
    )


# Bytes and integers


class Cursor:
    """A position in bytes that only moves forward."""

    def __init__(self, data: bytes, position: int = 0, end: int | None = None) -> None:
        self.data = data
        self.position = position
        self.end = len(data) if end is None else end

    @property
    def at_end(self) -> bool:
        return self.position == self.end

    def take(self, count: int) -> bytes:
        assert 0 <= count <= self.end - self.position, "read past the end"
        self.position += count
        return self.data[self.position - count : self.position]

    def byte(self) -> int:
        return self.take(1)[0]

    def big_endian(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def little_endian(self, width: int) -> int:
        return int.from_bytes(self.take(width), "little")

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def text(self) -> str:
        return self.take(self.varint()).decode()


def decompress(frame: bytes, size: int) -> bytes:
    content = zstandard.ZstdDecompressor().decompress(frame, size, allow_extra_data=False)
    assert len(content) == size
    return content


def bit(data: bytes, i: int) -> int:
    """Bit ``i``, least significant first."""
    return data[i // 8] >> (i % 8) & 1


def bits(data: bytes, start: int, width: int) -> int:
    return sum(bit(data, start + i) << i for i in range(width))


# Schema block


@dataclass(frozen=True)
class MosaicType:
    """A type as values see it: the Arrow type, the width of a value, the types nested in it."""

    arrow: pa.DataType
    nullable: bool
    width: int | None
    names: tuple[str, ...] = ()
    children: tuple[MosaicType, ...] = ()


@dataclass(frozen=True)
class Column:
    name: str
    type: MosaicType


@dataclass(frozen=True)
class Schema:
    num_buckets: int
    name_encoding: int
    bpe_rules: tuple[tuple[int, int], ...]
    columns: tuple[Column, ...]
    order: tuple[int, ...]

    @property
    def arrow_schema(self) -> pa.Schema:
        in_order = [self.columns[position] for position in self.order]
        return pa.schema(
            [pa.field(column.name, column.type.arrow, column.type.nullable) for column in in_order]
        )

    def bucket(self, bucket_id: int) -> list[Column]:
        total = len(self.columns)
        return [
            column
            for position, column in enumerate(self.columns)
            if position * self.num_buckets // total == bucket_id
        ]


def read_schema(data: bytes) -> Schema:
    cursor = Cursor(data)
    num_columns, num_buckets = cursor.varint(), cursor.varint()
    name_encoding = cursor.byte()
    rules: tuple[tuple[int, int], ...] = ()
    if name_encoding == 1:
        rules = tuple((cursor.byte(), cursor.byte()) for _ in range(cursor.varint()))
    columns = []
    coded = b""
    for _ in range(num_columns):
        shared = cursor.varint()
        coded = coded[:shared] + cursor.take(cursor.varint())
        name = expand(coded, rules) if name_encoding == 1 else coded
        columns.append(Column(name.decode(), read_type(cursor)))
    return Schema(num_buckets, name_encoding, rules, tuple(columns), read_order(cursor, columns))


def read_order(cursor: Cursor, columns: list[Column]) -> tuple[int, ...]:
    if cursor.at_end:
        return tuple(range(len(columns)))
    order = []
    position = 0
    for _ in columns:
        position += cursor.zigzag()
        order.append(position)
    assert sorted(order) == list(range(len(columns)))
    return tuple(order)


def expand(coded: bytes, rules: tuple[tuple[int, int], ...]) -> bytes:
    """Undo byte pair encoding: 0x80 + k stands for the two symbols of rule k."""
    return b"".join(
        bytes([symbol]) if symbol < 0x80 else expand(bytes(rules[symbol - 0x80]), rules)
        for symbol in coded
    )


FIXED_TYPES: dict[int, tuple[pa.DataType, int]] = {
    0: (pa.bool_(), 1),
    1: (pa.int8(), 1),
    2: (pa.int16(), 2),
    3: (pa.int32(), 4),
    4: (pa.int64(), 8),
    5: (pa.float32(), 4),
    6: (pa.float64(), 8),
    7: (pa.date32(), 4),
}


def read_type(cursor: Cursor) -> MosaicType:
    type_id, nullable = cursor.byte(), cursor.byte() != 0
    if type_id in FIXED_TYPES:
        arrow, width = FIXED_TYPES[type_id]
        return MosaicType(arrow, nullable, width)
    if type_id in (8, 9, 10):
        if type_id != 10:
            cursor.varint()
        return MosaicType(pa.string(), nullable, None)
    if type_id in (11, 12, 13):
        if type_id != 13:
            cursor.varint()
        return MosaicType(pa.binary(), nullable, None)
    if type_id == 14:
        precision = cursor.varint()
        scale = cursor.varint()
        if scale >= 1 << 31:
            scale -= 1 << 32
        arrow = pa.decimal128(precision, scale)
        return MosaicType(arrow, nullable, 8 if precision <= 18 else None)
    if type_id == 15:
        cursor.varint()
        return MosaicType(pa.time32("ms"), nullable, 4)
    if type_id in (16, 17):
        precision = cursor.varint()
        zone = cursor.text() if type_id == 17 else ""
        unit = "ms" if precision <= 3 else "us" if precision <= 6 else "ns"
        arrow = pa.timestamp(unit, zone or None)
        return MosaicType(arrow, nullable, 12 if precision > 6 else 8)
    if type_id == 18:
        name = cursor.text()
        element = read_type(cursor)
        arrow = pa.list_(pa.field(name, element.arrow, element.nullable))
        return MosaicType(arrow, nullable, 4, (name,), (element,))
    if type_id == 19:
        # Arrow's C++ map type names its parts itself; the stored names are only stepped over.
        cursor.text()
        key_name = cursor.text()
        key = read_type(cursor)
        value_name = cursor.text()
        value = read_type(cursor)
        arrow = pa.map_(
            pa.field(key_name, key.arrow, nullable=False),
            pa.field(value_name, value.arrow, value.nullable),
        )
        return MosaicType(arrow, nullable, 4, (key_name, value_name), (key, value))
    raise AssertionError(f"type id {type_id}")


# Row group index


def read_row_group(data: bytes, index: Cursor, schema: Schema, compression: int) -> RowGroup:
    num_rows = index.varint()
    entries = {}
    for _ in range(index.varint()):
        bucket_id = index.varint()
        entries[bucket_id] = (index.big_endian(8), index.varint(), index.varint())
    statistics = tuple(read_statistics(index, schema, num_rows) for _ in range(index.varint()))

    buckets = []
    arrays: dict[str, pa.Array] = {}
    for bucket_id in range(schema.num_buckets):
        columns = schema.bucket(bucket_id)
        bucket, decoded = read_bucket(data, entries.get(bucket_id), columns, num_rows, compression)
        buckets.append(bucket)
        arrays.update(decoded)
    arrow_schema = schema.arrow_schema
    if arrow_schema.names:
        batch = pa.record_batch([arrays[name] for name in arrow_schema.names], arrow_schema)
    else:
        rows = pa.array([{}] * num_rows, pa.struct([]))
        batch = pa.RecordBatch.from_struct_array(rows)
    return RowGroup(num_rows, tuple(buckets), statistics, batch)


def read_statistics(index: Cursor, schema: Schema, num_rows: int) -> Statistics:
    column_index, null_count = index.varint(), index.varint()
    column = schema.columns[column_index]
    low = high = None
    if null_count < num_rows:
        low, high = read_value(index, column.type), read_value(index, column.type)
    return Statistics(column.name, column_index, null_count, low, high)


# Buckets


@dataclass(frozen=True)
class Slot:
    """A physical column before its values are known: where it comes from and its value type."""

    path: str
    type: MosaicType
    is_child: bool = False


def physical_children(path: str, of: MosaicType) -> Iterator[Slot]:
    """What nests in a type, depth first, parents before their children."""
    labels = ("[]",) if len(of.children) == 1 else ("{key}", "{value}")
    for suffix, child in zip(labels, of.children, strict=False):
        yield Slot(path + suffix, child, is_child=True)
        yield from physical_children(path + suffix, child)


def read_bucket(
    data: bytes,
    entry: tuple[int, int, int] | None,
    columns: list[Column],
    num_rows: int,
    compression: int,
) -> tuple[Bucket, dict[str, pa.Array]]:
    slots = [Slot(column.name, column.type) for column in columns]
    for column in columns:
        slots.extend(physical_children(column.name, column.type))
    if entry is None or entry[1] == 0:
        arrays = {column.name: pa.nulls(num_rows, column.type.arrow) for column in columns}
        return Bucket("missing", None, 0, None, None, (), ()), arrays

    offset, compressed_size, bulk_size = entry
    stored = data[offset : offset + compressed_size]
    assert len(stored) == compressed_size
    if bulk_size:
        raw = stored if compression == 0 else decompress(stored, bulk_size)
        assert len(raw) == bulk_size
        decoded = read_monolithic(raw, slots, num_rows)
        layout, raw_size = "monolithic", bulk_size
        frames = [stored] if compression == 1 else []
    else:
        assert compression == 1
        decoded, frames = read_paged(stored, slots, num_rows)
        layout, raw, raw_size = "paged", None, None

    arrays = {}
    children = iter(decoded[len(columns) :])
    for column, (_, values) in zip(columns, decoded, strict=False):
        arrays[column.name] = assemble(column.type, values, lambda: next(children)[1])
    assert next(children, None) is None
    structure = tuple(physical for physical, _ in decoded)
    bucket = Bucket(layout, offset, compressed_size, raw_size, raw, tuple(frames), structure)
    return bucket, arrays


Decoded = list[tuple[PhysicalColumn, Values]]


def read_monolithic(raw: bytes, slots: list[Slot], num_rows: int) -> Decoded:
    cursor = Cursor(raw)
    rows = [num_rows] * sum(not slot.is_child for slot in slots)
    if any(slot.is_child for slot in slots):
        assert cursor.varint() == len(rows)
        rows += [cursor.varint() for _ in range(cursor.varint())]
    count = len(slots)
    assert len(rows) == count

    flags = cursor.take((2 * count + 7) // 8)
    encodings = [bits(flags, 2 * i, 2) for i in range(count)]
    null_flags = cursor.take((count + 7) // 8)
    has_nulls = [encodings[i] != ALL_NULL and bit(null_flags, i) == 1 for i in range(count)]

    entries: list[list[bytes]] = [[] for _ in slots]
    for i, slot in enumerate(slots):
        if encodings[i] == CONST:
            entries[i] = [read_value(cursor, slot.type)]
    for i, slot in enumerate(slots):
        if encodings[i] == DICT:
            entries[i] = [read_value(cursor, slot.type) for _ in range(cursor.varint())]
    bitmaps = [cursor.take((rows[i] + 7) // 8) if has_nulls[i] else None for i in range(count)]
    decoded = []
    for i, slot in enumerate(slots):
        values = read_data(cursor, slot.type, encodings[i], entries[i], bitmaps[i], rows[i])
        decoded.append((describe(slot, encodings[i], bitmaps[i], entries[i], values), values))
    assert cursor.at_end
    return decoded


def read_paged(stored: bytes, slots: list[Slot], num_rows: int) -> tuple[Decoded, list[bytes]]:
    cursor = Cursor(stored)
    rows = [num_rows] * sum(not slot.is_child for slot in slots)
    if any(slot.is_child for slot in slots):
        rows += [cursor.little_endian(4) for _ in range(cursor.little_endian(2))]
    assert len(rows) == len(slots)
    directory = [cursor.little_endian(4) for _ in slots]

    decoded = []
    frames = []
    for i, slot in enumerate(slots):
        block = Cursor(cursor.take(directory[i]))
        encoding, entries, bitmap = ALL_NULL, [], None
        page = Cursor(b"")
        if directory[i]:
            size = block.varint()
            frames.append(block.take(block.end - block.position))
            page = Cursor(decompress(frames[-1], size))
            encoding, flags = page.byte(), page.byte()
            if encoding == CONST:
                entries = [read_value(page, slot.type)]
            if encoding == DICT:
                entries = [read_value(page, slot.type) for _ in range(page.varint())]
            if flags & 1 and encoding != ALL_NULL:
                bitmap = page.take((rows[i] + 7) // 8)
        values = read_data(page, slot.type, encoding, entries, bitmap, rows[i])
        decoded.append((describe(slot, encoding, bitmap, entries, values), values))
        assert page.at_end
    assert cursor.at_end
    return decoded, frames


def describe(
    slot: Slot,
    encoding: int,
    bitmap: bytes | None,
    entries: list[bytes],
    values: Values,
) -> PhysicalColumn:
    return PhysicalColumn(
        path=slot.path,
        is_child=slot.is_child,
        rows=len(values),
        null_count=values.count(None),
        encoding=ENCODING_NAMES[encoding],
        has_nulls=bitmap is not None,
        dict_entries=len(entries) if encoding == DICT else None,
        raw_entries=tuple(entries),
    )


def read_data(
    cursor: Cursor,
    of: MosaicType,
    encoding: int,
    entries: list[bytes],
    bitmap: bytes | None,
    rows: int,
) -> Values:
    """The last part of a column: one value per row, taken from wherever the encoding keeps it."""
    if encoding == ALL_NULL:
        return [None] * rows
    is_null = [bitmap is not None and bit(bitmap, row) == 1 for row in range(rows)]
    present = rows - sum(is_null)
    values: list[bytes]
    if encoding == CONST:
        values = entries * present
    elif encoding == DICT:
        width = (len(entries) - 1).bit_length()
        packed = cursor.take((present * width + 7) // 8)
        values = [entries[bits(packed, i * width, width)] for i in range(present)]
    else:
        values = [read_value(cursor, of) for _ in range(present)]
    upcoming = iter(values)
    return [None if null else next(upcoming) for null in is_null]


def read_value(cursor: Cursor, of: MosaicType) -> bytes:
    return cursor.take(cursor.varint() if of.width is None else of.width)


# Arrow


def assemble(of: MosaicType, values: Values, next_child: Callable[[], Values]) -> pa.Array:
    """The Arrow array of a logical column, from its own values and those of its children."""
    if not of.children:
        return scalars(of, values)
    offsets = [0]
    for length in values:
        offsets.append(offsets[-1] + (0 if length is None else int.from_bytes(length, "big")))
    children = [assemble(child, next_child(), next_child) for child in of.children]
    assert all(len(child) == offsets[-1] for child in children)
    if len(of.children) == 2:
        entries = pa.StructArray.from_arrays(
            children, fields=[of.arrow.key_field, of.arrow.item_field]
        )
        children = [entries]
    buffers = [validity(values), pa.py_buffer(b"".join(o.to_bytes(4, "little") for o in offsets))]
    return pa.Array.from_buffers(of.arrow, len(values), buffers, children=children)


def scalars(of: MosaicType, values: Values) -> pa.Array:
    if pa.types.is_string(of.arrow) or pa.types.is_binary(of.arrow):
        return pa.array(values, pa.binary()).view(of.arrow)
    if pa.types.is_boolean(of.arrow):
        return pa.array([None if value is None else value != b"\0" for value in values], of.arrow)
    if pa.types.is_decimal(of.arrow):
        width, convert = 16, sign_extend
    elif of.width == 12:
        width, convert = 8, join_nanoseconds
    else:
        assert of.width is not None
        width, convert = of.width, reverse
    data = b"".join(bytes(width) if value is None else convert(value) for value in values)
    return pa.Array.from_buffers(of.arrow, len(values), [validity(values), pa.py_buffer(data)])


def validity(values: Values) -> pa.Buffer | None:
    if None not in values:
        return None
    valid = sum((value is not None) << row for row, value in enumerate(values))
    return pa.py_buffer(valid.to_bytes((len(values) + 7) // 8, "little"))


def reverse(value: bytes) -> bytes:
    return value[::-1]


def sign_extend(value: bytes) -> bytes:
    return int.from_bytes(value, "big", signed=True).to_bytes(16, "little", signed=True)


def join_nanoseconds(value: bytes) -> bytes:
    millis = int.from_bytes(value[:8], "big", signed=True)
    nanos_of_milli = int.from_bytes(value[8:], "big", signed=True)
    return (millis * 1_000_000 + nanos_of_milli).to_bytes(8, "little", signed=True)
