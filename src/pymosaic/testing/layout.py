"""Tables as files of any legal layout, including those that no writer chooses.

:func:`forge_table` is a writer in plain Python that makes no choices of its own: a
:class:`Layout` specifies encodings, order, and which of several equivalent forms to use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import pyarrow as pa

from pymosaic.format.types import Encoding
from pymosaic.testing import pieces
from pymosaic.testing.stored import Physical, descriptor, shred, statistic

__all__ = ["Layout", "forge_table", "stored_order"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a file is laid out; every combination is legal.

    Parameters
    ----------
    compression : {"zstd", "none"}
    checksum : bool
        zstd frames have a checksum of their content.
    content_size : bool
        zstd frames state the size of their content.
    num_buckets : int
        May exceed the number of columns; the remaining buckets are empty.
    row_groups : tuple of int
        Numbers of rows of the first row groups, possibly 0; the rest makes one more.
    encodings : tuple of Encoding
        Column ``i`` of row group ``g`` uses entry ``i + g``, cyclically. If an encoding cannot hold
        the values (CONST for two, ALL_NULL for any), PLAIN is used.
    paged : tuple of bool
        The same for bucket ``i``; without zstd nothing is paged.
    null_flags : bool
        Columns without nulls have a null bitmap anyway, and ALL_NULL claims to have one.
    null_slots : bool
        In paged buckets, ALL_NULL columns have a slot that says so.
    spare_entries : int
        Number of unused dictionary entries, which repeat the first.
    null_buckets : {"stored", "missing", "empty"}
        Whether buckets with only nulls are stored, omitted, or listed with sizes 0 and 0.
    reverse_index, reverse_data : bool
        Buckets of a row group in descending order in the index; in the file.
    gap : int
        Number of meaningless bytes before each bucket and before the schema block.
    original_order : bool
        Whether the schema block ends with the original order; the oldest files have none.
    sorted_names : bool
        Whether columns are sorted by name.
    names : {"front", "whole", "bpe"}
        Front coding, front coding that never shares a byte, or byte pairs (for ASCII names).
    spare_rules : int
        Number of unused byte pair rules.
    foreign_types : int
        Which of several descriptors of the same Arrow type is used; 0 for the usual one.
    name_encoding : int
        The byte that means "front coding": anything but 1.
    long_varints : bool
        Varints are a byte longer than necessary.
    schema_slack, slack : int
        Number of bytes after the content of the schema block; and after that of buckets and pages,
        which is legal only if they have no checksum.
    spare_bits : bool
        Padding bits of bytes, and unused flags of pages, are set.
    statistics : tuple of str
        Columns with statistics.
    reserved : bytes
        The two reserved bytes of the footer.
    """

    compression: Literal["zstd", "none"] = "zstd"
    checksum: bool = True
    content_size: bool = True
    num_buckets: int = 1
    row_groups: tuple[int, ...] = ()
    encodings: tuple[Encoding, ...] = (Encoding.PLAIN,)
    paged: tuple[bool, ...] = (False,)
    null_flags: bool = False
    null_slots: bool = False
    spare_entries: int = 0
    null_buckets: Literal["stored", "missing", "empty"] = "stored"
    reverse_index: bool = False
    reverse_data: bool = False
    gap: int = 0
    original_order: bool = True
    sorted_names: bool = True
    names: Literal["front", "whole", "bpe"] = "front"
    spare_rules: int = 0
    foreign_types: int = 0
    name_encoding: int = 0
    long_varints: bool = False
    schema_slack: int = 0
    slack: int = 0
    spare_bits: bool = False
    statistics: tuple[str, ...] = ()
    reserved: bytes = bytes(2)

    def __post_init__(self) -> None:
        if self.slack and self.checksum and self.compression == "zstd":
            raise ValueError("extra bytes after content with a checksum are not legal")

    @property
    def _compressed(self) -> bool:
        return self.compression == "zstd"

    def varint(self, value: int) -> bytes:
        """A varint in the form of this layout."""
        return pieces.varint(value, int(self.long_varints and value < 1 << 28))

    def block(self, content: bytes) -> bytes:
        """A block: a zstd frame, or the bytes themselves."""
        if not self._compressed:
            return content
        return pieces.frame(content, checksum=self.checksum, content_size=self.content_size)


def stored_order(table: pa.Table, layout: Layout) -> list[str]:
    """Column names in schema block order, which is what a file without original order reads as.

    Examples
    --------
    >>> import pyarrow as pa
    >>> stored_order(pa.table({"b": [1], "a": [2]}), Layout())
    ['a', 'b']
    """
    if not layout.sorted_names:
        return list(table.column_names)
    return sorted(table.column_names, key=str.encode)


def forge_table(table: pa.Table, layout: Layout | None = None) -> bytes:
    """A file that holds ``table`` in the given layout.

    Parameters
    ----------
    table : pyarrow.Table
        Its types must exist in the format; its names must be unique and not empty.
    layout : Layout, optional

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> from pymosaic.format.types import Encoding
    >>> table = pa.table({"b": [7, 7, 7], "a": ["x", None, "y"]})
    >>> data = forge_table(table, Layout(encodings=(Encoding.DICT,), spare_entries=2))
    >>> pymosaic.read_table(data).equals(table)
    True
    >>> bucket = pymosaic.read_metadata(data).row_group(0).bucket(0)
    >>> [(column.name, column.encoding, column.dictionary_size) for column in bucket.columns()]
    [('a', 'DICT', 4), ('b', 'DICT', 3)]
    """
    layout = layout or Layout()
    names = stored_order(table, layout)
    data = bytearray()
    index = b""
    start = 0
    sizes = list(layout.row_groups)
    if sum(sizes) < table.num_rows or (not sizes and table.num_rows):
        sizes.append(table.num_rows - sum(sizes))
    for number, rows in enumerate(sizes):
        part = table.slice(start, rows).select(names)
        index += _row_group(data, part, layout, number)
        start += rows
    data += _filling(layout.gap)
    content = _schema_content(table, names, layout)
    return pieces.forge(
        bytes(data),
        content,
        index,
        compression=int(layout.compression == "zstd"),
        num_buckets=layout.num_buckets,
        num_row_groups=len(sizes),
        schema_block=layout.block(content),
        reserved=layout.reserved,
    )


def _filling(size: int) -> bytes:
    return b"\xee" * size


def _row_group(data: bytearray, part: pa.Table, layout: Layout, number: int) -> bytes:
    """Append the buckets of a row group, and return its index entry."""
    columns = [shred(_one_chunk(column)) for column in part.columns]
    buckets: dict[int, list[list[Physical]]] = {}
    for position, column in enumerate(columns):
        buckets.setdefault(position * layout.num_buckets // len(columns), []).append(column)
    entries = {}
    for bucket in sorted(buckets, reverse=layout.reverse_data):
        if _is_null(buckets[bucket]) and layout.null_buckets != "stored":
            if layout.null_buckets == "empty":
                entries[bucket] = (0, 0, 0)
            continue
        data += _filling(layout.gap)
        stored, raw_size = _bucket(buckets[bucket], layout, number, bucket)
        entries[bucket] = (len(data), len(stored), raw_size)
        data += stored
    index = layout.varint(part.num_rows) + layout.varint(len(entries))
    for bucket in sorted(entries, reverse=layout.reverse_index):
        offset, size, raw_size = entries[bucket]
        index += layout.varint(bucket) + offset.to_bytes(8, "big")
        index += layout.varint(size) + layout.varint(raw_size)
    wanted = [i for i, name in enumerate(part.column_names) if name in layout.statistics]
    index += layout.varint(len(wanted))
    for position in wanted:
        index += layout.varint(position)
        index += statistic(part.schema.field(position).type, columns[position][0].values)
    return index


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _is_null(bucket: list[list[Physical]]) -> bool:
    """Whether a bucket has only nulls; then it need not be stored."""
    return all(value is None for column in bucket for value in column[0].values)


def _bucket(
    columns: list[list[Physical]], layout: Layout, row_group: int, bucket: int
) -> tuple[bytes, int]:
    """The bytes of a bucket and its size before compression (0: paged)."""
    physical = [column[0] for column in columns]
    physical += [child for column in columns for child in column[1:]]
    encoded = [
        _Encoded.of(column, _pick_encoding(layout, row_group, i), layout)
        for i, column in enumerate(physical)
    ]
    wants_pages = layout.paged[(bucket + row_group) % len(layout.paged)]
    if wants_pages and layout.compression == "zstd":
        return _paged(physical, encoded, layout), 0
    raw = _monolithic(physical, encoded, layout)
    return layout.block(raw), len(raw)


def _pick_encoding(layout: Layout, row_group: int, column: int) -> Encoding:
    return layout.encodings[(row_group + column) % len(layout.encodings)]


@dataclass(frozen=True, slots=True)
class _Encoded:
    """The parts of a physical column, before they are assembled as page or bucket."""

    encoding: Encoding
    has_bitmap: bool
    head: bytes  # constant, or dictionary
    bitmap: bytes
    body: bytes

    @classmethod
    def of(cls, column: Physical, wanted: Encoding, layout: Layout) -> _Encoded:
        present = [value for value in column.values if value is not None]
        distinct = list(dict.fromkeys(present))
        encoding = wanted
        if (wanted is Encoding.ALL_NULL and present) or (
            wanted is Encoding.CONST and len(distinct) > 1
        ):
            encoding = Encoding.PLAIN
        if encoding is Encoding.ALL_NULL:
            return cls(encoding, False, b"", b"", b"")
        has_bitmap = layout.null_flags or len(present) < len(column.values)
        bits = [value is None for value in column.values]
        bitmap = _pack(bits, 1, layout.spare_bits) if has_bitmap else b""
        if encoding is Encoding.CONST:
            return cls(encoding, has_bitmap, (distinct or [column.filler])[0], bitmap, b"")
        if encoding is Encoding.PLAIN:
            return cls(encoding, has_bitmap, b"", bitmap, b"".join(present))
        entries = distinct + (distinct or [column.filler])[:1] * layout.spare_entries
        places = {value: i for i, value in enumerate(distinct)}
        width = max(0, len(entries) - 1).bit_length()
        indices = _pack([places[value] for value in present], width, layout.spare_bits)
        head = layout.varint(len(entries)) + b"".join(entries)
        return cls(encoding, has_bitmap, head, bitmap, indices)


def _pack(numbers: Sequence[int], width: int, fill: bool) -> bytes:
    """Numbers of ``width`` bits, lowest bit first, in whole bytes."""
    packed = sum(number << (i * width) for i, number in enumerate(numbers))
    bits = len(numbers) * width
    size = (bits + 7) // 8
    if fill:
        packed |= ((1 << 8 * size) - 1) & -(1 << bits)
    return packed.to_bytes(size, "little")


def _monolithic(physical: list[Physical], encoded: list[_Encoded], layout: Layout) -> bytes:
    children = [column for column in physical if column.is_child]
    raw = b""
    if children:
        raw += layout.varint(len(physical) - len(children)) + layout.varint(len(children))
        raw += b"".join(layout.varint(len(child.values)) for child in children)
    raw += _pack([column.encoding for column in encoded], 2, layout.spare_bits)
    flags = [
        layout.null_flags if column.encoding is Encoding.ALL_NULL else column.has_bitmap
        for column in encoded
    ]
    raw += _pack(flags, 1, layout.spare_bits)
    for kind in (Encoding.CONST, Encoding.DICT):
        raw += b"".join(column.head for column in encoded if column.encoding is kind)
    raw += b"".join(column.bitmap for column in encoded)
    raw += b"".join(column.body for column in encoded)
    return raw + _filling(layout.slack)


def _paged(physical: list[Physical], encoded: list[_Encoded], layout: Layout) -> bytes:
    children = [column for column in physical if column.is_child]
    head = b""
    if children:
        head += len(children).to_bytes(2, "little")
        head += b"".join(len(child.values).to_bytes(4, "little") for child in children)
    slots = [_slot(column, layout) for column in encoded]
    directory = b"".join(len(slot).to_bytes(4, "little") for slot in slots)
    return head + directory + b"".join(slots)


def _slot(column: _Encoded, layout: Layout) -> bytes:
    if column.encoding is Encoding.ALL_NULL and not layout.null_slots:
        return b""
    flags = int(column.has_bitmap) | (0xFE if layout.spare_bits else 0)
    page = bytes([column.encoding, flags]) + column.head + column.bitmap + column.body
    page += _filling(layout.slack)
    return layout.varint(len(page)) + layout.block(page)


def _schema_content(table: pa.Table, names: list[str], layout: Layout) -> bytes:
    coded = [name.encode() for name in names]
    head = bytes([layout.name_encoding])
    if layout.names == "bpe" and all(name.isascii() for name in coded):
        rules, coded = _byte_pairs(coded)
        rules += [(0x61, 0x62)] * layout.spare_rules
        head = b"\x01" + layout.varint(len(rules)) + bytes(part for rule in rules for part in rule)
    content = layout.varint(len(names)) + layout.varint(layout.num_buckets) + head
    previous = b""
    for position, (name, code) in enumerate(zip(names, coded, strict=True)):
        shared = 0 if layout.names == "whole" else _common(previous, code)
        content += layout.varint(shared) + layout.varint(len(code) - shared) + code[shared:]
        field = table.schema.field(name)
        variant = layout.foreign_types and layout.foreign_types + position
        content += descriptor(field.type, field.nullable, variant)
        previous = code
    if not layout.original_order:
        return content
    places = {name: i for i, name in enumerate(names)}
    order = [0, *(places[name] for name in table.column_names)]
    content += b"".join(pieces.zigzag(right - left) for left, right in pairwise(order))
    return content + _filling(layout.schema_slack)


def _common(left: bytes, right: bytes) -> int:
    count = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        count += 1
    return count


def _byte_pairs(names: list[bytes]) -> tuple[list[tuple[int, int]], list[bytes]]:
    """Rules and coded names; any rules are legal, these use the most frequent pairs."""
    rules: list[tuple[int, int]] = []
    while len(rules) < 128:
        counts = Counter(pair for name in names for pair in pairwise(name))
        pair, count = max(counts.items(), key=lambda item: (item[1], item[0]), default=((0, 0), 0))
        if count < 2:
            break
        token = bytes([0x80 + len(rules)])
        rules.append(pair)
        names = [name.replace(bytes(pair), token) for name in names]
    return rules, names
