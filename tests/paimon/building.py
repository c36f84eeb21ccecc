"""Paimon tables made by PyPaimon, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pypaimon import CatalogFactory, Schema

EVOLVING = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}


class Warehouse:
    """A catalog in a directory, with one database."""

    def __init__(self, path: Path) -> None:
        self.catalog = CatalogFactory.create({"warehouse": str(path)})
        self.catalog.create_database("d", True)

    def create(
        self,
        schema: pa.Schema,
        *,
        name: str = "t",
        partition_keys: list[str] | None = None,
        primary_keys: list[str] | None = None,
        options: dict[str, str] | None = None,
    ) -> Any:
        """A new table of Mosaic files."""
        described = {"file.format": "mosaic", "bucket": "-1"} | (options or {})
        self.catalog.create_table(
            f"d.{name}",
            Schema.from_pyarrow_schema(schema, partition_keys, primary_keys, described),
            False,
        )
        return self.table(name)

    def table(self, name: str = "t") -> Any:
        """PyPaimon's table, as it is now."""
        return self.catalog.get_table(f"d.{name}")

    def alter(self, *changes: Any, name: str = "t") -> Any:
        """Change the schema."""
        self.catalog.alter_table(f"d.{name}", list(changes), False)
        return self.table(name)


def write(table: Any, data: pa.Table, overwrite: dict[str, Any] | None = None) -> None:
    """Append through PyPaimon, or overwrite."""
    builder = table.new_batch_write_builder()
    if overwrite is not None:
        builder.overwrite(overwrite)
    writer = builder.new_write()
    writer.write_arrow(data)
    commit = builder.new_commit()
    commit.commit(writer.prepare_commit())
    writer.close()
    commit.close()


def update(table: Any, data: pa.Table) -> None:
    """Write columns of known rows through PyPaimon; `_ROW_ID` names the rows."""
    builder = table.new_batch_write_builder()
    columns = [name for name in data.column_names if name != "_ROW_ID"]
    messages = builder.new_update().with_update_type(columns).update_by_arrow_with_row_id(data)
    commit = builder.new_commit()
    commit.commit(messages)
    commit.close()


def delete(table: Any, row_ids: list[int]) -> None:
    """Delete rows through PyPaimon."""
    builder = table.new_batch_write_builder()
    messages = builder.new_update().delete_by_row_id(row_ids)
    commit = builder.new_commit()
    commit.commit(messages)
    commit.close()


def theirs(table: Any, columns: list[str] | None = None, **travel: str) -> pa.Table:
    """What PyPaimon reads."""
    if travel:
        table = table.copy(
            {f"scan.{key.replace('_', '-')}": value for key, value in travel.items()}
        )
    builder = table.new_read_builder()
    if columns is not None:
        builder = builder.with_projection(columns)
    return builder.new_read().to_arrow(builder.new_scan().plan().splits())
