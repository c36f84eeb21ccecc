"""Input of writers: anything that supports the Arrow protocols, as Arrow batches.

Of pandas frames, every index becomes a column, except the default index of a new frame (0, 1, 2, …
without a name): pandas keeps a range in metadata, which the format does not have. An index without
a name becomes ``__index_level_0__``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from pymosaic.errors import InvalidDataError

__all__ = ["ArrowArray", "ArrowData", "ArrowStream", "TabularData", "batches_of", "open_data"]


class ArrowStream(Protocol):
    """Anything that exports a stream of batches: tables, frames, readers."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


class ArrowArray(Protocol):
    """Anything that exports one batch."""

    def __arrow_c_array__(self, requested_schema: object = None) -> object: ...


class Scannable(Protocol):
    """Datasets of Arrow's kind."""

    def scanner(self) -> Any: ...


ArrowData: TypeAlias = ArrowStream | ArrowArray | Scannable
"""What writers take."""

TabularData: TypeAlias = pa.Table | pa.RecordBatch | pa.RecordBatchReader

_UNNAMED = "__index_level_0__"


class _Exported:
    """An exported stream, imported separately because export errors are handled differently."""

    def __init__(self, capsules: Any) -> None:
        self._capsules = capsules

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self._capsules

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        return self._capsules


def open_data(data: Any, schema: pa.Schema | None = None) -> TabularData:
    """Convert anything that supports Arrow to one of pyarrow's three kinds of tabular data."""
    if isinstance(data, (pa.Table, pa.RecordBatch, pa.RecordBatchReader)):
        return data
    table = _frame_to_table(data, schema)
    if table is not None:
        return table
    kind = type(data).__name__
    if hasattr(data, "__arrow_c_stream__"):
        importer, exported = pa.RecordBatchReader.from_stream, data.__arrow_c_stream__()
    elif hasattr(data, "__arrow_c_array__"):
        importer, exported = pa.record_batch, data.__arrow_c_array__()
    else:
        raise InvalidDataError(
            f"cannot write {kind}: give a pyarrow Table, RecordBatch or "
            "RecordBatchReader, or an object with __arrow_c_stream__ or __arrow_c_array__ "
            "(a Polars or pandas DataFrame, a DuckDB relation)"
        )
    try:
        return importer(_Exported(exported))
    except pa.ArrowInvalid as error:
        raise InvalidDataError(f"cannot write {kind}: it is not a table ({error})") from error


def batches_of(data: TabularData) -> Iterable[pa.RecordBatch]:
    """The rows, batch by batch."""
    batches: Iterable[pa.RecordBatch]
    if isinstance(data, pa.RecordBatch):
        batches = [data]
    elif isinstance(data, pa.Table):
        batches = data.to_batches()
    else:
        batches = data
    return batches


def _frame_to_table(data: Any, schema: pa.Schema | None = None) -> pa.Table | None:
    """Convert a frame whose range index must be kept to a table; None for anything else.

    With a schema, an index that is not among its columns is dropped.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(data, pandas.DataFrame):
        return None
    index = data.index
    if not isinstance(index, pandas.RangeIndex):
        return None
    if index.start == 0 and index.step == 1 and index.name is None:
        return None
    name = _UNNAMED if index.name is None else str(index.name)
    if schema is not None and name not in schema.names:
        return None
    return pa.Table.from_pandas(data, preserve_index=True)
