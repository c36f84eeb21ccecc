"""Estimates of distinct values: HyperLogLog, with one kilobyte per column."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["DistinctCounts"]

# 1,024 registers: a standard error of 1.04 / sqrt(1024), about 3 %.
_BITS = 10
_REGISTERS = 1 << _BITS
_ALPHA = 0.7213 / (1 + 1.079 / _REGISTERS)
_POWERS = np.exp2(-np.arange(34.0))
_COLUMNS_AT_ONCE = 256


class DistinctCounts:
    """Distinct counts for many columns; counts of parts of the rows can be merged.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from pymosaic.profiling.hashing import hash_values
    >>> counts = DistinctCounts(1)
    >>> counts.add(np.array([0]), hash_values(pa.array([5, 6, 5, 7] * 100)).reshape(1, -1))
    >>> counts.estimates().tolist()
    [3]
    """

    def __init__(self, num_columns: int) -> None:
        self._registers = np.zeros((num_columns, _REGISTERS), np.uint8)

    def add(
        self,
        places: npt.NDArray[np.int64],
        hashes: npt.NDArray[np.uint64],
        present: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        """Add values of columns, given by their hashes: a row of hashes for each column.

        Only those that are ``present`` count; all by default.
        """
        registers = (hashes >> np.uint64(64 - _BITS)).astype(np.int64)
        registers += (places * _REGISTERS)[:, np.newaxis]
        rest = ((hashes >> np.uint64(22)) & np.uint64(0xFFFFFFFF)).astype(np.float64)
        # The position of the first 1 among the 32 bits after those that choose the register.
        ranks = (33 - np.frexp(rest)[1]).astype(np.uint8)
        if present is not None:
            ranks *= present
        np.maximum.at(self._registers.reshape(-1), registers.reshape(-1), ranks.reshape(-1))

    def unite(self, other: DistinctCounts) -> None:
        """Merge other counts."""
        np.maximum(self._registers, other._registers, out=self._registers)

    def estimates(self) -> npt.NDArray[np.int64]:
        """The estimated number of distinct values in each column."""
        sums = np.zeros(len(self._registers))
        for start in range(0, len(sums), _COLUMNS_AT_ONCE):
            some = slice(start, start + _COLUMNS_AT_ONCE)
            sums[some] = _POWERS[self._registers[some]].sum(axis=1)
        raw = _ALPHA * _REGISTERS**2 / sums
        empty = np.count_nonzero(self._registers == 0, axis=1)
        with np.errstate(divide="ignore"):
            few = _REGISTERS * np.log(_REGISTERS / empty)
        counts = np.where((raw <= 2.5 * _REGISTERS) & (empty > 0), few, raw)
        rounded: npt.NDArray[np.int64] = np.rint(counts).astype(np.int64)
        return rounded

    def __getstate__(self) -> tuple[int, bytes]:
        # Most registers of most columns are 0.
        return len(self._registers), zlib.compress(self._registers.tobytes(), 1)

    def __setstate__(self, state: tuple[int, Any]) -> None:
        values = np.frombuffer(zlib.decompress(state[1]), np.uint8)
        self._registers = values.reshape(state[0], _REGISTERS).copy()
