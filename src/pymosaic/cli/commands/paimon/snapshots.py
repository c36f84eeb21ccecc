"""``pymosaic paimon snapshots``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from pymosaic.cli.options import inspecting
from pymosaic.cli.output import Cell, Document, Field, Output
from pymosaic.cli.parameters import Positional

if TYPE_CHECKING:
    from pymosaic.paimon.table import PaimonTable

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "pymosaic paimon snapshots warehouse/shop.db/sales",
    "pymosaic paimon snapshots table/ --json | jq '.snapshots[-1].snapshot'",
]

_FIELDS = (
    Field("snapshot", Cell.NUMBER),
    Field("time"),
    Field("kind"),
    Field("schema", Cell.NUMBER),
    Field("added_records", Cell.NUMBER, "records added"),
    Field("total_records", Cell.NUMBER, "records in all"),
    Field("tags"),
)


@inspecting
def command(output: Output, table: Annotated[str, Positional("TABLE")]) -> None:
    """List the snapshots of a table, the oldest first, with their tags.

    Records are those of files: a file with a new column counts its rows again.
    """
    from pymosaic.cli.text import count
    from pymosaic.paimon.table import open_table

    opened = open_table(table)
    snapshots = opened.snapshots()
    facts = {"file": table, "num_snapshots": len(snapshots)}
    title = f"{table}: {count(len(snapshots), 'snapshot')}"
    output.document(Document(title, facts, "snapshots", _FIELDS, _rows(opened, snapshots)))


def _rows(table: PaimonTable, snapshots: list[Any]) -> Iterator[dict[str, Any]]:
    from datetime import UTC, datetime

    tags: dict[int, list[str]] = {}
    for name, snapshot_id in table.tags().items():
        tags.setdefault(snapshot_id, []).append(name)
    for snapshot in snapshots:
        moment = datetime.fromtimestamp(snapshot.time_millis / 1000, UTC)
        yield {
            "snapshot": snapshot.id,
            "time": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "kind": snapshot.commit_kind.lower(),
            "schema": snapshot.schema_id,
            "added_records": snapshot.delta_record_count,
            "total_records": snapshot.total_record_count,
            "tags": ", ".join(sorted(tags.get(snapshot.id, []))),
        }
