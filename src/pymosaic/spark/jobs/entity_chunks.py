"""Splitting rows into chunks of whole entities and of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Chunk", "bounded", "chunks"]

# Bounds on the rows of a chunk, and on the cells of the batch made from it. Processing a chunk
# temporarily takes about three times as much.
_MAX_BYTES = 64 << 20
_MAX_CELLS = 4 << 20


class Chunk:
    """Rows of some entities.

    Parameters
    ----------
    rows : pyarrow.RecordBatch
        The rows; the key columns come first.
    entity : numpy.ndarray
        For each row, the number of its entity in this chunk: 0, 0, 0, 1, 2, 2, …, in any order.
    """

    def __init__(self, rows: pa.RecordBatch, entity: npt.NDArray[np.int64]) -> None:
        self.rows = rows
        self.entity = entity
        self.num_entities: int = int(entity.max()) + 1

    def keys(self, count: int) -> list[pa.Array]:
        """The key columns, one row for each entity."""
        some = np.empty(self.num_entities, np.int64)
        some[self.entity] = np.arange(len(self.entity))
        return [self.rows.column(place).take(pa.array(some)) for place in range(count)]


def chunks(batches: Iterable[pa.RecordBatch], num_keys: int, num_columns: int) -> Iterator[Chunk]:
    """Split sorted rows into chunks; an entity is never in two of them.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        Rows of one entity must be adjacent.
    num_keys : int
        Number of key columns, which come first.
    num_columns : int
        Number of columns of the result, which bounds the entities in a chunk.
    """
    max_entities = max(1, _MAX_CELLS // max(1, num_columns))
    held: list[pa.RecordBatch] = []
    numbers: list[npt.NDArray[np.int64]] = []
    size = 0
    current = -1
    last: pa.RecordBatch | None = None
    for batch in batches:
        if not batch.num_rows:
            continue
        begins = _begins(batch, num_keys)
        begins[0] = last is None or _begins(_pair(last, batch), num_keys)[1]
        last = batch.slice(batch.num_rows - 1)
        start = 0
        while start < batch.num_rows:
            found = current + np.cumsum(begins[start:])
            limit = max_entities if size < _MAX_BYTES else current + 1
            stop = start + int(np.searchsorted(found, limit))
            if stop > start:
                held.append(batch.slice(start, stop - start))
                numbers.append(found[: stop - start])
                size += held[-1].nbytes
                current = int(found[stop - start - 1])
            if stop < batch.num_rows:
                yield Chunk(pa.concat_batches(held), np.concatenate(numbers))
                held, numbers, size, current = [], [], 0, -1
            start = stop
    if held:
        yield Chunk(pa.concat_batches(held), np.concatenate(numbers))


def bounded(num_entities: int, num_bytes: int, num_columns: int) -> int:
    """How many entities a chunk may have if all are in chunks of about equal size."""
    most = max(1, _MAX_CELLS // max(1, num_columns))
    count = max(1, -(-num_entities // most), -(-num_bytes // _MAX_BYTES))
    return max(1, -(-num_entities // count))


def _pair(last: pa.RecordBatch, batch: pa.RecordBatch) -> pa.RecordBatch:
    return pa.concat_batches([last, batch.slice(0, 1)])


def _begins(batch: pa.RecordBatch, num_keys: int) -> npt.NDArray[np.bool_]:
    """Which rows have different keys than the previous row; nulls are equal."""
    begins = np.zeros(batch.num_rows, bool)
    for place in range(num_keys):
        codes = batch.column(place).dictionary_encode().indices.fill_null(-1).to_numpy()
        begins[1:] |= codes[1:] != codes[:-1]
    return begins
