"""Writing with pymosaic as tests want it: batches in, bytes out."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

import pymosaic


def write(batches: Iterable[pa.RecordBatch], schema: pa.Schema, **options: Any) -> bytes:
    """The file that these batches make, written one after the other."""
    stream = io.BytesIO()
    with pymosaic.MosaicWriter(stream, schema, **options) as writer:
        for batch in batches:
            writer.write(batch)
    return stream.getvalue()


def of_table(table: pa.Table, **options: Any) -> bytes:
    """The file of a table, with its batches written one after the other."""
    return write(table.to_batches(), table.schema, **options)


def written(data: Any, **options: Any) -> bytes:
    """The file that :func:`pymosaic.write_table` makes of anything that it takes."""
    stream = io.BytesIO()
    pymosaic.write_table(data, stream, **options)
    return stream.getvalue()
