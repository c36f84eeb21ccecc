"""Datasets as Dask frames.

Dask passes the columns that a query needs to the function that reads a partition; the filter is
given when the frame is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa

from pymosaic.arrow.frames import types_mapper
from pymosaic.datasets.arrow_dataset import ArrowDataset
from pymosaic.datasets.discovery import DatasetSource
from pymosaic.datasets.scan import check_positive
from pymosaic.errors import InvalidOptionError
from pymosaic.file.projection import Columns
from pymosaic.filters.given import Filters
from pymosaic.interop.parts import PART_BYTES, Part, opened, parts_of, read_part
from pymosaic.keywords import checked_keywords

if TYPE_CHECKING:
    import dask.dataframe as dd
    import pandas as pd

__all__ = ["to_dask"]

Backend: TypeAlias = Literal["pyarrow", "numpy_nullable"]


@dataclass(frozen=True)
class _ReadFrame:
    """Reads a partition; one object for all of them, which workers get with their tasks."""

    task: Any
    dtype_backend: Backend

    def __call__(self, part: Part, columns: Sequence[str] | None = None) -> pd.DataFrame:
        # Dask finds the argument by its name, and gives the columns that a query needs.
        task = self.task if columns is None else self.task.selected(columns)
        return _frame(read_part(task, part), self.dtype_backend)


@checked_keywords()
def to_dask(
    source: DatasetSource | ArrowDataset,
    *,
    columns: Columns | None = None,
    filters: Filters | None = None,
    exclude: Columns | None = None,
    dtype_backend: Backend = "pyarrow",
    max_part_bytes: int = PART_BYTES,
) -> dd.DataFrame:
    """Query Mosaic files with Dask, in threads, processes or on a cluster.

    Only the columns that a query needs are read, in row groups that ``filters`` does not rule out.
    The graph has one task for each partition, whatever the number of columns.

    Parameters
    ----------
    source : Dataset, PaimonDataset, or what :func:`pymosaic.dataset` opens
    columns, filters, exclude
        Columns and rows, as in :func:`pymosaic.read_table`. Dask does not pass conditions on:
        give them here.
    dtype_backend : {"pyarrow", "numpy_nullable"}
        The types of the frame. numpy's own would depend on whether a partition has nulls.
    max_part_bytes : int
        Compressed bytes of a partition, at most; a row group is never split. Small files share a
        partition.

    Returns
    -------
    dask.dataframe.DataFrame
        An index that was written is an ordinary column.

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> table = pa.table({"age": [31, 52, 47], "city": ["Rome", "Oslo", "Oslo"]})
    >>> pymosaic.write_table(table, "people.mosaic")
    >>> people = pymosaic.to_dask("people.mosaic", filters="age > 40")
    >>> float(people["age"].mean().compute())
    49.5
    """
    import dask.dataframe as dd

    check_positive("max_part_bytes", max_part_bytes)
    if dtype_backend not in ("pyarrow", "numpy_nullable"):
        raise InvalidOptionError(
            f"dtype_backend must be 'pyarrow' or 'numpy_nullable', got {dtype_backend!r}"
        )
    scan = opened(source).scan(columns, filters, exclude=exclude)
    frame: dd.DataFrame = dd.from_map(  # type: ignore[no-untyped-call]
        _ReadFrame(scan.task(), dtype_backend),
        # Dask wants a partition: one without pieces has no rows.
        parts_of(scan, max_part_bytes) or [()],
        meta=_frame(scan.schema.empty_table(), dtype_backend),
        label="read-mosaic",
    )
    return frame


def _frame(table: pa.Table, dtype_backend: Backend) -> pd.DataFrame:
    return table.to_pandas(types_mapper=types_mapper(dtype_backend), ignore_metadata=True)
