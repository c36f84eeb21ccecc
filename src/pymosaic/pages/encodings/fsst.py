"""FSST: strings whose frequent pieces of up to 8 bytes are replaced by one byte.

The symbol table is in the description and is always 2,312 bytes long:

====== ===== ====================================================================
offset bytes what
====== ===== ====================================================================
0      1     number of symbols, maximum 255
1      1     terminator (for encoders)
2      1     suffix limit (for encoders)
3      1     switch: 0 if the values are not compressed
4      4     ``TSSF``
8      8·n   symbols, each padded with zeros
8+8·n  n     lengths of the symbols, 1 to 8; zeros follow
====== ===== ====================================================================

Code 255 means that the next byte stands for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pymosaic.errors import LimitExceededError, UnsupportedFeatureError
from pymosaic.pages.blocks import (
    Block,
    Bytes,
    Chunks,
    Integers,
    VariableBlock,
    bytes_of,
    corrupt_unless,
)
from pymosaic.pages.encodings.decoder import Decoder
from pymosaic.pages.kernels.chunks import gather
from pymosaic.pages.kernels.fsst import compress, expand, train
from pymosaic.pages.messages import Encoding, Fsst

__all__ = [
    "TABLE_BYTES",
    "SymbolTable",
    "compress_values",
    "decode_chunks",
    "decode_values",
    "describe",
    "emit_symbol_table",
    "expand_values",
    "parse_symbol_table",
]

TABLE_BYTES = 2312
_MAGIC = b"TSSF"
_MAX_OFFSET = (1 << 31) - 1
_SAMPLE_BYTES = 16 << 10
_SAMPLE_PIECE = 512
_MAX_SYMBOLS = 255
# For encoders that read a table; decoders ignore it.
_SUFFIX_LIMIT = 0


@dataclass(frozen=True, slots=True)
class SymbolTable:
    """Symbols, 8 bytes each, and their lengths; ``active`` is False if nothing is compressed."""

    symbols: Bytes
    lengths: Bytes
    active: bool


def parse_symbol_table(content: bytes) -> SymbolTable:
    """Read a table; lengths are checked."""
    corrupt_unless(len(content) >= 8, "no header", "FSST symbol table")
    count, _, _, switch = content[:4]
    corrupt_unless(
        content[4:8] == _MAGIC, "the header does not start with TSSF", "FSST symbol table"
    )
    corrupt_unless(
        len(content) >= 8 + 9 * count, "fewer symbols than declared", "FSST symbol table"
    )
    table = bytes_of(content)
    lengths = table[8 + 8 * count : 8 + 9 * count]
    corrupt_unless(
        bool(((lengths >= 1) & (lengths <= 8)).all()),
        "symbols have a wrong length",
        "FSST symbol table",
    )
    return SymbolTable(table[8 : 8 + 8 * count], lengths, switch != 0)


def expand_values(encoding: Fsst, block: Block, decoder: Decoder) -> VariableBlock:
    """Expand values, in whatever form they came."""
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
    # Releases unused memory: the allocation is for the worst case.
    out.resize(size, refcheck=False)
    if block.offsets.dtype == np.int32 and wide:
        if size > _MAX_OFFSET:
            raise LimitExceededError(f"{size} bytes in a page of 32-bit offsets", structure="FSST")
        offsets = offsets.astype(np.int32)
    return VariableBlock(offsets, out)


def decode_chunks(encoding: Fsst, chunks: Chunks, decoder: Decoder) -> VariableBlock:
    """Expand the values of all chunks."""
    return expand_values(encoding, decoder.chunks(encoding.values, chunks), decoder)


def decode_values(encoding: Fsst, block: Block, decoder: Decoder) -> VariableBlock:
    """Expand values that were compressed one by one."""
    return expand_values(encoding, decoder.values(encoding.values, block), decoder)


def _sample(block: VariableBlock) -> tuple[Bytes, Integers]:
    """A sample of 16 KiB of values from all parts of the block, and where each value ends."""
    count = max(1, _SAMPLE_BYTES * max(1, block.count) // max(1, len(block.data)))
    chosen = np.unique(np.linspace(0, block.count - 1, min(count, block.count)).astype(np.int64))
    starts = block.offsets[chosen].astype(np.int64)
    sizes = np.minimum(block.offsets[chosen + 1] - starts, _SAMPLE_PIECE)
    ends = np.cumsum(sizes)
    sample = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    gather(block.data, starts, sizes, sample)
    return sample, ends


def emit_symbol_table(symbols: Bytes, lengths: Bytes) -> bytes:
    """Write a table of active symbols."""
    header = bytes([len(lengths), 0, _SUFFIX_LIMIT, 1]) + _MAGIC
    return (header + symbols.tobytes() + lengths.tobytes()).ljust(TABLE_BYTES, b"\0")


def compress_values(block: VariableBlock) -> tuple[bytes, VariableBlock]:
    """Find symbols and compress the values with them; return the table and the new values."""
    symbols, lengths = np.zeros(8 * _MAX_SYMBOLS, np.uint8), np.zeros(_MAX_SYMBOLS, np.uint8)
    sample, ends = _sample(block)
    count = train(sample, ends, symbols, lengths)
    if 2 * len(block.data) > _MAX_OFFSET and block.offsets.dtype == np.int32:
        raise UnsupportedFeatureError("an FSST page is larger than 1 GiB", structure="page")
    out = np.empty(2 * len(block.data), np.uint8)
    offsets = np.empty_like(block.offsets)
    size = compress(symbols[: 8 * count], lengths[:count], block.offsets, block.data, offsets, out)
    table = emit_symbol_table(symbols[: 8 * count], lengths[:count])
    return table, VariableBlock(offsets, out[:size].copy())


def describe(table: bytes, values: Encoding) -> Fsst:
    """The description of compressed values."""
    return Fsst(symbol_table=table, values=values)
