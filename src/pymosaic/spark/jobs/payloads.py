"""A payload: long rows of one slot, with the numbers of their entities and features.

::

    int64 entities, features, rows
    key columns          a value for each entity; an entity may be there more than once
    names                of the features, as strings
    entity numbers       for each row; uint16 if there are at most 65,536 entities, else int32
    feature numbers      for each row; likewise
    value columns

A column is the buffers that Arrow has for its type: validity, which is empty if nothing is null,
then offsets if lengths vary, then values. Numbers are values only. Each buffer is its size as an
int64 and its bytes, padded to eight. Everything is little-endian. Types are not told.

``MosaicPacker.java`` writes the same from Spark's rows, and counts of features:

::

    int64 rows without a feature, bytes of all payloads, features
    names                as above
    rows                 of each feature, as int64
    values               of each feature, as int64, for each value column
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import types

from pymosaic.errors import MosaicError

__all__ = ["Payload", "read_counts"]

_SHORT = 1 << 16


@dataclass(frozen=True, slots=True)
class Payload:
    """Long rows of one slot.

    Parameters
    ----------
    keys : list of pyarrow.Array
        The key columns, with a value for each entity.
    features : pyarrow.Array
        Names of features.
    entity, feature : numpy.ndarray
        For each row, numbers of its entity and of its feature.
    values : list of pyarrow.Array
        The value columns.
    """

    keys: list[pa.Array]
    features: pa.Array
    entity: npt.NDArray[Any]
    feature: npt.NDArray[Any]
    values: list[pa.Array]

    def emit(self) -> bytes:
        """The bytes of the payload."""
        counts = (len(self.keys[0]), len(self.features), len(self.entity))
        parts: list[bytes | memoryview] = [np.array(counts, np.int64).tobytes()]
        for column in (*self.keys, self.features):
            parts += _emitted(column)
        for numbers, limit in ((self.entity, counts[0]), (self.feature, counts[1])):
            parts += _padded(pa.py_buffer(numbers.astype(_number_type(limit))))
        for column in self.values:
            parts += _emitted(column)
        return b"".join(parts)

    @classmethod
    def parse(
        cls, data: pa.Buffer, keys: Sequence[pa.DataType], values: Sequence[pa.DataType]
    ) -> Payload:
        """Read a payload of columns of some types; arrays are views of its bytes.

        Checked are the sizes of buffers, offsets, and numbers; not that strings are UTF-8.
        """
        reader = _Reader(data)
        entities, features, rows = (reader.number() for _ in range(3))
        found = cls(
            [reader.column(data_type, entities) for data_type in keys],
            reader.column(pa.string(), features),
            reader.numbers(_number_type(entities), rows),
            reader.numbers(_number_type(features), rows),
            [reader.column(data_type, rows) for data_type in values],
        )
        reader.finish()
        for numbers, limit in ((found.entity, entities), (found.feature, features)):
            if rows and not 0 <= int(numbers.min()) <= int(numbers.max()) < limit:
                raise MosaicError(f"a payload numbers rows beyond {limit} entities or features")
        return found


def read_counts(data: bytes, num_values: int) -> tuple[pa.Table, int, int]:
    """Counts of features as a table, the number of rows without one, and the bytes of payloads."""
    reader = _Reader(pa.py_buffer(data))
    nameless, num_bytes, features = (reader.number() for _ in range(3))
    names = reader.column(pa.string(), features)
    columns = {"rows": pa.array(reader.numbers(np.dtype(np.int64), features))}
    for place in range(num_values):
        columns[f"value_{place}"] = pa.array(reader.numbers(np.dtype(np.int64), features))
    reader.finish()
    return pa.table({"feature": names} | columns), nameless, num_bytes


def _number_type(limit: int) -> np.dtype[Any]:
    return np.dtype(np.uint16 if limit <= _SHORT else np.int32)


def _emitted(column: pa.Array) -> list[bytes | memoryview]:
    # The buffers of a slice are those of all values.
    column = pa.concat_arrays([column])
    assert not column.offset
    validity, *others = column.buffers()
    parts = _padded(validity if column.null_count else None)
    for buffer in others:
        parts += _padded(buffer)
    return parts


def _padded(buffer: pa.Buffer | None) -> list[bytes | memoryview]:
    if buffer is None:
        return [bytes(8)]
    return [np.int64(buffer.size).tobytes(), memoryview(buffer), bytes(-buffer.size % 8)]


class _Reader:
    """Reads the bytes of a message in turn."""

    def __init__(self, data: pa.Buffer) -> None:
        self._data = data
        self._at = 0

    def number(self) -> int:
        if self._at + 8 > self._data.size:
            raise MosaicError(f"a payload of {self._data.size} bytes ends early")
        found = int(np.frombuffer(self._data, "<i8", 1, self._at)[0])
        self._at += 8
        if found < 0:
            raise MosaicError(f"a payload has the number {found} at byte {self._at - 8}")
        return found

    def buffer(self) -> pa.Buffer:
        size = self.number()
        start = self._at
        if size > self._data.size - start:
            raise MosaicError(f"a payload of {self._data.size} bytes ends early")
        self._at += size + -size % 8
        return self._data.slice(start, size)

    def column(self, data_type: pa.DataType, length: int) -> pa.Array:
        validity = self.buffer()
        buffers = [validity if validity.size else None, self.buffer()]
        if types.is_string(data_type) or types.is_binary(data_type):
            buffers.append(self.buffer())
            # As binary: Spark's strings need not be UTF-8.
            _array(pa.binary(), length, buffers, full=True)
        return _array(data_type, length, buffers)

    def numbers(self, data_type: np.dtype[Any], length: int) -> npt.NDArray[Any]:
        buffer = self.buffer()
        if buffer.size != length * data_type.itemsize:
            raise MosaicError(f"a payload has {buffer.size} bytes for {length} numbers")
        return np.frombuffer(buffer, data_type.newbyteorder("<"))

    def finish(self) -> None:
        if self._at != self._data.size:
            raise MosaicError(f"a payload has {self._data.size - self._at} bytes too many")


def _array(
    data_type: pa.DataType, length: int, buffers: list[pa.Buffer | None], *, full: bool = False
) -> pa.Array:
    try:
        array = pa.Array.from_buffers(data_type, length, buffers)
        array.validate(full=full)
    except pa.ArrowInvalid as error:
        raise MosaicError(f"a payload has a damaged column: {error}") from error
    return array
