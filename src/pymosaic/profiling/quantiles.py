"""Estimates of quantiles for many columns at once, in bounded memory.

A *summary* of some rows has a number of points for each column: values that occur, in order, each
of which stands for an equal share of the column's values. Two summaries make one: their points are
put in order, and every second share is kept. Summaries wait by level, as digits of a binary number
do: two of a level make one of the next. So each value goes through few merges, and the rank of an
estimated quantile is off by about 0.3 % of the values, seldom by 1 %. The number of levels is
limited; what comes after is merged into the highest.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["NUM_POINTS", "Quantiles", "Summary", "summarize_rows"]

_Numbers: TypeAlias = npt.NDArray[np.float64]
Summary: TypeAlias = tuple[_Numbers, _Numbers]
"""The points of each column (a row for each), and how many values they stand for."""

NUM_POINTS = 128
_LEVELS = 8
# Columns whose summaries are merged at a time.
_COLUMNS_AT_ONCE = 1024
# Room for rounding where a share ends exactly at a quantile.
_ROUNDING = 1e-9


def summarize_rows(values: _Numbers) -> Summary:
    """The summary of some rows: a row of ``values`` for each column, NaN where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> points, weights = summarize_rows(np.arange(1000.0).reshape(1, -1))
    >>> points.shape, points[0, 64], weights
    ((1, 128), np.float64(503.0), array([1000.]))
    """
    ordered = np.sort(values, axis=1)
    counts = np.count_nonzero(~np.isnan(values), axis=1).astype(np.float64)
    shares = (np.arange(NUM_POINTS) + 0.5) / NUM_POINTS
    places = (shares * counts[:, np.newaxis]).astype(np.int64)
    return np.take_along_axis(ordered, places, axis=1), counts


class Quantiles:
    """Quantiles for many columns; those of parts of the rows can be merged.

    Examples
    --------
    >>> import numpy as np
    >>> quantiles = Quantiles(1)
    >>> for start in range(0, 10_000, 100):
    ...     quantiles.add(summarize_rows(np.arange(start, start + 100.0).reshape(1, -1)))
    >>> abs(quantiles.estimates([0.5])[0, 0] - 5_000) < 100
    np.True_
    """

    def __init__(self, num_columns: int) -> None:
        self._num_columns = num_columns
        self._levels: list[Summary | None] = [None] * _LEVELS
        # Which values stand for others is left to chance, always the same one.
        self._random = np.random.default_rng(0)

    def add(self, summary: Summary) -> None:
        """Add the summary of some rows."""
        self._add(summary, 0)

    def unite(self, other: Quantiles) -> None:
        """Merge those of other rows."""
        for level, summary in enumerate(other._levels):
            if summary is not None:
                self._add(summary, level)

    def _add(self, summary: Summary, level: int) -> None:
        while (waiting := self._levels[level]) is not None:
            self._levels[level] = None
            summary = self._merge([waiting, summary])
            level = min(level + 1, _LEVELS - 1)
        self._levels[level] = summary

    def _merge(self, summaries: list[Summary]) -> Summary:
        points = np.empty((self._num_columns, NUM_POINTS))
        weights = np.zeros(self._num_columns)
        for _, one in summaries:
            weights += one
        for start in range(0, self._num_columns, _COLUMNS_AT_ONCE):
            some = slice(start, start + _COLUMNS_AT_ONCE)
            shift = self._random.random((len(points[some]), 1))
            shares = (np.arange(NUM_POINTS) + shift) / NUM_POINTS
            points[some] = _values_at(summaries, some, shares)
        return points, weights

    def estimates(self, quantiles: Sequence[float]) -> _Numbers:
        """A row for each column, with a number for each quantile: NaN if it has no values."""
        found = np.full((self._num_columns, len(quantiles)), np.nan)
        summaries = [summary for summary in self._levels if summary is not None]
        shares = np.asarray(quantiles, np.float64)
        for start in range(0, self._num_columns if summaries else 0, _COLUMNS_AT_ONCE):
            some = slice(start, start + _COLUMNS_AT_ONCE)
            wanted = np.broadcast_to(shares, found[some].shape)
            found[some] = _values_at(summaries, some, wanted)
        return found

    def __getstate__(self) -> tuple[int, Any]:
        # One summary is smaller than several, and repeated values compress.
        summaries = [summary for summary in self._levels if summary is not None]
        if not summaries:
            return self._num_columns, None
        level = max(level for level in range(_LEVELS) if self._levels[level] is not None)
        points, weights = summaries[0] if len(summaries) == 1 else self._merge(summaries)
        return self._num_columns, (level, zlib.compress(points.tobytes(), 1), weights)

    def __setstate__(self, state: tuple[int, Any]) -> None:
        self.__init__(state[0])  # type: ignore[misc]
        if state[1] is not None:
            level, points, weights = state[1]
            numbers = np.frombuffer(zlib.decompress(points), np.float64)
            self._levels[level] = numbers.reshape(state[0], NUM_POINTS).copy(), weights


def _values_at(summaries: list[Summary], some: slice, shares: _Numbers) -> _Numbers:
    """For some columns, the values at these shares of the ordered values of all summaries."""
    points = np.concatenate([one[some] for one, _ in summaries], axis=1)
    weights = np.repeat(np.stack([one[some] for _, one in summaries], axis=1), NUM_POINTS, axis=1)
    # Points are in runs that are in order already, which this sort makes use of.
    order = np.argsort(points, axis=1, kind="stable")
    points = np.take_along_axis(points, order, axis=1)
    passed = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    total = passed[:, -1:]
    passed = np.where(total > 0, passed / np.maximum(total, 1), 1.0)
    # One search for all columns: those of column 7 are between 7 and 8.
    column = np.arange(len(points))[:, np.newaxis]
    places = np.searchsorted((passed + column).reshape(-1), shares - _ROUNDING + column)
    width = points.shape[1]
    places = np.clip(places - column * width, 0, width - 1)
    return np.take_along_axis(points, places, axis=1)
