"""Write Lance files: :func:`write_table`.

::

    table ─► rows of a page, a leaf at a time ─► pymosaic.pages ─► buffers ─► sink
                                                     └► layout ─► column metadata, at the end

Columns of numbers, booleans and strings that are one page are handed to a kernel, many at once.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.errors import InvalidDataError, InvalidOptionError
from pymosaic.io import Sink, SinkLike, open_sink
from pymosaic.lance.container import (
    ColumnMessage,
    DirectEncoding,
    EncodingMessage,
    FileDescriptorContent,
    LanceFooter,
    Page,
    TypedMessage,
    emit_footer,
)
from pymosaic.lance.input_checks import check_declared_nulls, check_is_valid
from pymosaic.lance.schema import BLOB_KEY, PACKED_KEY, emit_schema, is_single_column
from pymosaic.lance.small_columns import encode_columns
from pymosaic.pages.blocks import Integers, VariableBlock, bytes_of
from pymosaic.pages.encoding_choice import COMPRESSIONS, EncodingChoice, parse_choice
from pymosaic.pages.encodings import packed_struct
from pymosaic.pages.flatten import FlatLeaf, array_to_block, flatten
from pymosaic.pages.kernels.lance_messages import write_columns
from pymosaic.pages.layouts import mini_block
from pymosaic.pages.layouts.blob import describe
from pymosaic.pages.levels import Levels
from pymosaic.pages.messages import BlobLayout, Layer, Layout, emit_layout
from pymosaic.pages.nesting import FieldNode, build_node, leaf_names
from pymosaic.pages.protobuf import emit
from pymosaic.pages.small_pages import SmallPages, layout_of
from pymosaic.pages.write import write_page
from pymosaic.suggestions import did_you_mean
from pymosaic.threads import ordered_map

__all__ = ["write_table"]

_ALIGNMENT = 64
_PADDING = b"\x48"
_PAGE_TYPE = "/lance.encodings21.PageLayout"
# An empty ColumnEncoding: the pages describe themselves.
_COLUMN_ENCODING = EncodingMessage(
    direct=DirectEncoding(
        encoding=emit(TypedMessage(type_url="/lance.encodings.ColumnEncoding", value=b"\x0a\x00"))
    )
)
_COLUMN_START = emit(ColumnMessage(encoding=_COLUMN_ENCODING))
_VERSIONS = ("2.1", "2.2")


def write_table(
    table: pa.Table,
    where: SinkLike,
    *,
    version: str = "2.1",
    encodings: Mapping[str, str] | None = None,
    compression: str | None = None,
    page_bytes: int = 8 << 20,
    filesystem: object = None,
) -> None:
    """Write an Arrow table as a Lance data file.

    Parameters
    ----------
    table : pyarrow.Table
        The data to write; any object with an Arrow stream is accepted.
    where : str, path-like or binary file object
        A path or URI, which is replaced only when the file is complete, or an open file.
    version : str
        Version of the format: ``"2.1"``, or ``"2.2"``, which has maps, packed structs with strings
        and pages of a single value too.
    encodings : mapping of str to str, optional
        Forced choices by column or leaf (``"point.x"``): a layout (``mini-block``, ``full-zip``,
        ``blob``), an encoding (``plain``, ``bit-packed``, ``run-length``, ``byte-stream-split``,
        ``fsst``, ``dictionary``, ``packed-struct``) and a compressor (``zstd``, ``zstd:9``,
        ``lz4``), joined by ``+``. Everything else is chosen by size.
    compression : str, optional
        A compressor for all columns that ``encodings`` does not name: ``zstd``, ``zstd:9`` or
        ``lz4``. Encodings are then chosen by their compressed size, among those that Lance 2.1 has
        (it has no delta coding), which takes several times as long.
    page_bytes : int
        Approximate Arrow memory of the rows of one page.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of ``where``, which must then be a path.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.lance import LanceFile, write_table
    >>> table = pa.table({"id": range(1000), "price": [0.25] * 1000})
    >>> write_table(table, "prices.lance", encodings={"price": "byte-stream-split+zstd"})
    >>> LanceFile("prices.lance").pages("price")[0].layout.value_compression.values
    ByteStreamSplit(values=Flat(bits_per_value=64, data=None))
    """
    if version not in _VERSIONS:
        raise InvalidOptionError(f"version must be one of {', '.join(_VERSIONS)}, got {version!r}")
    # Not every caller checks types.
    if not isinstance(page_bytes, int) or page_bytes < 1:  # type: ignore[redundant-expr]
        raise InvalidOptionError(f"page_bytes must be an int of at least 1, got {page_bytes!r}")
    if not isinstance(table, pa.Table):
        table = pa.table(table)
    check_is_valid(table)
    check_declared_nulls(table)
    choices = _Choices(encodings or {}, _default_choice(compression), table.schema)
    schema = _prepared_schema(table.schema, choices)
    choices.check(schema)
    descriptor = FileDescriptorContent(emit_schema(schema, version), table.num_rows)
    sink = open_sink(where, filesystem)
    try:
        writer = _FileWriter(sink, page_bytes, choices, version)
        writer.add_all(schema, table)
        writer.finish(descriptor)
        sink.commit()
    except BaseException:
        sink.abort()
        raise


@functools.lru_cache(maxsize=256)
def _described(layout: Layout) -> EncodingMessage:
    # Columns of a wide table often have the same description.
    typed = TypedMessage(type_url=_PAGE_TYPE, value=emit_layout(layout))
    return EncodingMessage(direct=DirectEncoding(encoding=emit(typed)))


@functools.lru_cache(maxsize=1024)
def _description(layout: Layout) -> bytes:
    return emit(_described(layout))


def _default_choice(compression: str | None) -> EncodingChoice:
    """The choice for columns that no other names."""
    if compression is None:
        return EncodingChoice()
    # Not every caller checks types.
    name = compression.partition(":")[0] if isinstance(compression, str) else None  # type: ignore[redundant-expr]
    if name not in COMPRESSIONS or "+" in compression:
        raise InvalidOptionError(
            f"compression must be zstd, zstd:LEVEL (1 to 22), lz4 or None, got {compression!r}"
        )
    return parse_choice(compression, "compression")


class _Choices:
    """Forced choices by column or leaf: from the caller, or from the metadata of a blob's field."""

    def __init__(
        self, encodings: Mapping[str, str], default: EncodingChoice, schema: pa.Schema
    ) -> None:
        self._default = default
        self._by_name = {
            field.name: EncodingChoice(layout="blob")
            for field in schema
            if (field.metadata or {}).get(BLOB_KEY, b"").lower() == b"true"
        }
        self._by_name |= {name: parse_choice(text, name) for name, text in encodings.items()}

    def of_column(self, name: str) -> EncodingChoice:
        return self._by_name.get(name, self._default)

    def of_leaf(self, column: str, leaf: str) -> EncodingChoice:
        return self._by_name.get(column) or self._by_name.get(leaf) or self._default

    @property
    def names(self) -> frozenset[str]:
        """Columns and leaves with a choice of their own."""
        return frozenset(self._by_name)

    @property
    def default(self) -> EncodingChoice:
        """The choice for all others."""
        return self._default

    def check(self, schema: pa.Schema) -> None:
        """Raise for names that are neither columns nor leaves."""
        if not self._by_name:
            return
        known = set(schema.names)
        for field in schema:
            if field.type.num_fields:
                known.update(leaf_names(build_node(field, is_single_column)))
        for name in self._by_name:
            if name not in known:
                hint = did_you_mean(name, sorted(known))
                raise InvalidOptionError(f"encodings: no column is named {name!r}{hint}")


def _prepared_schema(schema: pa.Schema, choices: _Choices) -> pa.Schema:
    """The schema to store, whose metadata marks packed structs and blobs for readers."""
    names = schema.names
    if len(set(names)) != len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise InvalidDataError(f"two columns are named {twice!r}")
    for name in names:
        if "." in name:
            raise InvalidDataError(
                f"column {name!r}: Lance reads a dot in a name as a step into a struct; "
                "rename it, or make structs with pymosaic.lance.from_mosaic"
            )
    marked = choices.names
    fields = [
        _prepared_field(field, choices.of_column(field.name))
        if field.name in marked or (field.metadata is not None and BLOB_KEY in field.metadata)
        else field
        for field in schema
    ]
    return pa.schema(fields, schema.metadata)


def _prepared_field(field: pa.Field, choice: EncodingChoice) -> pa.Field:
    metadata = dict(field.metadata or {})
    if choice.values == "packed-struct":
        if not pa.types.is_struct(field.type):
            raise InvalidOptionError(
                f"encodings[{field.name!r}]: packed-struct is for structs, not {field.type}"
            )
        metadata[PACKED_KEY] = b"true"
    if choice.layout == "blob":
        if not pa.types.is_large_binary(field.type):
            raise InvalidOptionError(
                f"encodings[{field.name!r}]: blob is for large_binary, not {field.type}"
            )
        metadata[BLOB_KEY] = b"true"
    else:
        metadata.pop(BLOB_KEY, None)
    return field.with_metadata(metadata or None)


class _FileWriter:
    def __init__(self, sink: Sink, page_bytes: int, choices: _Choices, version: str) -> None:
        self._sink = sink
        self._version = version
        # A file object may be at any position; offsets count from where the file starts.
        self._start = sink.position
        self._page_bytes = page_bytes
        self._choices = choices
        # Metadata of columns, and the size of each.
        self._messages: list[bytes] = []
        self._message_sizes: list[Integers] = []

    @property
    def _position(self) -> int:
        return self._sink.position - self._start

    def _write_aligned(self, data: Any) -> int:
        """Write a buffer at the next multiple of 64, and return its position."""
        position = self._position
        self._sink.write(memoryview(np.ascontiguousarray(data).data).cast("B"))
        padding = -self._position % _ALIGNMENT
        self._sink.write(_PADDING * padding)
        return position

    def add_all(self, schema: pa.Schema, table: pa.Table) -> None:
        """Write the columns of all fields."""
        number = 0
        alone, columns = self._choices.names, schema.names
        if self._choices.default == EncodingChoice():
            for pages in encode_columns(table, self._version, self._page_bytes):
                written = pages.is_written.copy()
                if alone:
                    names = columns[number : number + len(written)]
                    written &= [name not in alone for name in names]
                self._add_small(pages, written, schema, table, number)
                number += len(written)
            return
        for number in range(table.num_columns):
            self._add_one(schema, table, number)

    def _add_small(
        self,
        pages: SmallPages,
        written: npt.NDArray[np.bool_],
        schema: pa.Schema,
        table: pa.Table,
        first: int,
    ) -> None:
        """Write pages of many columns, and one by one the columns that have none among them."""
        padded = np.where(pages.sizes < 0, 0, -(-pages.sizes // _ALIGNMENT) * _ALIGNMENT)
        ends = np.cumsum(padded.reshape(-1)).reshape(padded.shape)
        starts = ends - padded
        data = memoryview(pages.data)
        bounds = np.flatnonzero(np.diff(written, prepend=not written[0]))
        for start, end in zip(bounds.tolist(), [*bounds[1:].tolist(), len(written)], strict=True):
            if not written[start]:
                for number in range(first + start, first + end):
                    self._add_one(schema, table, number)
                continue
            begin = int(starts[start, 0])
            offsets = np.where(
                pages.sizes[start:end] < 0, -1, starts[start:end] - begin + self._position
            )
            self._sink.write(data[begin : int(ends[end - 1, -1])])
            forms, numbers = np.unique(pages.forms[start:end], axis=0, return_inverse=True)
            descriptions = [
                _description(layout_of(*form, table.num_rows, self._version))
                for form in forms.tolist()
            ]
            message_sizes = np.empty(end - start, np.int64)
            self._messages.append(
                write_columns(
                    bytes_of(_COLUMN_START),
                    offsets,
                    np.ascontiguousarray(pages.sizes[start:end]),
                    table.num_rows,
                    descriptions,
                    numbers.reshape(-1).astype(np.int64),
                    message_sizes,
                )
            )
            self._message_sizes.append(message_sizes)

    def _add_one(self, schema: pa.Schema, table: pa.Table, number: int) -> None:
        self._add(build_node(schema.field(number), is_single_column), table.column(number))

    def _add(self, node: FieldNode, column: pa.ChunkedArray) -> None:
        """Write the columns of one field, page by page; pages are made by several threads."""
        name = node.field.name
        names = leaf_names(node)
        choices = [self._choices.of_leaf(name, leaf) for leaf in names]
        pages: list[list[Page]] = [[] for _ in names]
        num_rows = len(column)
        rows_per_page = _rows_per_page(column, self._page_bytes)

        def encode(start: int) -> list[tuple[Layout, list[Any]]]:
            array = _one_array(column.slice(start, rows_per_page))
            leaves = flatten(node, array, rows_per_page < num_rows)
            return [
                self._write_blobs(leaf)
                if choice.layout == "blob"
                else write_page(leaf, choice, leaf_name, self._version)
                for leaf, choice, leaf_name in zip(leaves, choices, names, strict=True)
            ]

        starts = range(0, num_rows, rows_per_page)
        # Blobs are written as they are met.
        use_threads = len(starts) > 1 and all(choice.layout != "blob" for choice in choices)
        for start, encoded in zip(starts, ordered_map(encode, starts, use_threads), strict=True):
            length = min(rows_per_page, num_rows - start)
            for leaf_pages, (layout, buffers) in zip(pages, encoded, strict=True):
                leaf_pages.append(self._write_page(layout, buffers, length, start))
        for leaf_pages in pages:
            message = emit(ColumnMessage(encoding=_COLUMN_ENCODING, pages=tuple(leaf_pages)))
            self._messages.append(message)
            self._message_sizes.append(np.array([len(message)], np.int64))

    def _write_page(
        self, layout: Layout, buffers: list[Any], num_rows: int, first_row: int
    ) -> Page:
        offsets = tuple(self._write_aligned(buffer) for buffer in buffers)
        return Page(
            buffer_offsets=offsets,
            buffer_sizes=tuple(buffer.nbytes for buffer in buffers),
            length=num_rows,
            encoding=_described(layout),
            priority=first_row,
        )

    def _write_blobs(self, leaf: FlatLeaf) -> tuple[BlobLayout, list[Any]]:
        """Write values in a buffer of their own, and describe its position."""
        block = array_to_block(leaf.values)
        assert isinstance(block, VariableBlock)
        sizes = np.diff(block.offsets)
        descriptions = describe(sizes, leaf.levels.definition, self._position, _ALIGNMENT)
        for start, end in zip(block.offsets.tolist(), block.offsets[1:].tolist(), strict=False):
            if end > start:
                self._write_aligned(block.data[start:end])
        encoded = packed_struct.encode_chunks(descriptions)
        page = mini_block.write(
            (Layer.ALL_VALID_ITEM,), Levels(None, None), encoded, large=self._version == "2.2"
        )
        assert page is not None
        return BlobLayout(inner_layout=page[0], layers=leaf.layers), page[1]

    def finish(self, descriptor: FileDescriptorContent) -> None:
        """Write everything after the pages."""
        content = emit(descriptor)
        buffer_entry = (self._position, len(content))
        self._sink.write(content)
        metadata_start = self._position
        sizes = np.concatenate([np.empty(0, np.int64), *self._message_sizes])
        entries = np.stack([metadata_start + np.cumsum(sizes) - sizes, sizes], axis=1)
        self._sink.write(b"".join(self._messages))
        column_table = self._position
        self._sink.write(entries.astype("<u8").tobytes())
        buffer_table = self._position
        self._sink.write(np.array([buffer_entry], "<u8").tobytes())
        footer = LanceFooter(
            metadata_start, column_table, buffer_table, 1, len(sizes), self._version
        )
        self._sink.write(emit_footer(footer))


def _rows_per_page(column: pa.ChunkedArray, page_bytes: int) -> int:
    """The number of rows with about this many bytes of Arrow memory."""
    size: int = max(page_bytes, column.nbytes)
    return max(1, len(column) * page_bytes // size)


def _one_array(piece: pa.ChunkedArray) -> pa.Array:
    if piece.num_chunks == 1:
        return piece.chunk(0)
    array = piece.unify_dictionaries().combine_chunks()
    return array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
