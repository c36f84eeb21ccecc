"""The reference implementation (paimon-mosaic): bytes in and out, options by pymosaic's names."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from typing import Any

import mosaic
import pyarrow as pa


def reference_write(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, options: Mapping[str, Any]
) -> bytes:
    """The file the reference writes from these batches."""
    stream = io.BytesIO()
    with mosaic.MosaicWriter(stream, schema, reference_options(**options)) as writer:
        for batch in batches:
            writer.write(batch)
    return stream.getvalue()


def reference_read(data: bytes) -> list[pa.RecordBatch]:
    """What the reference reads from a file: one batch per row group."""
    with open_reference(data) as reader:
        return [reader.read_row_group(i) for i in range(reader.num_row_groups)]


def reference_table(data: bytes) -> pa.Table:
    """What the reference reads from a file, as one table."""
    with open_reference(data) as reader:
        return reader.read_all()


def open_reference(data: bytes) -> mosaic.MosaicReader:
    return mosaic.MosaicReader.from_input_file(
        lambda offset, length: data[offset : offset + length], len(data)
    )


def reference_options(
    *,
    compression: str = "zstd",
    compression_level: int = 1,
    num_buckets: int | None = None,
    row_group_bytes: int = 256 << 20,
    max_dict_entries: int = 255,
    max_dict_bytes: int = 32 << 10,
    page_size_threshold: int = 32 << 10,
    statistics: Iterable[str] | None = None,
) -> mosaic.WriterOptions:
    """The reference's options for pymosaic's, with pymosaic's defaults."""
    return mosaic.WriterOptions(
        compression={"none": 0, "zstd": 1}[compression],
        zstd_level=compression_level,
        num_buckets=num_buckets or 0,
        row_group_max_size=row_group_bytes,
        max_dict_total_bytes=max_dict_bytes,
        max_dict_entries=max_dict_entries,
        stats_columns=list(statistics or ()),
        page_size_threshold=page_size_threshold,
    )
