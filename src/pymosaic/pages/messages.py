"""The messages that describe a page: its structural layout and its tree of encodings.

Names and numbers are those of Lance's ``encodings21``. ``CompressiveEncoding`` and ``PageLayout``
are nothing but a choice, so here they are unions: :data:`Encoding` and :data:`Layout`.

Checked when a message is read: its wire form, that every field is known (see
:mod:`pymosaic.pages.protobuf`) and that a choice was made where one is needed. Not checked: whether
numbers fit each other or the page's buffers; the layouts and encodings do that.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import TypeAlias

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.pages.protobuf import (
    boolean,
    child,
    children,
    emit_one_of,
    message,
    one_of,
    optional_data,
    optional_int32,
    optional_uint,
    parse_one_of,
    uint,
    uints,
)
from pymosaic.pages.protobuf import data as data_field

__all__ = [
    "AllNullLayout",
    "BlobLayout",
    "BufferCompression",
    "ByteStreamSplit",
    "CompressionScheme",
    "Constant",
    "Dictionary",
    "Encoding",
    "FieldEncoding",
    "FixedSizeList",
    "Flat",
    "Fsst",
    "FullZipLayout",
    "General",
    "InlineBitpacking",
    "Layer",
    "Layout",
    "MiniBlockLayout",
    "OutOfLineBitpacking",
    "PackedStruct",
    "Rle",
    "Variable",
    "VariablePackedStruct",
    "emit_layout",
    "parse_layout",
]


class CompressionScheme(IntEnum):
    """A general compressor."""

    UNSPECIFIED = 0
    LZ4 = 1
    ZSTD = 2


class Layer(IntEnum):
    """What a level of nesting can be besides valid."""

    ALL_VALID_ITEM = 1
    ALL_VALID_LIST = 2
    NULLABLE_ITEM = 3
    NULLABLE_LIST = 4
    EMPTYABLE_LIST = 5
    NULL_AND_EMPTY_LIST = 6


def _encodings() -> Mapping[int, type]:
    return _ENCODINGS


def _layouts() -> Mapping[int, type]:
    return _LAYOUTS


@message(closed=True)
class BufferCompression:
    """How one buffer is compressed."""

    scheme: int = uint(1)
    level: int | None = optional_int32(2)


@message(closed=True)
class Flat:
    """Values of one width, back to back."""

    bits_per_value: int = uint(1)
    data: BufferCompression | None = child(2, lambda: BufferCompression)


@message(closed=True)
class Variable:
    """Offsets and bytes."""

    offsets: Encoding | None = one_of(1, _encodings)
    values: BufferCompression | None = child(2, lambda: BufferCompression)


@message(closed=True)
class Constant:
    """One value for all; null if there is none."""

    value: bytes | None = optional_data(1)


@message(closed=True)
class OutOfLineBitpacking:
    """Values without their high bits; ``values`` gives the remaining width, the same for all."""

    uncompressed_bits_per_value: int = uint(1)
    values: Encoding | None = one_of(3, _encodings)


@message(closed=True)
class InlineBitpacking:
    """Values without their high bits; each chunk states its own remaining width."""

    uncompressed_bits_per_value: int = uint(1)
    values: BufferCompression | None = child(2, lambda: BufferCompression)


@message(closed=True)
class Fsst:
    """Strings whose frequent pieces are replaced by one byte."""

    symbol_table: bytes = data_field(1)
    values: Encoding | None = one_of(2, _encodings)


@message(closed=True)
class Dictionary:
    """Indices into distinct items."""

    indices: Encoding | None = one_of(1, _encodings)
    items: Encoding | None = one_of(2, _encodings)
    num_dictionary_items: int = uint(3)


@message(closed=True)
class Rle:
    """Runs: a value and how often it repeats."""

    values: Encoding | None = one_of(1, _encodings)
    run_lengths: Encoding | None = one_of(2, _encodings)


@message(closed=True)
class ByteStreamSplit:
    """All first bytes, then all second bytes, and so on."""

    values: Encoding | None = one_of(1, _encodings)


@message(closed=True)
class General:
    """The output of another encoding, compressed."""

    compression: BufferCompression | None = child(1, lambda: BufferCompression)
    values: Encoding | None = one_of(3, _encodings)


@message(closed=True)
class FixedSizeList:
    """Lists of one length, flattened."""

    items_per_value: int = uint(1)
    values: Encoding | None = one_of(2, _encodings)
    has_validity: bool = boolean(3)


@message(closed=True)
class PackedStruct:
    """Fields of fixed width, row by row."""

    bits_per_value: tuple[int, ...] = uints(1)
    values: Encoding | None = one_of(2, _encodings)


@message(closed=True)
class FieldEncoding:
    """One field of a :class:`VariablePackedStruct`."""

    value: Encoding | None = one_of(1, _encodings)
    bits_per_value: int | None = optional_uint(2)
    bits_per_length: int | None = optional_uint(3)


@message(closed=True)
class VariablePackedStruct:
    """Fields of any width, row by row."""

    fields: tuple[FieldEncoding, ...] = children(1, lambda: FieldEncoding)


@message(closed=True)
class MiniBlockLayout:
    """A page of chunks of a few KiB; see :mod:`pymosaic.pages.layouts.mini_block`."""

    rep_compression: Encoding | None = one_of(1, _encodings)
    def_compression: Encoding | None = one_of(2, _encodings)
    value_compression: Encoding | None = one_of(3, _encodings)
    dictionary: Encoding | None = one_of(4, _encodings)
    num_dictionary_items: int = uint(5)
    layers: tuple[int, ...] = uints(6)
    num_buffers: int = uint(7)
    repetition_index_depth: int = uint(8)
    num_items: int = uint(9)
    has_large_chunk: bool = boolean(10)


@message(closed=True)
class FullZipLayout:
    """A page of values with their levels; see :mod:`pymosaic.pages.layouts.full_zip`."""

    bits_rep: int = uint(1)
    bits_def: int = uint(2)
    bits_per_value: int | None = optional_uint(3)
    bits_per_offset: int | None = optional_uint(4)
    num_items: int = uint(5)
    num_visible_items: int = uint(6)
    value_compression: Encoding | None = one_of(7, _encodings)
    layers: tuple[int, ...] = uints(8)


@message(closed=True)
class AllNullLayout:
    """A page without values, or (2.2) of one; see :mod:`pymosaic.pages.layouts.constant`."""

    layers: tuple[int, ...] = uints(5)
    inline_value: bytes | None = optional_data(6)
    rep_compression: Encoding | None = one_of(7, _encodings)
    def_compression: Encoding | None = one_of(8, _encodings)
    num_rep_values: int = uint(9)
    num_def_values: int = uint(10)


@message(closed=True)
class BlobLayout:
    """A page of positions in the file; see :mod:`pymosaic.pages.layouts.blob`."""

    inner_layout: Layout | None = one_of(1, _layouts)
    layers: tuple[int, ...] = uints(2)


Encoding: TypeAlias = (
    Flat
    | Variable
    | Constant
    | OutOfLineBitpacking
    | InlineBitpacking
    | Fsst
    | Dictionary
    | Rle
    | ByteStreamSplit
    | General
    | FixedSizeList
    | PackedStruct
    | VariablePackedStruct
)
Layout: TypeAlias = MiniBlockLayout | AllNullLayout | FullZipLayout | BlobLayout

_ENCODINGS: Mapping[int, type] = {
    1: Flat,
    2: Variable,
    3: Constant,
    4: OutOfLineBitpacking,
    5: InlineBitpacking,
    6: Fsst,
    7: Dictionary,
    8: Rle,
    9: ByteStreamSplit,
    10: General,
    11: FixedSizeList,
    12: PackedStruct,
    13: VariablePackedStruct,
}
_LAYOUTS: Mapping[int, type] = {
    1: MiniBlockLayout,
    2: AllNullLayout,
    3: FullZipLayout,
    4: BlobLayout,
}


def parse_layout(content: bytes | memoryview) -> Layout:
    """Parse a ``PageLayout``.

    Examples
    --------
    >>> parse_layout(emit_layout(AllNullLayout(layers=(Layer.NULLABLE_ITEM,))))
    AllNullLayout(layers=(3,), inline_value=None, ...)
    """
    layout: Layout | None = parse_one_of(_layouts, content, "PageLayout")
    if layout is None:
        raise UnsupportedFeatureError("a page without a layout", structure="PageLayout")
    _check_layers(layout)
    return layout


def _check_layers(layout: Layout) -> None:
    for layer in layout.layers:
        if not Layer.ALL_VALID_ITEM <= layer <= Layer.NULL_AND_EMPTY_LIST:
            raise CorruptFileError(f"layer of kind {layer}", structure=type(layout).__name__)
    if isinstance(layout, BlobLayout):
        if layout.inner_layout is None or isinstance(layout.inner_layout, BlobLayout):
            raise CorruptFileError(
                "a blob page has no layout for its descriptions", structure="BlobLayout"
            )
        _check_layers(layout.inner_layout)


def emit_layout(layout: Layout) -> bytes:
    """Write a ``PageLayout``; the inverse of :func:`parse_layout`."""
    return emit_one_of(_layouts, layout)
