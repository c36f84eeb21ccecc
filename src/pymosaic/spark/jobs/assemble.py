"""Joining many narrow tables by key into one wide table.

Rows of all tables go through one shuffle in one shape: keys, the number of the table, and for each
value type one array with the row's values of that type. Tasks unpack the arrays into the columns of
the wide table. No Spark plan has the wide columns.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.errors import InvalidDataError, InvalidOptionError
from pymosaic.file.options import check_int
from pymosaic.progress import Progress
from pymosaic.spark.jobs.entity_chunks import Chunk, chunks
from pymosaic.spark.jobs.frames import (
    Source,
    check_apart,
    check_keys,
    column,
    default_partitions,
    is_case_sensitive,
    key_column,
    load,
    names_of,
    resolve_columns,
)
from pymosaic.spark.jobs.report import JobReport, Stopwatch
from pymosaic.spark.jobs.tasks import Watch
from pymosaic.spark.jobs.writing import open_writer, write_by_tasks
from pymosaic.spark.types import conform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["AssembleReport", "assemble"]

_HOW = ("outer", "inner", "left")


@dataclass(frozen=True, slots=True, kw_only=True)
class AssembleReport(JobReport):
    """The result, with the number of tables and of their rows."""

    tables: int
    rows_in: int


def assemble(
    spark: SparkSession,
    tables: Mapping[str, Source] | Sequence[Source],
    target: str | os.PathLike[str],
    *,
    on: str | Sequence[str],
    how: str = "outer",
    column_names: str = "{column}",
    mode: str = "error",
    partition_by: str | Sequence[str] | None = None,
    partitions: int | None = None,
    format: str | None = None,
    read_options: Mapping[str, object] | None = None,
    progress: Progress | None = None,
    **options: object,
) -> AssembleReport:
    """Join tables by key into one table as wide as all of them together.

    Columns are the keys, then those of each table in turn. Rows are sorted by their keys in each
    file. Keys must be unique in each table; null is a key like any other.

    Parameters
    ----------
    spark : pyspark.sql.SparkSession
        The session.
    tables : dict of str to table, or list of tables
        DataFrames, or paths that Spark reads; tables in a list are named 0, 1, ….
    target : str or path-like
        The dataset's directory.
    on : str or list of str
        The key columns, which must have the same types in all tables.
    how : {"outer", "inner", "left"}
        Which keys get a row: those in any table, in all tables, or in the first.
    column_names : str
        Pattern for column names: ``"{table}_{column}"`` if tables share column names.
    mode : {"error", "append", "overwrite", "ignore"}
        What to do if the target has files.
    partition_by : str or list of str, optional
        Columns that become ``key=value`` directories.
    partitions : int, optional
        Number of tasks to spread the keys over; by default as for
        :func:`pymosaic.spark.jobs.pivot`, for which the rows are counted first.
    format, read_options
        How to read paths, see :func:`pymosaic.spark.jobs.convert`.
    progress : callable, optional
        Called with tasks done, total tasks and ``"tasks"``.
    **options
        Options of the `mosaic` source, by their names in Spark: ``compressionLevel=9``.

    Returns
    -------
    AssembleReport

    Raises
    ------
    InvalidDataError
        If a table has several rows with one key; the message names both.

    Examples
    --------
    >>> from pymosaic.spark import jobs
    >>> people = spark.createDataFrame([(1, "Ann"), (2, "Bob")], "id int, name string")
    >>> visits = spark.createDataFrame([(2, 17), (3, 4)], "id int, visits int")
    >>> report = jobs.assemble(spark, [people, visits], "wide", on="id")
    >>> report.rows, report.columns
    (3, 3)
    """
    from pymosaic.spark.session import enable
    from pymosaic.spark.types import spark_schema

    stopwatch = Stopwatch()
    if how not in _HOW:
        raise InvalidOptionError(f"how must be one of {', '.join(_HOW)}, got {how!r}")
    enable(spark)
    named = tables if isinstance(tables, Mapping) else dict(enumerate(tables))
    frames = {str(name): load(spark, x, format, read_options) for name, x in named.items()}
    check_apart(frames.values(), target, "mosaic", mode)
    keys = names_of("on", on)
    frames, keys = _check_tables(frames, keys)
    plan = _plan(frames, keys, how, column_names)
    watch = Watch(spark, progress)
    if partitions is None:
        counted = frames.values()
        partitions = default_partitions(spark, sum(watch.run(frame.count) for frame in counted))
    check_int("partitions", partitions, 1, 1 << 20)
    writer = open_writer(
        target,
        spark_schema(plan.schema),
        mode=mode,
        partition_by=names_of("partition_by", partition_by) or None,
        options=options,
        case_sensitive=is_case_sensitive(spark),
    )
    sort = [f"key_{place}" for place in range(len(keys))]
    shuffled = plan.unite(frames).repartition(partitions, *sort).sortWithinPartitions(*sort)
    written = write_by_tasks(watch, shuffled, writer, plan.assemble)
    watch.finish()
    return AssembleReport(
        job="assemble",
        rows=written.rows,
        columns=len(plan.schema),
        files=written.files,
        bytes_in=written.bytes_in,
        bytes_out=written.bytes_out,
        seconds=stopwatch.seconds,
        tables=len(frames),
        rows_in=written.rows_in,
    )


def _check_tables(
    frames: dict[str, DataFrame], keys: tuple[str, ...]
) -> tuple[dict[str, DataFrame], tuple[str, ...]]:
    """The tables, and their keys, in the spelling of the first table."""
    from pyspark.sql.types import StructType

    from pymosaic.spark.types import check_storable

    if not frames:
        raise InvalidOptionError("tables must not be empty")
    if not keys:
        raise InvalidOptionError("on must name at least one column")
    first: dict[str, str] | None = None
    found: dict[str, DataFrame] = {}
    for table, frame in frames.items():
        spelled = resolve_columns(frame, "on", keys, f"table {table!r}")
        if first is None:
            keys = spelled
        elif spelled != keys:
            frame = frame.withColumnsRenamed(dict(zip(spelled, keys, strict=True)))
        found[table] = frame
        check_keys(frame, "on", keys)
        check_storable(frame.schema, keeps_collations=True)
        # Tasks compare keys by their bytes.
        check_storable(StructType([frame.schema[name] for name in keys]))
        types = {x.name: x.dataType.simpleString() for x in frame.schema.fields if x.name in keys}
        first = first or types
        for name in keys:
            if types[name] != first[name]:
                raise InvalidOptionError(
                    f"on: column {name!r} has type {types[name]} in table {table!r}, but type "
                    f"{first[name]} in the first"
                )
    return found, keys


@dataclass(frozen=True, slots=True)
class _Part:
    """The columns of one table with one type, and their positions in the wide table."""

    columns: tuple[str, ...]
    places: npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The input of tasks: for each table and type, which values go where."""

    tables: tuple[str, ...]
    keys: tuple[str, ...]
    how: str
    # Types of values, as Spark spells them; one array of each is in a row.
    types: tuple[str, ...]
    parts: dict[tuple[int, int], _Part]
    long_schema: pa.Schema
    schema: pa.Schema

    def unite(self, frames: dict[str, DataFrame]) -> DataFrame:
        """The rows of all tables in one shape."""
        from pyspark.sql import functions as f

        shaped = []
        for table, frame in enumerate(frames.values()):
            keys = [
                key_column(frame, name).alias(f"key_{place}")
                for place, name in enumerate(self.keys)
            ]
            arrays = []
            for number, text in enumerate(self.types):
                part = self.parts.get((table, number))
                values = f.lit(None) if part is None else f.array(*map(column, part.columns))
                arrays.append(values.cast(f"array<{text}>").alias(f"values_{number}"))
            shaped.append(frame.select(*keys, f.lit(table).alias("table"), *arrays))
        return reduce(lambda one, other: one.unionAll(other), shaped)

    def assemble(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Wide batches from rows sorted by key."""
        conformed = (conform(batch, self.long_schema) for batch in batches)
        for chunk in chunks(conformed, len(self.keys), len(self.schema)):
            made = self._widen(chunk)
            if made.num_rows:
                yield made

    def _widen(self, chunk: Chunk) -> pa.RecordBatch:
        num_keys = len(self.keys)
        count = chunk.num_entities
        arrays: list[pa.Array] = [*chunk.keys(num_keys)]
        arrays += [None] * (len(self.schema) - num_keys)
        number = chunk.rows.column(num_keys).to_numpy()
        present = np.zeros((len(self.tables), count), bool)
        present[number, chunk.entity] = True
        if np.count_nonzero(present) != chunk.rows.num_rows:
            raise self._several(chunk, number)
        rows = [np.flatnonzero(number == table) for table in range(len(self.tables))]
        for (table, kind), part in self.parts.items():
            lists = chunk.rows.column(num_keys + 1 + kind)
            width = len(part.places)
            # The start of the array of each entity's row among all values, -1 if it has none.
            begins = np.full(count, -1, np.int64)
            begins[chunk.entity[rows[table]]] = lists.offsets.to_numpy()[rows[table]]
            origin = begins + np.arange(width)[:, np.newaxis]
            missing = np.broadcast_to(begins < 0, origin.shape)
            taken = lists.values.take(pa.array(origin.ravel(), mask=missing.ravel()))
            for index, place in enumerate(part.places.tolist()):
                arrays[place] = taken.slice(index * count, count)
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        if self.how == "outer":
            return batch
        return batch.filter(pa.array(present[0] if self.how == "left" else present.all(axis=0)))

    def _several(self, chunk: Chunk, number: npt.NDArray[Any]) -> InvalidDataError:
        pairs = chunk.entity * len(self.tables) + number
        order = np.argsort(pairs, kind="stable")
        row = int(order[1:][pairs[order][1:] == pairs[order][:-1]][0])
        values = chunk.rows.slice(row, 1).to_pylist()[0]
        shown = ", ".join(f"{x}={values[f'key_{place}']!r}" for place, x in enumerate(self.keys))
        return InvalidDataError(
            f"table {self.tables[number[row]]!r} has several rows with the key {shown}"
        )


def _plan(
    frames: dict[str, DataFrame], keys: tuple[str, ...], how: str, column_names: str
) -> _Plan:
    from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

    from pymosaic.spark.types import arrow_schema, stored_schema

    if "{column}" not in column_names:
        raise InvalidOptionError(f"column_names must contain {{column}}, got {column_names!r}")
    first = next(iter(frames.values()))
    found = {field.name: field for field in first.schema.fields}
    fields = {
        name: StructField(name, found[name].dataType, metadata=found[name].metadata)
        for name in keys
    }
    types: dict[str, Any] = {}
    columns: dict[tuple[int, int], tuple[list[str], list[int]]] = {}
    for table, (table_name, frame) in enumerate(frames.items()):
        for field in frame.schema.fields:
            if field.name in keys:
                continue
            name = column_names.replace("{table}", table_name).replace("{column}", field.name)
            if name in fields:
                raise InvalidOptionError(
                    f"several tables have a column {name!r}, one of them is {table_name!r}; "
                    "column_names='{table}_{column}' tells them apart"
                )
            text = field.dataType.simpleString()
            types.setdefault(text, field.dataType)
            part = columns.setdefault((table, list(types).index(text)), ([], []))
            part[0].append(field.name)
            part[1].append(len(fields))
            fields[name] = StructField(name, field.dataType, metadata=field.metadata)
    long = [StructField(f"key_{place}", found[name].dataType) for place, name in enumerate(keys)]
    long.append(StructField("table", IntegerType()))
    long += [
        StructField(f"values_{number}", ArrayType(data_type))
        for number, data_type in enumerate(types.values())
    ]
    return _Plan(
        tuple(frames),
        keys,
        how,
        tuple(types),
        {key: _Part(tuple(a), np.array(b, np.int64)) for key, (a, b) in columns.items()},
        arrow_schema(StructType(long)),
        stored_schema(StructType(list(fields.values()))),
    )
