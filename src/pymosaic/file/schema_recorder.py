"""What a writer keeps of the Arrow schema that it was given, and of dictionaries.

Only columns that would read differently are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa

from pymosaic.errors import InvalidDataError, InvalidOptionError
from pymosaic.file.dictionaries import (
    MAX_DICTIONARY_BYTES,
    emit_dictionaries,
    same_entries,
    united_dictionary,
)
from pymosaic.file.grouped_items import FIELDS, emit_items
from pymosaic.file.row_group_reader import Selection
from pymosaic.format import annex_metadata
from pymosaic.format.annex import Body, SectionType
from pymosaic.format.annex_metadata import KeyValues
from pymosaic.kernels.catalog import Catalog

__all__ = ["SchemaRecorder", "check_user_metadata"]

# Fields that are compressed, and read, together.
_GROUP = 64
# Fields of one name for their type that are compared with each other.
_MOST_NAMESAKES = 8
# Indices that number the values of any row group.
_INDEX_BITS = 32


class SchemaRecorder:
    """What a writer keeps of the schema that it was given, and of dictionaries.

    Parameters
    ----------
    schema : pyarrow.Schema
    catalog : Catalog
        Its columns.
    unusual : list of int
        The columns, by number in the schema, that may be read in another form than written.
    user : dict of str
        Keys and values of the user.
    """

    def __init__(
        self, schema: pa.Schema, catalog: Catalog, unusual: list[int], user: Mapping[str, str]
    ) -> None:
        self._schema = schema
        self._catalog = catalog
        self._unusual = unusual
        self._user = user
        # The dictionaries of columns, and of lists; the entries of the latter are not kept.
        self._types: dict[str, pa.DictionaryType] = {}
        self._dictionaries: dict[str, pa.Array | None] = {}
        for place in unusual:
            field = schema.field(place)
            values = _values_of(field.type)
            if pa.types.is_dictionary(values):
                self._types[field.name] = values
                if values is not field.type:
                    self._dictionaries[field.name] = None
        self._last: dict[str, pa.Array] = {}
        # The most different values that a row group may have.
        self._counts = dict.fromkeys(self._types, 0)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take in the dictionaries of a batch; entries that are new come after the others."""
        for name in self._types:
            values = batch.column(name)
            while _is_list(values.type):
                values = values.values
            if not pa.types.is_dictionary(values.type):
                # They may be in no dictionary.
                self._dictionaries[name] = None
                self._counts[name] += len(values)
                continue
            entries = values.dictionary
            if name in self._last and same_entries(self._last[name], entries):
                continue
            self._last[name] = entries
            known = self._dictionaries.get(name, entries)
            known = None if known is None else united_dictionary(known, entries)
            if known is not None and known.get_total_buffer_size() > MAX_DICTIONARY_BYTES:
                known = None
            self._dictionaries[name] = known
            self._counts[name] = self._counts[name] + len(entries) if known is None else len(known)

    def bodies(self) -> list[Body]:
        """The sections of the annex; none for a plain schema."""
        bodies = []
        arrow = tuple((self._schema.metadata or {}).items())
        if arrow or self._user:
            pairs = KeyValues(arrow, tuple(self._user.items()))
            bodies.append(Body(SectionType.KEY_VALUES, annex_metadata.emit_key_values(pairs)))
        if self._unusual:
            bodies += _field_bodies(self._fitting_schema(), self._unusual, self._catalog)
        dictionaries = {
            self._catalog.find(name): entries
            for name, entries in self._dictionaries.items()
            if entries is not None
        }
        return bodies + emit_dictionaries(dictionaries) if dictionaries else bodies

    def _fitting_schema(self) -> pa.Schema:
        """The schema, with wider indices where those that were given may not number all values."""
        crowded = {
            name for name, kind in self._types.items() if self._counts[name] - 1 > _max_index(kind)
        }
        if not crowded:
            return self._schema
        fields = [
            field.with_type(_with_wide_indices(field.type)) if field.name in crowded else field
            for field in self._schema
        ]
        return pa.schema(fields, self._schema.metadata)


_LISTS: dict[Callable[[pa.DataType], bool], Callable[[pa.Field], pa.DataType]] = {
    pa.types.is_list: pa.list_,
    pa.types.is_large_list: pa.large_list,
    pa.types.is_list_view: pa.list_view,
    pa.types.is_large_list_view: pa.large_list_view,
}


def _is_list(data_type: pa.DataType) -> bool:
    kinds = (pa.types.is_fixed_size_list, *_LISTS)
    return any(is_kind(data_type) for is_kind in kinds)


def _values_of(data_type: pa.DataType) -> pa.DataType:
    """The type of the values of lists, and of lists in lists."""
    while _is_list(data_type):
        data_type = data_type.value_type
    return data_type


def _max_index(data_type: pa.DataType) -> int:
    return int(np.iinfo(data_type.index_type.to_pandas_dtype()).max)


def _with_wide_indices(data_type: pa.DataType) -> pa.DataType:
    """A dictionary, or lists of one, whose indices number the values of any row group."""
    if pa.types.is_dictionary(data_type):
        if data_type.index_type.bit_width >= _INDEX_BITS:
            return data_type
        return pa.dictionary(pa.int32(), data_type.value_type, data_type.ordered)
    inner = data_type.value_field.with_type(_with_wide_indices(data_type.value_type))
    if pa.types.is_fixed_size_list(data_type):
        return pa.list_(inner, data_type.list_size)
    make = next(make for is_kind, make in _LISTS.items() if is_kind(data_type))
    return make(inner)


def check_user_metadata(metadata: object, has_annex: bool) -> dict[str, str]:
    """The metadata of a user, which must be text and needs an annex."""
    if metadata is None:
        return {}
    if not isinstance(metadata, Mapping):
        raise InvalidDataError(f"metadata must be a dict of str, got {type(metadata).__name__}")
    for key, value in metadata.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise InvalidDataError(f"metadata must be a dict of str, got {key!r}: {value!r}")
    if metadata and not has_annex:
        raise InvalidOptionError("metadata is stored in the annex, which needs checksum=True")
    return dict(metadata)


def _field_bodies(schema: pa.Schema, unusual: list[int], catalog: Catalog) -> list[Body]:
    positions = catalog.original_order()[unusual]
    stored = Selection(catalog, positions).import_schema()
    given = map(schema.field, unusual)
    listed = {
        position: field
        for position, field, other in zip(positions.tolist(), given, stored, strict=True)
        if not field.equals(other, check_metadata=True)
    }
    if not listed:
        return []
    distinct = _DistinctFields()
    items = {position: distinct.number(listed[position]) for position in sorted(listed)}
    groups = []
    for start in range(0, len(distinct.fields), _GROUP):
        fields = distinct.fields[start : start + _GROUP]
        named = pa.schema([field.with_name(str(i)) for i, field in enumerate(fields)])
        groups.append((len(fields), named.serialize().to_pybytes()))
    return emit_items(FIELDS, items, groups)


class _DistinctFields:
    """Fields that differ in more than their names, in the order of their first use."""

    def __init__(self) -> None:
        self.fields: list[pa.Field] = []
        self._numbers: dict[tuple[object, ...], list[int]] = {}

    def number(self, field: pa.Field) -> int:
        """The number of a field like this one."""
        metadata = None if field.metadata is None else tuple(field.metadata.items())
        # What is inside of types may differ in metadata, which their text does not tell.
        alike = self._numbers.setdefault((str(field.type), field.nullable, metadata), [])
        for number in alike[:_MOST_NAMESAKES]:
            known = self.fields[number]
            if known.type.equals(field.type, check_metadata=True):
                return number
        alike.append(len(self.fields))
        self.fields.append(field)
        return len(self.fields) - 1
