"""Splitting batches into partitions by key columns, with ``key=value`` directories.

Names are escaped like in Hive and Spark: ``%`` and two hexadecimal digits for characters with a
special meaning in paths or patterns. Null is ``__HIVE_DEFAULT_PARTITION__``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.arrow.rows import take_rows
from pymosaic.datasets.partitioning import NULL_VALUE, split_partition
from pymosaic.errors import InvalidDataError, InvalidOptionError, UnsupportedFeatureError
from pymosaic.suggestions import did_you_mean, quote

__all__ = ["check_name_lengths", "check_partition_columns", "partition_directory", "split_batch"]

_ESCAPES = {code: f"%{code:02X}" for code in (*range(1, 0x20), 0x7F, *map(ord, "\"#%'*/:=?\\{[]^"))}
_MAX_NAME_BYTES = 255
# A partition whose rows are in this many pieces is copied together first.
_MOST_PIECES = 4


def _escape(text: str) -> str:
    return text.translate(_ESCAPES)


def partition_directory(values: Sequence[tuple[str, str | None]]) -> str:
    """The directory for rows with these keys and values.

    Examples
    --------
    >>> partition_directory([("day", "2024-05-31"), ("at", "10:30"), ("city", None)])
    'day=2024-05-31/at=10%3A30/city=__HIVE_DEFAULT_PARTITION__'
    """
    for key, value in values:
        if value is not None and "\0" in value:
            raise InvalidDataError(
                f"partition_by: the value {quote(value)} of column {key!r} holds a NUL character, "
                "which no directory can be named with"
            )
    return "/".join(f"{_escape(key)}={_escape_value(value)}" for key, value in values)


def check_name_lengths(directory: str) -> None:
    """Refuse partitions whose directories' names are too long for a local file system."""
    for name in directory.split("/"):
        if len(os.fsencode(name)) > _MAX_NAME_BYTES:
            [(key, value)] = split_partition([name])
            raise InvalidDataError(
                f"partition_by: the value {quote(str(value))} of column {key!r} makes the name of "
                f"a directory longer than {_MAX_NAME_BYTES} bytes"
            )


def _escape_value(value: str | None) -> str:
    if value is None:
        return NULL_VALUE
    # A value that looks like the null partition is not null.
    return f"%5F{value[1:]}" if value == NULL_VALUE else _escape(value)


def check_partition_columns(schema: pa.Schema, partition_by: Sequence[str]) -> pa.Schema:
    """The schema of the files, without the key columns, which become directories."""
    if len(set(partition_by)) < len(partition_by):
        raise InvalidOptionError(f"partition_by names a column twice: {list(partition_by)}")
    for name in partition_by:
        indices = schema.get_all_field_indices(name)
        if len(indices) != 1:
            hint = "" if indices else did_you_mean(name, schema.names)
            raise InvalidOptionError(
                f"partition_by: the data has {len(indices)} columns named {name!r}{hint}"
            )
        if not name or "\0" in name:
            raise InvalidOptionError(f"partition_by: {name!r} cannot name a directory")
        if name.startswith("."):
            raise InvalidOptionError(
                f"partition_by: directories of {name!r} would be hidden: rename the column"
            )
        data_type = schema.field(indices[0]).type
        if pa.types.is_dictionary(data_type):
            data_type = data_type.value_type
        if pa.types.is_nested(data_type) or _is_binary(data_type):
            raise UnsupportedFeatureError(
                f"partition_by: values of column {name!r} of type {data_type} cannot name "
                "directories"
            )
    keys = set(partition_by)
    kept = [field for field in schema if field.name not in keys] if keys else schema
    if keys and not kept:
        raise InvalidOptionError(
            "partition_by names all columns: no columns would be left for the files"
        )
    return pa.schema(kept, schema.metadata)


def _is_binary(data_type: pa.DataType) -> bool:
    return any(
        is_kind(data_type)
        for is_kind in (
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_binary_view,
            pa.types.is_fixed_size_binary,
        )
    )


def split_batch(
    batch: pa.RecordBatch, partition_by: Sequence[str]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The rows of each partition in their original order, without the key columns.

    A partition may come in several pieces. Partitions are in the order of their first rows.
    """
    if batch.num_rows == 0:
        return
    texts = [_as_text(batch.column(name), name) for name in partition_by]
    first_rows, groups = _group([text.dictionary_encode("encode") for text in texts])
    columns = [text.take(pa.array(first_rows)).to_pylist() for text in texts]
    directories = [
        partition_directory(list(zip(partition_by, values, strict=True)))
        for values in zip(*columns, strict=True)
    ]
    rest = batch.drop_columns(list(partition_by))
    bounds = np.flatnonzero(np.diff(groups)) + 1
    if len(bounds) + 1 > _MOST_PIECES * len(directories):
        order = np.argsort(groups, kind="stable")
        taken = _take(rest, order)
        if taken is not None:
            rest, groups = taken, groups[order]
            bounds = np.flatnonzero(np.diff(groups)) + 1
    starts = [0, *bounds.tolist()]
    for start, stop in zip(starts, [*starts[1:], batch.num_rows], strict=True):
        yield directories[groups[start]], rest.slice(start, stop - start)


def _as_text(column: pa.Array, name: str) -> pa.Array:
    try:
        if pa.types.is_dictionary(column.type):
            return column.dictionary.cast(pa.string()).take(column.indices)
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidDataError(
            f"partition_by: values of column {name!r} cannot be written as text ({error})"
        ) from error


def _group(keys: list[pa.DictionaryArray]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The first row of each group, numbered by first appearance, and the group of each row."""
    groups = np.zeros(len(keys[0]), dtype=np.int64)
    for key in keys:
        indices = key.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        # Group numbers stay below the number of rows, so that products cannot overflow.
        groups = np.unique(groups * len(key.dictionary) + indices, return_inverse=True)[1]
    _, first_rows, groups = np.unique(groups, return_index=True, return_inverse=True)
    order = np.argsort(first_rows)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first_rows[order], rank[groups]


def _take(batch: pa.RecordBatch, order: npt.NDArray[np.int64]) -> pa.RecordBatch | None:
    """The rows in this order; None if Arrow does not support that for some type."""
    fields = list(batch.schema)
    columns = list(batch.columns)
    for index, field in enumerate(fields):
        # Polars' strings; Arrow cannot take rows of views.
        if pa.types.is_string_view(field.type) or pa.types.is_binary_view(field.type):
            to = pa.large_string() if pa.types.is_string_view(field.type) else pa.large_binary()
            columns[index] = columns[index].cast(to)
            fields[index] = field.with_type(to)
    try:
        rows = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
        return take_rows(rows, pa.array(order))
    except pa.ArrowNotImplementedError:
        return None
