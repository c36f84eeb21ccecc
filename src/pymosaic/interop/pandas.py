"""Reading Mosaic files as pandas DataFrames; :mod:`pymosaic.arrow.input` converts frames to Arrow.

Columns that an unnamed index was written as, such as ``__index_level_0__``, become the index again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pymosaic.errors import ColumnNotFoundError, InvalidOptionError
from pymosaic.keywords import checked_keywords
from pymosaic.suggestions import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

    from pymosaic.datasets.dataset import Dataset
    from pymosaic.datasets.discovery import DatasetSource
    from pymosaic.limits import Limits

__all__ = ["read_pandas", "table_to_frame"]

_UNNAMED_LEVEL = re.compile(r"__index_level_([0-9]+)__")


def table_to_frame(
    table: pa.Table,
    index: str | Iterable[str] | None = None,
    dtype_backend: str | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Convert a table to a frame; see :func:`read_pandas`."""
    import pandas as pd

    if dtype_backend == "pyarrow":
        options.setdefault("types_mapper", pd.ArrowDtype)
    elif dtype_backend == "numpy_nullable":
        options.setdefault("types_mapper", _nullable_types().get)
    elif dtype_backend is not None:
        raise InvalidOptionError(
            f"dtype_backend must be 'pyarrow', 'numpy_nullable' or None, got {dtype_backend!r}"
        )
    levels = [] if index is None else [index] if isinstance(index, str) else list(index)
    for name in levels:
        if name not in table.column_names:
            hint = did_you_mean(str(name), table.column_names)
            raise ColumnNotFoundError(f"index: no column is named {name!r}{hint}")
    frame = table.to_pandas(**options)
    if levels:
        return frame.set_index(levels)
    levels = sorted(
        (name for name in frame.columns if _UNNAMED_LEVEL.fullmatch(str(name))),
        key=lambda name: int(_UNNAMED_LEVEL.fullmatch(name)[1]),  # type: ignore[index]
    )
    if levels:
        frame = frame.set_index(levels)
        frame.index.names = [None] * len(levels)
    return frame


def _nullable_types() -> dict[pa.DataType, Any]:
    import pandas as pd

    return {
        pa.bool_(): pd.BooleanDtype(),
        pa.int8(): pd.Int8Dtype(),
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.float32(): pd.Float32Dtype(),
        pa.float64(): pd.Float64Dtype(),
        pa.string(): pd.StringDtype(),
    }


@checked_keywords()
def read_pandas(
    source: DatasetSource | Dataset,
    *,
    columns: Iterable[str] | None = None,
    filters: object = None,
    index: str | Iterable[str] | None = None,
    dtype_backend: str | None = None,
    filesystem: object = None,
    limits: Limits | None = None,
) -> pd.DataFrame:
    """Read Mosaic files into a pandas DataFrame.

    Parameters
    ----------
    source : str, path-like, list of those, or Dataset
        As for :func:`pymosaic.dataset`.
    columns : list of str, optional
        Names or patterns, as in :func:`pymosaic.read_table`.
    filters : list of tuples, or list of lists of tuples, optional
        Rows to keep, as in :func:`pymosaic.read_table`.
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
        source = dataset(source, filesystem=filesystem, limits=limits)
    table = source.scan(columns, filters).to_table()
    return table_to_frame(table, index, dtype_backend)
