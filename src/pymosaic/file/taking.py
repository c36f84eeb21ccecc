"""Rows by number: which row groups hold them, and where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.arrow.rows import take_rows
from pymosaic.errors import InvalidOptionError, RowNotFoundError

__all__ = ["Indices", "RowPlaces", "find_rows", "taken"]

Indices: TypeAlias = "Iterable[int] | npt.NDArray[Any]"
"""Numbers of rows, from 0: a list, a numpy array or an Arrow array."""


@dataclass(frozen=True, slots=True)
class RowPlaces:
    """Where wanted rows are.

    Parameters
    ----------
    groups : list of (int, numpy array)
        Numbers of row groups, in order, each with the numbers of the rows in it.
    order : numpy array
        The place of each wanted row among those of all groups, one after the other.
    """

    groups: list[tuple[int, npt.NDArray[np.int64]]]
    order: npt.NDArray[np.int64]


def find_rows(indices: Indices, row_counts: Sequence[int]) -> RowPlaces:
    """Find rows in row groups that have these numbers of rows.

    Examples
    --------
    >>> from pymosaic.file.taking import find_rows
    >>> [(group, rows.tolist()) for group, rows in find_rows([7, 0, 6], [5, 5]).groups]
    [(0, [0]), (1, [1, 2])]
    """
    wanted = _numbers(indices)
    ends = np.cumsum(np.asarray(row_counts, np.int64))
    total = int(ends[-1]) if len(ends) else 0
    outside = np.flatnonzero((wanted < 0) | (wanted >= total))
    if len(outside):
        raise RowNotFoundError(
            f"indices: there is no row {wanted[outside[0]]}; rows are numbered from 0 to "
            f"{total - 1}"
            if total
            else f"indices: there is no row {wanted[outside[0]]}: there are no rows"
        )
    by_place = np.argsort(wanted, kind="stable")
    ordered = wanted[by_place]
    order = np.empty(len(wanted), np.int64)
    order[by_place] = np.arange(len(wanted))
    owners = np.searchsorted(ends, ordered, side="right")
    groups = []
    for group in np.unique(owners).tolist():
        start, stop = np.searchsorted(owners, [group, group + 1])
        first = int(ends[group - 1]) if group else 0
        groups.append((group, ordered[start:stop] - first))
    return RowPlaces(groups, order)


def taken(batches: Iterable[pa.RecordBatch], places: RowPlaces, schema: pa.Schema) -> pa.Table:
    """The wanted rows, in the wanted order, from a batch of each of the row groups."""
    parts = [
        take_rows(batch, pa.array(rows))
        for batch, (_, rows) in zip(batches, places.groups, strict=True)
    ]
    table = pa.Table.from_batches(parts, schema)
    if (places.order == np.arange(len(places.order))).all():
        return table
    return take_rows(table, pa.array(places.order))


def _numbers(indices: Any) -> npt.NDArray[np.int64]:
    if isinstance(indices, pa.ChunkedArray):
        indices = indices.combine_chunks()
    if isinstance(indices, pa.Array):
        if indices.null_count:
            raise InvalidOptionError("indices must not have nulls")
        indices = indices.to_numpy(zero_copy_only=False)
    elif not isinstance(indices, np.ndarray):
        try:
            indices = np.array(list(indices))
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidOptionError(f"indices must be a list of row numbers: {error}") from error
    if indices.ndim != 1 or (len(indices) and indices.dtype.kind not in "iu"):
        raise InvalidOptionError(f"indices must be a list of row numbers, got {indices!r}")
    if indices.dtype == np.uint64 and len(indices) and indices.max() > np.iinfo(np.int64).max:
        raise RowNotFoundError(f"indices: there is no row {indices.max()}")
    return np.asarray(indices, np.int64)
