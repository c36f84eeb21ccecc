"""Hashes of values, columns and rows that do not depend on the order of rows.

The hash of a value has 64 bits and depends on the value alone, not on the file, batch or machine.
The hash of a column is the sum of its values' hashes, modulo 2**64: equal for equal rows in any
order, and for different rows with a probability of about 2**-64. The hash of all rows is the same
for whole rows: it also differs if equal values are in other rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Fingerprint", "hash_values"]

_Hashes = npt.NDArray[np.uint64]
_NULL = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_STEP = np.uint64(0xD6E8FEB86659FD93)
_WIDTHS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@dataclass(slots=True)
class Fingerprint:
    """Number of rows, nulls and hash of each column, hash of all rows.

    All are sums, so that parts can be added.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.spark.jobs.fingerprints import Fingerprint
    >>> one, other = Fingerprint.empty(1), Fingerprint.empty(1)
    >>> one.add_batch(pa.record_batch({"n": [1, 2, None]}))
    >>> for value in (None, 2, 1):
    ...     other.add_batch(pa.record_batch({"n": pa.array([value], pa.int64())}))
    >>> one.rows, one.nulls.tolist(), bool((one.hashes == other.hashes).all())
    (3, [1], True)
    """

    rows: int
    nulls: npt.NDArray[np.int64]
    hashes: _Hashes
    whole_rows: _Hashes

    @classmethod
    def empty(cls, num_columns: int) -> Fingerprint:
        """The fingerprint of no rows."""
        return cls(
            0,
            np.zeros(num_columns, np.int64),
            np.zeros(num_columns, np.uint64),
            np.zeros(1, np.uint64),
        )

    def add_batch(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self.rows += batch.num_rows
        # As arrays: sums of arrays wrap around silently, those of single numbers warn.
        self.nulls += np.array([column.null_count for column in batch.columns], np.int64)
        sums = np.zeros(batch.num_columns, np.uint64)
        rows = np.zeros(batch.num_rows, np.uint64)
        for place, column in enumerate(batch.columns):
            values = hash_values(column)
            sums[place] = values.sum(dtype=np.uint64)
            # The place tells columns apart, so that values swapped within a row count as well.
            rows += _mix(values + np.array([place], np.uint64) * _STEP)
        self.hashes += sums
        self.whole_rows += _mix(rows).sum(dtype=np.uint64)

    def add(self, other: Fingerprint) -> None:
        """Add another fingerprint."""
        self.rows += other.rows
        self.nulls += other.nulls
        self.hashes += other.hashes
        self.whole_rows += other.whole_rows


def hash_values(array: pa.Array) -> _Hashes:
    """The hashes of an array's values; all NaNs are equal, 0.0 and -0.0 differ."""
    if array.null_count == 0:
        return _hash_present(array)
    hashes = np.full(len(array), _NULL, np.uint64)
    present = array.is_valid().to_numpy(zero_copy_only=False)
    hashes[present] = _hash_present(array.drop_null())
    return hashes


def _hash_present(array: pa.Array) -> _Hashes:
    kind = array.type
    types = pa.types
    if not len(array):
        return np.zeros(0, np.uint64)
    if types.is_string(kind) or types.is_binary(kind):
        offsets = _offsets(array)
        data = array.buffers()[2]
        values = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
        elements = values[offsets[0] : offsets[-1]].astype(np.uint64)
        return _hash_runs(elements, offsets - offsets[0])
    if types.is_map(kind):
        offsets = _offsets(array)
        start, stop = int(offsets[0]), int(offsets[-1])
        keys = hash_values(array.keys.slice(start, stop - start))
        items = hash_values(array.items.slice(start, stop - start))
        # Map entries are unordered.
        return _sum_runs(_mix(keys + _mix(items)), offsets - offsets[0])
    if types.is_list(kind):
        offsets = _offsets(array)
        start, stop = int(offsets[0]), int(offsets[-1])
        elements = hash_values(array.values.slice(start, stop - start))
        return _hash_runs(elements, offsets - offsets[0])
    if types.is_boolean(kind):
        return _mix(array.to_numpy(zero_copy_only=False).astype(np.uint64))
    if types.is_decimal128(kind):
        words = np.frombuffer(array.buffers()[1], np.uint64).reshape(-1, 2)
        words = words[array.offset : array.offset + len(array)]
        return _mix(words[:, 0] + _mix(words[:, 1]))
    if types.is_floating(kind):
        numbers = array.to_numpy()
        bits = numbers.view(_WIDTHS[numbers.itemsize]).astype(np.uint64)
        return _mix(np.where(np.isnan(numbers), _NULL, bits))
    width = _WIDTHS[kind.bit_width // 8]
    words = np.frombuffer(array.buffers()[1], width)
    return _mix(words[array.offset : array.offset + len(array)].astype(np.uint64))


def _offsets(array: pa.Array) -> npt.NDArray[np.int64]:
    offsets = np.frombuffer(array.buffers()[1], np.int32)
    return offsets[array.offset : array.offset + len(array) + 1].astype(np.int64)


def _hash_runs(elements: _Hashes, offsets: npt.NDArray[np.int64]) -> _Hashes:
    """The hashes of runs of elements, which depend on their order."""
    place = np.arange(len(elements)) - np.repeat(offsets[:-1], np.diff(offsets))
    return _sum_runs(_mix(elements + place.astype(np.uint64) * _STEP), offsets)


def _sum_runs(hashes: _Hashes, offsets: npt.NDArray[np.int64]) -> _Hashes:
    lengths = np.diff(offsets)
    totals = np.zeros(len(lengths), np.uint64)
    filled = lengths > 0
    if filled.any():
        totals[filled] = np.add.reduceat(hashes, offsets[:-1][filled])
    return _mix(totals + lengths.astype(np.uint64))


def _mix(words: _Hashes) -> _Hashes:
    """SplitMix64's finalizer: a bijection whose bits all depend on all bits."""
    words = words + _NULL
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    mixed: _Hashes = words ^ (words >> np.uint64(31))
    return mixed
