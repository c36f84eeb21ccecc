"""VariablePackedStruct (2.2): the fields of a struct of any width, row by row, in full-zip pages.

A row consists of its fields in order: those of fixed width as they are, the others after a length
of 32 or 64 bits. Each field has its own encoding, applied value by value. A null row has no bytes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pymosaic.errors import CorruptFileError, UnsupportedFeatureError
from pymosaic.pages.blocks import Block, FixedBlock, StructBlock, VariableBlock, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder
from pymosaic.pages.kernels.packed_rows import join_rows, measure_rows, split_field
from pymosaic.pages.messages import FieldEncoding, Flat, Variable, VariablePackedStruct

__all__ = ["decode_values", "encode_values"]

_MAX_FIELDS = 1 << 16


def decode_values(encoding: VariablePackedStruct, block: Block, decoder: Decoder) -> StructBlock:
    """Split rows into fields and decode each field."""
    if not isinstance(block, VariableBlock):
        raise CorruptFileError("rows of fixed width", structure="VariablePackedStruct")
    corrupt_unless(
        0 < len(encoding.fields) <= _MAX_FIELDS,
        f"{len(encoding.fields)} fields",
        "VariablePackedStruct",
    )
    has_bytes = np.diff(block.offsets) > 0
    # Rows without bytes leave no gap, so the others are laid out as if they were alone.
    offsets = np.append(np.int64(0), block.offsets[1:][has_bytes].astype(np.int64, copy=False))
    data = np.ascontiguousarray(block.data)
    positions = offsets[:-1].copy()
    count = len(positions)
    fields: list[Block] = []
    for field in encoding.fields:
        fixed, length = field.bits_per_value, field.bits_per_length
        if fixed is not None:
            corrupt_unless(
                0 < fixed <= 1 << 32 and fixed % 8 == 0, f"{fixed} bits", "VariablePackedStruct"
            )
            out = decoder.memory.bytes(count * fixed // 8)
            split_field(data, positions, offsets, fixed // 8, 0, None, out)
            value: Block = FixedBlock(fixed, count, out)
        else:
            corrupt_unless(length in (32, 64), f"lengths of {length} bits", "VariablePackedStruct")
            assert length is not None
            size = measure_rows(data, positions, offsets, length // 8)
            new_offsets = decoder.memory.array(count + 1, np.int64)
            out = decoder.memory.bytes(size)
            split_field(data, positions, offsets, 0, length // 8, new_offsets, out)
            value = VariableBlock(new_offsets, out)
        decoded = decoder.values(field.value, value)
        fields.append(decoded if count == block.count else _spread(decoded, has_bytes, decoder))
    corrupt_unless(
        bool((positions == offsets[1:]).all()), "bytes are left over", "VariablePackedStruct"
    )
    return StructBlock(block.count, tuple(fields))


def _spread(block: Block, has_bytes: npt.NDArray[np.bool_], decoder: Decoder) -> Block:
    """Extend the values of some rows to all rows; the other rows get zeros or nothing."""
    if isinstance(block, FixedBlock) and block.bits % 8 == 0:
        width = block.bits // 8
        out = decoder.memory.bytes(len(has_bytes) * width)
        rows = out.reshape(len(has_bytes), width)
        rows[~has_bytes] = 0
        rows[has_bytes] = block.data[: block.count * width].reshape(block.count, width)
        return FixedBlock(block.bits, len(has_bytes), out)
    if isinstance(block, VariableBlock):
        offsets = decoder.memory.array(len(has_bytes) + 1, np.int64)
        offsets[0] = 0
        lengths = np.zeros(len(has_bytes), np.int64)
        lengths[has_bytes] = np.diff(block.offsets)
        np.cumsum(lengths, out=offsets[1:])
        return VariableBlock(offsets, block.data)
    raise UnsupportedFeatureError(
        f"null rows with fields of {type(block).__name__}", structure="VariablePackedStruct"
    )


def encode_values(block: StructBlock) -> tuple[VariablePackedStruct, VariableBlock]:
    """Encode each row as one value, with plain fields."""
    lengths = np.zeros(block.count, np.int64)
    parts: list[tuple[FieldEncoding, Any, Any, int]] = []
    for field in block.fields:
        if isinstance(field, FixedBlock):
            width = field.bits // 8
            offsets = np.arange(block.count + 1, dtype=np.int64) * width
            encoding = FieldEncoding(
                value=Flat(bits_per_value=field.bits), bits_per_value=field.bits
            )
            parts.append((encoding, field.data, offsets, 0))
        else:
            assert isinstance(field, VariableBlock)
            bits = 8 * field.offsets.itemsize
            encoding = FieldEncoding(
                value=Variable(offsets=Flat(bits_per_value=bits)), bits_per_length=bits
            )
            parts.append((encoding, field.data, field.offsets.astype(np.int64), bits // 8))
        lengths += np.diff(parts[-1][2]) + parts[-1][3]
    row_offsets = np.zeros(block.count + 1, np.int64)
    np.cumsum(lengths, out=row_offsets[1:])
    out = np.empty(int(row_offsets[-1]), np.uint8)
    positions = row_offsets[:-1].copy()
    for _, data, offsets, length_width in parts:
        join_rows(data, offsets, length_width, positions, out)
    fields = tuple(encoding for encoding, _, _, _ in parts)
    return VariablePackedStruct(fields=fields), VariableBlock(row_offsets, out)
