"""Wide rows of an entity each, made of its long rows in the tasks of a pivot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.errors import InvalidDataError, InvalidOptionError
from pymosaic.spark.jobs import packed_shuffle
from pymosaic.spark.jobs.entity_chunks import Chunk, chunks
from pymosaic.spark.jobs.feature_counts import Features
from pymosaic.spark.jobs.long_rows import LongColumns
from pymosaic.spark.types import conform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["WidePlan", "make_plan", "schema_of"]

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Part:
    """The features with values in one value column.

    Parameters
    ----------
    places : numpy.ndarray
        Positions of their columns.
    numbers : numpy.ndarray
        For each of all features its number among these, or -1; and -1 for no feature.
    """

    places: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WidePlan:
    """The input of tasks: the schemas of long and wide rows, and which values go where."""

    long_schema: pa.Schema
    schema: pa.Schema
    num_keys: int
    features: pa.Array
    parts: tuple[_Part, ...]
    names: LongColumns

    @property
    def _packed_schema(self) -> pa.Schema:
        return self.long_schema.set(self.num_keys, pa.field("feature", pa.int32()))

    def encode(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Long rows with the numbers of features instead of their names."""
        columns = rows.columns
        feature = columns[self.num_keys].dictionary_encode()
        numbers = pc.index_in(feature.dictionary, value_set=self.features)
        columns[self.num_keys] = numbers.take(feature.indices)
        return pa.RecordBatch.from_arrays(columns, schema=self._packed_schema)

    def assemble_packed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Wide batches from packed rows."""
        width = len(self.schema)
        for chunk in packed_shuffle.unpack(batches, self.encode, self.num_keys, width):
            yield self._widen(chunk)

    def assemble(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Wide batches from long rows sorted by entity."""
        conformed = (conform(batch, self.long_schema) for batch in batches)
        for chunk in chunks(conformed, self.num_keys, len(self.schema)):
            yield self._widen(Chunk(self.encode(chunk.rows), chunk.entity))

    def _widen(self, chunk: Chunk) -> pa.RecordBatch:
        arrays: list[pa.Array] = [*chunk.keys(self.num_keys)]
        arrays += [None] * (len(self.schema) - self.num_keys)
        count = chunk.num_entities
        features = chunk.rows.column(self.num_keys).fill_null(-1).to_numpy()
        for number, part in enumerate(self.parts):
            values = chunk.rows.column(self.num_keys + 1 + number)
            rows = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
            which = part.numbers[features[rows]]
            if len(rows) and which.min() < 0:
                raise InvalidDataError(
                    f"column {self.names.values[number]!r} has values of features that it did not "
                    "have before: the source changed while it was read"
                )
            cells = which * count + chunk.entity[rows]
            # For each cell, column by column, the long row that it comes from.
            origin = np.full(len(part.places) * count, -1, np.int64)
            origin[cells] = rows
            missing = origin < 0
            if len(origin) - np.count_nonzero(missing) != len(rows):
                raise self._several(chunk, cells, rows)
            taken = values.take(pa.array(origin, mask=missing))
            for index, place in enumerate(part.places.tolist()):
                arrays[place] = taken.slice(index * count, count)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _several(
        self, chunk: Chunk, cells: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
    ) -> InvalidDataError:
        order = np.argsort(cells, kind="stable")
        repeated = order[1:][cells[order][1:] == cells[order][:-1]]
        row = chunk.rows.slice(int(rows[repeated[0]]), 1).to_pylist()[0]
        keys = [f"{name}={row[f'key_{i}']!r}" for i, name in enumerate(self.names.entity)]
        feature = self.features[row["feature"]].as_py()
        return InvalidDataError(
            f"several values of feature {feature!r} for {', '.join(keys)}; say what becomes "
            "of them: duplicates='last', 'mean', …"
        )


def schema_of(names: LongColumns, long: DataFrame) -> pa.Schema:
    """The Arrow schema of long rows: keys, feature, values."""
    from pyspark.sql.types import StructType

    from pymosaic.spark.types import arrow_schema

    width = len(names.entity) + 1 + len(names.values)
    return arrow_schema(StructType(long.schema.fields[:width]))


def make_plan(
    names: LongColumns, shuffled: DataFrame, found: Features, column_names: str
) -> WidePlan:
    """Decide on the columns of wide rows, and which values go where."""
    from pyspark.sql.types import StructType

    from pymosaic.spark.types import stored_schema

    num_keys = len(names.entity)
    long_schema = schema_of(names, shuffled)
    columns: dict[str, tuple[str, int]] = {}
    for feature, counts in found.counts.items():
        holders = [number for number, count in enumerate(counts) if count] or [0]
        for number in holders:
            name = _column_name(column_names, feature, names.values[number])
            if name in columns or name in names.entity:
                raise _name_taken(name, feature, names, holders)
            columns[name] = (feature, number)
    ordered = sorted(columns)
    types = long_schema.types[num_keys + 1 :]
    keys = stored_schema(StructType(shuffled.schema.fields[:num_keys]))
    fields = [
        pa.field(name, field.type, metadata=field.metadata)
        for name, field in zip(names.entity, keys, strict=True)
    ]
    fields += [pa.field(name, types[columns[name][1]]) for name in ordered]
    number_of = {feature: number for number, feature in enumerate(found.counts)}
    parts: list[tuple[list[int], list[int]]] = [([], []) for _ in names.values]
    for place, name in enumerate(ordered, num_keys):
        feature, number = columns[name]
        parts[number][0].append(place)
        parts[number][1].append(number_of[feature])
    return WidePlan(
        long_schema,
        pa.schema(fields),
        num_keys,
        pa.array(found.counts, pa.string()),
        tuple(_part(places, features, len(found.counts)) for places, features in parts),
        names,
    )


def _part(places: list[int], features: list[int], num_features: int) -> _Part:
    numbers = np.full(num_features + 1, -1, np.int64)
    numbers[features] = np.arange(len(features))
    return _Part(np.array(places, np.int64), numbers)


def _column_name(template: str, feature: str, value: str) -> str:
    if "{feature}" not in template:
        raise InvalidOptionError(f"column_names must contain {{feature}}, got {template!r}")
    return template.replace("{value}", value).replace("{feature}", feature)


def _name_taken(
    name: str, feature: str, names: LongColumns, holders: list[int]
) -> InvalidDataError:
    if name in names.entity:
        return InvalidDataError(
            f"feature {feature!r} would make a column {name!r}, which is one of entity; rename it, "
            "or give column_names='feature_{feature}'"
        )
    if len(holders) > 1:
        shown = ", ".join(names.values[number] for number in holders[:_SHOWN])
        return InvalidDataError(
            f"feature {feature!r} has values in several columns ({shown}); "
            "column_names='{feature}_{value}' makes a column for each"
        )
    return InvalidDataError(f"two features make a column {name!r}: choose other column_names")
