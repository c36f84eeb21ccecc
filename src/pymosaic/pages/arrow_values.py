"""Conversion of blocks to Arrow arrays: values get their type, and strings are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from pymosaic.arrow.types import fixed_bits
from pymosaic.errors import CorruptFileError, LimitExceededError, UnsupportedFeatureError
from pymosaic.pages.blocks import (
    Block,
    Bytes,
    DictionaryBlock,
    FixedBlock,
    ListBlock,
    Memory,
    StructBlock,
    VariableBlock,
    corrupt_unless,
)

__all__ = ["block_to_array", "null_array"]

_MAX_OFFSET = (1 << 31) - 1
_ALIGNMENT = 8
# Types for which not every number is valid: digits, times of day, whole days.
_CHECKED = {
    data_type.id
    for data_type in (
        pa.decimal128(1),
        pa.decimal256(1),
        pa.time32("s"),
        pa.time64("us"),
        pa.date64(),
    )
}


def _buffer(data: Any) -> pa.Buffer:
    """An Arrow buffer over an array, which is copied if Arrow's loops would be slow on it."""
    if data.flags.c_contiguous:
        buffer = pa.py_buffer(data)
        if buffer.address % _ALIGNMENT == 0:
            return buffer
    return pa.py_buffer(data.copy())


def null_array(count: int, data_type: pa.DataType, memory: Memory) -> pa.Array:
    """An array of nulls."""
    if pa.types.is_null(data_type):
        return pa.nulls(count)
    if pa.types.is_struct(data_type) and data_type.num_fields == 0:
        # A struct without fields has no values to store, and is never null.
        return pa.Array.from_buffers(data_type, count, [None])
    memory.charge(count * (_null_bits(data_type) // 8 + 1))
    return pa.nulls(count, data_type)


def _null_bits(data_type: pa.DataType) -> int:
    """Number of bits that a null takes, including bitmaps."""
    if pa.types.is_fixed_size_list(data_type):
        return 1 + int(data_type.list_size) * _null_bits(data_type.value_type)
    if pa.types.is_struct(data_type):
        return 1 + sum(_null_bits(field.type) for field in data_type)
    bits = fixed_bits(data_type)
    return 1 + (64 if bits is None else bits)


def block_to_array(
    block: Block | None,
    data_type: pa.DataType,
    count: int,
    validity: Bytes | None,
    null_count: int,
    memory: Memory,
) -> pa.Array:
    """Give values their Arrow type.

    Parameters
    ----------
    block : Block or None
        The values; None if all are null.
    data_type : pyarrow.DataType
        Their type; the form of the block is checked against it.
    count : int
        The expected number of values.
    validity : array of uint8 or None
        Bitmap, or None if all are valid.
    null_count : int
        Number of clear bits in it.
    memory : Memory
        The budget that they are charged to.
    """
    if block is None or pa.types.is_null(data_type):
        return null_array(count, data_type, memory)
    corrupt_unless(block.count == count, f"{block.count} values for {count} items", "page")
    if isinstance(data_type, pa.BaseExtensionType):
        storage = data_type.storage_type
        array = block_to_array(block, storage, count, validity, null_count, memory)
        return pa.ExtensionArray.from_storage(data_type, array)
    if pa.types.is_dictionary(data_type):
        return _to_dictionary(block, data_type, validity, null_count, memory)
    if isinstance(block, DictionaryBlock):
        return _look_up(block, data_type, validity, null_count, memory)
    bitmap = None if validity is None else _buffer(validity)
    if isinstance(block, VariableBlock):
        return _variable(block, data_type, bitmap, null_count)
    if isinstance(block, ListBlock):
        return _lists(block, data_type, bitmap, null_count, memory)
    if isinstance(block, StructBlock):
        return _struct(block, data_type, bitmap, null_count, memory)
    return _fixed(block, data_type, bitmap, null_count)


def _refuse(block: Block, data_type: pa.DataType) -> CorruptFileError:
    form = type(block).__name__.removesuffix("Block").lower()
    bits = f" of {block.bits} bits" if isinstance(block, FixedBlock) else ""
    return CorruptFileError(f"{form} values{bits} for a column of {data_type}", structure="page")


def _fixed(
    block: FixedBlock, data_type: pa.DataType, bitmap: pa.Buffer | None, null_count: int
) -> pa.Array:
    if pa.types.is_boolean(data_type) and block.bits == 8:
        block = _bits_of_bytes(block)
    if fixed_bits(data_type) != block.bits or pa.types.is_nested(data_type):
        raise _refuse(block, data_type)
    array = pa.Array.from_buffers(data_type, block.count, [bitmap, _buffer(block.data)], null_count)
    if data_type.id in _CHECKED:
        _check_values(array)
    return array


def _bits_of_bytes(block: FixedBlock) -> FixedBlock:
    """Booleans of full-zip and constant pages, with one byte each."""
    values = block.data[: block.count]
    corrupt_unless(int(values.max(initial=0)) <= 1, "a boolean is neither 0 nor 1", "page")
    return FixedBlock(1, block.count, np.packbits(values, bitorder="little"))


def _check_values(array: pa.Array) -> None:
    """Check Arrow's requirements on values beyond their width."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise CorruptFileError(str(error), structure="page") from error


def _variable(
    block: VariableBlock, data_type: pa.DataType, bitmap: pa.Buffer | None, null_count: int
) -> pa.Array:
    large = pa.types.is_large_string(data_type) or pa.types.is_large_binary(data_type)
    text = pa.types.is_string(data_type) or pa.types.is_large_string(data_type)
    if not (large or text or pa.types.is_binary(data_type)):
        raise _refuse(block, data_type)
    if not large and len(block.data) > _MAX_OFFSET:
        raise LimitExceededError(
            f"{len(block.data)} bytes in a page of {data_type}", structure="page"
        )
    offsets = block.offsets.astype(np.int64 if large else np.int32, copy=False)
    array = pa.Array.from_buffers(
        data_type, block.count, [bitmap, _buffer(offsets), _buffer(block.data)], null_count
    )
    if text and not _is_ascii(block.data):
        _check_values(array)
    return array


def _is_ascii(data: Bytes) -> bool:
    whole = len(data) & ~7
    words = np.frombuffer(data[:whole], np.uint64)
    high = np.bitwise_or.reduce(words) if whole else 0
    return not (int(high) & 0x8080808080808080) and not bool((data[whole:] & 0x80).any())


def _lists(
    block: ListBlock,
    data_type: pa.DataType,
    bitmap: pa.Buffer | None,
    null_count: int,
    memory: Memory,
) -> pa.Array:
    if not pa.types.is_fixed_size_list(data_type) or data_type.list_size != block.size:
        raise _refuse(block, data_type)
    num_items = block.count * block.size
    item_type = data_type.value_type
    if isinstance(block.items, FixedBlock) and block.items.bits == 0:
        items = null_array(num_items, item_type, memory)
    else:
        nulls = 0
        if block.validity is not None:
            bits = np.unpackbits(block.validity, count=num_items, bitorder="little")
            nulls = num_items - int(np.count_nonzero(bits))
        items = block_to_array(
            block.items, item_type, num_items, block.validity if nulls else None, nulls, memory
        )
    return pa.Array.from_buffers(data_type, block.count, [bitmap], null_count, children=[items])


def _struct(
    block: StructBlock,
    data_type: pa.DataType,
    bitmap: pa.Buffer | None,
    null_count: int,
    memory: Memory,
) -> pa.Array:
    if not pa.types.is_struct(data_type) or data_type.num_fields != len(block.fields):
        raise _refuse(block, data_type)
    children = [
        block_to_array(field, data_type[index].type, block.count, None, 0, memory)
        for index, field in enumerate(block.fields)
    ]
    return pa.Array.from_buffers(data_type, block.count, [bitmap], null_count, children=children)


def _look_up(
    block: DictionaryBlock,
    data_type: pa.DataType,
    validity: Bytes | None,
    null_count: int,
    memory: Memory,
) -> pa.Array:
    items = block_to_array(block.items, data_type, block.items.count, None, 0, memory)
    _charge_look_up(block, memory)
    try:
        array = items.take(pa.array(block.indices))
    except pa.ArrowInvalid as error:  # 32-bit offsets overflow
        raise LimitExceededError(str(error), structure="page") from error
    if validity is None:
        return array
    buffers = [_buffer(validity), *array.buffers()[1:]]
    return pa.Array.from_buffers(data_type, len(array), buffers, null_count, array.offset)


def _charge_look_up(block: DictionaryBlock, memory: Memory) -> None:
    items = block.items
    if isinstance(items, FixedBlock):
        memory.charge(block.count * items.bits // 8)
    elif isinstance(items, VariableBlock):
        uses = np.bincount(block.indices, minlength=items.count)
        # Many uses of a long value may pass 64 bits; of a sum that large, the first digits will do.
        memory.charge(int(uses.astype(np.float64) @ np.diff(items.offsets).astype(np.float64)))


def _to_dictionary(
    block: Block,
    data_type: pa.DataType,
    validity: Bytes | None,
    null_count: int,
    memory: Memory,
) -> pa.Array:
    value_type, index_type = data_type.value_type, data_type.index_type
    if isinstance(block, DictionaryBlock):
        items = block_to_array(block.items, value_type, block.items.count, None, 0, memory)
        indices = pa.array(block.indices)
    else:
        values = block_to_array(block, value_type, block.count, validity, null_count, memory)
        try:
            encoded = values.dictionary_encode()
        except pa.ArrowNotImplementedError as error:
            raise UnsupportedFeatureError(str(error), structure="page") from error
        items, indices = encoded.dictionary, encoded.indices.fill_null(0)
    if len(items) > 1 << (index_type.bit_width - (not pa.types.is_unsigned_integer(index_type))):
        raise UnsupportedFeatureError(
            f"{len(items)} distinct values in a column of {data_type}", structure="page"
        )
    memory.charge(len(indices) * index_type.bit_width // 8)
    numbers = indices.cast(index_type)
    bitmap = None if validity is None else _buffer(validity)
    numbers = pa.Array.from_buffers(
        index_type, len(numbers), [bitmap, numbers.buffers()[1]], null_count, numbers.offset
    )
    return pa.DictionaryArray.from_arrays(numbers, items, ordered=data_type.ordered)
