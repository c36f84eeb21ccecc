"""Parts of a scan, for engines that read them as tasks of their own, in any process."""

from __future__ import annotations

from typing import Any, TypeAlias

import pyarrow as pa

from pymosaic.datasets.arrow_dataset import ArrowDataset
from pymosaic.datasets.dataset import dataset
from pymosaic.datasets.discovery import DatasetSource
from pymosaic.datasets.scan import Scan

__all__ = ["PART_BYTES", "Part", "opened", "parts_of", "read_part"]

# Compressed; tables in memory take a few times as much.
PART_BYTES = 32 << 20
_WHOLE_ROW_GROUPS = 1 << 40

Part: TypeAlias = "tuple[Any, ...]"
"""Pieces of a plan that one task reads, in order."""


def opened(source: DatasetSource | ArrowDataset) -> ArrowDataset:
    """The dataset, if it is not open yet."""
    return source if isinstance(source, ArrowDataset) else dataset(source)


def parts_of(scan: Scan, max_bytes: int) -> list[Part]:
    """The plan in parts: many small files share one, and large files have several."""
    parts: list[Part] = []
    run: list[Any] = []
    size = 0
    for piece in scan.plan(max_piece_bytes=max_bytes).pieces:
        weight = max(1, piece.num_bytes)
        if run and size + weight > max_bytes:
            parts.append(tuple(run))
            run, size = [], 0
        run.append(piece)
        size += weight
    if run:
        parts.append(tuple(run))
    return parts


def read_part(task: Any, part: Part) -> pa.Table:
    """The rows of a part.

    Parameters
    ----------
    task : ScanTask or PaimonTask
    part : tuple of Piece or of PaimonPiece
    """
    # The engine runs as many tasks as it has processors: threads of ours would only disturb them.
    batches = task.read(part, batch_size=_WHOLE_ROW_GROUPS, use_threads=False)
    return pa.Table.from_batches(list(batches), task.output_schema)
