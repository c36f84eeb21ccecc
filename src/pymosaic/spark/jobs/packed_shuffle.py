"""Long rows packed into few payloads: read once, kept and shuffled by Spark.

::

    rows ─► in each task: columns of many rows ─► for each slot one payload;
                                                  at the end, the features of all of them, counted
         ─► kept by Spark, while the driver unites the features and plans the wide rows
         ─► in each task: the payloads of its slots ─► chunks of whole entities, in order

Spark neither copies nor sorts single rows. In return, a task holds all of its rows at once, so this
is for rows that fit: see :meth:`PackedRows.fits`. A payload has the names of its own features, so
that Spark may compute any of them again.

Rows are packed in the JVM (``MosaicPacker.java``), and the files of one shuffle keep them. Connect
cannot ask for that: there, Python packs them, Spark caches the payloads, and shuffles them later.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from pymosaic.spark.jobs.cells import NumberedChunk, NumberedRows, feature_numbers
from pymosaic.spark.jobs.entity_chunks import bounded
from pymosaic.spark.jobs.feature_counts import Features, count_features, unite_counts
from pymosaic.spark.jobs.payloads import Payload, read_counts
from pymosaic.spark.jobs.tasks import Watch
from pymosaic.spark.session import for_tasks, own_python
from pymosaic.spark.types import conform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["PackedRows", "can_pack", "kept", "may_fit", "slots_for", "unpack"]

# The rows of a task; decoding and numbering them temporarily takes four times as much.
_MAX_TASK_BYTES = 256 << 20
# The rows from which payloads are made at once.
_BATCH_BYTES = 16 << 20
# Rows are packed before their number is known, for at least as many tasks.
_LEAST_SLOTS = 16
# Spark's estimates from here on mean that it has none.
_NO_ESTIMATE = 1 << 62
_COLUMNS = "target int, payload binary, size long, features binary"


def can_pack(schema: pa.Schema) -> bool:
    """Whether no type is nested, and Arrow sorts values as Spark does."""
    return all(map(_is_plain, schema.types))


def _is_plain(data_type: pa.DataType) -> bool:
    return bool(
        types.is_string(data_type)
        or types.is_binary(data_type)
        or types.is_integer(data_type)
        or types.is_floating(data_type)
        or types.is_decimal(data_type)
        or types.is_boolean(data_type)
        or (types.is_temporal(data_type) and not types.is_interval(data_type))
    )


@dataclass(frozen=True, slots=True)
class PackedRows:
    """Rows that Spark keeps as payloads.

    Parameters
    ----------
    payloads : callable
        Gives the payloads for a number of tasks as a frame of one column; rows with equal keys are
        in one partition. :func:`unpack` reads them.
    features : Features
        The features of all rows.
    num_bytes : int
        What the rows take.
    slots : int
        Tasks that the rows are packed for; each of its divisors is a possible number, too.
    """

    payloads: Callable[[int], DataFrame]
    features: Features
    num_bytes: int
    slots: int

    def partitions_for(self, wanted: int) -> int:
        """The number of tasks next to a wanted one, and not below it if possible."""
        return next((x for x in range(wanted, self.slots) if self.slots % x == 0), self.slots)

    def fits(self, partitions: int) -> bool:
        """Whether so many tasks can hold their share."""
        return self.num_bytes <= partitions * _MAX_TASK_BYTES


def slots_for(parallel: int) -> int:
    """How many tasks to pack rows for whose number is unknown."""
    slots = parallel
    while slots < _LEAST_SLOTS:
        slots *= 2
    return slots


def may_fit(long: DataFrame, slots: int) -> bool:
    """Whether Spark estimates that so many tasks can hold the rows; yes if it has no estimate.

    Rows that turn out to be too many would be packed and kept for nothing.
    """
    frame = getattr(long, "_jdf", None)
    if frame is None:
        return True
    estimate = int(str(frame.queryExecution().optimizedPlan().stats().sizeInBytes()))
    return estimate >= _NO_ESTIMATE or estimate <= slots * _MAX_TASK_BYTES


@contextmanager
def kept(
    watch: Watch, long: DataFrame, schema: pa.Schema, keys: list[str], slots: int
) -> Iterator[PackedRows]:
    """Read rows once; Spark keeps them, packed, until the end of the context.

    Parameters
    ----------
    watch : Watch
        Runs what reads the rows.
    long : pyspark.sql.DataFrame
        The rows: keys, ``feature``, and values.
    schema : pyarrow.Schema
        Schema of the rows.
    keys : list of str
        The key columns, which decide on the task.
    slots : int
        The number of tasks to pack them for.
    """
    way = _kept_by_shuffle if hasattr(long, "_jdf") else _kept_by_cache
    with way(watch, long, schema, keys, slots) as packed:
        yield packed


@contextmanager
def _kept_by_shuffle(
    watch: Watch, long: Any, schema: pa.Schema, keys: list[str], slots: int
) -> Iterator[PackedRows]:
    from pyspark.sql.classic.dataframe import DataFrame as ClassicFrame

    spark = long.sparkSession
    rows: Any = long.select(*schema.names)
    packers: list[Any] = []

    def pack() -> bytes:
        # Planning may run parts of a query, too.
        packers.append(for_tasks(spark, "MosaicPacker", rows._jdf, len(keys), slots, _BATCH_BYTES))
        return bytes(packers[0].counts())

    try:
        counts, nameless, num_bytes = read_counts(watch.run(pack), len(schema) - len(keys) - 1)
        yield PackedRows(
            lambda tasks: ClassicFrame(packers[0].payloads(tasks), spark),
            Features.of([counts], nameless),
            num_bytes,
            slots,
        )
    finally:
        for packer in packers:
            packer.release()


@contextmanager
def _kept_by_cache(
    watch: Watch, long: DataFrame, schema: pa.Schema, keys: list[str], slots: int
) -> Iterator[PackedRows]:
    from pyspark.sql import functions as f

    # As repartition(slots, *keys) distributes rows.
    slot = f.pmod(f.hash(*keys), f.lit(slots)).cast("int").alias("slot")
    targets = _targets(slots)
    num_keys = len(keys)

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts: pa.Table | None = None
        for rows in _joined(batches):
            names = rows.schema.names[1:]
            encoded = _with_dictionary(conform(rows.select(names), schema), num_keys)
            found = count_features(encoded.column(num_keys), encoded.columns[num_keys + 1 :])
            counts = found if counts is None else unite_counts([counts, found])
            yield _packed(encoded, num_keys, rows.column(0).to_numpy(), targets)
        if counts is not None:
            yield _message(counts)

    with own_python(long.sparkSession):
        frame = long.select(slot, *schema.names).mapInArrow(pack, _COLUMNS)
    frame.persist()

    def payloads(tasks: int) -> DataFrame:
        found = frame.where("payload IS NOT NULL").repartition(tasks, "target")
        return found.select("payload")

    try:
        told = watch.run(frame.select("size", "features").toArrow)
        counts = [
            pa.ipc.open_stream(features.as_buffer()).read_all()
            for features in told["features"].drop_null()
        ]
        num_bytes = pc.sum(told["size"]).as_py() or 0
        yield PackedRows(payloads, Features.of(counts), num_bytes, slots)
    finally:
        frame.unpersist()


def _with_dictionary(rows: pa.RecordBatch, place: int) -> pa.RecordBatch:
    """Rows with one column as indices of its distinct values."""
    columns = rows.columns
    columns[place] = columns[place].dictionary_encode()
    return pa.RecordBatch.from_arrays(columns, names=rows.schema.names)


def _message(counts: pa.Table) -> pa.RecordBatch:
    sink = pa.BufferOutputStream()
    # Names are alike, and the driver gets those of each task.
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, counts.schema, options=options) as stream:
        stream.write(counts)
    columns = [
        pa.array([None], pa.int32()),
        pa.array([None], pa.binary()),
        pa.array([None], pa.int64()),
        pa.array([sink.getvalue().to_pybytes()], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["target", "payload", "size", "features"])


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
    rows: pa.RecordBatch,
    num_keys: int,
    slot: npt.NDArray[np.int32],
    targets: npt.NDArray[np.int32],
) -> pa.RecordBatch:
    """One payload for each slot that has rows; rows without a feature are dropped."""
    named = rows.column(num_keys).is_valid()
    if not pc.all(named).as_py():
        rows = rows.filter(named)
        slot = slot[named.to_numpy(zero_copy_only=False)]
    if len(targets) > 1:
        order = _stable_order(slot, len(targets))
        rows = rows.take(pa.array(order))
        slot = slot[order]
    found = np.unique(slot)
    starts = np.searchsorted(slot, found)
    ends = np.append(starts[1:], len(slot))
    payloads = [
        _payload(rows.slice(start, end - start), num_keys).emit()
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    columns = [
        pa.array(targets[found]),
        pa.array(payloads, pa.binary()),
        pa.array(list(map(len, payloads)), pa.int64()),
        pa.nulls(len(payloads), pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["target", "payload", "size", "features"])


def _payload(rows: pa.RecordBatch, num_keys: int) -> Payload:
    """Rows of one slot; each has an entity of its own, as equal ones are found later."""
    columns = rows.columns
    feature = columns[num_keys]
    if len(feature.dictionary) > len(feature):
        feature = feature.cast(feature.type.value_type).dictionary_encode()
    return Payload(
        columns[:num_keys],
        feature.dictionary,
        np.arange(len(feature)),
        feature.indices.to_numpy(),
        columns[num_keys + 1 :],
    )


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
    payloads: Iterable[Payload], features: pa.Array, num_columns: int
) -> Iterator[NumberedChunk]:
    """The rows of a task in chunks of whole entities, in the order of their keys.

    Parameters
    ----------
    payloads : iterable of Payload
        The payloads of the task.
    features : pyarrow.Array
        Names of all features.
    num_columns : int
        Number of columns of the result, which bounds the entities in a chunk.
    """
    held = list(payloads)
    if not held:
        return
    num_keys = len(held[0].keys)
    keys = pa.RecordBatch.from_arrays(
        [pa.concat_arrays([payload.keys[place] for payload in held]) for place in range(num_keys)],
        names=[f"key_{place}" for place in range(num_keys)],
    )
    numbers = _entities(keys, num_keys)
    some = np.empty(int(numbers.max(initial=-1)) + 1, np.int64)
    some[numbers] = np.arange(len(numbers))
    num_bytes = sum(column.nbytes for payload in held for column in payload.values)
    most = bounded(len(some), num_bytes, num_columns)
    num_chunks = -(-len(some) // most)
    pieces: list[list[NumberedRows]] = [[] for _ in range(num_chunks)]
    start = 0
    while held:
        payload = held.pop()
        end = len(numbers) - start
        entity = numbers[end - len(payload.keys[0]) : end][payload.entity]
        start += len(payload.keys[0])
        feature = feature_numbers(payload.features, features)[payload.feature]
        rows = NumberedRows(entity.astype(np.int32), feature, payload.values)
        for number, piece in _split(rows, most):
            pieces[number].append(piece)
    for number in range(num_chunks):
        chosen = pa.array(some[number * most : (number + 1) * most])
        yield NumberedChunk([column.take(chosen) for column in keys.columns], pieces[number])
        pieces[number] = []


def _split(rows: NumberedRows, most: int) -> Iterator[tuple[int, NumberedRows]]:
    """The rows of each chunk of so many entities, with numbers of entities in it."""
    which, entity = np.divmod(rows.entity, np.int32(most))
    last = int(which.max(initial=0))
    if last == 0:
        yield 0, rows
        return
    order = _stable_order(which, last + 1)
    bounds = np.searchsorted(which, np.arange(last + 2), sorter=order)
    entity, feature = entity[order], rows.feature[order]
    values = [column.take(pa.array(order)) for column in rows.values]
    for number, (start, end) in enumerate(itertools.pairwise(bounds.tolist())):
        if end > start:
            columns = [column.slice(start, end - start) for column in values]
            yield number, NumberedRows(entity[start:end], feature[start:end], columns)


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
