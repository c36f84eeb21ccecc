"""The structures of a file, assembled one by one, even incorrectly.

Nothing here goes through the writer, and nothing is checked: whatever is given ends up in the file.
Type descriptors are bytes; :data:`INTEGER` and similar constants are the common ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import zstandard

__all__ = [
    "INTEGER",
    "NOT_NULL_INTEGER",
    "ONE_TWO",
    "STRING",
    "array",
    "entry",
    "forge",
    "frame",
    "map_",
    "monolithic",
    "numbers",
    "of_one",
    "paged",
    "row_group",
    "schema",
    "text",
    "varint",
    "zigzag",
]

INTEGER = b"\x03\x01"
NOT_NULL_INTEGER = b"\x03\x00"
STRING = b"\x0a\x01"

# Flags of one PLAIN column without nulls, then 1 and 2.
ONE_TWO = bytes([0, 0]) + (1).to_bytes(4, "big") + (2).to_bytes(4, "big")


def varint(value: int, padding: int = 0) -> bytes:
    """Unsigned LEB128, ``padding`` bytes longer than necessary.

    Examples
    --------
    >>> varint(300).hex(), varint(1, padding=1).hex()
    ('ac02', '8100')
    """
    encoded = bytearray()
    while value >= 0x80 or padding:
        if value < 0x80:
            padding -= 1
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def zigzag(value: int) -> bytes:
    """A signed number in the form used by the original order."""
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def text(value: str | bytes) -> bytes:
    """A varint length and the bytes: names inside types, zones, strings."""
    data = value.encode() if isinstance(value, str) else value
    return varint(len(data)) + data


def numbers(*values: int, width: int = 4) -> bytes:
    """Integers as the file stores them: big-endian two's complement."""
    return b"".join(value.to_bytes(width, "big", signed=True) for value in values)


def array(element: bytes, nullable: int = 1) -> bytes:
    """The descriptor of an ARRAY."""
    return bytes([18, nullable]) + text("item") + element


def map_(key: bytes, value: bytes) -> bytes:
    """The descriptor of a MAP."""
    return bytes([19, 1]) + text("entries") + text("key") + key + text("value") + value


def frame(content: bytes, *, checksum: bool = False, content_size: bool = True) -> bytes:
    """One zstd frame."""
    compressor = zstandard.ZstdCompressor(
        level=1, write_checksum=checksum, write_content_size=content_size
    )
    return compressor.compress(content)


def schema(
    *columns: tuple[str | bytes, bytes],
    num_buckets: int = 1,
    names: bytes = b"\x00",
    order: Sequence[int] | None = None,
) -> bytes:
    """Schema content; ``names`` is the name encoding with its rules, ``order`` the raw zigzags."""
    content = varint(len(columns)) + varint(num_buckets) + names
    for name, descriptor in columns:
        content += b"\x00" + text(name) + descriptor
    if order is None:
        order = [0, *[2] * (len(columns) - 1)] if columns else []
    return content + b"".join(varint(delta) for delta in order)


def entry(bucket_id: int, offset: int, compressed_size: int, bulk_size: int) -> bytes:
    """A bucket's entry in the row group index."""
    sizes = varint(compressed_size) + varint(bulk_size)
    return varint(bucket_id) + offset.to_bytes(8, "big") + sizes


def row_group(num_rows: int, *entries: bytes, statistics: bytes = b"\x00") -> bytes:
    """A row group's part of the index; ``statistics`` starts with their number."""
    return varint(num_rows) + varint(len(entries)) + b"".join(entries) + statistics


def forge(
    data: bytes,
    content: bytes,
    index: bytes,
    *,
    compression: int = 0,
    version: int = 1,
    num_buckets: int = 1,
    num_row_groups: int = 1,
    schema_size: int | None = None,
    schema_block: bytes | None = None,
    schema_offset: int | None = None,
    index_offset: int | None = None,
    reserved: bytes = bytes(2),
    magic: bytes = b"MOSA",
) -> bytes:
    """Assemble a file from these parts; keyword arguments replace the correct values.

    Examples
    --------
    >>> import pymosaic
    >>> content = schema(("a", INTEGER))
    >>> index = row_group(2, entry(0, 0, len(ONE_TWO), len(ONE_TWO)))
    >>> pymosaic.read_table(forge(ONE_TWO, content, index)).to_pydict()
    {'a': [1, 2]}
    >>> pymosaic.read_table(forge(ONE_TWO, content, index, num_row_groups=0))
    Traceback (most recent call last):
    pymosaic.errors.CorruptFileError: row group index, byte 0: ...
    """
    size = len(content) if schema_size is None else schema_size
    if schema_block is None:
        schema_block = frame(content) if compression == 1 else content
    body = data + size.to_bytes(4, "big") + schema_block
    footer = (
        (len(body) if index_offset is None else index_offset).to_bytes(8, "big")
        + (len(data) if schema_offset is None else schema_offset).to_bytes(8, "big")
        + num_buckets.to_bytes(4, "big")
        + num_row_groups.to_bytes(4, "big")
        + bytes([compression, version])
        + reserved
        + magic
    )
    return body + index + footer


def monolithic(raw: bytes, content: bytes, num_rows: int = 2, statistics: bytes = b"\x00") -> bytes:
    """An uncompressed file of one bucket and one row group."""
    whole = entry(0, 0, len(raw), len(raw))
    return forge(raw, content, row_group(num_rows, whole, statistics=statistics))


def of_one(descriptor: bytes, raw: bytes, num_rows: int = 2) -> bytes:
    """An uncompressed file of one column ``a``."""
    return monolithic(raw, schema(("a", descriptor)), num_rows)


def paged(
    content: bytes,
    pages: Sequence[bytes | None],
    *,
    num_rows: int = 2,
    head: bytes = b"",
    slots: Sequence[bytes] | None = None,
    compressed_size: int | None = None,
    checksum: bool = False,
) -> bytes:
    """A file of one paged bucket; ``pages`` are compressed into slots unless ``slots`` is given."""
    if slots is None:
        slots = [
            b"" if page is None else varint(len(page)) + frame(page, checksum=checksum)
            for page in pages
        ]
    directory = b"".join(len(slot).to_bytes(4, "little") for slot in slots)
    data = head + directory + b"".join(slots)
    size = len(data) if compressed_size is None else compressed_size
    return forge(data, content, row_group(num_rows, entry(0, 0, size, 0)), compression=1)
