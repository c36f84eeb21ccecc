"""The pivot job: long rows to one wide row per entity, with 10,000 columns and more.

::

    long rows ─► columns and their types      one aggregate by feature
              ─► shuffle by entity, sorted     a few columns wide, whatever the result's width
              ─► in each task: chunks of whole entities ─► wide Arrow batches ─► Mosaic files
              ─► one commit

No Spark plan has the wide columns; only the tasks do, as Arrow arrays.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pymosaic.errors import InvalidDataError, InvalidOptionError
from pymosaic.file.options import check_int
from pymosaic.progress import Progress
from pymosaic.spark.jobs import packed_shuffle
from pymosaic.spark.jobs.entity_chunks import Chunk, chunks
from pymosaic.spark.jobs.frames import (
    Source,
    check_apart,
    column,
    is_case_sensitive,
    key_column,
    load,
    names_of,
    resolve_columns,
)
from pymosaic.spark.jobs.new_partitions import known_values, without_values
from pymosaic.spark.jobs.report import JobReport, Stopwatch
from pymosaic.spark.jobs.tasks import Watch
from pymosaic.spark.jobs.writing import open_writer, write_by_tasks
from pymosaic.spark.types import conform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["PivotReport", "check_keys", "default_partitions", "pivot"]

# How to combine the non-null values of one cell, in Spark SQL.
_POLICIES = {
    "error": (
        "CASE WHEN count({value}) <= 1 THEN any_value({value}, true) "
        "ELSE raise_error('several values of one feature for one entity') END"
    ),
    "first": "min_by({value}, struct({order}{value})) FILTER (WHERE {value} IS NOT NULL)",
    "last": "max_by({value}, struct({order}{value})) FILTER (WHERE {value} IS NOT NULL)",
    "min": "min({value})",
    "max": "max({value})",
    "sum": "sum({value})",
    "mean": "avg({value})",
}
_NEED_NUMBERS = ("sum", "mean")
_NEED_ORDER = ("first", "last")
_ROWS_PER_PARTITION = 4_000_000
_LEAST_ROWS_PER_PARTITION = 50_000
# What a string takes beyond its characters, and an estimate of those of a key.
_OFFSET_BYTES = 4
_KEY_BYTES = 32
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PivotReport(JobReport):
    """The result of a pivot; ``rows_in`` counts long rows, ``features`` their distinct names."""

    rows_in: int
    features: int


def pivot(
    spark: SparkSession,
    source: Source,
    target: str | os.PathLike[str],
    *,
    entity: str | Sequence[str],
    feature: str,
    values: str | Sequence[str] | None = None,
    column_names: str = "{feature}",
    duplicates: str | Mapping[str, str] = "error",
    order_by: str | Sequence[str] | None = None,
    mode: str = "error",
    partition_by: str | Sequence[str] | None = None,
    partitions: int | None = None,
    incremental: str | None = None,
    format: str | None = None,
    read_options: Mapping[str, object] | None = None,
    progress: Progress | None = None,
    **options: object,
) -> PivotReport:
    """Pivot long rows to one wide row per entity, and write them as Mosaic files.

    Columns are those of ``entity``, then one for each feature, sorted by name. A missing or null
    value gives null; an entity with only nulls still gets a row. Null in a column of ``entity`` is
    a value like any other, as in GROUP BY. In each file, rows are sorted by entity.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session.
    source : DataFrame, str or path-like
        The long rows; a path or table as Spark reads it.
    target : str or path-like
        The dataset's directory.
    entity : str or list of str
        Columns that identify an entity.
    feature : str
        The column with the feature names; other types than strings are cast by Spark.
    values : str or list of str, optional
        Value columns, of any types that can be stored; by default all others. A feature gets the
        type of the column that has its values; a feature without values that of the first.
    column_names : str
        Pattern for column names. If a feature has values in several columns of ``values``,
        ``"{feature}_{value}"`` makes a column for each; otherwise that is an error.
    duplicates : str or dict, optional
        What to do with several non-null values for one cell; nulls never count.

        - ``"error"``: :class:`pymosaic.InvalidDataError` that names one of them.
        - ``"first"``, ``"last"``: in the order of ``order_by``, nulls first; ties go to the row
          with the smallest (for last: largest) value.
        - ``"min"``, ``"max"``: in Spark's order, where NaN is larger than all numbers.
        - ``"sum"``, ``"mean"``: as in Spark, including types: integers sum to bigint, and overflow
          is an error; means are double, or decimals with four more digits.

        As a dict, one policy for each column of ``values``.
    order_by : str or list of str, optional
        Columns that define the order for ``"first"`` and ``"last"``.
    mode : {"error", "append", "overwrite", "ignore"}
        What to do if the target has files.
    partition_by : str or list of str, optional
        Columns that become ``key=value`` directories.
    partitions : int, optional
        Number of tasks to spread the entities over; by default one per 4 million long rows, and as
        many as can run at once if there is enough work for them.
    incremental : str, optional
        A column of ``entity`` and ``partition_by``, such as a day: only rows with values that the
        target has no partition for are read, and their wide rows are appended. Rows that arrive
        late, for a value that is there, are not looked at.
    format, read_options
        How to read a path, see :func:`pymosaic.spark.jobs.convert`.
    progress : callable, optional
        Called with tasks done, total tasks and ``"tasks"``.
    **options
        Options of the `mosaic` source, by their names in Spark: ``compressionLevel=9``.

    Returns
    -------
    PivotReport

    Examples
    --------
    >>> from pymosaic.spark import jobs
    >>> rows = [("ann", "height", 1.68), ("ann", "weight", 60.0), ("bob", "height", 1.81)]
    >>> long = spark.createDataFrame(rows, "person string, feature string, value double")
    >>> report = jobs.pivot(spark, long, "people", entity="person", feature="feature")
    >>> report.rows, report.columns
    (2, 3)
    >>> spark.read.format("mosaic").load("people").orderBy("person").show()
    +------+------+------+
    |person|height|weight|
    +------+------+------+
    |   ann|  1.68|  60.0|
    |   bob|  1.81|  NULL|
    +------+------+------+
    """
    from pymosaic.spark.session import enable

    stopwatch = Stopwatch()
    enable(spark)
    frame = load(spark, source, format, read_options)
    if incremental is not None:
        if mode not in ("error", "append"):
            raise InvalidOptionError(f"incremental appends: mode={mode!r} does not go with it")
        mode = "append"
    check_apart([frame], target, "mosaic", mode)
    names = _Names.check(frame, entity, feature, values, order_by, duplicates)
    known: frozenset[str | None] = frozenset()
    if incremental is not None:
        (key,) = resolve_columns(frame, "incremental", (incremental,))
        if key not in names.entity or key not in names_of("partition_by", partition_by):
            raise InvalidOptionError(
                f"incremental: {key!r} must be one of entity and of partition_by"
            )
        known = known_values(target, _storage_of(options), key)
        frame = without_values(frame, key, known)
    watch = Watch(spark, progress)
    long = names.select(frame)
    found = watch.run(lambda: _find_features(long, len(names.values)))
    if known and not found.num_rows:
        return PivotReport(
            job="pivot",
            rows=0,
            columns=0,
            files=0,
            bytes_in=0,
            bytes_out=0,
            seconds=stopwatch.seconds,
            rows_in=0,
            features=0,
        )
    if partitions is None:
        partitions = default_partitions(spark, found.num_rows)
    check_int("partitions", partitions, 1, 1 << 20)
    keys = [f"key_{place}" for place in range(len(names.entity))]
    cells = names.aggregate(long.repartition(partitions, *keys), keys)
    plan = _plan(names, cells, found, column_names)
    from pymosaic.spark.types import spark_schema

    writer = open_writer(
        target,
        spark_schema(plan.schema),
        mode=mode,
        partition_by=names_of("partition_by", partition_by) or None,
        options=options,
        case_sensitive=is_case_sensitive(spark),
    )
    if names.combine_nothing and plan.fits(found, partitions):
        packed = packed_shuffle.shuffle(long, keys, partitions, plan.encode)
        written = write_by_tasks(watch, packed, writer, plan.assemble_packed)
    else:
        written = write_by_tasks(watch, cells.sortWithinPartitions(*keys), writer, plan.assemble)
    watch.finish()
    return PivotReport(
        job="pivot",
        rows=written.rows,
        columns=len(plan.schema),
        files=written.files,
        bytes_in=written.bytes_in,
        bytes_out=written.bytes_out,
        seconds=stopwatch.seconds,
        rows_in=found.num_rows,
        features=len(found.counts),
    )


def _storage_of(options: Mapping[str, object]) -> dict[str, str]:
    prefix = "storage."
    return {
        key.removeprefix(prefix): str(value)
        for key, value in options.items()
        if key.startswith(prefix)
    }


def default_partitions(spark: SparkSession, num_rows: int) -> int:
    """The number of tasks for rows that are shuffled by key."""
    context = getattr(spark, "sparkContext", None) if hasattr(spark, "_jsparkSession") else None
    parallel = context.defaultParallelism if context is not None else 8
    busy = min(parallel, num_rows // _LEAST_ROWS_PER_PARTITION)
    return max(1, busy, -(-num_rows // _ROWS_PER_PARTITION))


def check_keys(frame: DataFrame, option: str, names: Sequence[str]) -> None:
    """Refuse keys that cannot be compared."""
    for name in names:
        text = frame.schema.fields[frame.columns.index(name)].dataType.simpleString()
        if text.startswith(("array", "map", "struct", "variant")):
            raise InvalidOptionError(f"{option}: column {name!r} of type {text} cannot be a key")


@dataclass(frozen=True, slots=True)
class _Features:
    """Totals of the long rows.

    Parameters
    ----------
    num_rows : int
        The number of long rows.
    num_bytes : int
        What strings and binary values take.
    counts : dict
        For each feature, the number of values per value column.
    """

    num_rows: int
    num_bytes: int
    counts: dict[str, tuple[int, ...]]


def _find_features(long: DataFrame, num_values: int) -> _Features:
    from pyspark.sql import functions as f
    from pyspark.sql.types import BinaryType, StringType

    values = [f"value_{place}" for place in range(num_values)]
    size = f.lit(0).cast("long")
    for name in values:
        if isinstance(long.schema[name].dataType, StringType | BinaryType):
            size += f.coalesce(f.sum(f.octet_length(name)), f.lit(0))
    totals = [f.count(f.lit(1)).alias("rows"), size.alias("bytes"), *map(f.count, values)]
    # As Arrow: a Row for each of 10,000 features is slow.
    table = long.groupBy("feature").agg(*totals).toArrow()
    features, rows, sizes, *counts = table.to_pydict().values()
    if None in features:
        nameless = rows[features.index(None)]
        raise InvalidDataError(f"{nameless} rows have no feature: their feature name is null")
    found = dict(zip(features, zip(*counts, strict=True), strict=True))
    return _Features(sum(rows), sum(sizes), {name: found[name] for name in sorted(found)})


@dataclass(frozen=True, slots=True)
class _Names:
    """The columns of the long rows, by role."""

    entity: tuple[str, ...]
    feature: str
    values: tuple[str, ...]
    order_by: tuple[str, ...]
    policies: tuple[str, ...]

    @classmethod
    def check(
        cls, frame: DataFrame, entity: Any, feature: str, values: Any, order_by: Any, policies: Any
    ) -> _Names:
        """Check the arguments before anything is read."""
        keys = resolve_columns(frame, "entity", names_of("entity", entity))
        order = resolve_columns(frame, "order_by", names_of("order_by", order_by))
        (feature,) = resolve_columns(frame, "feature", (feature,))
        if not keys:
            raise InvalidOptionError("entity must name at least one column")
        if values is None:
            chosen = tuple(x for x in frame.columns if x not in (*keys, feature, *order))
        else:
            chosen = resolve_columns(frame, "values", names_of("values", values))
        if not chosen:
            raise InvalidOptionError("values: no column is left that could hold values")
        if twice := {feature, *keys} & set(chosen) | {feature} & set(keys):
            raise InvalidOptionError(f"column {twice.pop()!r} cannot be used twice")
        check_keys(frame, "entity", keys)
        names = cls(keys, feature, chosen, order, _policies(policies, chosen))
        names._check_types(frame)
        return names

    def _check_types(self, frame: DataFrame) -> None:
        from pyspark.sql.types import NumericType, StructType

        from pymosaic.spark.types import check_storable

        fields = dict(zip(frame.columns, frame.schema.fields, strict=True))
        used = (*self.entity, self.feature, *self.values)
        check_storable(StructType([fields[name] for name in used]))
        for name, policy in zip(self.values, self.policies, strict=True):
            data_type = fields[name].dataType
            text = data_type.simpleString()
            if policy in _NEED_NUMBERS and not isinstance(data_type, NumericType):
                raise InvalidOptionError(
                    f"duplicates={policy!r} is for numbers, but values column {name!r} has type "
                    f"{text}; give a policy for each: {{{name!r}: 'last', …}}"
                )
            if policy != "error" and text.startswith("map"):
                raise InvalidOptionError(
                    f"duplicates={policy!r}: maps of column {name!r} have no order"
                )
            if policy in _NEED_ORDER and not self.order_by:
                raise InvalidOptionError(
                    f"duplicates={policy!r} needs order_by: rows have no order in Spark"
                )

    @property
    def combine_nothing(self) -> bool:
        """Whether several values of a cell are an error."""
        return set(self.policies) == {"error"}

    def select(self, frame: DataFrame) -> DataFrame:
        """The rows, with columns renamed by role."""
        groups = {"value": self.values, "order": self.order_by}
        if not set(self.policies) & set(_NEED_ORDER):
            groups["order"] = ()
        chosen = {
            use: [column(name).alias(f"{use}_{place}") for place, name in enumerate(names)]
            for use, names in groups.items()
        }
        chosen["key"] = [
            key_column(frame, name).alias(f"key_{place}") for place, name in enumerate(self.entity)
        ]
        feature = column(self.feature).cast("string").alias("feature")
        return frame.select(*chosen["key"], feature, *chosen["value"], *chosen["order"])

    def aggregate(self, long: DataFrame, keys: list[str]) -> DataFrame:
        """One row per cell, with a policy combining several values; without another shuffle."""
        from pyspark.sql import functions as f

        if self.combine_nothing:
            return long
        order = "".join(f"order_{place}, " for place in range(len(self.order_by)))
        made = [
            f.expr(_POLICIES[policy].format(value=f"value_{place}", order=order)).alias(
                f"value_{place}"
            )
            for place, policy in enumerate(self.policies)
        ]
        return long.groupBy(*keys, "feature").agg(*made)


def _policies(given: Any, values: tuple[str, ...]) -> tuple[str, ...]:
    if isinstance(given, Mapping):
        if unknown := set(given) - set(values):
            raise InvalidOptionError(f"duplicates: {unknown.pop()!r} is not one of {list(values)}")
        chosen = tuple(given.get(name, "error") for name in values)
    else:
        chosen = (given,) * len(values)
    for policy in chosen:
        if policy not in _POLICIES:
            raise InvalidOptionError(
                f"duplicates must be one of {', '.join(_POLICIES)}, got {policy!r}"
            )
    return chosen


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
class _Plan:
    """The input of tasks: the schemas of long and wide rows, and which values go where."""

    long_schema: pa.Schema
    schema: pa.Schema
    num_keys: int
    features: pa.Array
    parts: tuple[_Part, ...]
    names: _Names

    def fits(self, found: _Features, partitions: int) -> bool:
        """Whether tasks can hold their long rows."""
        types = self._packed_schema.types
        if not all(map(packed_shuffle.is_plain, types)):
            return False
        variable = [packed_shuffle.is_variable(kind) for kind in types]
        width = sum(
            _OFFSET_BYTES if varies else kind.bit_width / 8
            for kind, varies in zip(types, variable, strict=True)
        )
        width += _KEY_BYTES * sum(variable[: self.num_keys])
        return packed_shuffle.fits(int(found.num_rows * width) + found.num_bytes, partitions)

    @property
    def _packed_schema(self) -> pa.Schema:
        return self.long_schema.set(self.num_keys, pa.field("feature", pa.int32()))

    def encode(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Long rows with the numbers of features instead of their names."""
        rows = conform(rows, self.long_schema)
        columns = rows.columns
        columns[self.num_keys] = pc.index_in(rows.column(self.num_keys), value_set=self.features)
        return pa.RecordBatch.from_arrays(columns, schema=self._packed_schema)

    def assemble_packed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Wide batches from packed rows."""
        width = len(self.schema)
        for chunk in packed_shuffle.unpack(batches, self._packed_schema, self.num_keys, width):
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


def _plan(names: _Names, shuffled: DataFrame, found: _Features, column_names: str) -> _Plan:
    from pyspark.sql.types import StructType

    from pymosaic.spark.types import arrow_schema, stored_schema

    num_keys = len(names.entity)
    width = num_keys + 1 + len(names.values)
    long_schema = arrow_schema(StructType(shuffled.schema.fields[:width]))
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
    return _Plan(
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


def _name_taken(name: str, feature: str, names: _Names, holders: list[int]) -> InvalidDataError:
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
