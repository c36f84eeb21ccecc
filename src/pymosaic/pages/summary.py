"""Layouts and encodings in few words, for people and for tests."""

from __future__ import annotations

from pymosaic.pages.messages import (
    AllNullLayout,
    BlobLayout,
    ByteStreamSplit,
    CompressionScheme,
    Constant,
    Dictionary,
    Encoding,
    FixedSizeList,
    Flat,
    Fsst,
    FullZipLayout,
    General,
    InlineBitpacking,
    Layout,
    MiniBlockLayout,
    OutOfLineBitpacking,
    PackedStruct,
    Rle,
    Variable,
    VariablePackedStruct,
)

__all__ = ["summarize"]

_NAMES: dict[type, str] = {
    Flat: "flat",
    Variable: "variable",
    Constant: "constant",
    OutOfLineBitpacking: "bit-packed-groups",
    InlineBitpacking: "bit-packed",
    Fsst: "fsst",
    Rle: "run-length",
    ByteStreamSplit: "byte-stream-split",
    FixedSizeList: "fixed-size-list",
    PackedStruct: "packed-struct",
    VariablePackedStruct: "variable-packed-struct",
}


def _summarize_encoding(encoding: Encoding | None) -> str:
    if encoding is None:
        return "none"
    if isinstance(encoding, General):
        scheme = 0 if encoding.compression is None else encoding.compression.scheme
        known = scheme in tuple(CompressionScheme)
        name = CompressionScheme(scheme).name.lower() if known else f"scheme {scheme}"
        return f"{name}({_summarize_encoding(encoding.values)})"
    if isinstance(encoding, Dictionary):
        indices, items = map(_summarize_encoding, (encoding.indices, encoding.items))
        return f"dictionary({indices}, {items})"
    name = _NAMES[type(encoding)]
    if isinstance(encoding, FixedSizeList):
        return f"{name}({_summarize_encoding(encoding.values)})"
    return name


def summarize(layout: Layout) -> str:
    """Layout, and the tree of encodings of its values.

    Examples
    --------
    >>> summarize(FullZipLayout(value_compression=Flat(bits_per_value=64)))
    'full-zip flat'
    """
    if isinstance(layout, BlobLayout):
        return "blob"
    if isinstance(layout, AllNullLayout):
        return "all-null" if layout.inline_value is None else "constant"
    values = _summarize_encoding(layout.value_compression)
    if isinstance(layout, MiniBlockLayout):
        if layout.dictionary is not None:
            return f"mini-block dictionary({values}, {_summarize_encoding(layout.dictionary)})"
        return f"mini-block {values}"
    assert isinstance(layout, FullZipLayout)
    return f"full-zip {values}"
