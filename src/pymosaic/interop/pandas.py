"""Reading Mosaic files as pandas DataFrames; :mod:`pymosaic.arrow` converts frames both ways."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pymosaic.arrow.frames import table_to_frame
from pymosaic.keywords import checked_keywords

if TYPE_CHECKING:
    import pandas as pd

    from pymosaic.datasets.dataset import Dataset
    from pymosaic.datasets.discovery import DatasetSource
    from pymosaic.file.projection import Columns
    from pymosaic.file.reader import Types
    from pymosaic.filters.given import Filters
    from pymosaic.limits import Limits

__all__ = ["read_pandas"]


@checked_keywords()
def read_pandas(
    source: DatasetSource | Dataset,
    *,
    columns: Columns | None = None,
    filters: Filters | None = None,
    exclude: Columns | None = None,
    index: str | Iterable[str] | None = None,
    dtype_backend: str | None = None,
    filesystem: object = None,
    limits: Limits | None = None,
    trust_statistics: bool = False,
    types: Types = "arrow",
) -> pd.DataFrame:
    """Read Mosaic files into a pandas DataFrame.

    Parameters
    ----------
    source : str, path-like, list of those, or Dataset
        As for :func:`pymosaic.dataset`.
    columns, filters, exclude
        Columns and rows to read, as in :func:`pymosaic.read_table`.
    index : str or list of str, optional
        Columns that become the index. By default those that an unnamed index was written as;
        without any, rows are numbered.
    dtype_backend : {"pyarrow", "numpy_nullable"}, optional
        ``"pyarrow"`` keeps the types of the file (``pandas.ArrowDtype``), without a copy and with
        nulls; ``"numpy_nullable"`` returns the nullable types of pandas. By default columns have
        numpy types, as in ``pandas.read_parquet``.
    filesystem : pyarrow.fs.FileSystem or fsspec file system, optional
        The file system of ``source``.
    limits : Limits, optional
        Caps on what a file may demand.
    trust_statistics : bool
        As for :func:`pymosaic.read_table`.
    types : {"arrow", "mosaic"}
        "arrow": a frame that was written comes back with its index and dtypes. "mosaic": columns
        have the types that are stored.

    Returns
    -------
    pandas.DataFrame

    Examples
    --------
    >>> import pandas as pd, pymosaic
    >>> frame = pd.DataFrame({"temp": [3, None]}, index=pd.RangeIndex(2000, 2002, name="year"))
    >>> pymosaic.write_table(frame, "temps.mosaic")
    >>> pymosaic.read_pandas("temps.mosaic", index="year", dtype_backend="pyarrow")
          temp
    year
    2000   3.0
    2001  <NA>
    """
    from pymosaic.datasets.dataset import Dataset, dataset

    if not isinstance(source, Dataset):
        source = dataset(
            source,
            filesystem=filesystem,
            limits=limits,
            trust_statistics=trust_statistics,
            types=types,
        )
    table = source.scan(columns, filters, exclude=exclude).to_table()
    return table_to_frame(table, index, dtype_backend)
