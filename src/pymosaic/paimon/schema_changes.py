"""Changes of a table's schema: columns that are added, dropped and renamed."""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

from typing import Any

import pyarrow as pa

from pymosaic.paimon.commit import told
from pymosaic.paimon.table import PaimonTable
from pymosaic.paimon.write import stored_schema

__all__ = ["added_columns", "alter", "changed_schema"]


def added_columns(table: PaimonTable, schema: pa.Schema) -> list[Any]:
    """The changes that add these columns."""
    from pypaimon.schema.data_types import PyarrowFieldParser
    from pypaimon.schema.schema_change import SchemaChange

    changes = []
    for field in stored_schema(schema):
        with told(table.path):
            described = PyarrowFieldParser.to_paimon_type(field.type, True)
        changes.append(SchemaChange.add_column(field.name, described))
    return changes


def changed_schema(table: PaimonTable, changes: list[Any], schema_id: int | None = None) -> Any:
    """PyPaimon's schema (the newest, unless given) with these changes, which nobody sees yet."""
    manager = table.schema_manager()
    with told(table.path):
        known = manager.latest() if schema_id is None else manager.get_schema(schema_id)
        return manager._generate_table_schema(known, changes) if changes else known


def alter(table: PaimonTable, changes: list[Any]) -> None:
    """Make a new schema."""
    if changes:
        with told(table.path):
            table.schema_manager().commit_changes(changes)
