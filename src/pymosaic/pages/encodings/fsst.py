"""FSST: strings whose frequent pieces of up to 8 bytes became one byte.

The symbol table stands in the description, always 2,312 bytes:

====== ===== ====================================================================
offset bytes what
====== ===== ====================================================================
0      1     number of symbols, 255 at most
1      1     terminator (for encoders)
2      1     suffix limit (for encoders)
3      1     switch: 0 where the values are not compressed
4      4     ``TSSF``
8      8·n   symbols, each padded with zeros
8+8·n  n     lengths of the symbols, 1 to 8; zeros follow
====== ===== ====================================================================

Code 255 means that the next byte stands for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pymosaic.errors import LimitExceededError
from pymosaic.pages.blocks import Block, Bytes, Chunks, VariableBlock, bytes_of, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder
from pymosaic.pages.kernels.fsst import expand
from pymosaic.pages.messages import Fsst

__all__ = ["TABLE_BYTES", "SymbolTable", "decode_chunks", "decode_values", "parse_symbol_table"]

TABLE_BYTES = 2312
_MAGIC = b"TSSF"
_MAX_OFFSET = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class SymbolTable:
    """Symbols, 8 bytes each, and their lengths; ``active`` is False where nothing is compressed."""

    symbols: Bytes
    lengths: Bytes
    active: bool


def parse_symbol_table(content: bytes) -> SymbolTable:
    """Read a table; lengths are checked."""
    corrupt_unless(len(content) >= 8, "no header", "FSST symbol table")
    count, _, _, switch = content[:4]
    corrupt_unless(content[4:8] == _MAGIC, "no TSSF in the header", "FSST symbol table")
    corrupt_unless(len(content) >= 8 + 9 * count, "fewer symbols than said", "FSST symbol table")
    table = bytes_of(content)
    lengths = table[8 + 8 * count : 8 + 9 * count]
    corrupt_unless(
        bool(((lengths >= 1) & (lengths <= 8)).all()),
        "symbols of wrong length",
        "FSST symbol table",
    )
    return SymbolTable(table[8 : 8 + 8 * count], lengths, switch != 0)


def _expand(encoding: Fsst, block: Block, decoder: Decoder) -> VariableBlock:
    if not isinstance(block, VariableBlock):
        corrupt_unless(False, "values of fixed width", "FSST values")
        raise AssertionError
    table = parse_symbol_table(encoding.symbol_table)
    if not table.active:
        return block
    out = decoder.memory.bytes(8 * len(block.data) + 8)
    wide = block.offsets.dtype != np.int32 or len(out) > _MAX_OFFSET
    offsets = decoder.memory.array(block.count + 1, np.int64 if wide else np.int32)
    size = expand(
        table.symbols,
        table.lengths,
        block.offsets.astype(offsets.dtype, copy=False),
        block.data,
        offsets,
        out,
    )
    # Gives back what was not needed: the room is for the worst case.
    out.resize(size, refcheck=False)
    if block.offsets.dtype == np.int32 and wide:
        if size > _MAX_OFFSET:
            raise LimitExceededError(f"{size} bytes in a page of 32-bit offsets", structure="FSST")
        offsets = offsets.astype(np.int32)
    return VariableBlock(offsets, out)


def decode_chunks(encoding: Fsst, chunks: Chunks, decoder: Decoder) -> VariableBlock:
    """Expand the values of all chunks."""
    return _expand(encoding, decoder.chunks(encoding.values, chunks), decoder)


def decode_values(encoding: Fsst, block: Block, decoder: Decoder) -> VariableBlock:
    """Expand values that were compressed one by one."""
    return _expand(encoding, decoder.values(encoding.values, block), decoder)
