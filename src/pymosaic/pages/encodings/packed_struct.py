"""PackedStruct: the fields of a struct, all of fixed width and without nulls, row by row."""

from __future__ import annotations

import numpy as np

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.pages.blocks import Block, Chunks, FixedBlock, StructBlock, corrupt_unless
from pymosaic.pages.encodings import flat
from pymosaic.pages.encodings.decoder import Decoder
from pymosaic.pages.encodings.encoded import EncodedChunks
from pymosaic.pages.messages import Flat, PackedStruct

__all__ = ["decode_chunks", "decode_values", "encode_chunks", "encode_values"]


def _split(encoding: PackedStruct, block: Block, decoder: Decoder) -> StructBlock:
    widths = encoding.bits_per_value
    if not isinstance(block, FixedBlock) or sum(widths) != block.bits:
        raise CorruptFileError(f"rows are not of {sum(widths)} bits", structure="PackedStruct")
    if any(bits % 8 or bits == 0 for bits in widths):
        raise UnsupportedFeatureError("fields are not whole bytes", structure="PackedStruct")
    row_bytes = block.bits // 8
    decoder.memory.charge(block.count * row_bytes)
    rows = block.data[: block.count * row_bytes].reshape(block.count, row_bytes)
    fields: list[Block] = []
    start = 0
    for bits in widths:
        end = start + bits // 8
        fields.append(
            FixedBlock(bits, block.count, np.ascontiguousarray(rows[:, start:end]).reshape(-1))
        )
        start = end
    return StructBlock(block.count, tuple(fields))


def decode_chunks(encoding: PackedStruct, chunks: Chunks, decoder: Decoder) -> StructBlock:
    """Split the rows of all chunks into fields."""
    corrupt_unless(chunks.num_buffers == 1, "more than one buffer", "PackedStruct")
    return _split(encoding, decoder.chunks(encoding.values, chunks), decoder)


def decode_values(encoding: PackedStruct, block: Block, decoder: Decoder) -> StructBlock:
    """Split rows into fields."""
    return _split(encoding, decoder.values(encoding.values, block), decoder)


def _join(block: StructBlock) -> tuple[PackedStruct, FixedBlock]:
    fields = [field for field in block.fields if isinstance(field, FixedBlock)]
    assert len(fields) == len(block.fields)
    rows = np.concatenate(
        [field.data.reshape(block.count, field.bits // 8) for field in fields], axis=1
    )
    bits = tuple(field.bits for field in fields)
    encoding = PackedStruct(bits_per_value=bits, values=Flat(bits_per_value=sum(bits)))
    return encoding, FixedBlock(sum(bits), block.count, rows.reshape(-1))


def encode_chunks(block: StructBlock) -> EncodedChunks:
    """Join the fields of each row, and split the rows into chunks."""
    encoding, rows = _join(block)
    encoded = flat.encode_chunks(rows)
    return EncodedChunks(encoding, encoded.counts, encoded.buffers)


def encode_values(block: StructBlock) -> tuple[PackedStruct, FixedBlock]:
    """Encode each row as one value."""
    return _join(block)
