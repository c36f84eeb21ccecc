"""The Arrow schemas of files as they were written, merged like their columns.

A column keeps the type that it was written from if all files that have it were written from the
same one, and if they store it alike. Otherwise it has the type that is stored, without metadata.
Keys of metadata that have the same value everywhere are kept: those of the schema in all files,
those of a field in all files that have the column.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import pyarrow as pa

from pymosaic.arrow.types import duration_units
from pymosaic.errors import DatasetError, located
from pymosaic.file.open_file import FileHead
from pymosaic.file.original_schema import OriginalSchema
from pymosaic.file.row_group_reader import Selection
from pymosaic.kernels.catalog import Catalog
from pymosaic.limits import Limits

__all__ = ["OriginalUnion"]

_Text = TypeVar("_Text", bytes, str)


class OriginalUnion:
    """Merges what the annexes of files tell of their schemas."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._seen: dict[tuple[Catalog, bytes | None], None] = {}
        # By name: the field as it was written, and as it is stored.
        self._fields: dict[str, tuple[pa.Field, pa.Field]] = {}
        self._plain: set[str] = set()
        self._metadata: dict[bytes, bytes] | None = None
        self._user: dict[str, str] = {}
        self._key_values: bytes | None = None
        # By name: the first type with durations, and the error for another unit.
        self._durations: dict[str, pa.DataType] = {}
        self.conflicts: dict[str, DatasetError] = {}

    def add(self, head: FileHead) -> None:
        """Take a file into account; its head must keep metadata."""
        with located(head.name):
            original = OriginalSchema.of_head(head, self._limits)
            self._add_metadata(original)
            key = head.catalog, original.content_of_fields
            if key not in self._seen:
                self._add_fields(head.catalog, original)
                self._seen[key] = None

    def _add_metadata(self, original: OriginalSchema) -> None:
        content = original.content_of_key_values
        if self._metadata is None:
            self._metadata = dict(original.key_values.arrow)
            self._user = dict(original.key_values.user)
        elif (self._metadata or self._user) and content != self._key_values:
            self._metadata = _common(self._metadata, dict(original.key_values.arrow))
            self._user = _common(self._user, dict(original.key_values.user))
        self._key_values = content

    def _add_fields(self, catalog: Catalog, original: OriginalSchema) -> None:
        order = catalog.original_order()
        listed = original.fields(order) if original.is_kept else {}
        places = np.fromiter(listed, np.int64, len(listed))
        stored = Selection(catalog, order[places]).import_schema()
        found = {
            field.name: (given, field) for given, field in zip(listed.values(), stored, strict=True)
        }
        self._compare_durations(found)
        for name, known in list(self._fields.items()):
            other = found.pop(name, None)
            if other is not None:
                self._unite(name, known, other)
            elif catalog.find(name) >= 0:
                self._forget(name)
        for name, pair in found.items():
            if name not in self._plain:
                if any(other.find(name) >= 0 for other, _ in self._seen):
                    self._plain.add(name)
                else:
                    self._fields[name] = pair

    def _compare_durations(self, found: Mapping[str, tuple[pa.Field, pa.Field]]) -> None:
        """Integers of different units must not end up in one column."""
        for name, (given, kept) in found.items():
            if given.type == kept.type or not (units := duration_units(given.type)):
                continue
            first = self._durations.setdefault(name, given.type)
            if duration_units(first) != units:
                self.conflicts[name] = DatasetError(
                    f"column {name!r} is {first} in one file and {given.type} in another: write "
                    "one of them anew, or read the integers with types='mosaic'"
                )

    def _unite(
        self, name: str, known: tuple[pa.Field, pa.Field], other: tuple[pa.Field, pa.Field]
    ) -> None:
        if known[0].equals(other[0], check_metadata=True):
            return
        if known[1].type != other[1].type or not _same_type(known[0], other[0]):
            self._forget(name)
            return
        metadata = _common(known[0].metadata or {}, other[0].metadata or {})
        self._fields[name] = known[0].with_metadata(metadata), known[1]

    def _forget(self, name: str) -> None:
        del self._fields[name]
        self._plain.add(name)

    @property
    def user_metadata(self) -> dict[str, str]:
        """Keys of the user that have the same value in all files."""
        return dict(self._user)

    def schema(self, stored: pa.Schema) -> tuple[pa.Schema, list[int]] | None:
        """The merged schema for the columns that are stored, and which of them have other types.

        None if it does not differ.
        """
        fields, changed = None, []
        names = stored.names if self._fields else []
        for place, name in enumerate(names):
            pair = self._fields.get(name)
            if pair is None or stored.field(place).type != pair[1].type:
                continue
            fields = list(stored) if fields is None else fields
            given, kept = pair[0], fields[place]
            if not given.type.equals(kept.type, check_metadata=True):
                changed.append(place)
            fields[place] = given.with_name(name).with_nullable(kept.nullable)
        if fields is None and not self._metadata:
            return None
        if fields is None:
            return stored.with_metadata(self._metadata), []
        return pa.schema(fields, self._metadata or None), changed


def _same_type(left: pa.Field, right: pa.Field) -> bool:
    return bool(left.type.equals(right.type, check_metadata=True))


def _common(left: Mapping[_Text, _Text], right: Mapping[_Text, _Text]) -> dict[_Text, _Text]:
    return {key: value for key, value in left.items() if right.get(key) == value}
