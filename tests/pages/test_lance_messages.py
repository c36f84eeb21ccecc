"""The kernel for fields and pages reads and refuses what the general reader of messages does."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import numpy as np
import pytest

from pymosaic.errors import MosaicError
from pymosaic.lance.container import (
    FOOTER_BYTES,
    ColumnMessage,
    FileDescriptorContent,
    Schema,
    parse_footer,
)
from pymosaic.pages.blocks import bytes_of
from pymosaic.pages.kernels.lance_messages import count_parts, read_fields, read_pages
from pymosaic.pages.protobuf import parse
from tests.fuzz.mutation import mutate_bytes
from tests.lance.golden_files import golden_bytes

NAMES = ["blobs", "list_of_struct_0_1500", "map_2.2", "packed_struct", "int64_in_pages"]
CHANGES = 400


def parts(name: str) -> tuple[bytes, bytes]:
    """The schema and the metadata of the first column of a file."""
    data = golden_bytes(name)
    footer = parse_footer(data[-FOOTER_BYTES:], len(data))
    position, size = struct.unpack_from("<QQ", data, footer.buffer_table)
    schema = parse(FileDescriptorContent, data[position : position + size]).schema
    assert schema is not None
    position, size = struct.unpack_from("<QQ", data, footer.column_table)
    return schema, data[position : position + size]


def changed(content: bytes, seed: str) -> list[bytes]:
    random = Random(seed)
    return [content, b"", *(mutate_bytes(content, random) for _ in range(CHANGES))]


def fields_by_kernel(content: bytes) -> Any:
    data = bytes_of(content)
    count = count_parts(data, 1)
    ids, flags = np.empty((count, 2), np.int32), np.empty(count, np.uint8)
    names, types, metadata = read_fields(data, np.empty((count, 2), np.int64), ids, flags)
    return [*zip(names, types, ids.tolist(), flags.tolist(), strict=True)], metadata


def fields_of_message(content: bytes) -> Any:
    schema = parse(Schema, content)
    rows = []
    for field in schema.fields:
        values = dict(field.metadata)
        is_set = [
            values.get(key, b"").lower() == b"true"
            for key in ("lance-encoding:packed", "packed", "lance-encoding:blob")
        ]
        is_struct = field.logical_type in ("struct", "struct.struct")
        bits = [*is_set, bool(field.metadata), is_struct, field.nullable]
        flags = sum(1 << bit for bit, value in enumerate(bits) if value)
        rows.append((field.name, field.logical_type, [field.id, field.parent_id], flags))
    return rows, list(schema.metadata)


def pages_of_message(content: bytes) -> Any:
    rows = []
    for page in parse(ColumnMessage, content).pages:
        direct = None if page.encoding is None else page.encoding.direct
        rows.append(
            (
                page.buffer_offsets,
                page.buffer_sizes,
                page.length,
                None if direct is None else direct.encoding,
                page.encoding is not None and page.encoding.indirect is not None,
            )
        )
    return rows


def outcome(read: Any, content: bytes) -> Any:
    try:
        return read(content)
    except MosaicError as error:
        return type(error)


@pytest.mark.parametrize("name", NAMES)
def test_fields_are_read_and_refused_alike(name: str) -> None:
    schema, _ = parts(name)
    for content in changed(schema, name):
        assert outcome(fields_by_kernel, content) == outcome(fields_of_message, content)


@pytest.mark.parametrize("name", NAMES)
def test_pages_are_read_and_refused_alike(name: str) -> None:
    _, metadata = parts(name)

    def read(content: bytes) -> Any:
        return read_pages(bytes_of(content))

    for content in changed(metadata, name):
        assert outcome(read, content) == outcome(pages_of_message, content)
