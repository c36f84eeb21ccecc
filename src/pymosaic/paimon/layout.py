"""Where the columns of a scan are: in which file of a row range, under which name and type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from pymosaic.errors import UnsupportedFeatureError
from pymosaic.paimon.row_ranges import RowRange
from pymosaic.paimon.schema import TableFields
from pymosaic.paimon.table import PaimonTable

__all__ = ["ColumnLayout", "FilePart", "LayoutKey", "layout_key", "make_layout"]

LayoutKey: TypeAlias = tuple[tuple[int, tuple[str, ...] | None], ...]


@dataclass(frozen=True, slots=True)
class FilePart:
    """The wanted columns that one file of a row range has.

    Parameters
    ----------
    file : int
        Which file of the range.
    places : tuple of int
        Their places among the wanted columns, in ascending order.
    schema : pyarrow.Schema
        Their names and types in the file.
    changed : tuple of int
        Which of them have another type in the table.
    """

    file: int
    places: tuple[int, ...]
    schema: pa.Schema
    changed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """The wanted columns of a row range.

    Parameters
    ----------
    schema : pyarrow.Schema
        All wanted columns.
    parts : tuple of FilePart
        Files that are needed.
    missing : tuple of int
        Places of columns that no file has: they are null.
    """

    schema: pa.Schema
    parts: tuple[FilePart, ...]
    missing: tuple[int, ...]


def layout_key(rows: RowRange) -> LayoutKey:
    """What ranges with the same layout have in common."""
    return tuple((file.schema_id, file.columns) for file in rows.files)


def make_layout(
    table: PaimonTable, fields: TableFields, schema: pa.Schema, key: LayoutKey
) -> ColumnLayout:
    """Find columns in the files of a row range.

    Parameters
    ----------
    table : PaimonTable
    fields : TableFields
        The fields of the table as it is read.
    schema : pyarrow.Schema
        The wanted columns, without those of partitions.
    key : LayoutKey
    """
    names = schema.names
    if not names:
        return ColumnLayout(schema, (), ())
    if len(key) == 1 and key[0] == (fields.schema_id, None):
        return ColumnLayout(schema, (FilePart(0, tuple(range(len(names))), schema),), ())
    left = {fields.ids[fields.place_of[name]]: place for place, name in enumerate(names)}
    parts = []
    for number, (schema_id, columns) in enumerate(key):
        if not left:
            break
        own = fields if schema_id == fields.schema_id else table.fields(schema_id)
        found = _found(left, own, columns)
        if not found:
            continue
        found.sort()
        for _, own_place in found:
            del left[own.ids[own_place]]
        own_schema = pa.schema([own.field(own_place) for _, own_place in found])
        changed = []
        for index, (place, own_place) in enumerate(found):
            if own.types[own_place] != fields.types[fields.place_of[names[place]]]:
                _check_change(own_schema.field(index), schema.field(place), table.path)
                if not own_schema.field(index).type.equals(schema.field(place).type):
                    changed.append(index)
        places = tuple(place for place, _ in found)
        parts.append(FilePart(number, places, own_schema, tuple(changed)))
    return ColumnLayout(schema, tuple(parts), tuple(sorted(left.values())))


def _check_change(old: pa.Field, new: pa.Field, path: str) -> None:
    nested = (pa.types.is_nested(old.type), pa.types.is_nested(new.type))
    if any(nested) and not old.type.equals(new.type):
        raise UnsupportedFeatureError(
            f"{path}: column {new.name!r} is {old.type} in some files and {new.type} in the table: "
            "changes inside nested columns are not supported"
        )


def _found(
    left: dict[int, int], own: TableFields, columns: tuple[str, ...] | None
) -> list[tuple[int, int]]:
    """Wanted places and own places of the columns that a file has."""
    if columns is None:
        if len(left) < len(own.ids):
            places = ((place, own.place_of_id.get(field_id)) for field_id, place in left.items())
            return [(place, own_place) for place, own_place in places if own_place is not None]
        own_places = range(len(own.ids))
        return [
            (left[own.ids[own_place]], own_place)
            for own_place in own_places
            if own.ids[own_place] in left
        ]
    known = (own.place_of[name] for name in columns if name in own.place_of)
    return [(left[own.ids[place]], place) for place in known if own.ids[place] in left]
