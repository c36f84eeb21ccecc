"""Arrow <-> Spark types; the Arrow <-> Mosaic table is in :mod:`pymosaic.arrow.types`.

========================= ==================== ==============================================
Arrow, from a file        Spark                on the way to Spark
========================= ==================== ==============================================
bool, int8 … int64        boolean … bigint     as they are
float, double             float, double        as they are
date32, string, binary    date, string, binary as they are
decimal128(p, s)          decimal(p, s)        as they are, if 0 <= s <= p
timestamp, time zone      timestamp            to microseconds, UTC; nanoseconds are cut off
timestamp, no time zone   timestamp_ntz        to microseconds; nanoseconds are cut off
time                      time(3)              to nanoseconds; Spark 4.1 or later
list, map                 array, map           element by element
null                      void                 partition columns without a value only
========================= ==================== ==============================================

In the other direction, a column whose type the format does not have is rejected by name, on the
driver.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as st

from pymosaic.errors import UnsupportedFeatureError
from pymosaic.spark.field_metadata import (
    arrow_metadata,
    collation_of,
    spark_metadata,
    spark_type_kept,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "arrow_schema",
    "check_storable",
    "conform",
    "spark_field",
    "spark_schema",
    "spark_type",
    "spark_types",
    "stored_schema",
]

_TIME_TYPE: Any = getattr(st, "TimeType", None)
_PLAIN: dict[pa.DataType, st.DataType] = {
    pa.bool_(): st.BooleanType(),
    pa.int8(): st.ByteType(),
    pa.int16(): st.ShortType(),
    pa.int32(): st.IntegerType(),
    pa.int64(): st.LongType(),
    pa.float32(): st.FloatType(),
    pa.float64(): st.DoubleType(),
    pa.date32(): st.DateType(),
    pa.string(): st.StringType(),
    pa.binary(): st.BinaryType(),
}
# Types without parameters, by their numbers: hashing a type takes its text.
_BY_NUMBER = {arrow_type.id: data_type for arrow_type, data_type in _PLAIN.items()}
_ADVICE = {
    "struct": "make its fields columns of their own: "
    "df.withColumns({{f'{name}.{{c}}': df['{name}'][c] "
    "for c in df.schema['{name}'].dataType.names}}).drop('{name}')",
    "variant": "cast it to string: CAST({name} AS STRING), or to_json({name})",
    "interval": "cast it to a number, such as its seconds",
    "calendarinterval": "split it into integer columns",
    "void": "give it a type: CAST({name} AS STRING)",
}


def spark_type(arrow_type: pa.DataType) -> st.DataType | None:
    """The Spark type for an Arrow type, or None if there is none."""
    types = pa.types
    plain = _PLAIN.get(arrow_type)
    if plain is not None:
        return plain
    if types.is_null(arrow_type):
        return st.NullType()
    if types.is_timestamp(arrow_type):
        return st.TimestampNTZType() if arrow_type.tz is None else st.TimestampType()
    if types.is_decimal128(arrow_type):
        precision, scale = arrow_type.precision, arrow_type.scale
        return st.DecimalType(precision, scale) if 0 <= scale <= precision else None
    # Files hold milliseconds, whatever the unit; names of directories, microseconds.
    if types.is_time(arrow_type) and _TIME_TYPE is not None:
        found: st.DataType = _TIME_TYPE(6 if arrow_type == pa.time64("us") else 3)
        return found
    if types.is_map(arrow_type):
        key, value = spark_type(arrow_type.key_type), spark_type(arrow_type.item_type)
        return None if key is None or value is None else st.MapType(key, value)
    if types.is_list(arrow_type):
        element = spark_type(arrow_type.value_type)
        return None if element is None else st.ArrayType(element)
    return None


def spark_types(fields: Iterable[pa.Field]) -> list[st.DataType]:
    """The Spark types of the columns of a dataset; equal types are the same object.

    Raises
    ------
    UnsupportedFeatureError
        If Spark has no type for a column; the message names the first one.
    """
    known: dict[pa.DataType, st.DataType] = {}
    found = []
    for field in fields:
        arrow_type = field.type
        data_type = _BY_NUMBER.get(arrow_type.id) or known.get(arrow_type)
        if data_type is None:
            data_type = spark_type(arrow_type)
            if data_type is None:
                raise UnsupportedFeatureError(
                    f"column {field.name!r} of type {arrow_type} has no type in Spark: "
                    "read the others, with the option `columns`"
                )
            known[arrow_type] = data_type
        found.append(data_type)
    return found


def spark_schema(schema: pa.Schema) -> st.StructType:
    """The Spark schema for the columns of a dataset."""
    types = spark_types(schema)
    return st.StructType(
        [
            spark_field(field, data_type) if field.metadata else st.StructField(name, data_type)
            for name, field, data_type in zip(schema.names, schema, types, strict=True)
        ]
    )


def spark_field(field: pa.Field, data_type: st.DataType) -> st.StructField:
    """The Spark column of a type, with what the Arrow field says of it beyond."""
    kept = spark_type_kept(field, data_type)
    return st.StructField(field.name, kept, metadata=spark_metadata(field))


def arrow_schema(schema: st.StructType) -> pa.Schema:
    """The exact Arrow schema, including flags, that Spark expects for batches of a schema."""
    from pyspark.sql.pandas.types import to_arrow_schema

    # Spark 4.0 has no such parameter: timestamps are in UTC there.
    parameters = signature(to_arrow_schema).parameters
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in parameters else {}
    found = to_arrow_schema(schema, **zone)
    if not any(field.metadata for field in schema.fields):
        return found
    # Some versions keep the metadata of columns.
    return pa.schema([field.remove_metadata() for field in found])


def stored_schema(schema: st.StructType) -> pa.Schema:
    """The same for files, with what Spark knows of columns beyond their types."""
    found = arrow_schema(schema)
    more = [arrow_metadata(field) for field in schema.fields]
    if not any(more):
        return found
    return pa.schema(
        [
            field.with_metadata(metadata) if metadata else field
            for field, metadata in zip(found, more, strict=True)
        ]
    )


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Convert a batch to a schema: timestamps from Spark are in the session's time zone."""
    if batch.schema.equals(schema):
        return batch
    columns = [
        column if column.type == data_type else column.cast(data_type)
        for column, data_type in zip(batch.columns, schema.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def check_storable(schema: st.StructType, *, keeps_collations: bool = False) -> None:
    """Reject columns that the format cannot store, before a task starts.

    Files keep collations in their annex, if they have one; directories do not.

    Raises
    ------
    UnsupportedFeatureError
        If there is such a column; the message names it, its type, and what to do instead.
    """
    if not schema.fields:
        raise UnsupportedFeatureError(
            "rows without columns cannot be stored: select at least one column"
        )
    known: dict[str, st.DataType | None] = {}
    for field in schema.fields:
        text = field.dataType.simpleString()
        if text not in known:
            known[text] = _unstorable(field.dataType, keeps_collations)
        culprit = known[text]
        if culprit is not None:
            raise UnsupportedFeatureError(
                f"column {field.name!r} of type {_short(text)} cannot be stored: "
                f"{_advice(field, culprit)}"
            )


def _unstorable(data_type: Any, keeps_collations: bool) -> st.DataType | None:
    """The type, or the type nested in it, that the format does not have; None if there is none."""
    if isinstance(data_type, st.ArrayType):
        return _unstorable(data_type.elementType, keeps_collations)
    if isinstance(data_type, st.MapType):
        if isinstance(data_type.keyType, st.ArrayType | st.MapType):
            return data_type.keyType
        key = _unstorable(data_type.keyType, keeps_collations)
        return key or _unstorable(data_type.valueType, keeps_collations)
    if _TIME_TYPE is not None and isinstance(data_type, _TIME_TYPE):
        return data_type if data_type.precision > 3 else None
    if isinstance(data_type, st.StringType):
        return None if keeps_collations or not collation_of(data_type) else data_type
    if isinstance(data_type, st.DecimalType):
        return None
    stored = (*_PLAIN.values(), st.TimestampType(), st.TimestampNTZType())
    return None if data_type in stored else data_type


def _advice(field: st.StructField, culprit: st.DataType) -> str:
    if _TIME_TYPE is not None and isinstance(culprit, _TIME_TYPE):
        return f"the format holds milliseconds: CAST({field.name} AS TIME(3))"
    if collation_of(culprit):
        advice = (
            "names of directories, files without checksums, Paimon tables, and keys of jobs do not "
            "keep collations"
        )
        if field.dataType is not culprit:
            return advice
        return f"{advice}; or CAST({field.name} AS STRING COLLATE UTF8_BINARY)"
    if field.dataType is not culprit:
        if isinstance(culprit, st.ArrayType | st.MapType):
            return "map keys must be scalars"
        return (
            f"its elements are of type {_short(culprit.simpleString())}, which the format does not "
            f"have; make rows of them with inline({field.name}) or explode({field.name}), or a "
            f"string with to_json({field.name})"
        )
    kind = culprit.simpleString().partition("<")[0].partition(" ")[0]
    return _ADVICE.get(kind, "cast it to a type that the format has").format(name=field.name)


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}…"
