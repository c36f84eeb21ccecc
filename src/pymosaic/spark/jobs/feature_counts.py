"""The features of long rows, counted in Spark or in the tasks that read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from pymosaic.errors import InvalidDataError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["Features", "count_features", "find_features", "unite_counts"]


@dataclass(frozen=True, slots=True)
class Features:
    """Totals of the long rows.

    Parameters
    ----------
    num_rows : int
        The number of long rows.
    counts : dict
        For each feature, the number of values per value column; sorted by name.
    """

    num_rows: int
    counts: dict[str, tuple[int, ...]]

    @classmethod
    def of(cls, tables: Sequence[pa.Table], nameless: int = 0) -> Features:
        """Unite tables of features, their numbers of rows, and of values per value column.

        Raises
        ------
        InvalidDataError
            If there are rows without a feature, which is null, or which are counted apart.
        """
        if not tables:
            return cls(0, {})
        features, rows, *counts = unite_counts(tables).to_pydict().values()
        if None in features:
            nameless += rows[features.index(None)]
        if nameless:
            raise InvalidDataError(f"{nameless} rows have no feature: their feature name is null")
        found = dict(zip(features, zip(*counts, strict=True), strict=True))
        return cls(sum(rows), {name: found[name] for name in sorted(found)})


def find_features(long: DataFrame, num_values: int) -> Features:
    """Read long rows with columns named by role, and count their features' values."""
    from pyspark.sql import functions as f

    values = [f"value_{place}" for place in range(num_values)]
    totals = [f.count(f.lit(1)).alias("rows"), *(f.count(x).alias(x) for x in values)]
    # As Arrow: a Row for each of 10,000 features is slow.
    return Features.of([long.groupBy("feature").agg(*totals).toArrow()])


def count_features(feature: pa.DictionaryArray, values: Sequence[pa.Array]) -> pa.Table:
    """The features of a batch, their numbers of rows, and of values per value column."""
    size = len(feature.dictionary)
    numbers = feature.indices.fill_null(size).to_numpy()
    rows = np.bincount(numbers, minlength=size + 1)
    columns: dict[str, pa.Array] = {
        "feature": pa.concat_arrays([feature.dictionary, pa.nulls(1, feature.dictionary.type)]),
        "rows": pa.array(rows),
    }
    for place, column in enumerate(values):
        counts = rows
        if column.null_count:
            valid = column.is_valid().to_numpy(zero_copy_only=False)
            counts = np.bincount(numbers[valid], minlength=size + 1)
        columns[f"value_{place}"] = pa.array(counts)
    return pa.table(columns).filter(pa.array(rows > 0))


def unite_counts(tables: Sequence[pa.Table]) -> pa.Table:
    """One table with the sums of several."""
    names = tables[0].schema.names
    united = pa.concat_tables([table.rename_columns(names) for table in tables])
    sums = united.group_by("feature").aggregate([(name, "sum") for name in names[1:]])
    return sums.select(["feature", *(f"{name}_sum" for name in names[1:])]).rename_columns(names)
