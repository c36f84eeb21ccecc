"""Hand-made files: the structures of a file assembled one by one, lies included."""

from __future__ import annotations

from collections.abc import Sequence

import zstandard

INTEGER = b"\x03\x01"
NOT_NULL_INTEGER = b"\x03\x00"
STRING = b"\x0a\x01"

# Flags of one PLAIN column without nulls, then 1 and 2.
ONE_TWO = bytes([0, 0]) + (1).to_bytes(4, "big") + (2).to_bytes(4, "big")


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def text(value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(len(data)) + data


def array(element: bytes, nullable: int = 1) -> bytes:
    return bytes([18, nullable]) + text("item") + element


def map_(key: bytes, value: bytes) -> bytes:
    return bytes([19, 1]) + text("entries") + text("key") + key + text("value") + value


def frame(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1, write_content_size=True).compress(content)


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
    sizes = varint(compressed_size) + varint(bulk_size)
    return varint(bucket_id) + offset.to_bytes(8, "big") + sizes


def row_group(num_rows: int, *entries: bytes, statistics: bytes = b"\x00") -> bytes:
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
    schema_offset: int | None = None,
    index_offset: int | None = None,
) -> bytes:
    """A file of these parts; what is given by name is put in place of what would be right."""
    size = len(content) if schema_size is None else schema_size
    block = size.to_bytes(4, "big") + (frame(content) if compression == 1 else content)
    body = data + block
    footer = (
        (len(body) if index_offset is None else index_offset).to_bytes(8, "big")
        + (len(data) if schema_offset is None else schema_offset).to_bytes(8, "big")
        + num_buckets.to_bytes(4, "big")
        + num_row_groups.to_bytes(4, "big")
        + bytes([compression, version, 0, 0])
        + b"MOSA"
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
) -> bytes:
    """A file of one paged bucket; ``pages`` are compressed into slots unless ``slots`` is given."""
    if slots is None:
        slots = [b"" if page is None else varint(len(page)) + frame(page) for page in pages]
    directory = b"".join(len(slot).to_bytes(4, "little") for slot in slots)
    data = head + directory + b"".join(slots)
    size = len(data) if compressed_size is None else compressed_size
    return forge(data, content, row_group(num_rows, entry(0, 0, size, 0)), compression=1)
