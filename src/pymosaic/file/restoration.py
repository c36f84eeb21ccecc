"""Batches of stored types as batches of the types that they were written from.

A kernel converts most columns, all in one call, or only their types change; pyarrow converts what
is left, such as dictionaries, fixed sizes and views.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.arrow.restoring import check_width, is_plain, relabelled, restored
from pymosaic.arrow.types import fixed_bits
from pymosaic.kernels.arrow_export import MemoryBudget, OutputArena
from pymosaic.kernels.arrow_restore import CONVERSIONS, convert_columns

__all__ = ["BY_ARROW", "SAME", "Restoration", "conversion_between"]

Numbers: TypeAlias = npt.NDArray[np.int64]
# Conversions, besides those of the kernel: the buffers are the same; pyarrow has to do it.
SAME, BY_ARROW = -1, -2
# Columns that pyarrow converts together, and their size at most.
_TOGETHER = 1024
_TOGETHER_BYTES = 64 << 20
# struct ArrowArray of the Arrow C data interface: ten fields of eight bytes.
_ARROW_ARRAY_WORDS = 10

_KERNEL = {
    (pa.int16(), pa.uint8()): "uint8",
    (pa.int32(), pa.uint16()): "uint16",
    (pa.int64(), pa.uint32()): "uint32",
    (pa.decimal128(20, 0), pa.uint64()): "uint64",
    (pa.float32(), pa.float16()): "half",
    (pa.string(), pa.large_string()): "large binary",
    (pa.binary(), pa.large_binary()): "large binary",
    (pa.date32(), pa.date64()): "date64",
    (pa.time32("ms"), pa.time32("s")): "time in seconds",
    (pa.time32("ms"), pa.time64("us")): "time in microseconds",
    (pa.time32("ms"), pa.time64("ns")): "time in nanoseconds",
}


@lru_cache(maxsize=1024)
def conversion_between(stored: pa.DataType, target: pa.DataType) -> int:
    """What makes the one type of the other: a conversion of the kernel, SAME or BY_ARROW."""
    kinds = pa.types
    name = _KERNEL.get((stored, target))
    if name is not None:
        return CONVERSIONS[name]
    # Names and nullability of what is inside are no part of the comparison, and make no difference.
    if stored == target or (kinds.is_int64(stored) and kinds.is_duration(target)):
        return SAME
    if kinds.is_timestamp(stored) and kinds.is_timestamp(target):
        if (stored.unit, target.unit) == ("ms", "s") and stored.tz == target.tz:
            return CONVERSIONS["timestamp in seconds"]
    elif (
        kinds.is_list(stored)
        and kinds.is_large_list(target)
        and conversion_between(stored.value_type, target.value_type) == SAME
    ):
        return CONVERSIONS["large list"]
    return BY_ARROW


def _no_columns() -> Numbers:
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class Restoration:
    """How batches of stored types become batches of the types that they were written from.

    Parameters
    ----------
    stored, schema : pyarrow.Schema
        The columns as they are, and as they shall be.
    columns : array
        The numbers of those that the kernel converts.
    conversions : array
        What it does with each of them.
    by_arrow : list of int
        The numbers of those that pyarrow converts.
    """

    stored: pa.Schema
    schema: pa.Schema
    columns: Numbers = field(default_factory=_no_columns)
    conversions: npt.NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    by_arrow: Sequence[int] = ()

    @classmethod
    def between(cls, stored: pa.Schema, schema: pa.Schema, changed: Sequence[int]) -> Restoration:
        """That of schemas whose types differ in the columns that changed, and only there."""
        found = [
            conversion_between(stored.field(number).type, schema.field(number).type)
            for number in changed
        ]
        numbers, conversions = np.array(changed, np.int64), np.array(found, np.int64)
        by_kernel = conversions >= 0
        return cls(
            stored,
            schema,
            numbers[by_kernel],
            conversions[by_kernel].astype(np.uint8),
            numbers[conversions == BY_ARROW].tolist(),
        )

    @cached_property
    def _after_kernel(self) -> pa.Schema:
        """The schema in which pyarrow has not converted its columns yet."""
        if not self.by_arrow:
            return self.schema
        fields = list(self.schema)
        for number in self.by_arrow:
            fields[number] = self.stored.field(number)
        return pa.schema(fields, self.schema.metadata)

    def restored(
        self, batch: pa.RecordBatch, dictionaries: Mapping[int, pa.Array], max_bytes: int
    ) -> pa.RecordBatch:
        """A batch in the types that it was written from.

        ``dictionaries`` are known ones by column number; no column may exceed ``max_bytes``.
        """
        if not batch.schema.equals(self.stored):
            raise ValueError("the batch is not of the schema that it is said to have")
        if len(self.columns):
            batch = self._converted(batch, max_bytes)
        else:
            # Without columns there are only rows, which an export does not lose either.
            batch = relabelled(batch, self._after_kernel)
        if not self.by_arrow:
            return batch
        columns = _restored_columns(batch, self.schema, self.by_arrow, dictionaries, max_bytes)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _converted(self, batch: pa.RecordBatch, max_bytes: int) -> pa.RecordBatch:
        structure = np.zeros(_ARROW_ARRAY_WORDS, np.int64)
        address = structure.ctypes.data
        batch._export_to_c(address)
        output = OutputArena(MemoryBudget(max_bytes))
        convert_columns(address, self.columns, self.conversions, output)
        return pa.RecordBatch._import_from_c(address, self._after_kernel)


def _restored_columns(
    batch: pa.RecordBatch,
    schema: pa.Schema,
    changed: Sequence[int],
    dictionaries: Mapping[int, pa.Array],
    max_bytes: int,
) -> list[pa.Array]:
    """The columns of a batch, of which pyarrow has converted some."""
    columns: list[pa.Array] = batch.columns
    alike: dict[tuple[pa.DataType, pa.DataType], list[int]] = {}
    last: tuple[pa.DataType, pa.DataType] | None = None
    numbers: list[int] = []
    for number in changed:
        column, kind = columns[number], schema.field(number).type
        stored = column.type
        # It takes longer to find a type in a dictionary than to compare two.
        if last is not None and last[0] == stored and last[1] == kind:
            numbers.append(number)
        elif number in dictionaries or not is_plain(stored) or not is_plain(kind):
            check_width(column, kind, max_bytes)
            columns[number] = restored(column, kind, dictionaries.get(number))
        else:
            last = stored, kind
            numbers = alike.setdefault(last, [])
            numbers.append(number)
    for (_, kind), numbers in alike.items():
        for start in range(0, len(numbers), _TOGETHER):
            run = numbers[start : start + _TOGETHER]
            check_width(columns[run[0]], kind, max_bytes)
            for number, column in zip(run, _each([columns[i] for i in run], kind), strict=True):
                columns[number] = column
    return columns


def _num_bytes(columns: list[pa.Array]) -> int:
    """About the size of columns of one type and length."""
    bits = fixed_bits(columns[0].type)
    if bits is not None:
        return len(columns) * len(columns[0]) * bits // 8
    return sum(column.nbytes for column in columns)


def _each(columns: list[pa.Array], kind: pa.DataType) -> Iterator[pa.Array]:
    """Columns of one type and length as arrays of another.

    They are put together, because a call takes longer than the values of a short column.
    """
    if len(columns) == 1 or _num_bytes(columns) > _TOGETHER_BYTES:
        for column in columns:
            yield restored(column, kind)
        return
    joined = restored(pa.concat_arrays(columns), kind)
    rows = len(columns[0])
    for number in range(len(columns)):
        yield joined.slice(number * rows, rows)
