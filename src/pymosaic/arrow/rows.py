"""Rows of Arrow data by number or mask, working around a bug in Arrow's own functions.

pyarrow's ``take`` and ``filter`` (26 is the newest version tried) ignore the offset of a slice of
fixed-size lists of fixed-size lists, at any level of nesting. A copy has no offset.
"""

from __future__ import annotations

from typing import Any, TypeVar

import pyarrow as pa

__all__ = ["filter_rows", "take_rows"]

_Rows = TypeVar("_Rows", pa.Array, pa.RecordBatch, pa.Table)


def take_rows(data: _Rows, rows: pa.Array) -> _Rows:
    """The rows with these numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> pairs = pa.array([[[i], [-i]] for i in range(9)], pa.list_(pa.list_(pa.int8(), 1), 2))
    >>> take_rows(pairs.slice(5), pa.array([0, 2])).to_pylist()
    [[[5], [-5]], [[7], [-7]]]
    """
    return _without_slices(data).take(rows)


def filter_rows(data: _Rows, mask: pa.Array) -> _Rows:
    """The rows selected by a mask.

    Examples
    --------
    >>> import pyarrow as pa
    >>> pairs = pa.array([[[i], [-i]] for i in range(3)], pa.list_(pa.list_(pa.int8(), 1), 2))
    >>> filter_rows(pairs.slice(1), pa.array([False, True])).to_pylist()
    [[[2], [-2]]]
    """
    return _without_slices(data).filter(mask)


def _without_slices(data: Any) -> Any:
    """The same data, with a copy of columns from which pyarrow would take wrong rows."""
    if isinstance(data, pa.Array):
        return pa.concat_arrays([data]) if _is_mistaken(data.type) else data
    types = data.schema.types
    # One type of each kind tells for all 100,000 columns whether any need a second look.
    kinds = {data_type.id: data_type for data_type in types}
    suspects = {number for number, kind in kinds.items() if _has_children(kind)}
    for number, data_type in enumerate(types):
        if data_type.id in suspects and _is_mistaken(data_type):
            column = data.column(number)
            if isinstance(column, pa.ChunkedArray):
                chunks = [pa.concat_arrays([chunk]) for chunk in column.chunks]
                column = pa.chunked_array(chunks, data_type)
            else:
                column = pa.concat_arrays([column])
            data = data.set_column(number, data.schema.field(number), column)
    return data


def _is_mistaken(data_type: pa.DataType) -> bool:
    """Whether a type has fixed-size lists in fixed-size lists, at any level."""
    if isinstance(data_type, pa.BaseExtensionType):
        return _is_mistaken(data_type.storage_type)
    if not pa.types.is_nested(data_type):
        return False
    inner = [data_type.field(number).type for number in range(data_type.num_fields)]
    if pa.types.is_fixed_size_list(data_type) and _is_fixed_size_list(inner[0]):
        return True
    return any(_is_mistaken(child) for child in inner)


def _has_children(data_type: pa.DataType) -> bool:
    return isinstance(data_type, pa.BaseExtensionType) or bool(pa.types.is_nested(data_type))


def _is_fixed_size_list(data_type: pa.DataType) -> bool:
    while isinstance(data_type, pa.BaseExtensionType):
        data_type = data_type.storage_type
    return bool(pa.types.is_fixed_size_list(data_type))
