"""Conversion of tables between Lance and Mosaic: types that only one of the formats has.

===================================== =================================== ========================
Arrow type in a Lance file            in a Mosaic file                    and back
===================================== =================================== ========================
struct, at the top or in structs      its fields are columns of their     columns ``a.b`` and
                                      own, ``a.b``; where the struct is   ``a.c`` are the fields
                                      null, so are they                   ``b`` and ``c`` of ``a``
duration                              int64, in the duration's unit       int64
map                                   map                                 list of struct of key
                                                                          and value (Lance 2.1
                                                                          has no maps)
all other types that Mosaic has       as :mod:`pymosaic.arrow.types`      the type that Mosaic
                                      says: unsigned and half-precision   gave
                                      numbers widen, fixed-size lists
                                      become lists, …
struct in a list, duration in a list, refused, with the column's name     —
more than 38 digits
===================================== =================================== ========================

Lance reads a dot in a name as a step into a struct, so a top-level name must not contain one; hence
the way back. If both ``a.b`` and ``a`` are columns, no such struct exists, and they are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import pyarrow as pa

from pymosaic.arrow.types import refuse_type
from pymosaic.errors import InvalidDataError

__all__ = ["from_mosaic", "to_mosaic"]

_Tabular = TypeVar("_Tabular", pa.Table, pa.RecordBatch)
_Column = tuple[str, pa.Field, Any]


def to_mosaic(table: _Tabular) -> _Tabular:
    """Convert a table from a Lance file so that a Mosaic file can store it.

    Parameters
    ----------
    table : pyarrow.Table or pyarrow.RecordBatch
        The table to convert; an empty one gives the schema.

    Returns
    -------
    pyarrow.Table or pyarrow.RecordBatch
        The same rows, with struct fields as columns of their own.

    Raises
    ------
    UnsupportedFeatureError
        For a type that Mosaic cannot store in any form.
    InvalidDataError
        If two columns would have the same name.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.lance import to_mosaic
    >>> to_mosaic(pa.table({"point": [{"x": 1, "y": 2}], "name": ["a"]})).to_pydict()
    {'point.x': [1], 'point.y': [2], 'name': ['a']}
    """
    columns = [
        column
        for field, values in zip(table.schema, table.columns, strict=True)
        for column in _without_structs(field.name, field, values)
    ]
    return _rebuild(table, columns)


def _without_structs(name: str, field: pa.Field, values: Any) -> Iterator[_Column]:
    data_type = field.type
    if pa.types.is_struct(data_type) and data_type.num_fields:
        for child, inner in zip(data_type, values.flatten(), strict=True):
            nullable = child.nullable or field.nullable
            yield from _without_structs(
                f"{name}.{child.name}", child.with_nullable(nullable), inner
            )
        return
    if pa.types.is_duration(data_type):
        values = values.cast(pa.int64())
    elif not _can_hold(data_type):
        refuse_type(name, data_type)
    yield name, field.with_name(name).with_type(values.type), values


def _can_hold(data_type: pa.DataType) -> bool:
    """Whether Mosaic can store a type, including the elements of lists and maps."""
    types = pa.types
    if types.is_map(data_type):
        return _can_hold(data_type.key_type) and _can_hold(data_type.item_type)
    if types.is_list(data_type) or types.is_large_list(data_type):
        return _can_hold(data_type.value_type)
    if types.is_fixed_size_list(data_type):
        return _can_hold(data_type.value_type)
    if types.is_dictionary(data_type):
        return _can_hold(data_type.value_type)
    if types.is_decimal(data_type):
        return bool(data_type.precision <= 38)
    return not (
        types.is_struct(data_type)
        or types.is_union(data_type)
        or types.is_duration(data_type)
        or types.is_interval(data_type)
    )


def from_mosaic(table: _Tabular) -> _Tabular:
    """Convert a table from a Mosaic file so that a Lance file can store it.

    Parameters
    ----------
    table : pyarrow.Table or pyarrow.RecordBatch
        The table to convert; an empty one gives the schema.

    Returns
    -------
    pyarrow.Table or pyarrow.RecordBatch
        The same rows; columns with a dot in their name become fields of structs, at the place of
        the first of them.

    Raises
    ------
    InvalidDataError
        If a column and a struct would have the same name.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pymosaic.lance import from_mosaic
    >>> from_mosaic(pa.table({"point.x": [1], "name": ["a"], "point.y": [2]})).to_pydict()
    {'point': [{'x': 1, 'y': 2}], 'name': ['a']}
    """
    columns = [
        _without_maps(field.name, field, values)
        for field, values in zip(table.schema, table.columns, strict=True)
    ]
    return _rebuild(table, _with_structs(columns, ""))


def _with_structs(columns: list[_Column], prefix: str) -> list[_Column]:
    """Group columns by the first part of their names; the rest becomes structs in turn."""
    groups: dict[str, list[_Column]] = {}
    plain: dict[str, _Column] = {}
    for name, field, values in columns:
        first, dot, rest = name.partition(".")
        if dot and not (first and rest):
            raise InvalidDataError(
                f"column {prefix + name!r} cannot be a field of a struct: rename it, since Lance "
                "reads a dot in a name as a step into a struct"
            )
        if not dot:
            if name in plain:
                raise InvalidDataError(f"two columns are named {prefix + name!r}: rename one")
            plain[name] = name, field.with_name(name), values
        members = groups.setdefault(first, [])
        if dot:
            members.append((rest, field, values))
    result: list[_Column] = []
    for name, members in groups.items():
        if name not in plain:
            inner = _with_structs(members, f"{prefix}{name}.")
            struct = _struct([field for _, field, _ in inner], [values for _, _, values in inner])
            result.append((name, pa.field(name, struct.type), struct))
        elif members:
            raise InvalidDataError(
                f"columns {prefix + name!r} and {prefix + name + '.' + members[0][0]!r} cannot "
                "both exist: Lance reads a dot in a name as a step into a struct; rename one"
            )
        else:
            result.append(plain[name])
    return result


def _struct(fields: list[pa.Field], columns: list[Any]) -> Any:
    if isinstance(columns[0], pa.ChunkedArray):
        batches = pa.Table.from_arrays(columns, schema=pa.schema(fields)).to_batches()
        arrays = [batch.to_struct_array() for batch in batches]
        return pa.chunked_array(arrays, pa.struct(fields))
    return pa.StructArray.from_arrays(columns, fields=fields)


def _without_maps(name: str, field: pa.Field, values: Any) -> _Column:
    data_type = _list_type(field.type)
    if data_type != field.type:
        # A map is already a list of structs, except for its type.
        if isinstance(values, pa.ChunkedArray):
            arrays = [_relabel(chunk, data_type) for chunk in values.chunks]
            values = pa.chunked_array(arrays, data_type)
        else:
            values = _relabel(values, data_type)
    return name, field.with_type(data_type), values


def _list_type(data_type: pa.DataType) -> pa.DataType:
    if pa.types.is_map(data_type):
        item = data_type.item_field
        item = item.with_type(_list_type(item.type))
        return pa.list_(pa.struct([data_type.key_field, item]))
    if pa.types.is_list(data_type):
        child = data_type.value_field
        return pa.list_(child.with_type(_list_type(child.type)))
    return data_type


def _relabel(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """The same buffers with another type of the same form."""
    if array.type == data_type:
        return array
    children = []
    if pa.types.is_map(array.type):
        key, item = data_type.value_type
        keys, items = _relabel(array.keys, key.type), _relabel(array.items, item.type)
        children = [pa.StructArray.from_arrays([keys, items], fields=[key, item])]
    else:
        children = [_relabel(array.values, data_type.value_type)]
    buffers = array.buffers()[:2]
    return pa.Array.from_buffers(
        data_type, len(array), buffers, array.null_count, array.offset, children
    )


def _rebuild(table: _Tabular, columns: list[_Column]) -> _Tabular:
    names: set[str] = set()
    for name, _, _ in columns:
        if name in names:
            raise InvalidDataError(f"two columns would be named {name!r}: rename one of them")
        names.add(name)
    schema = pa.schema([field for _, field, _ in columns], table.schema.metadata)
    arrays = [values for _, _, values in columns]
    if not columns:
        return table
    return type(table).from_arrays(arrays, schema=schema)
