"""Datasets as Ray datasets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pymosaic.datasets.arrow_dataset import ArrowDataset
from pymosaic.datasets.discovery import DatasetSource
from pymosaic.file.projection import Columns
from pymosaic.filters.given import Filters
from pymosaic.interop.parts import opened

if TYPE_CHECKING:
    import ray.data

__all__ = ["to_ray"]


def to_ray(
    source: DatasetSource | ArrowDataset,
    *,
    columns: Columns | None = None,
    filters: Filters | None = None,
    exclude: Columns | None = None,
    **options: Any,
) -> ray.data.Dataset:
    """Read Mosaic files with Ray Data.

    ``select_columns`` and ``filter(expr=…)`` of the result are pushed down: only the buckets of
    the columns are read, in row groups that the conditions do not rule out.

    Parameters
    ----------
    source : Dataset, PaimonDataset, or what :func:`pymosaic.dataset` opens
    columns, filters, exclude
        Columns and rows, as in :func:`pymosaic.read_table`. With filters that are not a pyarrow
        expression, Ray applies its own conditions to the rows that were read.
    **options
        Those of ``ray.data.read_datasource``, such as ``override_num_blocks``.

    Returns
    -------
    ray.data.Dataset

    Examples
    --------
    >>> import pyarrow as pa, pymosaic
    >>> table = pa.table({"age": [31, 52, 47], "city": ["Rome", "Oslo", "Oslo"]})
    >>> pymosaic.write_table(table, "people.mosaic")
    >>> pymosaic.to_ray("people.mosaic", filters="age > 40").mean("age")
    49.5
    """
    import ray.data

    from pymosaic.interop.ray_source import MosaicDatasource

    datasource = MosaicDatasource(opened(source), columns, filters, exclude)
    rows: ray.data.Dataset = ray.data.read_datasource(datasource, **options)
    return rows
