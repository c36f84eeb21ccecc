"""Verification of the row group index: walks it entry by entry, and reports every fault.

The reader's own parser (:mod:`pymosaic.kernels.row_group_index`) stops at the first fault; this one
continues as long as it can find the next field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pymosaic.errors import CorruptFileError
from pymosaic.format.bucket import BucketPlace
from pymosaic.format.statistics import value_width
from pymosaic.format.varint import decode_varint
from pymosaic.kernels.catalog import Catalog

__all__ = ["Statistic", "WalkedRowGroup", "walk_index"]

_STRUCTURE = "row group index"
_OFFSET_SIZE = 8
_MAX_VARINT = 5
Severity: TypeAlias = Literal["error", "warning"]
Report: TypeAlias = Callable[[Severity, str, int, int], None]
"""Called with severity, message, offset in the index, and the row group."""


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of a column; ``place`` is its offset in the index."""

    position: int
    null_count: int
    minimum: bytes | None
    maximum: bytes | None
    place: int


@dataclass(slots=True)
class WalkedRowGroup:
    """A row group as far as it is valid; ``doubtful`` are buckets with invalid entries."""

    num_rows: int
    buckets: dict[int, BucketPlace] = field(default_factory=dict)
    doubtful: set[int] = field(default_factory=set)
    statistics: list[Statistic] = field(default_factory=list)


class _Ended(Exception):
    """The position of the next field is unknown."""


class _Walk:
    def __init__(self, data: memoryview, catalog: Catalog, data_end: int, report: Report) -> None:
        self.data = data
        self.position = 0
        self._catalog = catalog
        self._data_end = data_end
        self._widths: dict[int, int] = {}
        self._report = report
        self._row_group = 0

    def _say(self, severity: Severity, message: str, place: int) -> None:
        self._report(severity, message, place, self._row_group)

    def _varint(self) -> int:
        start = self.position
        try:
            value, size = decode_varint(self.data[start : start + _MAX_VARINT], _STRUCTURE)
        except CorruptFileError:
            self._say("error", "the index ends here, or this is not a varint", start)
            raise _Ended from None
        self.position += size
        return value

    def _take(self, size: int) -> bytes:
        start = self.position
        if size > len(self.data) - start:
            self._say("error", f"the index ends before the {size} bytes that it declares", start)
            raise _Ended
        self.position += size
        return bytes(self.data[start : start + size])

    def row_group(self, number: int) -> WalkedRowGroup:
        """The next row group."""
        self._row_group = number
        start = self.position
        found = WalkedRowGroup(self._varint())
        if found.num_rows == 0:
            self._say("warning", "a row group without rows", start)
        start = self.position
        count = self._varint()
        if count > self._catalog.num_buckets:
            self._say("error", f"lists {count} buckets, more than the file has", start)
        previous = -1
        for _ in range(count):
            start = self.position
            bucket = self._bucket(found)
            if bucket < previous:
                self._say("warning", "buckets are not listed in ascending order", start)
            previous = max(previous, bucket)
        for _ in range(self._varint()):
            self._statistic(found)
        return found

    def _bucket(self, found: WalkedRowGroup) -> int:
        start = self.position
        bucket = self._varint()
        offset = int.from_bytes(self._take(_OFFSET_SIZE), "big")
        compressed_size, raw_size = self._varint(), self._varint()
        if bucket >= self._catalog.num_buckets:
            self._say("error", f"bucket {bucket} of {self._catalog.num_buckets}", start)
        elif bucket in found.buckets or bucket in found.doubtful:
            self._say("error", f"bucket {bucket} is listed twice", start)
            found.buckets.pop(bucket, None)
            found.doubtful.add(bucket)
        elif compressed_size == 0:
            if raw_size:
                self._say("error", f"bucket {bucket} has content of {raw_size} bytes in 0", start)
                found.doubtful.add(bucket)
        elif offset + compressed_size > self._data_end:
            self._say(
                "error",
                f"bucket {bucket}, {compressed_size} bytes from {offset}, does not lie before the "
                f"schema block at {self._data_end}",
                start,
            )
            found.doubtful.add(bucket)
        else:
            found.buckets[bucket] = BucketPlace(bucket, offset, compressed_size, raw_size)
        return bucket

    def _statistic(self, found: WalkedRowGroup) -> None:
        start = self.position
        position = self._varint()
        if position >= self._catalog.num_columns:
            self._say("error", f"a statistic of column {position}, which does not exist", start)
            raise _Ended
        if not self._catalog.has_statistics(position):
            self._say("error", "a statistic of a column whose type cannot have any", start)
            raise _Ended
        null_count = self._varint()
        minimum = maximum = None
        if null_count < found.num_rows:
            minimum, maximum = self._value(position), self._value(position)
        elif null_count > found.num_rows:
            self._say("error", f"counts {null_count} nulls in {found.num_rows} rows", start)
        statistic = Statistic(position, null_count, minimum, maximum, start)
        if found.statistics:
            self._compare(found.statistics[-1], statistic)
        found.statistics.append(statistic)

    def _compare(self, before: Statistic, after: Statistic) -> None:
        if after.position < before.position:
            self._say("warning", "statistics are not in ascending order", after.place)
        elif after.position == before.position and (
            (after.null_count, after.minimum, after.maximum)
            != (before.null_count, before.minimum, before.maximum)
        ):
            self._say("error", "a column has two different statistics", after.place)

    def _value(self, position: int) -> bytes:
        width = self._widths.get(position)
        if width is None:
            type_id, _, precision, _ = self._catalog.type_of(position)
            width = value_width(type_id, precision)
            self._widths[position] = width
        return self._take(width or self._varint())


def walk_index(
    data: memoryview, catalog: Catalog, num_row_groups: int, data_end: int, report: Report
) -> Iterator[WalkedRowGroup]:
    """Walk the index as far as possible, one row group at a time.

    Parameters
    ----------
    data : memoryview
        The whole index.
    catalog : Catalog
    num_row_groups : int
        From the footer.
    data_end : int
        Offset of the schema block.
    report : callable
        Called for every fault, with severity, message, offset in the index, and row group.
    """
    walk = _Walk(data, catalog, data_end, report)
    for number in range(num_row_groups):
        try:
            row_group = walk.row_group(number)
        except _Ended:
            return
        yield row_group
    if walk.position < len(data):
        left = len(data) - walk.position
        report("error", f"{left} bytes after the last row group", walk.position, num_row_groups)
