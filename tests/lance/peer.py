"""pylance, the implementation that ours is measured against."""

from __future__ import annotations

from pathlib import Path

import lance
import pyarrow as pa
from lance.file import LanceFileReader, LanceFileWriter

# The choices of a writer are its own, and may change with its version.
CHOICES_ARE_KNOWN = lance.__version__.startswith("14.")


def peer_write(
    table: pa.Table, path: Path, version: str = "2.1", page_bytes: int | None = None
) -> None:
    with LanceFileWriter(
        str(path), table.schema, version=version, data_cache_bytes=page_bytes
    ) as writer:
        if page_bytes is None:
            writer.write_batch(table.combine_chunks())
            return
        for start in range(0, table.num_rows, 500):
            # Copied: the writer does not take every slice of a struct.
            rows = pa.array(range(start, min(start + 500, table.num_rows)))
            writer.write_batch(table.take(rows).combine_chunks())


def peer_read(path: Path) -> pa.Table:
    return LanceFileReader(str(path)).read_all().to_table()


def peer_take(path: Path, rows: list[int]) -> pa.Table:
    return LanceFileReader(str(path)).take_rows(rows).to_table()
