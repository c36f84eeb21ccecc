"""The container of a Lance file: footer, column metadata, global buffers.

::

    page buffers … │ global buffers … │ column metadata … │ column table │ buffer table │ footer

Footer, the last 40 bytes, little endian:

====== ===== ==========================================================
offset bytes what
====== ===== ==========================================================
0      8     where the column metadata starts
8      8     where the table of column metadata is
16     8     where the table of global buffers is
24     4     number of global buffers
28     4     number of columns
32     2     major version
34     2     minor version
36     4     ``LANC``
====== ===== ==========================================================

An entry of a table is a position and a size, 8 bytes each. Global buffer 0 is the
``FileDescriptor``: schema and number of rows. 2.0 files say 0.3, 2.1 files say 2.1.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.pages.protobuf import (
    boolean,
    child,
    children,
    data,
    int32,
    message,
    optional_data,
    text,
    text_map,
    uint,
    uints,
)

__all__ = [
    "FOOTER_BYTES",
    "MAGIC",
    "ColumnMessage",
    "DirectEncoding",
    "EncodingMessage",
    "FieldMessage",
    "FileDescriptor",
    "FileDescriptorContent",
    "IndirectEncoding",
    "LanceFooter",
    "Page",
    "Schema",
    "TypedMessage",
    "emit_footer",
    "parse_footer",
]

MAGIC = b"LANC"
FOOTER_BYTES = 40
_FOOTER = struct.Struct("<QQQIIHH4s")
_READ = {(2, 1): "2.1", (2, 2): "2.2"}
_REFUSED = {(0, 3): "2.0", (2, 0): "2.0", (2, 3): "2.3", (0, 1): "0.1", (0, 2): "0.1"}
_NUMBERS = {"2.1": (2, 1), "2.2": (2, 2)}


@dataclass(frozen=True, slots=True)
class LanceFooter:
    """The footer: positions of everything else."""

    column_metadata_start: int
    column_table: int
    buffer_table: int
    num_global_buffers: int
    num_columns: int
    version: str


def parse_footer(content: bytes | memoryview, file_size: int) -> LanceFooter:
    """Parse the footer; checks that its tables are inside the file, before the footer."""
    if len(content) != FOOTER_BYTES:
        raise CorruptFileError(
            f"a file of {file_size} bytes is too short for a Lance file", structure="footer"
        )
    start, columns, buffers, num_buffers, num_columns, major, minor, magic = _FOOTER.unpack(content)
    if magic != MAGIC:
        raise CorruptFileError(
            "not a Lance file: it does not end with LANC", structure="footer", offset=36
        )
    version = _READ.get((major, minor))
    if version is None:
        named = _REFUSED.get((major, minor), f"{major}.{minor}")
        raise UnsupportedFeatureError(
            f"a Lance file of version {named}; 2.1 and 2.2 can be read", structure="footer"
        )
    end = file_size - FOOTER_BYTES
    for name, position, count in (
        ("column table", columns, num_columns),
        ("table of global buffers", buffers, num_buffers),
    ):
        if position > end or 16 * count > end - position:
            raise CorruptFileError(
                f"{name} of {count} entries at {position} is not inside the file",
                structure="footer",
            )
    if start > columns:
        raise CorruptFileError("column metadata after its table", structure="footer")
    return LanceFooter(start, columns, buffers, num_buffers, num_columns, version)


def emit_footer(footer: LanceFooter) -> bytes:
    """Write a footer."""
    major, minor = _NUMBERS[footer.version]
    return _FOOTER.pack(
        footer.column_metadata_start,
        footer.column_table,
        footer.buffer_table,
        footer.num_global_buffers,
        footer.num_columns,
        major,
        minor,
        MAGIC,
    )


@message(closed=False)
class FieldMessage:
    """One node of the schema, in depth-first order; ``parent_id`` is -1 at the top."""

    type: int = uint(1)
    name: str = text(2)
    id: int = int32(3)
    parent_id: int = int32(4)
    logical_type: str = text(5)
    nullable: bool = boolean(6)
    encoding: int = uint(7)
    extension_name: str = text(9)
    metadata: tuple[tuple[str, bytes], ...] = text_map(10)


@message(closed=False)
class Schema:
    """All nodes of the schema."""

    fields: tuple[FieldMessage, ...] = children(1, lambda: FieldMessage)
    metadata: tuple[tuple[str, bytes], ...] = text_map(5)


@message(closed=False)
class FileDescriptor:
    """Global buffer 0."""

    schema: Schema | None = child(1, lambda: Schema)
    length: int = uint(2)


@message(closed=False)
class FileDescriptorContent:
    """Global buffer 0, with the schema unparsed."""

    schema: bytes | None = optional_data(1)
    length: int = uint(2)


@message(closed=False)
class TypedMessage:
    """Protobuf's ``Any``."""

    type_url: str = text(1)
    value: bytes = data(2)


@message(closed=False)
class DirectEncoding:
    """An encoding stored inline."""

    encoding: bytes = data(1)


@message(closed=False)
class IndirectEncoding:
    """An encoding stored elsewhere in the file."""

    buffer_location: int = uint(1)
    buffer_length: int = uint(2)


@message(closed=False)
class EncodingMessage:
    """The location of the description of a page or column."""

    indirect: IndirectEncoding | None = child(1, lambda: IndirectEncoding)
    direct: DirectEncoding | None = child(2, lambda: DirectEncoding)


@message(closed=False)
class Page:
    """One page: positions of its buffers, its rows, its layout."""

    buffer_offsets: tuple[int, ...] = uints(1)
    buffer_sizes: tuple[int, ...] = uints(2)
    length: int = uint(3)
    encoding: EncodingMessage | None = child(4, lambda: EncodingMessage)
    priority: int = uint(5)


@message(closed=False)
class ColumnMessage:
    """One column: its pages."""

    encoding: EncodingMessage | None = child(1, lambda: EncodingMessage)
    pages: tuple[Page, ...] = children(2, lambda: Page)
    buffer_offsets: tuple[int, ...] = uints(3)
    buffer_sizes: tuple[int, ...] = uints(4)
