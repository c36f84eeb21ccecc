"""The files written by the reference implementation, with what their manifest says of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

DATA = Path(__file__).parent.parent / "data"

# The reference's option names, and ours.
_OPTION_NAMES = {
    "zstd_level": "compression_level",
    "row_group_max_size": "row_group_bytes",
    "max_dict_entries": "max_dict_entries",
    "max_dict_total_bytes": "max_dict_bytes",
    "page_size_threshold": "page_size_threshold",
    "stats_columns": "statistics",
}


@dataclass(frozen=True)
class Fixture:
    """One file, its golden table and its manifest entry."""

    name: str
    manifest: dict[str, Any]

    @property
    def path(self) -> Path:
        return DATA / "fixtures" / f"{self.name}.mosaic"

    @cached_property
    def data(self) -> bytes:
        return self.path.read_bytes()

    @cached_property
    def table(self) -> pa.Table:
        with pa.ipc.open_file(self.path.with_suffix(".arrow")) as reader:
            return reader.read_all()

    @property
    def batches(self) -> list[pa.RecordBatch]:
        """The batches the reference's writer was fed with."""
        whole = one_batch(self.table)
        starts = [sum(self.batch_rows[:i]) for i in range(len(self.batch_rows))]
        return [
            whole.slice(start, rows) for start, rows in zip(starts, self.batch_rows, strict=True)
        ]

    @property
    def batch_rows(self) -> list[int]:
        return self.manifest["batch_rows"]

    @property
    def options(self) -> dict[str, Any]:
        """The writer options under pymosaic's names."""
        given = dict(self.manifest["writer_options"])
        options: dict[str, Any] = {}
        if "compression" in given:
            options["compression"] = {0: "none", 1: "zstd"}[given.pop("compression")]
        if "num_buckets" in given:
            options["num_buckets"] = given.pop("num_buckets") or None
        return options | {_OPTION_NAMES[name]: value for name, value in given.items()}


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """The whole table as one batch, also if it has no rows or no columns."""
    if table.num_columns == 0:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * table.num_rows, pa.struct([])))
    columns = [column.combine_chunks() for column in table.columns]
    return pa.record_batch(columns, table.schema)


_MANIFEST = json.loads((DATA / "fixtures" / "manifest.json").read_text())
FIXTURES = [Fixture(entry["name"], entry) for entry in _MANIFEST["files"]]
