"""Arrow <-> Mosaic types, in one table.

============================================= ======================= ==========================
Arrow in                                      Mosaic                  Arrow out
============================================= ======================= ==========================
bool                                          BOOLEAN                 bool
int8, int16, int32, int64                     TINYINT … BIGINT        same
uint8, uint16, uint32                         SMALLINT, INTEGER,      int16, int32, int64
                                              BIGINT
uint64                                        DECIMAL(20, 0)          decimal128(20, 0)
float16, float                                FLOAT                   float
double                                        DOUBLE                  double
date32, date64                                DATE                    date32
string, large_string, string_view, null       STRING                  string
binary, large_binary, binary_view,            BYTES                   binary
fixed_size_binary
decimal32/64/128, decimal256 to 38 digits     DECIMAL(p, s)           decimal128(p, s)
time32[s], time32[ms], time64 on whole        TIME(3)                 time32[ms]
milliseconds
timestamp[s], timestamp[ms]                   TIMESTAMP(3)            timestamp[ms]
timestamp[us], timestamp[ns]                  TIMESTAMP(6), (9)       timestamp[us], [ns]
struct<millis: int64, nanos_of_milli: int32>  TIMESTAMP(9)            timestamp[ns]
timestamp with a time zone                    TIMESTAMP_LTZ(p), zone  same, zone kept
duration, with an annex, which has the unit   BIGINT                  int64
list, large_list, fixed_size_list, list_view  ARRAY                   list
map with a scalar key                         MAP                     map
dictionary, run_end_encoded, extension        that of their values    that of their values
(read only)                                   CHAR, VARCHAR           string
(read only)                                   BINARY, VARBINARY       binary
============================================= ======================= ==========================

The conversion itself is in :mod:`pymosaic.kernels.arrow_source` (in) and
:mod:`pymosaic.kernels.arrow_export` (out). Both work on Arrow format strings, so that a wide
schema never becomes a Python object per column.
"""

from __future__ import annotations

from typing import NoReturn

import pyarrow as pa

from pymosaic.errors import InvalidDataError, UnsupportedFeatureError
from pymosaic.limits import MAX_NESTING_DEPTH

__all__ = ["check_durations", "duration_units", "fixed_bits", "refuse_type"]


def fixed_bits(data_type: pa.DataType) -> int | None:
    """The width in bits of a fixed-width type; None for other types.

    pyarrow's ``bit_width`` is a 32-bit number, which overflows for wide binaries.

    Examples
    --------
    >>> import pyarrow as pa
    >>> fixed_bits(pa.binary(1 << 28)), fixed_bits(pa.string())
    (2147483648, None)
    """
    if pa.types.is_fixed_size_binary(data_type):
        return 8 * int(data_type.byte_width)
    try:
        return int(data_type.bit_width)
    except ValueError:
        return None


def duration_units(data_type: pa.DataType) -> tuple[str, ...]:
    """The units of all durations in a type: their values are stored as integers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> duration_units(pa.list_(pa.duration("ms")))
    ('ms',)
    """
    data_type = _unwrapped(data_type)
    if pa.types.is_duration(data_type):
        return (data_type.unit,)
    children = (data_type.field(number) for number in range(data_type.num_fields))
    return tuple(unit for child in children for unit in duration_units(child.type))


def check_durations(data: pa.Schema, wanted: pa.Schema) -> None:
    """Refuse data whose integers would be taken for durations of another unit."""
    for field in data:
        other = wanted.field(field.name).type
        if duration_units(field.type) != duration_units(other) and field.type != pa.null():
            raise InvalidDataError(
                f"column {field.name!r} is {field.type} in the data, but {other} in the writer's "
                "schema; cast it first"
            )


def _unwrapped(data_type: pa.DataType) -> pa.DataType:
    """The type of the stored values: that of the storage, dictionary or run values."""
    while True:
        if isinstance(data_type, pa.BaseExtensionType):
            data_type = data_type.storage_type
        elif pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
            data_type = data_type.value_type
        else:
            return data_type


def _advice(data_type: pa.DataType) -> str:
    """Why a type cannot be stored, and what to do instead."""
    place = ""
    given = data_type
    for _ in range(MAX_NESTING_DEPTH + 1):
        data_type = _unwrapped(data_type)
        if pa.types.is_map(data_type):
            key_type = _unwrapped(data_type.key_type)
            if pa.types.is_nested(key_type):
                return "map keys must be scalars"
            data_type = key_type if _scalar_advice(key_type) else data_type.item_type
        elif (
            pa.types.is_nested(data_type)
            and data_type.num_fields == 1
            and not (pa.types.is_struct(data_type) or pa.types.is_union(data_type))
        ):
            data_type = data_type.value_type
        elif pa.types.is_struct(data_type):
            if place:
                return f"{place}make each field of the struct a list or map column of its own"
            if not pa.types.is_struct(given):
                return "make the fields of its struct columns of their own"
            return (
                'flatten="." (--flatten . on the command line) makes its fields columns of their '
                "own"
            )
        else:
            advice = _scalar_advice(data_type) or "cast it to a type that the format supports"
            return f"{place}{advice}"
        place = "the format does not support the type of its elements; "
    return f"it nests deeper than {MAX_NESTING_DEPTH} levels"


def _scalar_advice(data_type: pa.DataType) -> str | None:
    if pa.types.is_union(data_type):
        return "split it into one column per member type"
    if pa.types.is_duration(data_type):
        return "its unit is kept in the annex, which needs checksum=True; or cast it to int64"
    if pa.types.is_interval(data_type):
        return "split it into integer columns"
    if pa.types.is_decimal256(data_type) and data_type.precision > 38:
        return "the format supports up to 38 digits: cast it to decimal128 or string"
    return None


def refuse_type(name: str, data_type: pa.DataType) -> NoReturn:
    """Raise the error for a column whose type cannot be stored."""
    advice = _advice(data_type)
    raise UnsupportedFeatureError(
        f"column {name!r} of type {_shown(data_type)} cannot be stored: {advice}"
    )


def _shown(data_type: pa.DataType) -> str:
    text = str(data_type)
    return text if len(text) <= 200 else f"{text[:200]}…"
