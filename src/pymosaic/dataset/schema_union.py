"""One schema for files whose columns come and go."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from pymosaic.dataset.widening import widened
from pymosaic.errors import DatasetError
from pymosaic.kernels.catalog import Catalog
from pymosaic.row_group_reader import Selection

__all__ = ["catalog_schema", "unite"]


def catalog_schema(catalog: Catalog) -> pa.Schema:
    """The Arrow schema of a file's columns, in the order in which they were written."""
    return Selection(catalog, catalog.original_order()).import_schema()


def unite(files: Iterable[tuple[str, Catalog]]) -> pa.Schema:
    """The columns of all files, in the order in which they first appear.

    A column that a file lacks is nullable in the result.

    Raises
    ------
    DatasetError
        If a column has types that do not unite; both files are named.
    """
    seen: set[int] = set()
    kept: list[Catalog] = []
    fields: dict[str, pa.Field] = {}
    origin: dict[str, str] = {}
    for path, catalog in files:
        if id(catalog) in seen:
            continue
        seen.add(id(catalog))
        kept.append(catalog)
        schema = catalog_schema(catalog)
        missing = len(kept) > 1 and set(fields).difference(schema.names)
        for field in schema:
            known = fields.get(field.name)
            if known is None:
                fields[field.name] = field.with_nullable(True) if len(kept) > 1 else field
                origin[field.name] = path
            elif not known.equals(field):
                united = widened(known.type, field.type)
                if united is None:
                    raise DatasetError(
                        f"column {field.name!r} is {known.type} in {origin[field.name]} and "
                        f"{field.type} in {path}: no type holds both without loss"
                    )
                if not united.equals(known.type):
                    origin[field.name] = path
                fields[field.name] = pa.field(field.name, united, known.nullable or field.nullable)
        for name in missing or ():
            fields[name] = fields[name].with_nullable(True)
    return pa.schema(list(fields.values()))
