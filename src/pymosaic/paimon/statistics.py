"""Statistics of columns, from manifests.

A manifest stores minima and maxima as two rows of Paimon's binary form. Only the fields that a
filter names are taken from them.
"""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from pymosaic.arrow.statistics import ColumnStatistics
from pymosaic.paimon.row_ranges import ColumnFile
from pymosaic.paimon.schema import TableFields, arrow_type

__all__ = ["manifest_statistics"]


def manifest_statistics(
    file: ColumnFile, fields: TableFields, name: str
) -> ColumnStatistics | None:
    """Statistics of a column of a file.

    Parameters
    ----------
    file : ColumnFile
    fields : TableFields
        The fields of the file's schema.
    name : str
        The column's name in that schema.
    """
    if file.statistics is None:
        return None
    names, minima, maxima, null_counts = file.statistics
    columns = names or file.columns or fields.names
    try:
        place = columns.index(name)
    except ValueError:
        return None
    if len(null_counts) != len(columns):
        return None
    null_count = null_counts[place]
    if null_count is None or not 0 <= null_count <= file.num_rows:
        return None
    text = fields.types[fields.place_of[name]]
    bounds = [_value(row, place, len(columns), text) for row in (minima, maxima)]
    minimum, maximum = (None, None) if None in bounds else bounds
    return ColumnStatistics(null_count, file.num_rows, minimum, maximum)


# Types whose stored bounds hold. Bounds of long texts may be cut short: the lower one down, the
# upper one up.
_BOUNDED = (
    *("TINYINT", "SMALLINT", "INT", "BIGINT", "BOOLEAN", "FLOAT", "DOUBLE"),
    *("DATE", "DECIMAL", "TIMESTAMP", "CHAR", "VARCHAR", "STRING"),
)


def _value(row: bytes, place: int, arity: int, text: str) -> pa.Scalar | None:
    """One bound; None if there is none, or none that is certain."""
    from pypaimon.schema.data_types import DataTypeParser
    from pypaimon.table.row.generic_row import GenericRowDeserializer as Row

    data_type, _ = arrow_type(text)
    if not text.upper().startswith(_BOUNDED) or len(row) < 4:
        return None
    if int.from_bytes(row[:4], "big") != arity:
        return None
    data = row[4:]
    try:
        if Row.is_null_at(data, 0, place):
            return None
        width = Row.calculate_bit_set_width_in_bytes(arity)
        value = Row.parse_field_value(data, 0, width, place, DataTypeParser.parse_data_type(text))
        return _scalar(value, data_type)
    except (ValueError, TypeError, IndexError, OverflowError, pa.ArrowInvalid):
        return None


def _scalar(value: Any, data_type: pa.DataType) -> pa.Scalar | None:
    if isinstance(value, float):
        return None if math.isnan(value) else pa.scalar(value, data_type)
    if hasattr(value, "get_nano_of_millisecond"):
        if data_type.unit == "ns":
            return None
        micros = pa.timestamp("us", data_type.tz)
        return pa.scalar(value.to_micros(), micros).cast(data_type)
    if hasattr(value, "to_big_decimal"):
        value = value.to_big_decimal()
    return pa.scalar(value, data_type)
