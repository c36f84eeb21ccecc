"""How many bytes Arrow data and each of its rows take."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.arrow.types import fixed_bits

__all__ = ["num_bytes", "row_sizes"]


def num_bytes(data: pa.Array | pa.RecordBatch) -> int:
    """Bytes of data; of slices only their own, where Arrow can tell."""
    try:
        return int(data.nbytes)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        # Types whose slices Arrow cannot measure; pyarrow 19 calls that a type error.
        return int(data.get_total_buffer_size())


def row_sizes(array: pa.Array) -> npt.NDArray[np.int64]:
    """Bytes of each row, with its offsets but without bitmaps; a boolean counts as a byte.

    Examples
    --------
    >>> import pyarrow as pa
    >>> row_sizes(pa.array([["a", "bcd"], [], ["e"]])).tolist()
    [16, 4, 9]
    """
    data_type, types = array.type, pa.types
    if isinstance(array, pa.ExtensionArray):
        return row_sizes(array.storage)
    if types.is_dictionary(data_type):
        return row_sizes(array.indices)
    if types.is_struct(data_type):
        sizes = np.zeros(len(array), np.int64)
        for number in range(data_type.num_fields):
            sizes += row_sizes(array.field(number))
        return sizes
    if types.is_fixed_size_list(data_type):
        size = data_type.list_size
        items = row_sizes(array.values.slice(array.offset * size, len(array) * size))
        total: npt.NDArray[np.int64] = items.reshape(len(array), size).sum(axis=1)
        return total
    if types.is_list(data_type) or types.is_large_list(data_type) or types.is_map(data_type):
        offsets = array.offsets.to_numpy().astype(np.int64)
        values = array.values.slice(offsets[0], offsets[-1] - offsets[0])
        ends = np.concatenate([[0], np.cumsum(row_sizes(values))])[offsets - offsets[0]]
        lengths: npt.NDArray[np.int64] = np.diff(ends)
        return lengths + (8 if types.is_large_list(data_type) else 4)
    if types.is_string(data_type) or types.is_binary(data_type):
        return _variable(array, np.int32)
    if types.is_large_string(data_type) or types.is_large_binary(data_type):
        return _variable(array, np.int64)
    bits = fixed_bits(data_type) or 0
    return np.full(len(array), (bits + 7) // 8, np.int64)


def _variable(array: pa.Array, kind: type[np.integer]) -> npt.NDArray[np.int64]:
    buffer = array.buffers()[1]
    if not len(array) or buffer is None:
        return np.zeros(len(array), np.int64)
    offsets = np.frombuffer(buffer, kind)[array.offset : array.offset + len(array) + 1]
    return np.diff(offsets).astype(np.int64) + np.dtype(kind).itemsize
