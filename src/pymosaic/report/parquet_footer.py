"""The size of an equivalent Parquet footer, measured by letting pyarrow write one."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

__all__ = ["ParquetFooter", "measure_footer"]

# Time and bytes are proportional to columns: this many, evenly spread, represent all.
_MEASURED_COLUMNS = 1000
_LENGTH_AND_MAGIC = 8


@dataclass(frozen=True, slots=True)
class ParquetFooter:
    """The size of a footer in bytes: a part for the schema, and a part per row group."""

    schema_bytes: int
    row_group_bytes: int
    measured_columns: int


def measure_footer(columns: list[pa.Array], names: list[str]) -> ParquetFooter:
    """Measure the Parquet footer of a table.

    Two files with the same few rows are written in memory, one with one row group and one with two:
    the difference between their footers is the size of one row group. Names count with their actual
    length; beyond 1,000 columns, the rest of each entry is the average over 1,000 columns. The
    footers contain statistics, as they usually do, but not the Arrow schema.

    Parameters
    ----------
    columns : list of pyarrow.Array
        The first values of each column.
    names : list of str
        Their names.

    Examples
    --------
    >>> import pyarrow as pa
    >>> footer = measure_footer([pa.array([1, 2]), pa.array(["a", "b"])], ["id", "name"])
    >>> footer.row_group_bytes > 2 * 50
    True
    """
    count = min(len(names), _MEASURED_COLUMNS)
    if count == 0:
        return ParquetFooter(0, 0, 0)
    chosen = np.linspace(0, len(names) - 1, count).round().astype(int).tolist()
    table = pa.table(
        [columns[index] for index in chosen],
        schema=pa.schema([(names[index], columns[index].type) for index in chosen]),
    )
    one, two = (_footer_bytes(table, row_groups) for row_groups in (1, 2))
    scale = len(names) / count
    measured_names, all_names = _utf8_bytes(table.column_names), _utf8_bytes(names)

    def for_all(measured: int) -> int:
        # A name appears once in the schema and once in every row group.
        return round((measured - measured_names) * scale) + all_names

    return ParquetFooter(for_all(one - (two - one)), for_all(two - one), count)


def _utf8_bytes(names: Iterable[str]) -> int:
    return sum(len(name.encode()) for name in names)


def _footer_bytes(table: pa.Table, row_groups: int) -> int:
    from pyarrow import parquet

    def written(content: pa.Table) -> bytes:
        stream = io.BytesIO()
        with parquet.ParquetWriter(
            stream, content.schema, compression="zstd", store_schema=False
        ) as writer:
            for _ in range(row_groups):
                writer.write_table(content)
        return stream.getvalue()

    try:
        data = written(table)
    except (pa.ArrowException, OSError):
        # Parquet lacks a few types, such as decimals with a negative scale.
        simple = [_storable(column.combine_chunks()) for column in table.columns]
        data = written(pa.table(simple, names=table.column_names))
    return int.from_bytes(data[-_LENGTH_AND_MAGIC:-4], "little")


def _storable(column: pa.Array) -> pa.Array:
    if pa.types.is_decimal(column.type) or pa.types.is_nested(column.type):
        return pa.nulls(len(column), pa.binary())
    return column
