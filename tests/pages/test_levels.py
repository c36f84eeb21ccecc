"""Repetition and definition levels: the documented example, and the short way against the long."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from pymosaic.errors import CorruptFileError
from pymosaic.pages import levels as levels_module
from pymosaic.pages.blocks import Memory
from pymosaic.pages.flatten import flatten
from pymosaic.pages.levels import Levels, shape_of, unravel
from pymosaic.pages.messages import Layer
from pymosaic.pages.nesting import build_node

PLAIN_LIST = (Layer.NULLABLE_ITEM, Layer.NULL_AND_EMPTY_LIST)


def memory() -> Memory:
    return Memory(1 << 30, "test")


def as_list(array: np.ndarray | None) -> list | None:
    return None if array is None else array.tolist()


def flat(column: pa.Array) -> list:
    return flatten(build_node(pa.field("c", column.type), lambda field: False), column)


def test_levels_of_lists_with_nulls_and_empties_are_those_of_the_format() -> None:
    leaf = flat(pa.array([[1, 2], [], None, [3, None]], pa.list_(pa.int32())))[0]
    assert leaf.layers == PLAIN_LIST
    assert leaf.levels.repetition.tolist() == [1, 0, 1, 1, 1, 0]
    assert leaf.levels.definition.tolist() == [0, 0, 3, 2, 0, 1]
    assert leaf.values.to_pylist() == [1, 2, 3, None]


def test_a_null_struct_is_told_to_each_of_its_leaves() -> None:
    fields = [("a", pa.int8()), ("b", pa.list_(pa.int8()))]
    first, second = flat(pa.array([{"a": 1, "b": [2]}, None], pa.struct(fields)))
    assert first.layers == (Layer.ALL_VALID_ITEM, Layer.NULLABLE_ITEM)
    assert first.levels.definition.tolist() == [0, 1]
    assert second.levels.repetition.tolist() == [1, 1]
    assert second.levels.definition.tolist()[0] == 0
    assert second.values.to_pylist() == [2]


def test_layers_without_nulls_need_no_levels() -> None:
    leaf = flat(pa.array([{"a": 1}, {"a": 2}]))[0]
    assert (leaf.levels.repetition, leaf.levels.definition) == (None, None)


@pytest.mark.parametrize(
    "structs",
    [
        ((), ()),
        ((Layer.ALL_VALID_ITEM,) * 2, ()),
        ((Layer.ALL_VALID_ITEM,), (Layer.ALL_VALID_ITEM,) * 2),
    ],
)
@pytest.mark.parametrize("layers", [
    (item, lists)
    for item in (Layer.ALL_VALID_ITEM, Layer.NULLABLE_ITEM)
    for lists in (Layer.ALL_VALID_LIST, Layer.NULLABLE_LIST, Layer.EMPTYABLE_LIST,
                  Layer.NULL_AND_EMPTY_LIST)
])  # fmt: skip
def test_the_kernel_for_plain_lists_gives_what_the_general_one_gives(
    layers: tuple[int, int],
    structs: tuple[tuple[int, ...], tuple[int, ...]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    item, lists = layers
    inside, around = structs
    shape = shape_of((item, *inside, lists, *around))
    chance = random.Random(str(layers))
    for size in (1, 7, 8, 9, 500):
        rep, definition = [], []
        may_continue = False
        for _ in range(size):
            level = chance.randrange(shape.max_def + 1)
            visible = level <= shape.max_visible_def
            begins = not (may_continue and visible and chance.random() < 0.6)
            rep.append(int(begins))
            definition.append(level)
            may_continue = visible
        given = Levels(np.array(rep, np.uint16), np.array(definition, np.uint16))
        assert levels_module._only_list(shape) == len(around)
        short = unravel(given, shape, size, memory())
        with monkeypatch.context() as patch:
            patch.setattr(levels_module, "_only_list", lambda shape: None)
            long = unravel(given, shape, size, memory())
        for left, right in zip(short, long, strict=True):
            assert (left.count, left.null_count) == (right.count, right.null_count)
            assert as_list(left.offsets) == as_list(right.offsets)
            assert as_list(left.validity) == as_list(right.validity)


@pytest.mark.parametrize("is_plain", [True, False])
@pytest.mark.parametrize(
    ("rep", "definition", "reason"),
    [
        ([2], [0], "level that no layer has"),
        ([1], [9], "level that no layer has"),
        ([0], [0], "not begun"),
        ([1, 0], [3, 0], "not begun"),
        ([1, 0], [0, 3], "not begun|above what the item begins"),
    ],
)
def test_levels_that_make_no_lists_are_refused(
    rep: list[int],
    definition: list[int],
    reason: str,
    is_plain: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(levels_module, "_only_list", lambda shape: 0 if is_plain else None)
    given = Levels(np.array(rep, np.uint16), np.array(definition, np.uint16))
    with pytest.raises(CorruptFileError, match=reason):
        unravel(given, shape_of(PLAIN_LIST), len(rep), memory())


@pytest.mark.parametrize(
    "layers",
    [
        (Layer.ALL_VALID_ITEM, Layer.NULLABLE_ITEM, Layer.ALL_VALID_LIST),
        (Layer.ALL_VALID_ITEM, Layer.ALL_VALID_LIST, Layer.NULLABLE_ITEM),
        (Layer.ALL_VALID_ITEM, Layer.ALL_VALID_LIST, Layer.ALL_VALID_LIST),
    ],
)
def test_structs_with_nulls_and_lists_of_lists_take_the_general_kernel(
    layers: tuple[int, ...],
) -> None:
    assert levels_module._only_list(shape_of(layers)) is None


def test_layers_must_end_in_items() -> None:
    with pytest.raises(CorruptFileError, match="no items"):
        shape_of((Layer.NULLABLE_LIST,))
    with pytest.raises(CorruptFileError, match="no items"):
        shape_of(())
