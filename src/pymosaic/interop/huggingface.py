"""Datasets as iterable datasets of Hugging Face ``datasets``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pymosaic.datasets.arrow_dataset import ArrowDataset
from pymosaic.datasets.discovery import DatasetSource
from pymosaic.datasets.scan import check_positive
from pymosaic.file.projection import Columns
from pymosaic.filters.given import Filters
from pymosaic.interop.parts import PART_BYTES, Part, opened, parts_of
from pymosaic.keywords import checked_keywords

if TYPE_CHECKING:
    import datasets

__all__ = ["to_hf"]


@dataclass(frozen=True)
class _ReadTables:
    """Reads shards as tables; picklable, for the workers of loaders."""

    task: Any

    def __call__(self, parts: Sequence[Part]) -> Iterator[tuple[int, pa.Table]]:
        number = 0
        for part in parts:
            # One after the other: a loader may stop after the first rows.
            for batch in self.task.read(part, use_threads=False):
                yield number, pa.Table.from_batches([batch])
                number += 1


@checked_keywords()
def to_hf(
    source: DatasetSource | ArrowDataset,
    *,
    columns: Columns | None = None,
    filters: Filters | None = None,
    exclude: Columns | None = None,
    max_part_bytes: int = PART_BYTES,
) -> datasets.IterableDataset:
    """Stream Mosaic files through Hugging Face ``datasets``.

    Only the buckets of these columns are read, in row groups that ``filters`` does not rule out.
    Rows come as Arrow batches: ``with_format("torch")`` or ``map(batched=True)`` need no Python
    object for each value.

    Parameters
    ----------
    source : Dataset, PaimonDataset, or what :func:`pymosaic.dataset` opens
    columns, filters, exclude
        Columns and rows, as in :func:`pymosaic.read_table`. ``select_columns`` and ``filter`` of
        the result work on rows that were read: give what is possible here.
    max_part_bytes : int
        Compressed bytes of a shard, at most; a row group is never split. Shards are what workers
        of a loader and nodes divide among themselves, and what ``shuffle`` puts in another order.

    Returns
    -------
    datasets.IterableDataset

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> table = pa.table({"text": ["good", "bad", "fine"], "label": [1, 0, 1]})
    >>> pymosaic.write_table(table, "reviews.mosaic")
    >>> list(pymosaic.to_hf("reviews.mosaic", columns=["text"], filters="label = 1"))
    [{'text': 'good'}, {'text': 'fine'}]
    """
    from datasets import DatasetInfo, Features, IterableDataset
    from datasets.iterable_dataset import ArrowExamplesIterable

    check_positive("max_part_bytes", max_part_bytes)
    scan = opened(source).scan(columns, filters, exclude=exclude)
    # A list is what is divided; one without parts would have no shard at all.
    parts = parts_of(scan, max_part_bytes) or [()]
    examples = ArrowExamplesIterable(_ReadTables(scan.task()), {"parts": parts})
    return IterableDataset(examples, DatasetInfo(features=Features.from_arrow_schema(scan.schema)))
