"""Wide rows of an entity each, made of its long rows in the tasks of a pivot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.errors import InvalidDataError, InvalidOptionError
from pymosaic.spark.jobs import packed_shuffle
from pymosaic.spark.jobs.cells import NumberedChunk, NumberedRows, feature_numbers, in_cells
from pymosaic.spark.jobs.entity_chunks import chunks
from pymosaic.spark.jobs.feature_counts import Features
from pymosaic.spark.jobs.long_rows import LongColumns
from pymosaic.spark.jobs.payloads import Payload
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

    def assemble_packed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Wide batches from packed rows."""
        types = self.long_schema.types
        keys, values = types[: self.num_keys], types[self.num_keys + 1 :]
        payloads = (
            Payload.parse(payload.as_buffer(), keys, values)
            for batch in batches
            for payload in batch.column(0)
        )
        for rows in packed_shuffle.unpack(payloads, self.features, len(self.schema)):
            yield self._widen(rows)

    def assemble(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Wide batches from long rows sorted by entity."""
        conformed = (conform(batch, self.long_schema) for batch in batches)
        for chunk in chunks(conformed, self.num_keys, len(self.schema)):
            columns = chunk.rows.columns
            feature = columns[self.num_keys].dictionary_encode()
            numbers = feature_numbers(feature.dictionary, self.features)
            indices = feature.indices.fill_null(len(feature.dictionary)).to_numpy()
            rows = NumberedRows(
                chunk.entity, np.append(numbers, -1)[indices], columns[self.num_keys + 1 :]
            )
            yield self._widen(NumberedChunk(chunk.keys(self.num_keys), [rows]))

    def _widen(self, chunk: NumberedChunk) -> pa.RecordBatch:
        arrays: list[pa.Array] = [*chunk.keys]
        arrays += [None] * (len(self.schema) - self.num_keys)
        count = chunk.num_entities
        for number, part in enumerate(self.parts):
            values: list[pa.Array] = []
            cells: list[npt.NDArray[np.int64]] = []
            for rows in chunk.pieces:
                column = rows.values[number]
                entity, feature = rows.entity, rows.feature
                if column.null_count:
                    valid = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
                    column = column.take(pa.array(valid))
                    entity, feature = entity[valid], feature[valid]
                which = part.numbers[feature]
                if len(which) and which.min() < 0:
                    raise InvalidDataError(
                        f"column {self.names.values[number]!r} has values of features that it did "
                        "not have before: the source changed while it was read"
                    )
                values.append(column)
                cells.append(which * count + entity)
            found = in_cells(self._value_type(number), values, cells, len(part.places) * count)
            if len(found) - found.null_count != sum(map(len, cells)):
                raise self._several(chunk, cells, part)
            for index, place in enumerate(part.places.tolist()):
                arrays[place] = found.slice(index * count, count)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _value_type(self, number: int) -> pa.DataType:
        return self.long_schema.types[self.num_keys + 1 + number]

    def _several(
        self, chunk: NumberedChunk, cells: list[npt.NDArray[np.int64]], part: _Part
    ) -> InvalidDataError:
        found, counts = np.unique(np.concatenate(cells), return_counts=True)
        which, entity = divmod(int(found[counts > 1][0]), chunk.num_entities)
        keys = [
            f"{name}={column[entity].as_py()!r}"
            for name, column in zip(self.names.entity, chunk.keys, strict=True)
        ]
        feature = self.features[np.flatnonzero(part.numbers == which)[0]].as_py()
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
