"""The compressive encodings, one module each, and the table that lists them.

An encoding has up to three forms: in the chunks of a mini-block page, as whole blocks (levels,
dictionaries), and value by value in a full-zip page. Each module has a function for each form that
it has, and gets a :class:`Decoder` for the encodings inside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.pages.blocks import Block, Chunks, Memory
from pymosaic.pages.encodings import (
    byte_stream_split,
    constant,
    dictionary,
    fixed_size_list,
    flat,
    fsst,
    general,
    inline_bitpacking,
    out_of_line_bitpacking,
    packed_struct,
    run_length,
    variable,
    variable_packed_struct,
)
from pymosaic.pages.messages import (
    ByteStreamSplit,
    Constant,
    Dictionary,
    Encoding,
    FixedSizeList,
    Flat,
    Fsst,
    General,
    InlineBitpacking,
    OutOfLineBitpacking,
    PackedStruct,
    Rle,
    Variable,
    VariablePackedStruct,
)

__all__ = ["TreeDecoder"]

_Form = Mapping[type, Callable[[Any, Any, "TreeDecoder"], Block]]

_CHUNKS: _Form = {
    Flat: flat.decode_chunks,
    Variable: variable.decode_chunks,
    Constant: constant.decode_chunks,
    OutOfLineBitpacking: out_of_line_bitpacking.decode_chunks,
    InlineBitpacking: inline_bitpacking.decode_chunks,
    Fsst: fsst.decode_chunks,
    Rle: run_length.decode_chunks,
    ByteStreamSplit: byte_stream_split.decode_chunks,
    General: general.decode_chunks,
    FixedSizeList: fixed_size_list.decode_chunks,
    PackedStruct: packed_struct.decode_chunks,
}
_BLOCKS: _Form = {
    Flat: flat.decode_chunks,
    Variable: variable.decode_blocks,
    Constant: constant.decode_chunks,
    OutOfLineBitpacking: out_of_line_bitpacking.decode_chunks,
    InlineBitpacking: inline_bitpacking.decode_chunks,
    Dictionary: dictionary.decode_blocks,
    Rle: run_length.decode_blocks,
    General: general.decode_blocks,
}
_VALUES: _Form = {
    Flat: flat.decode_values,
    Variable: variable.decode_values,
    Constant: constant.decode_values,
    Fsst: fsst.decode_values,
    General: general.decode_values,
    FixedSizeList: fixed_size_list.decode_values,
    PackedStruct: packed_struct.decode_values,
    VariablePackedStruct: variable_packed_struct.decode_values,
}


def _find(form: _Form, name: str, encoding: Encoding | None) -> Any:
    if encoding is None:
        raise CorruptFileError("an encoding is missing", structure=name)
    function = form.get(type(encoding))
    if function is None:
        raise UnsupportedFeatureError(
            f"{type(encoding).__name__} cannot be decoded here", structure=name
        )
    return function


class TreeDecoder:
    """Decodes trees of encodings, within the memory budget of one page."""

    __slots__ = ("memory",)

    def __init__(self, memory: Memory) -> None:
        self.memory: Memory = memory

    def chunks(self, encoding: Encoding | None, chunks: Chunks) -> Block:
        """Decode values in the chunks of a mini-block page."""
        block: Block = _find(_CHUNKS, "mini-block page", encoding)(encoding, chunks, self)
        return block

    def blocks(self, encoding: Encoding | None, chunks: Chunks) -> Block:
        """Decode whole blocks: levels and dictionaries."""
        block: Block = _find(_BLOCKS, "block", encoding)(encoding, chunks, self)
        return block

    def values(self, encoding: Encoding | None, block: Block) -> Block:
        """Decode values of a full-zip page, which were encoded one by one."""
        decoded: Block = _find(_VALUES, "full-zip page", encoding)(encoding, block, self)
        return decoded
