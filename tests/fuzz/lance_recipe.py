"""Lance files as recipes: tables, sizes and footer are put right, so that a change lands elsewhere.

Chunks are those of :mod:`tests.fuzz.recipe`, with these tags:

=== ======================================================================================
tag bytes
=== ======================================================================================
W   a file as it is; what follows is ignored
H   major and minor version, 2 bytes each, little-endian (2.1 where there are none)
R   bytes of pages, which stay where they are: metadata names places in them
S   the file descriptor: schema and number of rows
P   metadata of a column
E   laid over (XOR) the last column's entry in its table
F   laid over (XOR) the footer
=== ======================================================================================
"""

from __future__ import annotations

import struct

from pymosaic.lance.container import FOOTER_BYTES, MAGIC, parse_footer
from tests.fuzz.recipe import MAX_PAYLOAD, Chunk, emit, parse

_VERSION = struct.Struct("<HH")
_ENTRY = struct.Struct("<QQ")


def take_lance_apart(data: bytes) -> bytes:
    """The recipe of a legal file."""
    footer = parse_footer(data[-FOOTER_BYTES:], len(data))
    position, size = _ENTRY.unpack_from(data, footer.buffer_table)
    chunks: list[Chunk] = [(ord("H"), data[-8:-4])]
    # What is before the descriptor is pages, of every file that was met.
    chunks += [
        (ord("R"), data[start : min(start + MAX_PAYLOAD, position)])
        for start in range(0, position, MAX_PAYLOAD)
    ]
    chunks.append((ord("S"), data[position : position + size]))
    for column in range(footer.num_columns):
        start, length = _ENTRY.unpack_from(data, footer.column_table + 16 * column)
        chunks.append((ord("P"), data[start : start + length]))
    return emit(chunks)


def assemble_lance(recipe: bytes) -> bytes:
    """A file of any bytes."""
    version = b""
    pages, descriptor = bytearray(), bytearray()
    columns: list[bytes] = []
    lies: dict[int, bytes] = {}
    footer_lie = b""
    for tag, payload in parse(recipe):
        match chr(tag):
            case "W":
                return payload
            case "H":
                version = payload[:4]
            case "R":
                pages += payload
            case "S":
                descriptor += payload
            case "P":
                columns.append(payload)
            case "E" if columns:
                lies[len(columns) - 1] = payload
            case "F":
                footer_lie = payload
    out = pages + descriptor
    metadata_at = len(out)
    table = bytearray()
    for number, column in enumerate(columns):
        table += _over(_ENTRY.pack(len(out), len(column)), lies.get(number, b""))
        out += column
    table_at = len(out)
    out += table + _ENTRY.pack(len(pages), len(descriptor))
    footer = struct.pack(
        "<QQQII", metadata_at, table_at, table_at + len(table), 1, len(columns)
    ) + (version if len(version) == _VERSION.size else _VERSION.pack(2, 1))
    return bytes(out + _over(footer + MAGIC, footer_lie))


def _over(content: bytes, lie: bytes) -> bytes:
    padded = lie[: len(content)].ljust(len(content), b"\0")
    return bytes(left ^ right for left, right in zip(content, padded, strict=True))
