"""Files as recipes: what a fuzzer changes instead of the file itself.

A flipped bit of a compressed file seldom gets past zstd, and one more byte moves every offset. A
recipe holds the same content as chunks before compression; ``assemble`` compresses them and puts
sizes, offsets and footer right, so that a change lands where the kernels read. Lies are chunks of
their own, laid over what would be right.

A chunk is a tag, a length (2 bytes, little-endian) and so many bytes:

=== ======================================================================================
tag bytes
=== ======================================================================================
W   a file as it is; what follows is ignored
H   compression, as in the footer (zstd where there is none)
S   content of the schema block
G   number of rows (a varint, as stored): a row group begins
B   bucket id (2 bytes, little-endian), content of a monolithic bucket
P   bucket id, child header: a paged bucket begins
p   content of a page; none for an empty slot
E   laid over (XOR) the last bucket's entry in the index
T   statistics of the row group, their number first
R   bytes between buckets
F   laid over (XOR) the footer
=== ======================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import zstandard

from pymosaic.testing.pieces import entry, varint
from tests.oracle import Cursor, decode, decompress, physical_children, read_schema, read_statistics

TAGS = b"WHSGBPpETRF"
MAX_PAYLOAD = 0xFFFF

Chunk = tuple[int, bytes]

_compressor = zstandard.ZstdCompressor(level=1, write_content_size=True)


def parse(recipe: bytes) -> list[Chunk]:
    """The chunks of any bytes: unknown tags become known ones, a length that lies is cut."""
    chunks = []
    position = 0
    while position + 3 <= len(recipe):
        tag = recipe[position]
        if tag not in TAGS:
            tag = TAGS[tag % len(TAGS)]
        length = int.from_bytes(recipe[position + 1 : position + 3], "little")
        position += 3
        chunks.append((tag, recipe[position : position + length]))
        position += length
    return chunks


def emit(chunks: Iterable[Chunk]) -> bytes:
    return b"".join(
        bytes([tag]) + len(payload).to_bytes(2, "little") + payload for tag, payload in chunks
    )


def whole(data: bytes) -> bytes:
    """The recipe of a file that is not to be taken apart."""
    return emit([(ord("W"), data)])


def take_apart(data: bytes) -> bytes:
    """The recipe of a legal file."""
    content = decode(data)
    schema = read_schema(content.schema_bytes)
    compressed = content.compression == 1
    chunks: list[Chunk] = [(ord("H"), bytes([content.compression]))]
    index = Cursor(content.index_bytes)

    def since(start: int) -> bytes:
        return index.data[start : index.position]

    for _ in content.row_groups:
        start = index.position
        num_rows = index.varint()
        chunks.append((ord("G"), since(start)))
        for _ in range(index.varint()):
            bucket = index.varint()
            offset, size, raw_size = index.big_endian(8), index.varint(), index.varint()
            stored = data[offset : offset + size]
            prefix = bucket.to_bytes(2, "little")
            if raw_size:
                raw = decompress(stored, raw_size) if compressed else stored
                chunks.append((ord("B"), prefix + raw))
            else:
                columns = schema.bucket(bucket)
                children = sum(len(list(physical_children("", each.type))) for each in columns)
                head, pages = _split_pages(stored, len(columns), children)
                chunks.append((ord("P"), prefix + head))
                chunks.extend((ord("p"), page) for page in pages)
        start = index.position
        for _ in range(index.varint()):
            read_statistics(index, schema, num_rows)
        chunks.append((ord("T"), since(start)))
    chunks.append((ord("S"), content.schema_bytes))
    if any(len(payload) > MAX_PAYLOAD for _, payload in chunks):
        return whole(data)
    return emit(chunks)


def _split_pages(stored: bytes, num_columns: int, num_children: int) -> tuple[bytes, list[bytes]]:
    cursor = Cursor(stored)
    head = cursor.take(2 + 4 * num_children) if num_children else b""
    sizes = [cursor.little_endian(4) for _ in range(num_columns + num_children)]
    slots = [Cursor(cursor.take(size)) for size in sizes]
    return head, [_page(slot) for slot in slots]


def _page(slot: Cursor) -> bytes:
    if slot.at_end:
        return b""
    size = slot.varint()
    return decompress(slot.take(slot.end - slot.position), size)


def _xor(data: bytes, mask: bytes) -> bytes:
    mask = mask[: len(data)].ljust(len(data), b"\0")
    return bytes(a ^ b for a, b in zip(data, mask, strict=True))


@dataclass
class _Assembly:
    compression: int = 1
    data: bytearray = field(default_factory=bytearray)
    index: bytearray = field(default_factory=bytearray)
    schema: bytes = b"\x00\x01\x00"
    footer_mask: bytes = b""
    num_row_groups: int = 0
    rows: bytes | None = None
    entries: list[bytes] = field(default_factory=list)
    statistics: bytes = b"\0"
    paged: tuple[int, bytes] | None = None
    pages: list[bytes] = field(default_factory=list)

    def block(self, content: bytes) -> bytes:
        return _compressor.compress(content) if self.compression == 1 else content

    def take(self, tag: int, payload: bytes) -> None:
        if tag != ord("p"):
            self.end_bucket()
        if tag == ord("H"):
            self.compression = payload[0] if payload else 1
        elif tag == ord("S"):
            self.schema = payload
        elif tag == ord("G"):
            self.end_row_group()
            self.rows = payload or b"\0"
        elif tag == ord("B"):
            block = self.block(payload[2:])
            bucket = int.from_bytes(payload[:2], "little")
            self.entries.append(entry(bucket, len(self.data), len(block), len(payload[2:])))
            self.data += block
        elif tag == ord("P"):
            self.paged = int.from_bytes(payload[:2], "little"), payload[2:]
        elif tag == ord("p"):
            self.pages.append(varint(len(payload)) + self.block(payload) if payload else b"")
        elif tag == ord("E") and self.entries:
            self.entries[-1] = _xor(self.entries[-1], payload)
        elif tag == ord("T"):
            self.statistics = payload
        elif tag == ord("R"):
            self.data += payload
        elif tag == ord("F"):
            self.footer_mask = payload

    def end_bucket(self) -> None:
        if self.paged is not None:
            bucket, head = self.paged
            directory = b"".join(len(slot).to_bytes(4, "little") for slot in self.pages)
            stored = head + directory + b"".join(self.pages)
            self.entries.append(entry(bucket, len(self.data), len(stored), 0))
            self.data += stored
        self.paged = None
        self.pages = []

    def end_row_group(self) -> None:
        if self.rows is not None:
            self.index += self.rows + varint(len(self.entries)) + b"".join(self.entries)
            self.index += self.statistics
            self.num_row_groups += 1
        self.rows = None
        self.entries = []
        self.statistics = b"\0"

    def finish(self) -> bytes:
        self.end_bucket()
        self.end_row_group()
        schema_offset = len(self.data)
        self.data += len(self.schema).to_bytes(4, "big") + self.block(self.schema)
        footer = (
            len(self.data).to_bytes(8, "big")
            + schema_offset.to_bytes(8, "big")
            + _num_buckets(self.schema).to_bytes(4, "big")
            + self.num_row_groups.to_bytes(4, "big")
            + bytes([self.compression, 1, 0, 0])
            + b"MOSA"
        )
        return bytes(self.data + self.index + _xor(footer, self.footer_mask))


def _num_buckets(schema: bytes) -> int:
    """The second varint of a schema block, or nothing sensible."""
    cursor = Cursor(schema[:16] + bytes(2))
    cursor.varint()
    return cursor.varint() & 0xFFFFFFFF


def assemble(recipe: bytes) -> bytes:
    """The file of a recipe; any bytes are one."""
    assembly = _Assembly()
    for tag, payload in parse(recipe):
        if tag == ord("W"):
            return payload
        assembly.take(tag, payload)
    return assembly.finish()
