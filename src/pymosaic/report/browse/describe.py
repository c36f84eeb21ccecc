"""What a column holds: its profile, a histogram, its most frequent values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from pymosaic.profiling.columns import QUANTILES, ColumnProfiles
from pymosaic.report.values import shown_text

__all__ = ["describe"]

_BINS = 30
_TOP = 10


def describe(values: pa.ChunkedArray) -> dict[str, Any]:
    """Facts about the values of a column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.report.browse.describe import describe
    >>> found = describe(pa.chunked_array([["x", None, "x", "y"]]))
    >>> found["rows"], found["nulls"], found["top"]
    (4, 1, [['x', 2], ['y', 1]])
    """
    facts = _profile(values)
    facts["distinct"], facts["top"] = _most_frequent(values)
    histogram = _histogram(values)
    if histogram is not None:
        facts["histogram"] = histogram
    return facts


def _profile(values: pa.ChunkedArray) -> dict[str, Any]:
    """Counts; of numbers also the mean and quantiles, as texts."""
    schema = pa.schema([("values", values.type)])
    profiles = ColumnProfiles(schema)
    for chunk in values.chunks:
        profiles.add_batch(pa.RecordBatch.from_arrays([chunk], schema=schema))
    [found] = profiles.table(schema).to_pylist()
    facts = {key: found[key] for key in ("rows", "nulls", "nans")}
    if found["mean"] is not None:
        names = ["mean", *(f"{100 * quantile:g}%" for quantile in QUANTILES)]
        numbers = [(name, found[name]) for name in names if found[name] is not None]
        facts["numbers"] = [[name, f"{number:.6g}"] for name, number in numbers]
    return facts


def _most_frequent(values: pa.ChunkedArray) -> tuple[int | None, list[list[Any]]]:
    import pyarrow.compute as pc

    try:
        found = pc.value_counts(pc.drop_null(values))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return None, []  # lists and maps are not counted
    counts = found.field("counts").to_numpy(zero_copy_only=False)
    best = np.argsort(-counts, kind="stable")[:_TOP]
    names = found.field("values")
    return len(counts), [[shown_text(names[int(i)]), int(counts[i])] for i in best]


def _histogram(values: pa.ChunkedArray) -> dict[str, Any] | None:
    kind = values.type
    types = pa.types
    if types.is_temporal(kind) and not types.is_interval(kind) and not types.is_duration(kind):
        integer = pa.int32() if kind.bit_width == 32 else pa.int64()
        numbers = pa.chunked_array([chunk.view(integer) for chunk in values.chunks], integer)
    elif types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        numbers = values
    else:
        return None
    plain = numbers.drop_null().cast(pa.float64(), safe=False).to_numpy()
    plain = plain[np.isfinite(plain)]
    if not len(plain):
        return None
    low, high = float(plain.min()), float(plain.max())
    if low == high or not np.isfinite(high - low):
        return None
    bins, limits = _BINS, (low, high)
    span = high - low + 1
    if numbers is values and types.is_integer(kind) and span <= _BINS * _BINS:
        # Each bar stands for as many whole numbers; else some would stay empty.
        width = math.ceil(span / _BINS)
        bins = math.ceil(span / width)
        limits = (low - 0.5, low - 0.5 + width * bins)
    counts, _ = np.histogram(plain, bins, limits)
    import pyarrow.compute as pc

    ends = pc.min_max(values)
    return {
        "counts": counts.tolist(),
        "low": shown_text(ends["min"]),
        "high": shown_text(ends["max"]),
    }
