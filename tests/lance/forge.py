"""Lance files made by hand: a page says whatever a test wants it to say."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from pymosaic.lance.container import (
    ColumnMessage,
    DirectEncoding,
    EncodingMessage,
    FieldMessage,
    FileDescriptor,
    LanceFooter,
    Page,
    Schema,
    TypedMessage,
    emit_footer,
)
from pymosaic.pages.messages import Layout, emit_layout
from pymosaic.pages.protobuf import emit

ALIGNMENT = 64


def forge_file(
    logical_type: str | Sequence[FieldMessage],
    num_rows: int,
    layout: Layout,
    buffers: Sequence[bytes] = (),
    version: str = "2.1",
) -> bytes:
    """One column ``c`` of one page; a list of fields where one logical type is not enough."""
    fields = logical_type
    if isinstance(fields, str):
        fields = [FieldMessage(name="c", id=0, parent_id=-1, logical_type=fields, nullable=True)]
    out = bytearray()
    offsets = []
    for buffer in buffers:
        offsets.append(len(out))
        out += buffer + bytes(-len(buffer) % ALIGNMENT)
    typed = TypedMessage(type_url="/lance.encodings21.PageLayout", value=emit_layout(layout))
    page = Page(
        buffer_offsets=tuple(offsets),
        buffer_sizes=tuple(len(buffer) for buffer in buffers),
        length=num_rows,
        encoding=EncodingMessage(direct=DirectEncoding(encoding=emit(typed))),
    )
    descriptor = emit(FileDescriptor(schema=Schema(fields=tuple(fields)), length=num_rows))
    metadata = emit(ColumnMessage(pages=(page,)))
    descriptor_at = len(out)
    metadata_at = descriptor_at + len(descriptor)
    tables_at = metadata_at + len(metadata)
    out += descriptor + metadata
    out += struct.pack("<QQQQ", metadata_at, len(metadata), descriptor_at, len(descriptor))
    out += emit_footer(LanceFooter(metadata_at, tables_at, tables_at + 16, 1, 1, version))
    return bytes(out)
