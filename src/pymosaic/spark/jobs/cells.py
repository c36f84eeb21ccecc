"""Long rows with numbers of their entities and features; the cells that their values fill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

__all__ = ["NumberedChunk", "NumberedRows", "feature_numbers", "in_cells"]


@dataclass(frozen=True, slots=True)
class NumberedRows:
    """Long rows.

    Parameters
    ----------
    entity : numpy.ndarray
        For each row, the number of its entity in the chunk.
    feature : numpy.ndarray
        For each row, the number of its feature among all; -1 for none of them.
    values : sequence of pyarrow.Array
        The value columns.
    """

    entity: npt.NDArray[Any]
    feature: npt.NDArray[Any]
    values: Sequence[pa.Array]


@dataclass(frozen=True, slots=True)
class NumberedChunk:
    """All long rows of some entities.

    Parameters
    ----------
    keys : list of pyarrow.Array
        The key columns, with a value for each entity.
    pieces : list of NumberedRows
        The rows, in any order.
    """

    keys: list[pa.Array]
    pieces: list[NumberedRows]

    @property
    def num_entities(self) -> int:
        """The number of wide rows."""
        return len(self.keys[0])


def feature_numbers(names: pa.Array, features: pa.Array) -> npt.NDArray[np.int32]:
    """The place of each name among all features, or -1."""
    found: npt.NDArray[np.int32] = pc.index_in(names, value_set=features).fill_null(-1).to_numpy()
    return found


def in_cells(
    data_type: pa.DataType,
    values: Sequence[pa.Array],
    cells: Sequence[npt.NDArray[Any]],
    num_cells: int,
) -> pa.Array:
    """An array with values at given places, and null elsewhere.

    Parameters
    ----------
    data_type : pyarrow.DataType
        The type of all values.
    values : sequence of pyarrow.Array
        Values without nulls.
    cells : sequence of numpy.ndarray
        For each array, the places of its values. Of several values for one place, one is taken.
    num_cells : int
        Length of the result.
    """
    if _has_bytes(data_type):
        return _scattered(data_type, values, cells, num_cells)
    # For each place the value that it gets.
    origin = np.full(num_cells, -1, np.int64)
    start = 0
    for places in cells:
        origin[places] = np.arange(start, start + len(places))
        start += len(places)
    joined = pa.concat_arrays([pa.array([], data_type), *values])
    return joined.take(pa.array(origin, mask=origin < 0))


def _has_bytes(data_type: pa.DataType) -> bool:
    """Whether values are the same number of whole bytes."""
    return not types.is_boolean(data_type) and (
        types.is_primitive(data_type) or types.is_decimal128(data_type)
    )


def _scattered(
    data_type: pa.DataType,
    values: Sequence[pa.Array],
    cells: Sequence[npt.NDArray[Any]],
    num_cells: int,
) -> pa.Array:
    width = data_type.byte_width
    # numpy only copies the values.
    kind = f"u{width}" if width <= 8 else f"V{width}"
    found = np.zeros(num_cells, kind)
    is_there = np.zeros(num_cells, bool)
    for column, places in zip(values, cells, strict=True):
        if len(column):
            raw = np.frombuffer(column.buffers()[1], kind, len(column), column.offset * width)
            found[places] = raw
            is_there[places] = True
    valid = None
    if not is_there.all():
        valid = pa.py_buffer(np.packbits(is_there, bitorder="little"))
    return pa.Array.from_buffers(data_type, num_cells, [valid, pa.py_buffer(found)])
