"""Uniform random samples of rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.arrow.rows import take_rows
from pymosaic.cli.rows import Rows

__all__ = ["sample_rows"]


def sample_rows(
    rows: Rows, names: list[str], where: str | None, wanted: int, seed: int | None
) -> pa.Table:
    """Choose rows at random, and return them in table order.

    Without a filter, only the row groups that hold the chosen rows are read. With one, every row
    draws a random number, and the rows with the lowest are kept. This needs no count in advance,
    and memory only for the kept rows and a batch.
    """
    generator = np.random.default_rng(seed)
    schema = rows.selected_schema(names)
    if where is None and rows.num_rows is not None:
        chosen = generator.choice(rows.num_rows, min(wanted, rows.num_rows), replace=False)
        return pa.Table.from_batches(list(_take(rows, names, np.sort(chosen))), schema)
    kept = pa.Table.from_batches([], schema)
    numbers = np.empty(0)
    for batch in rows.batches(names, where):
        drawn = generator.random(batch.num_rows)
        if len(numbers) >= wanted:
            # Late in a long table, most rows draw too high a number.
            hopeful = np.flatnonzero(drawn < numbers.max(initial=0.0))
            batch, drawn = take_rows(batch, pa.array(hopeful)), drawn[hopeful]
        if not batch.num_rows or not wanted:
            continue
        numbers = np.concatenate([numbers, drawn])
        kept = pa.concat_tables([kept, pa.Table.from_batches([batch])])
        if len(numbers) > wanted:
            best = np.sort(np.argpartition(numbers, wanted)[:wanted])
            numbers, kept = numbers[best], take_rows(kept, pa.array(best))
    return kept


def _take(rows: Rows, names: list[str], chosen: npt.NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
    """The rows with these numbers, which must be ascending."""
    start = 0
    for num_rows, read in rows.parts(names):
        first, last = np.searchsorted(chosen, (start, start + num_rows))
        if first < last:
            yield take_rows(read(), pa.array(chosen[first:last] - start))
        start += num_rows
