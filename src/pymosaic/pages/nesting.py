"""Nesting: rebuilding nested Arrow arrays from their leaves, which are the stored columns.

A :class:`FieldNode` is a field with the structs and lists below it, down to its leaves. Each leaf
alone gives an array in which every struct has one field; the leaves of a field are then merged, and
must agree on lists and nulls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from pymosaic.errors import CorruptFileError
from pymosaic.pages.arrow_values import block_to_array
from pymosaic.pages.blocks import Block, Bytes, Memory, corrupt_unless
from pymosaic.pages.levels import LayerContent, Shape

__all__ = [
    "FieldNode",
    "LeafPath",
    "build_node",
    "is_list_like",
    "leaf_names",
    "leaf_paths",
    "merge",
    "nest",
    "prune",
]


def is_list_like(data_type: pa.DataType) -> bool:
    """Whether a type is a layer of lists: list, large_list or map."""
    types = pa.types
    return bool(
        types.is_list(data_type) or types.is_large_list(data_type) or types.is_map(data_type)
    )


@dataclass(frozen=True, slots=True)
class FieldNode:
    """A field with its children; a leaf has none, whatever its type."""

    field: pa.Field
    children: tuple[FieldNode, ...]
    num_leaves: int


def build_node(field: pa.Field, is_leaf: Callable[[pa.Field], bool]) -> FieldNode:
    """Build the tree of a field; ``is_leaf`` says which structs are stored as one column."""
    data_type = field.type
    if data_type.num_fields == 0:
        return FieldNode(field, (), 1)
    inner: list[pa.Field] = []
    if not is_leaf(field):
        if pa.types.is_struct(data_type):
            inner = list(data_type)
        elif pa.types.is_map(data_type):
            inner = [_entries(data_type)]
        elif is_list_like(data_type):
            inner = [data_type.value_field]
    children = tuple(build_node(child, is_leaf) for child in inner)
    return FieldNode(field, children, sum(child.num_leaves for child in children) or 1)


def _entries(data_type: pa.DataType) -> pa.Field:
    fields = [data_type.key_field, data_type.item_field]
    return pa.field("entries", pa.struct(fields), nullable=False)


@dataclass(frozen=True, slots=True)
class LeafPath:
    """The path to a leaf: the type of each layer, outermost first, and last that of the values.

    Every struct on the way has only the field that leads on, and a map is a list of such structs.
    """

    types: tuple[pa.DataType, ...]
    field: pa.Field

    def check(self, shape: Shape) -> None:
        """Raise unless the layers of a page match this path."""
        if len(self.types) == len(shape.layers) == 1:
            return
        kinds = [is_list_like(data_type) for data_type in self.types[:-1]] + [False]
        if kinds != shape.is_list.astype(bool).tolist():
            raise CorruptFileError(
                f"layers {shape.layers} for a column of {self.types[0]}", structure="page"
            )


def leaf_paths(node: FieldNode) -> list[LeafPath]:
    """Paths to all leaves of a field, in column order."""
    if not node.children:
        return [LeafPath((node.field.type,), node.field)]
    paths: list[LeafPath] = []
    for child in node.children:
        for path in leaf_paths(child):
            inner = child.field.with_type(path.types[0])
            paths.append(LeafPath((_around(node.field.type, inner), *path.types), path.field))
    return paths


def leaf_names(node: FieldNode, prefix: str = "") -> list[str]:
    """Names of all leaves of a field, such as ``point.x``, in column order."""
    name = f"{prefix}{node.field.name}"
    if not node.children:
        return [name]
    return [leaf for child in node.children for leaf in leaf_names(child, f"{name}.")]


def prune(node: FieldNode, wanted: Collection[int], first: int = 0) -> tuple[FieldNode, list[int]]:
    """A field with only some of its leaves, and their numbers.

    Parameters
    ----------
    node : FieldNode
        The field.
    wanted : collection of int
        Numbers of leaves, of which this field has some. A map is kept whole.
    first : int
        The number of the field's first leaf.
    """
    leaves = range(first, first + node.num_leaves)
    if pa.types.is_map(node.field.type) or all(leaf in wanted for leaf in leaves):
        return node, list(leaves)
    kept: list[FieldNode] = []
    numbers: list[int] = []
    for child in node.children:
        if any(leaf in wanted for leaf in range(first, first + child.num_leaves)):
            part, own = prune(child, wanted, first)
            kept.append(part)
            numbers += own
        first += child.num_leaves
    fields = [child.field for child in kept]
    if pa.types.is_struct(node.field.type):
        data_type = pa.struct(fields)
    else:
        data_type = _around(node.field.type, fields[0])
    return FieldNode(node.field.with_type(data_type), tuple(kept), len(numbers)), numbers


def _around(data_type: pa.DataType, child: pa.Field) -> pa.DataType:
    if pa.types.is_struct(data_type):
        return pa.struct([child])
    if pa.types.is_large_list(data_type):
        return pa.large_list(child)
    return pa.list_(child)


def nest(
    path: LeafPath, layers: Sequence[LayerContent], block: Block | None, memory: Memory
) -> pa.Array:
    """The array of one leaf, from its layers and values."""
    innermost = layers[-1]
    array = block_to_array(
        block, path.types[-1], innermost.count, innermost.validity, innermost.null_count, memory
    )
    for data_type, layer in zip(reversed(path.types[:-1]), reversed(layers[:-1]), strict=True):
        buffers: list[Any] = [None if layer.validity is None else pa.py_buffer(layer.validity)]
        if layer.offsets is not None:
            kind = np.int64 if pa.types.is_large_list(data_type) else np.int32
            buffers.append(pa.py_buffer(layer.offsets.astype(kind, copy=False)))
        array = pa.Array.from_buffers(
            data_type, layer.count, buffers, layer.null_count, children=[array]
        )
    return array


def merge(node: FieldNode, arrays: Sequence[pa.Array]) -> pa.Array:
    """Merge the arrays of all leaves of a field, which have the same rows."""
    if not node.children:
        return arrays[0]
    data_type = node.field.type
    if len(arrays) == 1 and arrays[0].type == data_type:
        return arrays[0]
    length = len(arrays[0])
    validity = _bitmap(arrays[0])
    for array in arrays[1:]:
        corrupt_unless(
            len(array) == length and _same(validity, _bitmap(array)),
            "columns of one field disagree on its nulls",
            "nesting",
        )
    buffers: list[Any] = [None if validity is None else pa.py_buffer(validity)]
    if pa.types.is_struct(data_type):
        children = []
        start = 0
        for child in node.children:
            end = start + child.num_leaves
            children.append(merge(child, [array.field(0) for array in arrays[start:end]]))
            start = end
    else:
        offsets, values = _list_parts(arrays[0])
        inner = [values]
        for array in arrays[1:]:
            other_offsets, other_values = _list_parts(array)
            corrupt_unless(
                bool(np.array_equal(offsets, other_offsets)),
                "columns of one field disagree on its lists",
                "nesting",
            )
            inner.append(other_values)
        buffers.append(pa.py_buffer(offsets))
        children = [merge(node.children[0], inner)]
        if pa.types.is_map(data_type):
            corrupt_unless(
                children[0].null_count == 0 and children[0].field(0).null_count == 0,
                "a map has null keys",
                "nesting",
            )
    return pa.Array.from_buffers(
        data_type, length, buffers, arrays[0].null_count, children=children
    )


def _list_parts(array: pa.Array) -> tuple[Any, pa.Array]:
    """Offsets from 0, and the values they reach."""
    offsets = array.offsets.to_numpy()
    first, last = int(offsets[0]), int(offsets[-1])
    return offsets - first if first else offsets, array.values.slice(first, last - first)


def _bitmap(array: pa.Array) -> Bytes | None:
    """Validity from bit 0, with the bits after the last one clear."""
    buffer = array.buffers()[0]
    if buffer is None or array.null_count == 0:
        return None
    start, length = array.offset, len(array)
    first = start // 8
    packed = np.frombuffer(buffer, np.uint8)[first : (start + length + 7) // 8]
    bits = np.unpackbits(packed, count=start % 8 + length, bitorder="little")
    return np.packbits(bits[start % 8 :], bitorder="little")


def _same(first: Bytes | None, other: Bytes | None) -> bool:
    if first is None or other is None:
        return first is other
    return bool(np.array_equal(first, other))
