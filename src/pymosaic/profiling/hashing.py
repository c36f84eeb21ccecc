"""Hashes of values, which depend on the value alone, not on the file, batch or machine."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["STEP", "Hashes", "can_hash", "hash_values", "mix"]

Hashes: TypeAlias = npt.NDArray[np.uint64]
_NULL = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
STEP = np.uint64(0xD6E8FEB86659FD93)
"""What tells equal hashes at different places apart, multiplied by the place."""
_WIDTHS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
# Number of characters, bytes or elements hashed at a time.
_SLICE = 1 << 18


def can_hash(kind: pa.DataType) -> bool:
    """Whether values of a type have hashes: all that Mosaic files store."""
    types = pa.types
    if types.is_list(kind):
        return can_hash(kind.value_type)
    if types.is_map(kind):
        return can_hash(kind.key_type) and can_hash(kind.item_type)
    return bool(
        types.is_string(kind)
        or types.is_binary(kind)
        or types.is_boolean(kind)
        or types.is_decimal128(kind)
        or types.is_floating(kind)
        or types.is_integer(kind)
        or (types.is_temporal(kind) and not types.is_interval(kind))
    )


def hash_values(array: pa.Array) -> Hashes:
    """The hashes of an array's values; all NaNs are equal, 0.0 and -0.0 differ."""
    if array.null_count == 0:
        return _hash_present(array)
    hashes = np.full(len(array), _NULL, np.uint64)
    present = array.is_valid().to_numpy(zero_copy_only=False)
    hashes[present] = _hash_present(array.drop_null())
    return hashes


def _hash_present(array: pa.Array) -> Hashes:
    kind = array.type
    types = pa.types
    if not len(array):
        return np.zeros(0, np.uint64)
    if types.is_string(kind) or types.is_binary(kind):
        offsets = _offsets(array)
        data = array.buffers()[2]
        values = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
        return _hash_runs(values[offsets[0] : offsets[-1]], offsets - offsets[0])
    if types.is_map(kind):
        offsets = _offsets(array)
        start, stop = int(offsets[0]), int(offsets[-1])
        keys = hash_values(array.keys.slice(start, stop - start))
        items = hash_values(array.items.slice(start, stop - start))
        # Map entries are unordered.
        return _hash_sets(mix(keys + mix(items)), offsets - offsets[0])
    if types.is_list(kind):
        offsets = _offsets(array)
        start, stop = int(offsets[0]), int(offsets[-1])
        elements = hash_values(array.values.slice(start, stop - start))
        return _hash_runs(elements, offsets - offsets[0])
    if types.is_boolean(kind):
        return mix(array.to_numpy(zero_copy_only=False).astype(np.uint64))
    if types.is_decimal128(kind):
        words = np.frombuffer(array.buffers()[1], np.uint64).reshape(-1, 2)
        words = words[array.offset : array.offset + len(array)]
        return mix(words[:, 0] + mix(words[:, 1]))
    if types.is_floating(kind):
        numbers = array.to_numpy()
        bits = numbers.view(_WIDTHS[numbers.itemsize]).astype(np.uint64)
        return mix(np.where(np.isnan(numbers), _NULL, bits))
    width = _WIDTHS[kind.bit_width // 8]
    words = np.frombuffer(array.buffers()[1], width)
    return mix(words[array.offset : array.offset + len(array)].astype(np.uint64))


def _offsets(array: pa.Array) -> npt.NDArray[np.int64]:
    offsets = np.frombuffer(array.buffers()[1], np.int32)
    return offsets[array.offset : array.offset + len(array) + 1].astype(np.int64)


def _hash_runs(elements: npt.NDArray[Any], offsets: npt.NDArray[np.int64]) -> Hashes:
    """The hashes of runs of elements, which depend on their order."""
    lengths = np.diff(offsets)
    totals = np.zeros(len(lengths), np.uint64)
    # In slices: an element takes many times its size meanwhile.
    for start in range(0, len(elements), _SLICE):
        stop = min(start + _SLICE, len(elements))
        first = int(np.searchsorted(offsets, start, side="right")) - 1
        last = int(np.searchsorted(offsets, stop, side="left"))
        ends = np.clip(offsets[first : last + 1], start, stop)
        place = np.arange(start, stop) - np.repeat(offsets[first:last], np.diff(ends))
        hashes = mix(elements[start:stop].astype(np.uint64) + place.astype(np.uint64) * STEP)
        _add_runs(totals[first:last], hashes, ends - start)
    return mix(totals + lengths.astype(np.uint64))


def _hash_sets(elements: Hashes, offsets: npt.NDArray[np.int64]) -> Hashes:
    """The hashes of runs of elements, which do not depend on their order."""
    lengths = np.diff(offsets)
    totals = np.zeros(len(lengths), np.uint64)
    _add_runs(totals, elements, offsets)
    return mix(totals + lengths.astype(np.uint64))


def _add_runs(totals: Hashes, hashes: Hashes, offsets: npt.NDArray[np.int64]) -> None:
    filled = np.diff(offsets) > 0
    if filled.any():
        totals[filled] += np.add.reduceat(hashes, offsets[:-1][filled])


def mix(words: Hashes) -> Hashes:
    """SplitMix64's finalizer: a bijection whose bits all depend on all bits."""
    words = words + _NULL
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    mixed: Hashes = words ^ (words >> np.uint64(31))
    return mixed
