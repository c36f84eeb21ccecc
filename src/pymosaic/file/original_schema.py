"""The Arrow schema as it was written: what the types of the format do not say, kept in the annex.

A field in the annex must be one that is stored as its column is; a file in which it is not is
refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from pymosaic.arrow.restoring import can_restore
from pymosaic.errors import CorruptFileError, MosaicError
from pymosaic.file.dictionaries import parse_dictionaries
from pymosaic.file.grouped_items import DICTIONARIES, FIELDS, Described, Group, GroupedItems
from pymosaic.file.guard import Annex
from pymosaic.file.open_file import FileHead
from pymosaic.file.plan import ByteRange
from pymosaic.file.projection import Positions
from pymosaic.file.restoration import BY_ARROW, SAME, Restoration, conversion_between
from pymosaic.file.row_group_reader import Selection
from pymosaic.format import annex as annex_format
from pymosaic.format import annex_metadata
from pymosaic.format.annex import Section, SectionType
from pymosaic.format.annex_metadata import KeyValues
from pymosaic.format.compression import ZSTD
from pymosaic.kernels.arrow_restore import Fields
from pymosaic.kernels.arrow_source import catalog_from_arrow
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.column_union import differing
from pymosaic.limits import Limits

__all__ = ["OriginalSchema", "parse_fields"]

_STRUCTURE = "annex"
# What tells of an extension type; such types may be registered at any time.
_EXTENSION = b"ARROW:extension:name"
# Contents of groups whose fields are kept for the next file that has the same, and their size.
_KEPT_GROUPS = 64
_KEPT_BYTES = 256 << 10


@dataclass(frozen=True, slots=True)
class _DescribedHead:
    """The head of a file that keeps its metadata."""

    annex: Annex | None
    catalog: Catalog
    limits: Limits

    def fetch(self, ranges: Sequence[ByteRange], /) -> list[memoryview]:
        """Bytes of the sections that are kept."""
        return [self._bytes(start, size) for start, size in ranges]

    def _bytes(self, start: int, size: int) -> memoryview:
        annex = self.annex
        for kind, body in () if annex is None or annex.kept is None else annex.kept.bodies:
            section = annex.section(SectionType(kind)) if annex is not None else None
            if section is not None and section.start <= start and start + size <= section.stop:
                return memoryview(body)[start - section.start :][:size]
        raise AssertionError("bytes that are not kept")


class OriginalSchema:
    """The Arrow schema of an open file as it was written, read as far as it is needed."""

    def __init__(self, file: Described) -> None:
        self._file = file
        self._key_values: KeyValues | None = None
        self._fields = GroupedItems(file, FIELDS)
        self._dictionaries = GroupedItems(file, DICTIONARIES)
        # What was asked for last; reading asks several times.
        self._restoration: tuple[Selection, Restoration] | None = None

    @classmethod
    def of_head(cls, head: FileHead, limits: Limits) -> OriginalSchema:
        """That of a file whose head keeps it; without dictionaries."""
        return cls(_DescribedHead(head.annex, head.catalog, limits))

    @property
    def content_of_fields(self) -> bytes | None:
        """The stored bytes of all fields: files in which they are equal have the same fields."""
        fields, directory = map(self._content, FIELDS)
        return None if fields is None or directory is None else directory + fields

    @property
    def content_of_key_values(self) -> bytes | None:
        """The stored bytes of keys and values."""
        return self._content(SectionType.KEY_VALUES)

    def _content(self, kind: SectionType) -> bytes | None:
        annex = self._file.annex
        kept = None if annex is None else annex.kept
        return None if kept is None else dict(kept.bodies).get(int(kind))

    @property
    def is_kept(self) -> bool:
        """Whether the file has any of it."""
        annex = self._file.annex
        return annex is not None and annex.describes_schema

    def _section(self, kind: SectionType) -> Section | None:
        annex = self._file.annex
        return None if annex is None else annex.section(kind)

    @property
    def key_values(self) -> KeyValues:
        """Arrow's schema metadata, and the user's."""
        if self._key_values is None:
            section = self._section(SectionType.KEY_VALUES)
            if section is None:
                self._key_values = KeyValues()
            else:
                [body] = self._file.fetch([(section.start, section.size)])
                annex_format.check_body(section, body)
                self._key_values = annex_metadata.parse_key_values(body, self._file.limits)
        return self._key_values

    def schema(self, selection: Selection) -> pa.Schema:
        """The schema of some columns as it was written, with its metadata."""
        return self.restoration(selection).schema

    def restoration(self, selection: Selection) -> Restoration:
        """How some columns become what they were written from."""
        if self._restoration is None or self._restoration[0] is not selection:
            self._restoration = selection, self._restore(selection)
        return self._restoration[1]

    def _restore(self, selection: Selection) -> Restoration:
        stored = selection.import_schema()
        metadata = dict(self.key_values.arrow) or None
        places, items = self._fields.find(selection.positions)
        if not len(places):
            return Restoration(stored, stored.with_metadata(metadata))
        known, numbers = self._known(selection.positions[places], items)
        schema = self._named(selection, places, numbers, known)
        if metadata is not None:
            schema = schema.with_metadata(metadata)
        conversions = np.array([field.conversion for field in known], np.int64)[numbers]
        by_kernel = conversions >= 0
        return Restoration(
            stored,
            schema,
            places[by_kernel],
            conversions[by_kernel].astype(np.uint8),
            places[conversions == BY_ARROW].tolist(),
        )

    def _named(
        self,
        selection: Selection,
        places: Positions,
        numbers: Positions,
        known: Sequence[_KnownField],
    ) -> pa.Schema:
        """The schema of the columns; those at some places have fields of their own."""
        catalog = self._file.catalog
        # The Arrow C interface ends a name at its first NUL, and asks extension types anew.
        if all(field.is_simple for field in known) and not catalog.has_nul_names:
            chosen = np.full(len(selection.positions), -1, np.int64)
            chosen[places] = numbers
            fields = Fields([field.field for field in known])
            return pa.schema(_Capsule(fields.export_schema(catalog, selection.positions, chosen)))
        named = list(selection.import_schema())
        for place, number in zip(places.tolist(), numbers.tolist(), strict=True):
            named[place] = known[number].field.with_name(named[place].name)
        return pa.schema(named)

    def fields(self, positions: Positions) -> dict[int, pa.Field]:
        """The fields of columns that have one, by their place among the positions."""
        places, items = self._fields.find(positions)
        if not len(places):
            return {}
        known, numbers = self._known(positions[places], items)
        return {
            place: known[number].field
            for place, number in zip(places.tolist(), numbers.tolist(), strict=True)
        }

    def _known(self, positions: Positions, items: Positions) -> tuple[list[_KnownField], Positions]:
        """The different fields of columns, and which of them each column has.

        Each is looked at once, and compared with the columns.
        """
        distinct, numbers = _distinct(items)
        limits = self._file.limits
        known = self._fields.parsed(distinct, lambda group: _known_fields(group, limits))
        stored = known[0].catalog if len(known) == 1 else _catalog_of(known)
        for place in differing(stored, numbers, self._file.catalog, positions).tolist():
            self._compare(known[int(numbers[place])], int(positions[place]))
        return known, numbers

    def _compare(self, known: _KnownField, position: int) -> None:
        """Refuse a field that is not stored as its column is; names inside may differ."""
        positions = np.array([position], np.int64)
        kept = Selection(self._file.catalog, positions).import_schema().field(0)
        if known.stored_type != kept.type or known.nullable != kept.nullable:
            raise CorruptFileError(
                f"column {kept.name!r} is stored as {kept.type}, but its field as "
                f"{known.stored_type}",
                structure=_STRUCTURE,
            )

    def dictionaries(self, positions: Positions) -> dict[int, pa.Array]:
        """The dictionaries of some columns, by their place among the positions."""
        places, items = self._dictionaries.find(positions)
        if not len(places):
            return {}
        distinct, numbers = _distinct(items)
        limits = self._file.limits
        found = self._dictionaries.parsed(distinct, lambda group: parse_dictionaries(group, limits))
        return {
            place: found[number]
            for place, number in zip(places.tolist(), numbers.tolist(), strict=True)
        }


def _distinct(items: Positions) -> tuple[Positions, Positions]:
    """Items without repetition, of which there is one at least; and for each item its number."""
    if items[0] == items[-1] and (items == items[0]).all():
        return items[:1], np.zeros(len(items), np.int64)
    return np.unique(items, return_inverse=True)


@dataclass(frozen=True, slots=True)
class _Capsule:
    """A schema of the Arrow C interface."""

    capsule: object

    def __arrow_c_schema__(self) -> object:
        return self.capsule


@dataclass(frozen=True, slots=True)
class _KnownField:
    """A field, how it is stored, and what makes the one of the other."""

    field: pa.Field
    stored_type: pa.DataType
    nullable: bool
    catalog: Catalog
    conversion: int
    is_simple: bool


def _catalog_of(known: Sequence[_KnownField]) -> Catalog:
    """How fields are stored; numbers in names are padded, so that they are in name order."""
    fields = [
        pa.field(f"{number:010}", field.stored_type, field.nullable)
        for number, field in enumerate(known)
    ]
    return catalog_from_arrow(pa.schema(fields), 1)


def parse_fields(group: Group, limits: Limits) -> pa.Schema:
    """The fields of a group."""
    return _parsed_fields(_content(group, limits), group.count)


def _content(group: Group, limits: Limits) -> bytes:
    keep = group.content_size <= _KEPT_BYTES
    return (_kept_content if keep else _decompressed)(group.frame, group.content_size, limits)


def _decompressed(frame: bytes, content_size: int, limits: Limits) -> bytes:
    return bytes(ZSTD.decompress(frame, content_size, _STRUCTURE, limits))


_kept_content = lru_cache(maxsize=_KEPT_GROUPS)(_decompressed)


def _parsed_fields(content: bytes, count: int) -> pa.Schema:
    try:
        fields = pa.ipc.read_schema(pa.py_buffer(content))
    # The code of a registered extension type parses parameters, and may raise anything.
    except Exception as error:
        raise CorruptFileError(f"fields: {error}", structure=_STRUCTURE) from error
    if len(fields) != count:
        raise CorruptFileError(
            f"{len(fields)} fields where there should be {count}", structure=_STRUCTURE
        )
    return fields


def _known_fields(group: Group, limits: Limits) -> tuple[_KnownField, ...]:
    content = _content(group, limits)
    keep = len(content) <= _KEPT_BYTES and _EXTENSION not in content
    return (_kept_fields if keep else _described_fields)(content, group.count)


def _described_fields(content: bytes, count: int) -> tuple[_KnownField, ...]:
    simple = _EXTENSION not in content
    return tuple(_known_field(field, simple) for field in _parsed_fields(content, count))


_kept_fields = lru_cache(maxsize=_KEPT_GROUPS)(_described_fields)


def _known_field(field: pa.Field, is_simple: bool) -> _KnownField:
    data_type = field.type
    plain = data_type.num_fields == 0 and not isinstance(
        data_type, pa.DictionaryType | pa.BaseExtensionType
    )
    catalog, kept = (_plain_form if plain else _stored_form)(data_type, field.nullable)
    conversion = SAME
    if not data_type.equals(kept.type, check_metadata=True):
        if can_restore(kept.type, data_type):
            conversion = conversion_between(kept.type, data_type)
        else:
            # A type that this version of pyarrow cannot make stays as it is stored.
            field = field.with_type(kept.type)
    return _KnownField(field, kept.type, kept.nullable, catalog, conversion, is_simple)


def _stored_form(data_type: pa.DataType, nullable: bool) -> tuple[Catalog, pa.Field]:
    """A column of a type, and the field that it is read as."""
    try:
        catalog = catalog_from_arrow(pa.schema([pa.field("0", data_type, nullable)]), 1)
    except MosaicError as error:
        raise CorruptFileError(f"fields: {error}", structure=_STRUCTURE) from error
    return catalog, Selection(catalog, np.zeros(1, np.int64)).import_schema().field(0)


# Types with others inside count as equal whatever these are called.
_plain_form = lru_cache(maxsize=1024)(_stored_form)
