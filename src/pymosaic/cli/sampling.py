"""Uniform random samples of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from pymosaic.arrow.rows import take_rows
from pymosaic.cli.output import Excerpt
from pymosaic.cli.rows import Rows

__all__ = ["Sample"]

_Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]


class Sample(Excerpt):
    """Matching rows chosen at random, in table order.

    The rows are counted first, which reads at most the columns of the filter. Without a filter,
    only the row groups that hold chosen rows are read; with one, rows up to the last chosen one.
    """

    def __init__(
        self,
        rows: Rows,
        columns: list[str] | None,
        where: str | None,
        wanted: int,
        seed: int | None,
    ) -> None:
        self._rows = rows
        self._where = where
        self.names: list[str] = rows.names(columns)
        count = rows.count(where)
        generator = np.random.default_rng(seed)
        self._chosen = np.sort(generator.choice(count, min(wanted, count), replace=False))

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._rows.selected_schema(self.names)

    def batches(self, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The chosen rows, with these columns or all."""
        chosen = self._chosen
        start = 0
        for num_rows, read in self._parts(self.names if names is None else names):
            first, last = np.searchsorted(chosen, (start, start + num_rows))
            if first < last:
                yield _taken(read(), chosen[first:last] - start)
            if last == len(chosen):
                return
            start += num_rows

    def _parts(self, names: list[str]) -> Iterator[tuple[int, Callable[[], pa.RecordBatch]]]:
        if self._where is None:
            yield from self._rows.parts(names)
            return
        for batch in self._rows.batches(names, self._where):
            yield batch.num_rows, partial(_itself, batch)


def _itself(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch


def _taken(batch: pa.RecordBatch, rows: _Numbers) -> pa.RecordBatch:
    """These rows of a batch, which ascend."""
    first, count = int(rows[0]), len(rows)
    if int(rows[-1]) - first + 1 > count:
        return take_rows(batch, _array(rows))
    # Rows that follow each other are not copied, which takes long for very many columns.
    return batch if count == batch.num_rows else batch.slice(first, count)


def _array(values: _Numbers) -> pa.Array:
    """An Arrow array of these numbers; ``pa.array`` would import pandas."""
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(values)])
