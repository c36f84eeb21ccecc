"""What PyPaimon reads: rows to merge, files of other formats, deletion vectors."""

# PyPaimon is not in the environment of the type checkers.
# pyright: reportMissingImports=false
from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.errors import CorruptFileError, DatasetError
from pymosaic.paimon.row_ranges import Deletions, MergedRows
from pymosaic.paimon.table import PaimonTable

__all__ = ["deleted_rows", "read_merged"]


def deleted_rows(table: PaimonTable, deletions: Deletions, num_rows: int) -> npt.NDArray[np.int64]:
    """The numbers of deleted rows, in ascending order."""
    from pypaimon.deletionvectors.deletion_vector import DeletionVector
    from pypaimon.table.source.deletion_file import DeletionFile

    stored = DeletionFile(deletions.path, deletions.offset, deletions.length, deletions.count)
    try:
        vector = DeletionVector.read(table.file_io, stored)
        rows = np.fromiter(vector.bit_map(), np.int64)
    except (RuntimeError, ValueError) as error:
        raise CorruptFileError(str(error), deletions.path, "deletion vector") from error
    if len(rows) and (rows.min() < 0 or rows.max() >= num_rows):
        raise CorruptFileError(
            f"deletes row {rows.max()} of {num_rows}", deletions.path, "deletion vector"
        )
    rows.sort()
    return rows


def read_merged(
    table: PaimonTable, schema_id: int, rows: MergedRows, schema: pa.Schema
) -> list[pa.RecordBatch]:
    """Read rows through PyPaimon.

    Parameters
    ----------
    table : PaimonTable
    schema_id : int
        The schema that the table is read by.
    rows : MergedRows
    schema : pyarrow.Schema
        Columns to read; without any, batches have only a number of rows.
    """
    whole: Any = table.whole(table.schema_manager().get_schema(schema_id))
    names = schema.names or [whole.field_names[0]]
    builder = whole.new_read_builder().with_projection(names)
    try:
        found = builder.new_read().to_arrow([rows.split])
    except (NotImplementedError, ValueError, RuntimeError) as error:
        raise DatasetError(f"{table.path}: PyPaimon cannot read it: {error}") from error
    batches: list[pa.RecordBatch] = []
    for batch in found.combine_chunks().to_batches():
        if not schema.names:
            batches.append(batch.select([]))
            continue
        columns = [batch.column(name).cast(schema.field(name).type) for name in names]
        batches.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    return batches
