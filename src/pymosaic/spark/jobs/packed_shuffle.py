"""A shuffle of long rows as packed Arrow batches, which are few, instead of row by row.

::

    rows ─► in each task: batches of many rows ─► for each target task one payload of Arrow data
         ─► shuffle of the payloads
         ─► in each task: its rows as one batch ─► chunks of whole entities, in order

Spark neither copies nor sorts single rows. In return, a task holds all of its rows at once, so this
is for rows that fit: see :func:`fits`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from pymosaic.spark.jobs.entity_chunks import Chunk, split
from pymosaic.spark.session import own_python

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["fits", "is_plain", "is_variable", "shuffle", "unpack"]

# The rows of a task; decoding and numbering them temporarily takes four times as much.
_MAX_TASK_BYTES = 256 << 20
# The rows from which payloads are made at once.
_BATCH_BYTES = 16 << 20
_Encode = Callable[[pa.RecordBatch], pa.RecordBatch]


def fits(num_bytes: int, partitions: int) -> bool:
    """Whether tasks can hold their share of so many bytes."""
    return num_bytes <= partitions * _MAX_TASK_BYTES


def is_variable(data_type: pa.DataType) -> bool:
    """Whether values of a type take more or less space."""
    return bool(types.is_string(data_type) or types.is_binary(data_type))


def is_plain(data_type: pa.DataType) -> bool:
    """Whether a type is not nested, and Arrow sorts its values as Spark does."""
    return bool(
        is_variable(data_type)
        or types.is_integer(data_type)
        or types.is_floating(data_type)
        or types.is_decimal(data_type)
        or types.is_boolean(data_type)
        or (types.is_temporal(data_type) and not types.is_interval(data_type))
    )


def shuffle(frame: DataFrame, keys: list[str], partitions: int, encode: _Encode) -> DataFrame:
    """Rows with equal keys in one partition, packed; :func:`unpack` reads them in its tasks.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The rows.
    keys : list of str
        Columns that decide on the partition.
    partitions : int
        The number of partitions.
    encode : callable
        Makes what is shuffled of batches of the rows; keeps number and order of rows.
    """
    from pyspark.sql import functions as f

    targets = _targets(partitions)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in _joined(batches):
            encoded = encode(rows.select(rows.schema.names[1:]))
            yield _packed(encoded, rows.column(0).to_numpy(), targets)

    # As repartition(partitions, *keys) distributes rows.
    partition = f.pmod(f.hash(*keys), f.lit(partitions)).cast("int").alias("partition")
    with own_python(frame.sparkSession):
        packed = frame.select(partition, "*").mapInArrow(pack, "target int, payload binary")
    return packed.repartition(partitions, "target")


def _joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= _BATCH_BYTES:
            yield pa.concat_batches(held)
            held, size = [], 0
    if any(batch.num_rows for batch in held):
        yield pa.concat_batches(held)


def _packed(
    rows: pa.RecordBatch, partition: npt.NDArray[np.int32], targets: npt.NDArray[np.int32]
) -> pa.RecordBatch:
    """One payload for each partition that has rows."""
    if len(targets) > 1:
        order = _stable_order(partition, len(targets))
        rows = rows.take(pa.array(order))
        partition = partition[order]
    found = np.unique(partition)
    starts = np.searchsorted(partition, found)
    ends = np.append(starts[1:], len(partition))
    payloads = [
        rows.slice(start, end - start).serialize().to_pybytes()
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    columns = [pa.array(targets[found]), pa.array(payloads, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, names=["target", "payload"])


def _stable_order(numbers: npt.NDArray[np.int32], limit: int) -> npt.NDArray[np.int64]:
    # Short numbers are sorted in linear time.
    narrow = numbers.astype(np.uint16) if limit <= 1 << 16 else numbers
    return np.argsort(narrow, kind="stable")


def _targets(partitions: int) -> npt.NDArray[np.int32]:
    """For each partition, a number that Spark puts there when it distributes by that number."""
    found = np.full(partitions, -1, np.int32)
    start = 0
    while (found < 0).any():
        numbers = np.arange(start, start + 4 * partitions, dtype=np.int32)
        found[_spark_hash(numbers) % partitions] = numbers
        start += len(numbers)
    return found


def _spark_hash(numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Spark's hash of ints: 32 bits of Murmur 3 with seed 42."""

    def rotated(value: npt.NDArray[np.uint32], bits: int) -> npt.NDArray[np.uint32]:
        return (value << np.uint32(bits)) | (value >> np.uint32(32 - bits))

    mixed = rotated(numbers.astype(np.uint32) * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    found = rotated(np.uint32(42) ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)
    found ^= np.uint32(4)  # the number of bytes
    found = (found ^ (found >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    found = (found ^ (found >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return (found ^ (found >> np.uint32(16))).astype(np.int32).astype(np.int64)


def unpack(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, num_keys: int, num_columns: int
) -> Iterator[Chunk]:
    """The rows of a task in chunks of whole entities, in the order of their keys.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
        What :func:`shuffle` made.
    schema : pyarrow.Schema
        Schema of the rows that were packed; the key columns come first.
    num_keys : int
        Number of key columns.
    num_columns : int
        Number of columns of the result, which bounds the entities in a chunk.
    """
    held = [
        pa.ipc.read_record_batch(payload.as_buffer(), schema)
        for batch in batches
        for payload in batch.column(1)
    ]
    if held:
        rows = pa.concat_batches(held)
        held.clear()
        yield from split(rows, _entities(rows, num_keys), num_columns)


def _entities(rows: pa.RecordBatch, num_keys: int) -> npt.NDArray[np.int64]:
    """For each row the number of its entity, which are numbered in the order of their keys."""
    numbers = np.zeros(rows.num_rows, np.int64)
    count = 1
    for place in range(num_keys):
        ranks, limit = _ranks(rows.column(place))
        numbers, count = _dense(numbers * limit + ranks, count * limit)
    return numbers


def _ranks(column: pa.Array) -> tuple[npt.NDArray[np.int64], int]:
    """The rank of each value among the distinct ones, nulls first, and a limit of them."""
    encoded = column.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order) + 1, np.int64)
    rank[order] = np.arange(1, len(order) + 1)
    rank[-1] = 0  # of index -1, which stands for null
    return rank[encoded.indices.fill_null(-1).to_numpy()], len(rank)


def _dense(numbers: npt.NDArray[np.int64], limit: int) -> tuple[npt.NDArray[np.int64], int]:
    """Numbers in the same order without gaps, and how many different ones there are."""
    if limit > 4 * len(numbers) + 1024:
        found, numbers = np.unique(numbers, return_inverse=True)
        return numbers, len(found)
    is_there = np.zeros(limit, bool)
    is_there[numbers] = True
    return (np.cumsum(is_there) - 1)[numbers], int(np.count_nonzero(is_there))
