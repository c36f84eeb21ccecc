"""VariablePackedStruct (2.2): the fields of a struct of any width, row by row, in full-zip pages.

A row is its fields in order: those of fixed width as they are, the others behind their length of 32
or 64 bits. Each field has an encoding of its own, applied value by value.
"""

from __future__ import annotations

import numpy as np

from pymosaic.errors import CorruptFileError
from pymosaic.pages.blocks import Block, FixedBlock, StructBlock, VariableBlock, corrupt_unless
from pymosaic.pages.encodings.decoder import Decoder
from pymosaic.pages.kernels.packed_rows import measure_rows, split_field
from pymosaic.pages.messages import VariablePackedStruct

__all__ = ["decode_values"]

_MAX_FIELDS = 1 << 16


def decode_values(encoding: VariablePackedStruct, block: Block, decoder: Decoder) -> StructBlock:
    """Take rows apart and decode each field."""
    if not isinstance(block, VariableBlock):
        raise CorruptFileError("rows of fixed width", structure="VariablePackedStruct")
    corrupt_unless(
        0 < len(encoding.fields) <= _MAX_FIELDS,
        f"{len(encoding.fields)} fields",
        "VariablePackedStruct",
    )
    offsets = block.offsets.astype(np.int64, copy=False)
    data = np.ascontiguousarray(block.data)
    positions = offsets[:-1].copy()
    fields: list[Block] = []
    for field in encoding.fields:
        fixed, length = field.bits_per_value, field.bits_per_length
        if fixed is not None:
            corrupt_unless(
                0 < fixed <= 1 << 32 and fixed % 8 == 0, f"{fixed} bits", "VariablePackedStruct"
            )
            out = decoder.memory.bytes(block.count * fixed // 8)
            split_field(data, positions, offsets, fixed // 8, 0, None, out)
            value: Block = FixedBlock(fixed, block.count, out)
        else:
            corrupt_unless(length in (32, 64), f"lengths of {length} bits", "VariablePackedStruct")
            assert length is not None
            size = measure_rows(data, positions, offsets, length // 8)
            new_offsets = decoder.memory.array(block.count + 1, np.int64)
            out = decoder.memory.bytes(size)
            split_field(data, positions, offsets, 0, length // 8, new_offsets, out)
            value = VariableBlock(new_offsets, out)
        fields.append(decoder.values(field.value, value))
    corrupt_unless(bool((positions == offsets[1:]).all()), "bytes are left", "VariablePackedStruct")
    return StructBlock(block.count, tuple(fields))
