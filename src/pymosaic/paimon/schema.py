"""Schemas of a Paimon table: one JSON document for each schema id.

A document lists the fields with their ids, which stay with a column when it is renamed. The lists
here hold plain values; a field becomes an Arrow field only when it is wanted, and a document that
was seen before is not parsed again.
"""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

import json
from bisect import bisect_left
from collections import OrderedDict
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from pymosaic.errors import DatasetError
from pymosaic.file.projection import Positions

__all__ = ["TableFields", "arrow_type", "parse_schema"]

_KEPT_SCHEMAS = 8


class TableFields:
    """The fields of a table under one schema id.

    Attributes
    ----------
    schema_id : int
    names : list of str
    ids : list of int
        The id of each field.
    types : list of str
        The type of each field, as the document spells it; nested ones as JSON.
    partition_keys, primary_keys : tuple of str
    options : dict
        The table's options.
    document : dict
        The parsed document.
    """

    def __init__(self, document: dict[str, Any]) -> None:
        fields = document["fields"]
        self.document = document
        self.schema_id: int = int(document["id"])
        self.names: list[str] = [field["name"] for field in fields]
        self.ids: list[int] = [field["id"] for field in fields]
        self.types: list[str] = [_type_text(field["type"]) for field in fields]
        self.partition_keys: tuple[str, ...] = tuple(document["partitionKeys"])
        self.primary_keys: tuple[str, ...] = tuple(document["primaryKeys"])
        self.options: dict[str, str] = dict(document.get("options") or {})

    @cached_property
    def place_of(self) -> dict[str, int]:
        """The place of each field by name."""
        return {name: place for place, name in enumerate(self.names)}

    @cached_property
    def place_of_id(self) -> dict[int, int]:
        """The place of each field by id."""
        return {field_id: place for place, field_id in enumerate(self.ids)}

    def field(self, place: int) -> pa.Field:
        """A field in Arrow."""
        data_type, nullable = arrow_type(self.types[place])
        return pa.field(self.names[place], data_type, nullable)

    @cached_property
    def arrow(self) -> pa.Schema:
        """All fields in Arrow."""
        return pa.schema([self.field(place) for place in range(len(self.names))])

    @cached_property
    def catalog(self) -> FieldNames:
        """The names, for selecting columns."""
        return FieldNames(self)


class FieldNames:
    """Field names by position in name order, as :func:`resolve_columns` wants them."""

    def __init__(self, fields: TableFields) -> None:
        self._fields = fields
        self.num_columns: int = len(fields.names)

    @cached_property
    def _order(self) -> list[int]:
        names = self._fields.names
        return sorted(range(len(names)), key=names.__getitem__)

    @cached_property
    def _sorted(self) -> list[str]:
        return [self._fields.names[place] for place in self._order]

    @cached_property
    def position_of(self) -> dict[str, int]:
        """The position of each name."""
        return {name: position for position, name in enumerate(self._sorted)}

    def places(self, positions: Positions) -> list[int]:
        """The places of fields in the table, by position."""
        order = self._order
        return [order[position] for position in positions.tolist()]

    def find(self, name: str) -> int:
        """Position of a name, or -1."""
        return self.position_of.get(name, -1)

    def find_many(self, names: list[str]) -> Positions:
        """Positions of names, with -1 for unknown ones."""
        find = self.position_of.get
        return np.array([find(name, -1) for name in names], np.int64)

    def name(self, position: int) -> str:
        """Name at a position."""
        return self._sorted[position]

    def names(self, start: int, stop: int) -> list[str]:
        """Names at the positions from ``start`` up to ``stop``."""
        return self._sorted[start:stop]

    def prefix_range(self, prefix: str) -> tuple[int, int]:
        """Range of the positions of names with a prefix."""
        start = bisect_left(self._sorted, prefix)
        stop = start
        while stop < self.num_columns and self._sorted[stop].startswith(prefix):
            stop += 1
        return start, stop

    def original_order(self) -> Positions:
        """Position of each field, in the order of the table."""
        return np.argsort(np.array(self._order, np.int64))


def _type_text(described: object) -> str:
    return described if isinstance(described, str) else json.dumps(described, sort_keys=True)


@lru_cache(4096)
def arrow_type(text: str) -> tuple[pa.DataType, bool]:
    """The Arrow type of a Paimon type, and whether it may be null."""
    from pypaimon.schema.data_types import DataTypeParser, PyarrowFieldParser

    described = json.loads(text) if text.startswith("{") else text
    data_type = DataTypeParser.parse_data_type(described)
    return PyarrowFieldParser.from_paimon_type(data_type), bool(data_type.nullable)


_parsed: OrderedDict[str, TableFields] = OrderedDict()


def parse_schema(text: str, path: str) -> TableFields:
    """Parse a schema document, unless the same text was parsed before.

    Raises
    ------
    DatasetError
        If it is not a schema of a Paimon table.
    """
    known = _parsed.get(text)
    if known is None:
        try:
            known = TableFields(json.loads(text))
            _check(known)
        except (ValueError, KeyError, TypeError) as error:
            raise DatasetError(f"{path} is not a schema of a Paimon table: {error!r}") from error
        _parsed[text] = known
        while len(_parsed) > _KEPT_SCHEMAS:
            _parsed.popitem(last=False)
    return known


def _check(fields: TableFields) -> None:
    if not all(isinstance(name, str) for name in fields.names):
        raise ValueError("field names must be texts")
    if not all(isinstance(field_id, int) for field_id in fields.ids):
        raise ValueError("field ids must be whole numbers")
    if len(fields.place_of) != len(fields.names) or len(fields.place_of_id) != len(fields.ids):
        raise ValueError("names and ids of fields must be unique")
    for key in (*fields.partition_keys, *fields.primary_keys):
        if key not in fields.place_of:
            raise ValueError(f"no field is named {key!r}, which is a key")
