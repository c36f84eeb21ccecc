"""Conversion of Arrow tables to pandas frames.

Columns that hold an unnamed index, such as ``__index_level_0__``, become the index again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from pymosaic.errors import ColumnNotFoundError, InvalidOptionError
from pymosaic.suggestions import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["table_to_frame", "types_mapper"]

_UNNAMED_LEVEL = re.compile(r"__index_level_([0-9]+)__")


def table_to_frame(
    table: pa.Table,
    index: str | Iterable[str] | None = None,
    dtype_backend: str | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Convert a table to a frame; see :func:`pymosaic.read_pandas`."""
    if dtype_backend is not None:
        options.setdefault("types_mapper", types_mapper(dtype_backend))
    levels = [] if index is None else [index] if isinstance(index, str) else list(index)
    for name in levels:
        if name not in table.column_names:
            hint = did_you_mean(str(name), table.column_names)
            raise ColumnNotFoundError(f"index: no column is named {name!r}{hint}")
    if levels:
        table = _without_index(table)
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


def types_mapper(dtype_backend: str) -> Any:
    """The function from Arrow types to those of a backend that pyarrow takes."""
    import pandas as pd

    if dtype_backend == "pyarrow":
        return pd.ArrowDtype
    if dtype_backend == "numpy_nullable":
        return _nullable_types().get
    raise InvalidOptionError(
        f"dtype_backend must be 'pyarrow', 'numpy_nullable' or None, got {dtype_backend!r}"
    )


def _without_index(table: pa.Table) -> pa.Table:
    """The same without what pandas says of the index of the frame that was written."""
    metadata = dict(table.schema.metadata or {})
    try:
        description = json.loads(metadata[b"pandas"])
        description["index_columns"] = []
    except (KeyError, ValueError, TypeError):
        return table.replace_schema_metadata(None)
    return table.replace_schema_metadata(metadata | {b"pandas": json.dumps(description)})


def _nullable_types() -> dict[pa.DataType, Any]:
    import pandas as pd

    return {
        pa.bool_(): pd.BooleanDtype(),
        pa.int8(): pd.Int8Dtype(),
        pa.int16(): pd.Int16Dtype(),
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.uint8(): pd.UInt8Dtype(),
        pa.uint16(): pd.UInt16Dtype(),
        pa.uint32(): pd.UInt32Dtype(),
        pa.uint64(): pd.UInt64Dtype(),
        pa.float32(): pd.Float32Dtype(),
        pa.float64(): pd.Float64Dtype(),
        pa.string(): pd.StringDtype(),
        pa.large_string(): pd.StringDtype(),
        pa.string_view(): pd.StringDtype(),
    }
