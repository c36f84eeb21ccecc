"""Profiles of many columns at once, batch by batch.

Columns of one type are put together, so that each step is one for hundreds of columns. Parts of
the rows can be profiled anywhere and united.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.errors import InvalidOptionError, UnsupportedFeatureError
from pymosaic.profiling.distinct import DistinctCounts
from pymosaic.profiling.hashing import can_hash, hash_values
from pymosaic.profiling.quantiles import NUM_POINTS, Quantiles, Summary, summarize_rows
from pymosaic.threads import ordered_map

__all__ = ["QUANTILES", "ColumnProfiles", "check_quantiles", "profile_schema"]

QUANTILES = (0.25, 0.5, 0.75)
# Number of values, and bytes of text, that are looked at together.
_RUN_VALUES = 1 << 18
_RUN_BYTES = 4 << 20
_MAX_CHARACTERS = 200

_Places: TypeAlias = npt.NDArray[np.int64]
_Present: TypeAlias = "npt.NDArray[np.bool_] | None"


def check_quantiles(quantiles: Iterable[float]) -> tuple[float, ...]:
    """Quantiles as given by a caller, or an error."""
    try:
        checked = tuple(float(quantile) for quantile in quantiles)
    except (TypeError, ValueError):
        checked = (-1.0,)
    if not all(0 <= quantile <= 1 for quantile in checked) or len(set(checked)) < len(checked):
        raise InvalidOptionError(
            f"quantiles must be different numbers between 0 and 1, got {quantiles!r}"
        )
    return checked


def profile_schema(quantiles: Sequence[float] = QUANTILES) -> pa.Schema:
    """The columns of a profile's table."""
    return pa.schema(
        {
            "column": pa.string(),
            "type": pa.string(),
            "rows": pa.int64(),
            "nulls": pa.int64(),
            "nans": pa.int64(),
            "minimum": pa.string(),
            "maximum": pa.string(),
            "mean": pa.float64(),
            **{f"{100 * quantile:.12g}%": pa.float64() for quantile in quantiles},
            "approximate_distinct": pa.int64(),
        }
    )


@dataclass(slots=True)
class _Group:
    """Columns of one type, and their ranges.

    Parameters
    ----------
    type : pyarrow.DataType
        Their type.
    places : numpy array
        Their numbers among all columns.
    dtype : numpy.dtype or None
        That of their values, if these are in order as numbers of numpy.
    low, high : numpy array
        Minimum and maximum of each, if there is a ``dtype``; valid where a value was seen.
    ends : list
        Minimum and maximum of each as an Arrow array, or None, if there is no ``dtype``. (Pickled
        scalars are Python objects, which have no dates beyond the year 9999.)
    """

    type: pa.DataType
    places: _Places
    dtype: np.dtype[Any] | None
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]
    ends: list[pa.Array | None]

    @classmethod
    def of(cls, kind: pa.DataType, places: Sequence[int]) -> _Group:
        dtype = _numpy_type(kind)
        count = 0 if dtype is None else len(places)
        low = np.full(count, _highest(dtype) if dtype else 0, dtype)
        high = np.full(count, _lowest(dtype) if dtype else 0, dtype)
        return cls(kind, np.array(places, np.int64), dtype, low, high, [None] * len(places))

    @property
    def is_numeric(self) -> bool:
        """Whether values have a mean and quantiles."""
        return _is_number(self.type)


class ColumnProfiles:
    """What is known of each column of a table after some of its rows.

    Parameters
    ----------
    schema : pyarrow.Schema
        The columns, in the types that Mosaic files store.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"n": [4, 1, None, 3]})
    >>> profiles = ColumnProfiles(table.schema)
    >>> for batch in table.to_batches():
    ...     profiles.add_batch(batch)
    >>> profiles.table(table.schema).select(["nulls", "minimum", "50%", "mean"]).to_pylist()
    [{'nulls': 1, 'minimum': '1', '50%': 3.0, 'mean': 2.6666666666666665}]
    """

    def __init__(self, schema: pa.Schema) -> None:
        count = len(schema)
        by_type: dict[pa.DataType, list[int]] = {}
        for place, kind in enumerate(schema.types):
            by_type.setdefault(kind, []).append(place)
        for kind, places in by_type.items():
            if not can_hash(kind) and kind != pa.null():
                raise UnsupportedFeatureError(
                    f"column {schema.names[places[0]]!r} of type {kind} cannot be profiled; "
                    "Mosaic files have other types"
                )
        self.rows: int = 0
        self.nulls: npt.NDArray[np.int64] = np.zeros(count, np.int64)
        self._nans = np.zeros(count, np.int64)
        self._sums = np.zeros(count)
        self._groups = [_Group.of(kind, places) for kind, places in by_type.items()]
        self._distinct = DistinctCounts(count)
        # Those of numbers only: where they are among them.
        numeric = [group for group in self._groups if group.is_numeric and group.type != pa.bool_()]
        self._numeric = np.concatenate([np.zeros(0, np.int64), *(x.places for x in numeric)])
        self._numeric_place = np.full(count, -1, np.int64)
        self._numeric_place[self._numeric] = np.arange(len(self._numeric))
        self._quantiles = Quantiles(len(self._numeric))

    def add_batch(self, batch: pa.RecordBatch, use_threads: bool = False) -> None:
        """Add rows; runs of columns are looked at by several threads on request."""
        if not batch.num_rows:
            return
        self.rows += batch.num_rows
        size = (len(self._numeric), NUM_POINTS)
        summary = np.full(size, np.nan), np.zeros(size[0])
        columns = batch.columns

        def add(item: tuple[_Group, slice]) -> None:
            # Every run has columns of its own, and with them its own places in all arrays.
            group, run = item
            self._add_run(group, run, [columns[place] for place in group.places[run]], summary)

        runs = [(group, run) for group in self._groups for run in _runs(group, columns, len(batch))]
        for _ in ordered_map(add, runs, use_threads and len(runs) > 1):
            pass
        if len(self._numeric):
            self._quantiles.add(summary)

    def _add_run(
        self, group: _Group, run: slice, columns: list[pa.Array], summary: Summary
    ) -> None:
        joined = columns[0] if len(columns) == 1 else pa.concat_arrays(columns)
        if group.type == pa.null():
            self.nulls[group.places[run]] += len(columns[0])
            return
        places = group.places[run]
        shape = (len(columns), len(columns[0]))
        present: _Present = None
        if joined.null_count:
            missing = joined.is_null().to_numpy(zero_copy_only=False).reshape(shape)
            self.nulls[places] += np.count_nonzero(missing, axis=1)
            present = ~missing
        self._distinct.add(places, hash_values(joined).reshape(shape), present)
        values: npt.NDArray[Any]
        if group.dtype is not None:
            values = _numbers(joined, group.dtype).reshape(shape)
            if group.dtype.kind == "f":
                nans = np.isnan(values) if present is None else np.isnan(values) & present
                if nans.any():
                    self._nans[places] += np.count_nonzero(nans, axis=1)
                    present = ~nans if present is None else present & ~nans
            _extend(group, run, values, present)
        else:
            values = _as_floats(joined).reshape(shape) if group.is_numeric else np.zeros(0)
            _extend_ends(group, run, columns)
        if group.is_numeric:
            self._add_numbers(places, values, present, summary)

    def _add_numbers(
        self, places: _Places, values: npt.NDArray[Any], present: _Present, summary: Summary
    ) -> None:
        floats = values.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):  # infinities of both signs
            self._sums[places] += floats.sum(axis=1, where=True if present is None else present)
        where = self._numeric_place[places]
        if where[0] >= 0:
            if present is not None:
                floats[~present] = np.nan
            summary[0][where], summary[1][where] = summarize_rows(floats)

    def unite(self, other: ColumnProfiles) -> None:
        """Add what is known of other rows of the same columns."""
        self.rows += other.rows
        self.nulls += other.nulls
        self._nans += other._nans
        with np.errstate(invalid="ignore"):
            self._sums += other._sums
        self._distinct.unite(other._distinct)
        self._quantiles.unite(other._quantiles)
        for mine, others in zip(self._groups, other._groups, strict=True):
            np.minimum(mine.low, others.low, out=mine.low)
            np.maximum(mine.high, others.high, out=mine.high)
            for place, found in enumerate(others.ends):
                if found is not None:
                    mine.ends[place] = _wider(mine.ends[place], found)

    def table(self, schema: pa.Schema, quantiles: Sequence[float] = QUANTILES) -> pa.Table:
        """A row for each column; ``schema`` has names and types to be shown."""
        seen = self.rows - self.nulls - self._nans
        low, high = self._ranges(seen)
        mean = np.full(len(schema), np.nan)
        estimates = np.full((len(schema), len(quantiles)), np.nan)
        estimates[self._numeric] = self._quantiles.estimates(quantiles)
        for group in self._groups:
            if not group.is_numeric:
                continue
            places = group.places
            with np.errstate(divide="ignore", invalid="ignore"):
                mean[places] = self._sums[places] / seen[places]
            for number, quantile in enumerate(quantiles):
                if quantile in (0, 1) and group.type != pa.bool_():
                    estimates[places, number] = _floats_of(group, high if quantile else low)
        has_numbers = np.zeros(len(schema), bool)
        for group in self._groups:
            if group.is_numeric:
                has_numbers[group.places] = seen[group.places] > 0
        has_quantiles = has_numbers & (self._numeric_place >= 0)
        return pa.table(
            [
                pa.array(schema.names, pa.string()),
                pa.array(map(str, schema.types), pa.string()),
                pa.array(np.full(len(schema), self.rows, np.int64)),
                pa.array(self.nulls),
                pa.array(self._nans),
                pa.array(low, pa.string()),
                pa.array(high, pa.string()),
                pa.array(mean, mask=~has_numbers),
                *(pa.array(numbers, mask=~has_quantiles) for numbers in estimates.T),
                pa.array(self._distinct.estimates()),
            ],
            schema=profile_schema(quantiles),
        )

    def _ranges(self, seen: npt.NDArray[np.int64]) -> tuple[list[str | None], list[str | None]]:
        """Minimum and maximum of each column as text; None where there is no value."""
        texts: tuple[list[str | None], list[str | None]] = ([None] * len(seen), [None] * len(seen))
        for group in self._groups:
            if group.dtype is not None:
                empty = seen[group.places] == 0
                for found, ends in zip(texts, (group.low, group.high), strict=True):
                    values = pa.array(ends, mask=empty)
                    values = values.cast(pa.bool_()) if group.type == pa.bool_() else values
                    values = values if values.type == group.type else values.view(group.type)
                    shown = values.cast(pa.string()).to_pylist()
                    for place, text in zip(group.places.tolist(), shown, strict=True):
                        found[place] = text
                continue
            for place, pair in zip(group.places.tolist(), group.ends, strict=True):
                if pair is not None:
                    texts[0][place], texts[1][place] = map(_text, pair)
        return texts


def _runs(group: _Group, columns: list[pa.Array], num_rows: int) -> Iterator[slice]:
    """Columns of a group to look at together."""
    at_once = max(1, _RUN_VALUES // num_rows)
    if group.dtype is not None:
        for start in range(0, len(group.places), at_once):
            yield slice(start, start + at_once)
        return
    sizes = (columns[place].nbytes for place in group.places)
    start = size = 0
    for number, one in enumerate(sizes):
        if number > start and (size + one > _RUN_BYTES or number - start == at_once):
            yield slice(start, number)
            start, size = number, 0
        size += one
    yield slice(start, len(group.places))


def _extend(group: _Group, run: slice, values: npt.NDArray[Any], present: _Present) -> None:
    low = values if present is None else np.where(present, values, _highest(values.dtype))
    high = values if present is None else np.where(present, values, _lowest(values.dtype))
    np.minimum(group.low[run], low.min(axis=1), out=group.low[run])
    np.maximum(group.high[run], high.max(axis=1), out=group.high[run])


def _extend_ends(group: _Group, run: slice, columns: list[pa.Array]) -> None:
    if pa.types.is_nested(group.type):
        return
    for place, column in zip(itertools.count(run.start), columns, strict=False):
        if column.null_count < len(column):
            group.ends[place] = _wider(group.ends[place], column)


def _wider(known: pa.Array | None, values: pa.Array) -> pa.Array:
    """Minimum and maximum of both."""
    ends = pc.min_max(values if known is None else pa.concat_arrays([known, values]))
    return pa.concat_arrays([pa.repeat(ends["min"], 1), pa.repeat(ends["max"], 1)])


def _is_number(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal128(kind)
        or types.is_boolean(kind)
    )


def _numpy_type(kind: pa.DataType) -> np.dtype[Any] | None:
    """The numbers that the values of a type are in memory, if they have an order as such."""
    types = pa.types
    if types.is_boolean(kind):
        return np.dtype(np.uint8)
    if types.is_integer(kind) or types.is_floating(kind):
        dtype: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return dtype
    if types.is_temporal(kind) and not types.is_interval(kind):
        return np.dtype(np.int32 if kind.bit_width == 32 else np.int64)
    return None


def _numbers(array: pa.Array, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    stored = array.buffers()[1]
    return np.frombuffer(stored, dtype)[array.offset : array.offset + len(array)]


def _as_floats(array: pa.Array) -> npt.NDArray[np.float64]:
    """Decimals as floats; anything where they are null."""
    words = np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)
    words = words[array.offset : array.offset + len(array)]
    low, high = np.ascontiguousarray(words[:, 0]), words[:, 1]
    # The sum of both words would lose what small negative numbers consist of.
    is_small = high == low >> 63
    numbers = np.where(is_small, low, high * 2.0**64 + low.view(np.uint64))
    floats: npt.NDArray[np.float64] = numbers / 10.0**array.type.scale
    return floats


def _floats_of(group: _Group, texts: list[str | None]) -> npt.NDArray[np.float64]:
    """Minimum or maximum of numbers, from their texts."""
    return np.array([float(texts[place] or "nan") for place in group.places.tolist()])


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtype.kind == "f" else np.iinfo(dtype).max


def _lowest(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _text(value: pa.Scalar) -> str:
    if pa.types.is_binary(value.type):
        text = value.as_py()[: _MAX_CHARACTERS + 1].hex()
    elif pa.types.is_string(value.type):
        text = value.as_py()
    else:
        text = value.cast(pa.string()).as_py()
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"
