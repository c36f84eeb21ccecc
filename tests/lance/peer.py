"""pylance, the implementation that ours is measured against."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

# The choices of a writer are its own, and may change with its version.
CHOICES_ARE_KNOWN = lance.__version__.startswith("14.")


def peer_write(
    table: pa.Table, path: Path, version: str = "2.1", max_page_bytes: int | None = None
) -> None:
    with LanceFileWriter(
        str(path), table.schema, version=version, max_page_bytes=max_page_bytes
    ) as writer:
        for batch in table.to_batches():
            writer.write_batch(batch)


def peer_read(path: Path) -> pa.Table:
    return LanceFileReader(str(path)).read_all().to_table()


def peer_take(path: Path, rows: list[int]) -> pa.Table:
    return LanceFileReader(str(path)).take_rows(rows).to_table()
