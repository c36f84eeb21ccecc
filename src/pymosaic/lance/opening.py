"""Open a Lance file: from its last bytes to the schema and the pages of its columns."""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field

import numpy as np
import numpy.typing as npt

from pymosaic.errors import CorruptFileError, LimitExceededError
from pymosaic.io import Source
from pymosaic.lance.columns import ColumnPages, parse_column
from pymosaic.lance.container import FOOTER_BYTES, FileDescriptorContent, LanceFooter, parse_footer
from pymosaic.lance.file_schema import FileSchema
from pymosaic.lance.schema import is_single_column
from pymosaic.limits import Limits
from pymosaic.pages.nesting import FieldNode, LeafPath, build_node, leaf_paths, prune
from pymosaic.pages.protobuf import parse

__all__ = ["FieldColumns", "FileParts", "open_parts"]

# Fewer columns have their metadata read one by one; of more it is read together, unless most of the
# bytes between the first and the last belong to others.
_MANY_COLUMNS = 16
_METADATA_GAPS = 2


@dataclass(frozen=True, slots=True)
class FieldColumns:
    """A top-level field, or a part of one: the paths to its leaves, and their columns."""

    node: FieldNode
    paths: list[LeafPath]
    columns: Sequence[int]

    def part(self, leaves: Collection[int]) -> FieldColumns:
        """The same field with only some of its leaves."""
        node, numbers = prune(self.node, leaves)
        return FieldColumns(node, leaf_paths(node), [self.columns[leaf] for leaf in numbers])


@dataclass(frozen=True, slots=True)
class FileParts:
    """The metadata of an open file; fields and column metadata are parsed on demand."""

    footer: LanceFooter
    schema: FileSchema
    num_rows: int
    limits: Limits
    _reader: _TailReader
    _places: npt.NDArray[np.uint64]
    _fields: dict[int, FieldColumns] = dataclass_field(default_factory=dict)
    _columns: dict[int, ColumnPages] = dataclass_field(default_factory=dict)

    def field(self, number: int) -> FieldColumns:
        """A top-level field."""
        found = self._fields.get(number)
        if found is None:
            node = build_node(self.schema.field(number), is_single_column)
            first = self.schema.first_leaf(number)
            found = FieldColumns(node, leaf_paths(node), range(first, first + node.num_leaves))
            self._fields[number] = found
        return found

    def expect(self, fields: Sequence[FieldColumns]) -> None:
        """Read the metadata of these columns at once, if there are many and they lie together."""
        columns = [column for field in fields for column in field.columns]
        if len(columns) < _MANY_COLUMNS:
            return
        places = self._places[columns]
        first, total = int(places[:, 0].min()), int(places[:, 1].sum(dtype=object))
        self._reader.extend(first, _METADATA_GAPS * total)

    def pages(self, columns: FieldColumns, leaf: int) -> ColumnPages:
        """Pages of one leaf of a field."""
        column = columns.columns[leaf]
        pages = self._columns.get(column)
        if pages is None:
            position, size = self._places[column].tolist()
            content = self._reader.read(position, size, "column metadata")
            pages = parse_column(content, self.num_rows, self._reader.file_size)
            self._columns[column] = pages
        return pages


class _TailReader:
    """Reads structures at the end of the file; bytes that came with the tail are not read again."""

    def __init__(self, source: Source, limits: Limits) -> None:
        size = min(source.size, max(source.tail_bytes, FOOTER_BYTES))
        self._source = source
        self._start = source.size - size
        self._tail = memoryview(source.read(self._start, size))
        self._limits = limits

    @property
    def file_size(self) -> int:
        return self._source.size

    def footer(self) -> LanceFooter:
        return parse_footer(self._tail[-FOOTER_BYTES:], self._source.size)

    def extend(self, position: int, most: int) -> None:
        """Read the tail from an earlier position on, unless that takes more than ``most`` bytes."""
        size = self._start - position
        if 0 < size <= min(most, self._limits.max_index_bytes):
            self._tail = memoryview(bytes(self._source.read(position, size)) + self._tail)
            self._start = position

    def read(self, position: int, size: int, structure: str) -> bytes | memoryview:
        if position + size > self._source.size:
            raise CorruptFileError(
                f"{size} bytes from {position} are not inside the file", structure=structure
            )
        if size > self._limits.max_index_bytes:
            raise LimitExceededError(
                f"{size} bytes exceed Limits.max_index_bytes ({self._limits.max_index_bytes})",
                structure=structure,
            )
        if position >= self._start:
            return self._tail[position - self._start : position - self._start + size]
        return self._source.read(position, size)


def open_parts(source: Source, limits: Limits) -> FileParts:
    """Read footer, tables and schema."""
    reader = _TailReader(source, limits)
    footer = reader.footer()
    if footer.num_columns > limits.max_columns:
        raise LimitExceededError(
            f"{footer.num_columns} columns exceed Limits.max_columns ({limits.max_columns})",
            structure="footer",
        )
    if footer.num_global_buffers == 0:
        raise CorruptFileError("no global buffer for the schema", structure="footer")
    table = reader.read(footer.column_table, 16 * footer.num_columns, "column table")
    entry = reader.read(footer.buffer_table, 16, "table of global buffers")
    position, size = struct.unpack("<QQ", entry)
    descriptor = parse(FileDescriptorContent, reader.read(position, size, "file descriptor"))
    if descriptor.schema is None:
        raise CorruptFileError("no schema", structure="file descriptor")
    if descriptor.length >= 1 << 62:
        raise CorruptFileError(f"{descriptor.length} rows", structure="file descriptor")
    schema = FileSchema(descriptor.schema, limits)
    if schema.num_leaves != footer.num_columns:
        raise CorruptFileError(
            f"{footer.num_columns} columns for {schema.num_leaves} leaves of the schema",
            structure="schema",
        )
    places = np.frombuffer(table, "<u8").reshape(-1, 2)
    return FileParts(footer, schema, descriptor.length, limits, reader, places)
