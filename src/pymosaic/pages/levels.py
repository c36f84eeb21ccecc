"""Repetition and definition levels: where lists begin, and at which layer an item ends.

Layers are stored from the innermost (the values) to the outermost. Definition 0 is a valid value;
the other numbers are handed out from the inside: one for a layer with nulls or with empty lists,
two for lists with both, null first. Repetition k says that a new list begins in the k-th list layer
from the inside, 0 that the innermost list goes on; the highest begins a row.

An item that ends below the innermost list is *visible*: it has a slot among the values, also where
it is null. Null and empty lists, and nulls above them, have levels but no slot.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pymosaic.errors import CorruptFileError
from pymosaic.pages.blocks import Bytes, Memory, corrupt_unless
from pymosaic.pages.kernels.levels import assemble, assemble_lists, levels_to_validity
from pymosaic.pages.messages import Layer

__all__ = ["LayerContent", "LevelArray", "Levels", "Shape", "shape_of", "unravel"]

LevelArray: TypeAlias = npt.NDArray[np.uint16]

_LISTS = (
    Layer.ALL_VALID_LIST,
    Layer.NULLABLE_LIST,
    Layer.EMPTYABLE_LIST,
    Layer.NULL_AND_EMPTY_LIST,
)
_MAX_LAYERS = 100
_MAX_ITEMS = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Levels:
    """Levels of items; None if a page has none of a kind."""

    repetition: LevelArray | None
    definition: LevelArray | None


@dataclass(frozen=True, eq=False, slots=True)
class Shape:
    """The meaning of levels, with layers from the outermost to the innermost."""

    layers: tuple[int, ...]
    is_list: Bytes
    start_of_rep: npt.NDArray[np.int32]
    end_of_def: npt.NDArray[np.int32]
    is_null: Bytes
    max_visible_def: int

    @property
    def max_rep(self) -> int:
        """The repetition level that starts a row."""
        return len(self.start_of_rep) - 1

    @property
    def max_def(self) -> int:
        """The highest definition level."""
        return len(self.end_of_def) - 1

    def first_null(self, layer: int) -> int:
        """The lowest definition level that makes a layer null, if no layer has lists."""
        ends = np.flatnonzero(self.end_of_def <= layer)
        return int(ends[0]) if len(ends) else self.max_def + 1


@functools.lru_cache(maxsize=1024)
def shape_of(layers: tuple[int, ...]) -> Shape:
    """Interpret the levels of ``layers``, given in stored order, innermost first.

    Examples
    --------
    >>> shape = shape_of((Layer.NULLABLE_ITEM, Layer.NULL_AND_EMPTY_LIST))
    >>> shape.max_rep, shape.end_of_def.tolist(), shape.is_null.tolist()
    (1, [2, 1, 0, 0], [0, 1, 1, 0])
    """
    if not 0 < len(layers) <= _MAX_LAYERS or layers[0] in _LISTS:
        raise CorruptFileError(f"{len(layers)} layers that hold no items", structure="layers")
    count = len(layers)
    ends, nulls = [count], [0]
    starts = [0]
    max_visible = 0
    for inner, layer in enumerate(layers):
        position = count - 1 - inner
        if layer in (Layer.NULLABLE_ITEM, Layer.NULLABLE_LIST, Layer.NULL_AND_EMPTY_LIST):
            ends.append(position)
            nulls.append(1)
        if layer in (Layer.EMPTYABLE_LIST, Layer.NULL_AND_EMPTY_LIST):
            ends.append(position)
            nulls.append(0)
        if layer in _LISTS:
            # Level k starts below the (k+1)-th list; the last one, 0, is that of a row.
            starts.insert(len(starts) - 1, position + 1)
        elif len(starts) == 1:
            max_visible = len(ends) - 1
    return Shape(
        layers[::-1],
        np.array([layer in _LISTS for layer in reversed(layers)], np.uint8),
        np.array(starts, np.int32),
        np.array(ends, np.int32),
        np.array(nulls, np.uint8),
        max_visible,
    )


@dataclass(frozen=True, slots=True)
class LayerContent:
    """Entries of one layer; ``validity`` is None if all are valid, only lists have offsets."""

    count: int
    null_count: int
    validity: Bytes | None
    offsets: npt.NDArray[np.int32] | None


def unravel(levels: Levels, shape: Shape, num_items: int, memory: Memory) -> list[LayerContent]:
    """Convert levels to validity and offsets, one layer at a time from the outermost.

    ``num_items`` is used if there are no levels. Every level is checked.
    """
    num_layers = len(shape.layers)
    for given in (levels.repetition, levels.definition):
        corrupt_unless(
            given is None or len(given) == num_items, "levels do not match the items", "levels"
        )
    corrupt_unless(num_items <= _MAX_ITEMS, f"{num_items} items in a page", "levels")
    definition = levels.definition
    if shape.max_rep == 0:
        if definition is None:
            return [LayerContent(num_items, 0, None, None)] * num_layers
        return [_item_layer(definition, shape, layer, memory) for layer in range(num_layers)]
    if levels.repetition is None:
        raise CorruptFileError("lists without repetition levels", structure="levels")
    list_layer = _only_list(shape)
    if list_layer is not None:
        return _plain_lists(levels.repetition, definition, shape, list_layer, memory)
    row_bytes = (num_items + 7) // 8
    memory.charge(num_layers * (row_bytes + 4 * (num_items + 1)))
    validity = np.zeros((num_layers, max(1, row_bytes)), np.uint8)
    offsets = np.empty((num_layers, num_items + 1), np.int32)
    counts = np.zeros(num_layers, np.int64)
    nulls = np.zeros(num_layers, np.int64)
    assemble(
        levels.repetition,
        np.empty(0, np.uint16) if definition is None else definition,
        shape.is_list,
        shape.start_of_rep,
        shape.end_of_def,
        shape.is_null,
        validity,
        offsets,
        counts,
        nulls,
    )
    return [
        LayerContent(
            count,
            null_count,
            validity[layer, : (count + 7) // 8] if null_count else None,
            offsets[layer, : count + 1] if shape.is_list[layer] else None,
        )
        for layer, (count, null_count) in enumerate(
            zip(counts.tolist(), nulls.tolist(), strict=True)
        )
    ]


def _item_layer(definition: LevelArray, shape: Shape, layer: int, memory: Memory) -> LayerContent:
    bitmap = memory.bytes((len(definition) + 7) // 8)
    nulls = levels_to_validity(definition, shape.first_null(layer), shape.max_def, bitmap)
    return LayerContent(len(definition), nulls, bitmap if nulls else None, None)


def _only_list(shape: Shape) -> int | None:
    """The only layer of lists, if all layers but it and the values are structs without nulls."""
    if shape.max_rep != 1:
        return None
    number = shape.is_list.tolist().index(1)
    structs = (*shape.layers[:number], *shape.layers[number + 1 : -1])
    return None if any(layer != Layer.ALL_VALID_ITEM for layer in structs) else number


def _plain_lists(
    repetition: LevelArray,
    definition: LevelArray | None,
    shape: Shape,
    list_layer: int,
    memory: Memory,
) -> list[LayerContent]:
    """Lists of values or of structs, by far the most common nesting, have a kernel of their own."""
    num_items = len(repetition)
    none = np.empty(0, np.uint8)
    # One byte more: the bit after the last entry is touched.
    kind = shape.layers[list_layer]
    has_null_lists = kind in (Layer.NULLABLE_LIST, Layer.NULL_AND_EMPTY_LIST)
    list_validity = memory.bitmap(num_items + 8) if has_null_lists else none
    item_validity = memory.bitmap(num_items + 8) if shape.max_visible_def else none
    offsets = memory.array(num_items + 1, np.int32)
    num_lists, num_values, null_lists, null_values = assemble_lists(
        repetition,
        np.empty(0, np.uint16) if definition is None else definition,
        shape.max_visible_def,
        shape.max_def,
        shape.max_visible_def + 1 + has_null_lists,
        list_validity,
        offsets,
        item_validity,
    )
    lists = LayerContent(
        num_lists,
        null_lists,
        list_validity[: (num_lists + 7) // 8] if null_lists else None,
        offsets[: num_lists + 1],
    )
    values = LayerContent(
        num_values,
        null_values,
        item_validity[: (num_values + 7) // 8] if null_values else None,
        None,
    )
    above = [LayerContent(num_lists, 0, None, None)] * list_layer
    below = [LayerContent(num_values, 0, None, None)] * (len(shape.layers) - list_layer - 2)
    return [*above, lists, *below, values]
