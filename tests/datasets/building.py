"""Small directories of files, and a record of what is read from them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.io.local import LocalSource


def write_files(base: Path, tables: Mapping[str, Any], **options: Any) -> Path:
    """Write tables (or what makes one) at paths below a base."""
    for path, content in tables.items():
        target = base / path
        target.parent.mkdir(parents=True, exist_ok=True)
        table = content if isinstance(content, pa.Table) else pa.table(content)
        pymosaic.write_table(table, target, **options)
    return base


def write_row_groups(path: Path, batches: list[Any], **options: Any) -> Path:
    """A file with one row group for each batch."""
    path.parent.mkdir(parents=True, exist_ok=True)
    first, *others = [pa.record_batch(batch) for batch in batches]
    with pymosaic.MosaicWriter(path, first.schema, row_group_bytes=1, **options) as writer:
        for batch in (first, *others):
            writer.write(batch)
    return path


class Reads:
    """The ranges read from local files: ``(file name, offset, length)``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ranges: list[tuple[str, int, int]] = []
        original_once = LocalSource._read_once
        original_into = LocalSource.read_into

        def read_once(opened: Any, offset: int, length: int) -> bytes:
            self.ranges.append((Path(opened.name).name, offset, length))
            return original_once(opened, offset, length)

        def read_into(opened: Any, offset: int, buffer: memoryview) -> None:
            self.ranges.append((Path(opened.name).name, offset, len(buffer)))
            original_into(opened, offset, buffer)

        monkeypatch.setattr(LocalSource, "_read_once", read_once)
        monkeypatch.setattr(LocalSource, "read_into", read_into)

    def clear(self) -> None:
        self.ranges.clear()

    @property
    def files(self) -> set[str]:
        return {name for name, _, _ in self.ranges}

    @property
    def num_bytes(self) -> int:
        return sum(length for _, _, length in self.ranges)


def bucket_range(path: Path, column: str, row_group: int = 0) -> tuple[str, int, int]:
    """Where the bucket of a column is, as it is recorded when read alone."""
    metadata = pymosaic.read_metadata(path)
    for bucket in metadata.row_group(row_group).buckets():
        if column in bucket.column_names:
            return path.name, bucket.offset, bucket.compressed_size
    raise KeyError(column)
