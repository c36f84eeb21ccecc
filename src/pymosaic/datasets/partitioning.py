"""Hive partitions: ``key=value`` directories, their escapes, and the types of their values.

A key has one type in all of a dataset: that which the jobs that wrote the dataset have kept in its
records, see :mod:`~pymosaic.datasets.partition_types`. For directories of others it is int64 if
every value is a whole number as Python would print it (so that ``"007"`` stays text), date32 if
every value is a date such as ``2024-05-31``, else string. A schema that the user gives decides
instead. ``__HIVE_DEFAULT_PARTITION__`` is null.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import unquote

import pyarrow as pa

from pymosaic.datasets.partition_types import parse_type
from pymosaic.errors import DatasetError

__all__ = [
    "NULL_VALUE",
    "Partition",
    "partition_schema",
    "split_partition",
    "typed_partition",
]

NULL_VALUE = "__HIVE_DEFAULT_PARTITION__"

# The keys and values of one file, outermost directory first.
Partition: TypeAlias = tuple[tuple[str, Any], ...]

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INT64 = range(-(1 << 63), 1 << 63)


def split_partition(directories: Iterable[str]) -> tuple[tuple[str, str | None], ...]:
    """Keys and values, as text, of directories named ``key=value``.

    Examples
    --------
    >>> split_partition(["day=2024-05-31", "other", "city=S%C3%A3o%20Paulo"])
    (('day', '2024-05-31'), ('city', 'São Paulo'))
    """
    found = []
    for directory in directories:
        key, equals, value = directory.partition("=")
        if equals and key:
            found.append((unquote(key), None if value == NULL_VALUE else unquote(value)))
    return tuple(found)


def partition_schema(
    partitions: Mapping[str, Sequence[tuple[str, str | None]]],
    schema: pa.Schema | None,
    kept_types: Mapping[str, str] | None = None,
) -> pa.Schema:
    """The columns that come from directories, with types that hold every value.

    Parameters
    ----------
    partitions : mapping of path to keys and values
    schema : pyarrow.Schema, optional
        Types chosen by the user.
    kept_types : mapping of str to str, optional
        Types that the dataset's jobs have kept. A file of others may have a value that does not
        fit; then the type is inferred.

    Raises
    ------
    DatasetError
        If files have different keys, or the same key twice.
    """
    values: dict[str, set[str]] = {}
    first: tuple[str, tuple[str, ...]] | None = None
    for path, partition in partitions.items():
        keys = tuple(key for key, _ in partition)
        if first is None:
            first = path, keys
            if len(set(keys)) < len(keys):
                raise DatasetError(f"{path}: a partition key appears twice in {list(keys)}")
            values = {key: set() for key in keys}
        elif keys != first[1]:
            raise DatasetError(
                f"partition keys differ: {first[0]} has {list(first[1])}, {path} has {list(keys)}; "
                "pass partitioning=None to read directories without their keys"
            )
        for key, value in partition:
            if value is not None:
                values[key].add(value)
    fields = []
    for key, texts in values.items():
        index = -1 if schema is None else schema.get_field_index(key)
        fields.append(
            pa.field(key, _kept((kept_types or {}).get(key), texts) or _inferred(texts))
            if index < 0
            else schema.field(index)  # type: ignore[union-attr]
        )
    return pa.schema(fields)


def _kept(type_text: str | None, texts: set[str]) -> pa.DataType | None:
    kept = None if type_text is None else parse_type(type_text)
    if kept is None:
        return None
    try:
        pa.array(sorted(texts), pa.string()).cast(kept)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return kept


def _inferred(texts: set[str]) -> pa.DataType:
    if texts and all(_INTEGER.fullmatch(text) and int(text) in _INT64 for text in texts):
        return pa.int64()
    if texts and all(_is_date(text) for text in texts):
        return pa.date32()
    return pa.string()


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def typed_partition(
    partition: Sequence[tuple[str, str | None]], schema: pa.Schema, path: str
) -> Partition:
    """The partition values of one file as Python objects, in the types of their columns.

    A day or a moment that Python does not have is its number.
    """
    return tuple(
        (key, None if text is None else _typed(key, text, schema.field(key).type, path))
        for key, text in partition
    )


def _typed(key: str, text: str, arrow_type: pa.DataType, path: str) -> Any:
    if pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type):
        return text
    try:
        value = pa.scalar(text).cast(arrow_type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DatasetError(
            f"{path}: the partition value {text!r} of {key!r} is not a valid {arrow_type}"
        ) from error
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return value.value
