"""Flattening of Arrow arrays to levels and values of leaves. The inverse of ``nesting``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.arrow.rows import take_rows
from pymosaic.arrow.types import fixed_bits
from pymosaic.errors import UnsupportedFeatureError
from pymosaic.pages.blocks import (
    Block,
    Bytes,
    DictionaryBlock,
    FixedBlock,
    Integers,
    ListBlock,
    StructBlock,
    VariableBlock,
)
from pymosaic.pages.kernels.levels import count_expanded, expand_lists, mark_nulls
from pymosaic.pages.levels import LevelArray, Levels
from pymosaic.pages.messages import Layer
from pymosaic.pages.nesting import FieldNode, is_list_like

__all__ = ["FlatLeaf", "array_to_block", "flatten"]

_NO_BITS = np.empty(0, np.uint8)
# By whether there are null ones, and empty ones.
_LIST_KINDS = {
    (False, False): Layer.ALL_VALID_LIST,
    (True, False): Layer.NULLABLE_LIST,
    (False, True): Layer.EMPTYABLE_LIST,
    (True, True): Layer.NULL_AND_EMPTY_LIST,
}


@dataclass(frozen=True, slots=True)
class FlatLeaf:
    """One leaf of an array.

    Parameters
    ----------
    layers : tuple of int
        Their kinds, innermost first, as far as this data needs them.
    levels : Levels
        None of a kind where all would be 0.
    num_items : int
        Items, also where there are no levels.
    values : pyarrow.Array
        The visible items.
    """

    layers: tuple[int, ...]
    levels: Levels
    num_items: int
    values: pa.Array


@dataclass(frozen=True, slots=True)
class _Layer:
    """One layer on the way down: validity with its first bit, and offsets of lists."""

    kind: Layer
    validity: Bytes
    first_bit: int
    offsets: npt.NDArray[Any] | None


def flatten(node: FieldNode, array: pa.Array, is_part: bool = False) -> list[FlatLeaf]:
    """Flatten an array, one leaf at a time in column order.

    Parameters
    ----------
    node : FieldNode
        The field of the array.
    array : pyarrow.Array
        The rows of one page.
    is_part : bool
        Whether there are other pages.
    """
    return [_flat_leaf(values, above, is_part) for values, above in _descend(node, array, [])]


def _validity(array: pa.Array) -> tuple[Bytes, int]:
    buffer = array.buffers()[0]
    if buffer is None or array.null_count == 0:
        return _NO_BITS, 0
    return np.frombuffer(buffer, np.uint8), array.offset


def _descend(
    node: FieldNode, array: pa.Array, above: list[_Layer]
) -> Iterator[tuple[pa.Array, list[_Layer]]]:
    """Leaves, with the layers above each."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if not node.children:
        yield array, above
        return
    validity, first_bit = _validity(array)
    if not is_list_like(array.type):
        kind = Layer.NULLABLE_ITEM if len(validity) else Layer.ALL_VALID_ITEM
        layer = _Layer(kind, validity, first_bit, None)
        for number, child in enumerate(node.children):
            yield from _descend(child, array.field(number), [*above, layer])
        return
    offsets = array.offsets.to_numpy()
    base = int(offsets[0]) if len(offsets) else 0
    offsets = np.ascontiguousarray(offsets - base)
    lengths = np.diff(offsets)
    has_empty = bool((lengths == 0).any())
    if len(validity) and has_empty:
        bits = np.unpackbits(validity, count=first_bit + len(array), bitorder="little")[first_bit:]
        has_empty = bool(((lengths == 0) & (bits == 1)).any())
    kind = _LIST_KINDS[bool(len(validity)), has_empty]
    layer = _Layer(kind, validity, first_bit, offsets)
    if pa.types.is_map(array.type):
        values = pa.StructArray.from_arrays([array.keys, array.items], fields=[*_entries(array)])
    else:
        values = array.values
    values = values.slice(base, int(offsets[-1]) if len(offsets) else 0)
    yield from _descend(node.children[0], values, [*above, layer])


def _entries(array: pa.Array) -> list[pa.Field]:
    return [array.type.key_field, array.type.item_field]


def _flat_leaf(array: pa.Array, above: Sequence[_Layer], is_part: bool) -> FlatLeaf:
    validity, first_bit = _validity(array)
    if pa.types.is_null(array.type):
        validity, first_bit = np.zeros((len(array) + 7) // 8, np.uint8), 0
    kind = Layer.NULLABLE_ITEM if len(validity) else Layer.ALL_VALID_ITEM
    path = [*above, _Layer(kind, validity, first_bit, None)]
    if all(layer.kind is Layer.ALL_VALID_ITEM for layer in path):
        layers = (int(Layer.ALL_VALID_ITEM),) * len(path)
        return FlatLeaf(layers, Levels(None, None), len(array), array)
    return _with_levels(array, path, is_part)


def _with_levels(array: pa.Array, path: Sequence[_Layer], is_part: bool) -> FlatLeaf:
    # Structs have as many entries as what is in them, down to the first list.
    outer_lists = [layer.offsets for layer in path if layer.offsets is not None]
    num_rows = len(outer_lists[0]) - 1 if outer_lists else len(array)
    kinds = [layer.kind for layer in path]
    numbers = _def_numbers(kinds)
    list_number = sum(layer.offsets is not None for layer in path)
    rep: LevelArray = np.full(num_rows, list_number, np.uint16)
    definition: LevelArray = np.zeros(num_rows, np.uint16)
    slots: Integers = np.arange(num_rows, dtype=np.int64)
    has_lists = list_number > 0
    for layer, (null_level, empty_level) in zip(path, numbers, strict=True):
        if layer.offsets is None:
            if len(layer.validity):
                mark_nulls(definition, slots, layer.validity, layer.first_bit, null_level)
            continue
        list_number -= 1
        total = count_expanded(definition, slots, layer.offsets, layer.validity, layer.first_bit)
        new_rep, new_def = np.empty(total, np.uint16), np.empty(total, np.uint16)
        new_slots = np.empty(total, np.int64)
        expand_lists(
            rep,
            definition,
            slots,
            layer.offsets,
            layer.validity,
            layer.first_bit,
            list_number,
            null_level,
            empty_level,
            new_rep,
            new_def,
            new_slots,
        )
        rep, definition, slots = new_rep, new_def, new_slots
    shown = _shown_kinds(path, numbers, definition, is_part)
    if shown != kinds:
        kinds, old = shown, numbers
        numbers = _def_numbers(kinds)
        definition = _renumber(definition, old, numbers)
    has_levels = any(number != (0, 0) for number in numbers)
    values = _visible(array, slots) if has_lists else array
    levels = Levels(rep if has_lists else None, definition if has_levels else None)
    layers = tuple(int(kind) for kind in reversed(kinds))
    return FlatLeaf(layers, levels, len(slots), values)


def _shown_kinds(
    path: Sequence[_Layer],
    numbers: list[tuple[int, int]],
    definition: LevelArray,
    is_part: bool,
) -> list[Layer]:
    """Kinds of layers by what items show, not by what nulls hide, outermost first.

    pylance counts on two things more. A list below a struct that may be null is null together with
    it, and thus may be null itself. And structs above lists may be null in all pages of a column or
    in none, so that they may be in all where there are several.
    """
    used = np.zeros(1 + max(max(pair) for pair in numbers), np.bool_)
    used[definition] = True
    used[0] = False
    kinds = []
    below_null_struct = False
    lists_left = sum(layer.offsets is not None for layer in path)
    for layer, (null_level, empty_level) in zip(path, numbers, strict=True):
        has_null, has_empty = bool(used[null_level]), bool(used[empty_level])
        if layer.offsets is None:
            has_null |= is_part and lists_left > 0
            kinds.append(Layer.NULLABLE_ITEM if has_null else Layer.ALL_VALID_ITEM)
            below_null_struct |= has_null
        else:
            kinds.append(_LIST_KINDS[has_null or below_null_struct, has_empty])
            below_null_struct = False
            lists_left -= 1
    return kinds


def _renumber(
    definition: LevelArray, old: list[tuple[int, int]], new: list[tuple[int, int]]
) -> LevelArray:
    """The same levels, renumbered."""
    table = np.zeros(1 + max(max(pair) for pair in old), np.uint16)
    for old_pair, new_pair in zip(old, new, strict=True):
        for old_level, new_level in zip(old_pair, new_pair, strict=True):
            if old_level:
                table[old_level] = new_level
    return table[definition]


def _def_numbers(kinds: Sequence[Layer]) -> list[tuple[int, int]]:
    """The levels for null and for empty of each layer, outermost first."""
    number = 0
    result: list[tuple[int, int]] = []
    for kind in reversed(kinds):
        null_level = empty_level = 0
        if kind in (Layer.NULLABLE_ITEM, Layer.NULLABLE_LIST, Layer.NULL_AND_EMPTY_LIST):
            number += 1
            null_level = number
        if kind in (Layer.EMPTYABLE_LIST, Layer.NULL_AND_EMPTY_LIST):
            number += 1
            empty_level = number
        result.append((null_level, empty_level))
    return result[::-1]


def _visible(array: pa.Array, slots: Integers) -> pa.Array:
    """The values that items have slots for; usually all of them in order."""
    chosen = slots[slots >= 0]
    if not len(chosen):
        return array.slice(0, 0)
    first, last = int(chosen[0]), int(chosen[-1])
    # Slots rise, since offsets do.
    if last - first + 1 == len(chosen):
        return array.slice(first, len(chosen))
    return take_rows(array, pa.array(chosen))


def _valid_bits(array: pa.Array) -> npt.NDArray[np.bool_] | None:
    validity, first_bit = _validity(array)
    if not len(validity):
        return None
    bits = np.unpackbits(validity, count=first_bit + len(array), bitorder="little")
    return bits[first_bit:].astype(np.bool_)


def array_to_block(array: pa.Array) -> Block:
    """Values without their type; the bytes under nulls are normalised."""
    data_type, types = array.type, pa.types
    if isinstance(data_type, pa.BaseExtensionType):
        return array_to_block(array.storage)
    if types.is_dictionary(data_type):
        return _dictionary(array)
    if types.is_fixed_size_list(data_type):
        return _lists(array)
    if types.is_struct(data_type):
        return _struct(array)
    if types.is_boolean(data_type):
        return FixedBlock(1, len(array), _bits(array))
    if _is_variable(data_type):
        return _variable(array)
    return _fixed(array)


def _is_variable(data_type: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(data_type)
        or types.is_binary(data_type)
        or types.is_large_string(data_type)
        or types.is_large_binary(data_type)
    )


def _struct(array: pa.Array) -> StructBlock:
    """A packed struct; its fields cannot store nulls of their own."""
    fields: list[Block] = []
    valid = _valid_bits(array)
    for number, field in enumerate(array.type):
        child = array.field(number)
        own = _valid_bits(child)
        if own is not None and bool((~own if valid is None else valid & ~own).any()):
            raise UnsupportedFeatureError(
                f"field {field.name!r} of a packed struct has nulls, which it cannot hold"
            )
        fields.append(array_to_block(child))
    return StructBlock(len(array), tuple(fields))


def _bits(array: pa.Array) -> Bytes:
    buffer = np.frombuffer(array.buffers()[1], np.uint8)
    bits = np.unpackbits(buffer, count=array.offset + len(array), bitorder="little")[array.offset :]
    valid = _valid_bits(array)
    if valid is not None:
        bits = bits & valid
    return np.packbits(bits, bitorder="little")


def _fixed(array: pa.Array) -> FixedBlock:
    bits = fixed_bits(array.type)
    if bits is None:
        raise UnsupportedFeatureError(f"{array.type} cannot be stored in one column with others")
    width = bits // 8
    start = array.offset * width
    data = np.frombuffer(array.buffers()[1], np.uint8)[start : start + len(array) * width]
    valid = _valid_bits(array)
    if valid is not None:
        data = data.copy()
        data.reshape(len(array), width)[~valid] = 0
    elif data.ctypes.data % 8:
        data = data.copy()
    return FixedBlock(bits, len(array), data)


def _variable(array: pa.Array) -> VariableBlock:
    large = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    kind = np.int64 if large else np.int32
    if not len(array):
        return VariableBlock(np.zeros(1, kind), np.empty(0, np.uint8))
    if array.null_count:
        # Nulls may hide bytes.
        array = array.fill_null(b"" if "binary" in str(array.type) else "")
    buffers = array.buffers()
    offsets: npt.NDArray[Any] = np.frombuffer(buffers[1], kind)[
        array.offset : array.offset + len(array) + 1
    ]
    first, last = int(offsets[0]), int(offsets[-1])
    data = _NO_BITS if buffers[2] is None else np.frombuffer(buffers[2], np.uint8)[first:last]
    return VariableBlock((offsets - first).astype(kind) if first else offsets, data)


def _lists(array: pa.Array) -> ListBlock:
    size = array.type.list_size
    items = array.values.slice(array.offset * size, len(array) * size)
    valid = _valid_bits(items)
    outer = _valid_bits(array)
    if outer is not None and (valid is not None or items.null_count):
        assert valid is not None
        valid = valid & np.repeat(outer, size)
    validity = None if valid is None else np.packbits(valid, bitorder="little")
    if pa.types.is_null(items.type) or not (
        items.type.num_fields == 0 or pa.types.is_fixed_size_list(items.type)
    ):
        raise UnsupportedFeatureError(f"fixed-size lists of {items.type} cannot be stored")
    block = array_to_block(items)
    if not isinstance(block, FixedBlock | ListBlock):
        raise UnsupportedFeatureError(f"fixed-size lists of {items.type} cannot be stored")
    return ListBlock(size, len(array), block, validity)


def _dictionary(array: pa.Array) -> DictionaryBlock:
    indices = array.indices.fill_null(0) if array.null_count else array.indices
    items = array.dictionary
    # Readers expect indices of the width that the type declares.
    width = array.type.index_type.bit_width // 8
    numbers = indices.to_numpy(zero_copy_only=False).astype(f"<u{width}")
    block = array_to_block(items)
    if items.null_count or not isinstance(block, FixedBlock | VariableBlock):
        raise UnsupportedFeatureError(f"a dictionary of {items.type} with nulls cannot be stored")
    return DictionaryBlock(numbers, block)
