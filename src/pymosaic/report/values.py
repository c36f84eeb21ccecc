"""Values as short texts for a page: the first ones, and minimum and maximum."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pymosaic.arrow.statistics import ColumnStatistics, order_key, plain_value
from pymosaic.file.reader import MosaicFile, opened
from pymosaic.format.row_group_index import bucket_place

__all__ = ["Samples", "merge_statistics", "shown_text", "take_samples"]

_MAX_CHARACTERS = 60
# Number of rows searched for distinct values.
_SAMPLED_ROWS = 40
_HEAD_ROWS = 4
# Number of stored bytes decoded at a time.
_RUN_BYTES = 16 << 20
_RUN_BUCKETS = 1000


@dataclass(frozen=True, slots=True)
class Samples:
    """A few distinct values of each column as texts, and its first values as arrays."""

    texts: list[list[str]]
    head: list[pa.Array]


def take_samples(file: MosaicFile, row_groups: list[int], count: int) -> Samples:
    """Take up to ``count`` distinct values per column, from the first row group with rows."""
    catalog, index = opened(file).catalog, opened(file).index
    row_group = next((group for group in row_groups if index.row_count(group)), None)
    if row_group is None:
        order = np.argsort(catalog.original_order())
        types = file.schema.types
        empty = [pa.array([], types[place]) for place in order.tolist()]
        return Samples([[] for _ in empty], empty)
    texts: list[list[str]] = []
    head: list[pa.Array] = []
    for first, last in _runs(file, row_group):
        table = file.read_row_group(row_group, catalog.names(first, last))
        for column in table.slice(0, _SAMPLED_ROWS).columns:
            values = column.combine_chunks()
            texts.append(_different(values, count))
            head.append(values.slice(0, _HEAD_ROWS))
    return Samples(texts, head)


def _runs(file: MosaicFile, row_group: int) -> Iterator[tuple[int, int]]:
    """Positions of columns to read together: whole buckets, up to a number of bytes."""
    head = opened(file)
    start = stop = size = buckets = 0
    for bucket in range(file.num_buckets):
        _, stop = head.catalog.bucket_range(bucket)
        size += bucket_place(head.index, row_group, bucket).compressed_size
        buckets += 1
        if size >= _RUN_BYTES or buckets == _RUN_BUCKETS:
            yield start, stop
            start, size, buckets = stop, 0, 0
    if start < stop:
        yield start, stop


def _different(values: pa.Array, count: int) -> list[str]:
    texts: dict[str, None] = {}
    if count:
        for text in _texts(values):
            texts.setdefault(text)
            if len(texts) == count:
                break
    return list(texts)


def _texts(values: pa.Array) -> Iterator[str]:
    """Texts of the values that are not null."""
    types = pa.types
    if types.is_string(values.type) or types.is_integer(values.type):
        # Most columns have these types, and need no scalar per value.
        return (_cut(str(value)) for value in values.to_pylist() if value is not None)
    return (shown_text(value) for value in values if value.is_valid)


def merge_statistics(
    file: MosaicFile, row_groups: list[int], names: list[str]
) -> tuple[list[str | None], list[str | None], int]:
    """Minimum and maximum over these row groups, as texts by position; None if unknown.

    Also returns the number of columns with statistics.
    """
    merged: dict[str, ColumnStatistics | None] = {}
    for place, row_group in enumerate(row_groups):
        statistics = file.statistics(row_group)
        for name, one in statistics.items():
            if place == 0:
                merged[name] = one
            else:
                before = merged.get(name)
                merged[name] = None if before is None else _wider(before, one)
        for name in merged.keys() - statistics.keys():
            merged[name] = None
    known = {name: one for name, one in merged.items() if one is not None and one.has_min_max}
    lows: list[str | None] = [None] * len(names) if known else []
    highs: list[str | None] = list(lows)
    if known:
        for position, name in enumerate(names):
            if name in known:
                lows[position] = shown_text(known[name].min_scalar)
                highs[position] = shown_text(known[name].max_scalar)
    return lows, highs, len(merged)


def _wider(before: ColumnStatistics, one: ColumnStatistics) -> ColumnStatistics | None:
    """Combined statistics of both; None if one has values but no minimum and maximum."""
    for statistics, other in ((before, one), (one, before)):
        if not statistics.has_min_max:
            return other if statistics.null_count == statistics.num_rows else None
    low = min(before.min_scalar, one.min_scalar, key=order_key)
    high = max(before.max_scalar, one.max_scalar, key=order_key)
    return ColumnStatistics(0, one.num_rows, low, high)


def shown_text(scalar: pa.Scalar, room: int = _MAX_CHARACTERS) -> str:
    """A scalar as a short text of about ``room`` characters, however large the value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> shown_text(pa.scalar([1, None, 3])), shown_text(pa.scalar(b"ab"))
    ('[1, null, 3]', '0x6162')
    """
    if not scalar.is_valid:
        return "null"
    if isinstance(scalar, pa.MapScalar | pa.ListScalar):
        text = _nested_text(scalar, room)
    elif pa.types.is_binary(scalar.type):
        data = scalar.as_buffer()
        text = "0x" + data.slice(0, min(data.size, room // 2)).to_pybytes().hex()
    else:
        value = plain_value(scalar)
        if isinstance(value, bool):
            text = str(value).lower()
        elif isinstance(value, datetime.date | datetime.time):
            text = value.isoformat()
        elif isinstance(value, float):
            text = repr(value)
        else:
            text = str(value)
    return _cut(text, room)


def _cut(text: str, room: int = _MAX_CHARACTERS) -> str:
    return text if len(text) <= room else f"{text[:room]}…"


def _nested_text(scalar: pa.Scalar, room: int) -> str:
    is_map = isinstance(scalar, pa.MapScalar)
    opening, closing = "{}" if is_map else "[]"
    pieces: list[str] = []
    elements = scalar.values
    for index in range(len(elements)):
        if room <= 0:
            pieces.append("…")
            break
        if is_map:
            keys, values = elements.field(0), elements.field(1)
            piece = f"{shown_text(keys[index], room)}: {shown_text(values[index], room)}"
        else:
            piece = shown_text(elements[index], room)
        room -= len(piece) + 2
        pieces.append(piece)
    return f"{opening}{', '.join(pieces)}{closing}"
