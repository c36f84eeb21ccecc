"""What ``meta`` and ``verify`` tell of Paimon tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pymosaic.cli.output import Cell, Document, Field
from pymosaic.cli.text import count
from pymosaic.errors import MosaicError
from pymosaic.file.verify.file import Finding
from pymosaic.sizes import format_size

if TYPE_CHECKING:
    from pymosaic.paimon.dataset import PaimonDataset

__all__ = ["paimon_meta", "read_findings"]

_FIELDS = (
    Field("first_row", Cell.NUMBER),
    Field("num_rows", Cell.NUMBER, "rows"),
    Field("path", Cell.NAME, "column file"),
    Field("format"),
    Field("file_bytes", Cell.BYTES, "size"),
    Field("num_columns", Cell.NUMBER, "columns"),
    Field("deleted_rows", Cell.NUMBER, "deleted"),
)


def paimon_meta(path: str) -> Document:
    """The newest snapshot of a table: ranges of rows and their column files."""
    from pymosaic.paimon.dataset import dataset

    table = dataset(path)
    num_rows = table.count_rows()
    fields = table._fields
    facts = {
        "file": path,
        "snapshot": table.snapshot_id,
        "schema": fields.schema_id,
        "num_rows": num_rows,
        "num_columns": len(fields.names),
        "partition_keys": list(fields.partition_keys),
        "primary_keys": list(fields.primary_keys),
        "num_files": len(table.files),
        "file_bytes": table.num_bytes,
        "options": fields.options,
    }
    title = (
        f"{path}: Paimon table, snapshot {table.snapshot_id}, {count(num_rows, 'row')}, "
        f"{count(len(fields.names), 'column')}, {count(len(table.files), 'file')}, "
        f"{format_size(table.num_bytes)}"
    )
    return Document(title, facts, "column_files", _FIELDS, _files(table), sizes=("file_bytes",))


def _files(table: PaimonDataset) -> Iterator[dict[str, Any]]:
    from pymosaic.paimon.row_ranges import MergedRows

    for rows in table._rows:
        shared: dict[str, Any] = {
            "num_rows": rows.num_rows,
            "first_row": None,
            "deleted_rows": None,
        }
        if isinstance(rows, MergedRows):
            for item in rows.split.files:
                yield shared | _file(table, item.file_path, item.file_size, None)
            continue
        shared["first_row"] = rows.first_row_id
        shared["deleted_rows"] = 0 if rows.deletions is None else rows.deletions.count
        for file in rows.files:
            columns = file.columns
            known = table._table.fields(file.schema_id).ids if columns is None else columns
            yield shared | _file(table, file.path, file.size, len(known))


def _file(table: PaimonDataset, path: str, size: int, num_columns: int | None) -> dict[str, Any]:
    return {
        "path": path.removeprefix(f"{table.base}/"),
        "format": path.rsplit(".", 1)[-1],
        "file_bytes": size,
        "num_columns": num_columns,
    }


def read_findings(path: str) -> list[Finding]:
    """What is wrong when all rows are read as the manifests tell."""
    from pymosaic.paimon.dataset import dataset

    try:
        for _ in dataset(path).scan().to_batches():
            pass
    except (MosaicError, OSError) as error:
        return [Finding("error", "Paimon table", str(error))]
    return []
