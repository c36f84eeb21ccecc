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
