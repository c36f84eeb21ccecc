"""How the columns of one file become the columns of a scan."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from pymosaic.dataset.widening import widened
from pymosaic.errors import DatasetError
from pymosaic.kernels.catalog import Catalog
from pymosaic.row_group_reader import Selection

__all__ = ["FileColumns"]


class FileColumns:
    """Some columns of a scan, found in files of one catalog.

    Parameters
    ----------
    catalog : Catalog
        Columns of the file.
    schema : pyarrow.Schema
        Columns wanted; those that the file lacks are null, those of another type are cast.
    path : str
        A file with this catalog, for messages.

    Attributes
    ----------
    selection : Selection
        The columns to read from the file.
    ordered_types : mapping of str to pyarrow.DataType
        The file's own types of the columns whose values, and so their order, a cast keeps.
    """

    def __init__(self, catalog: Catalog, schema: pa.Schema, path: str) -> None:
        self.catalog = catalog
        self.path = path
        self._schema = schema
        positions = catalog.find_many(schema.names)
        self._places = np.flatnonzero(positions >= 0)
        self.selection = Selection(catalog, positions[self._places])
        found = self.selection.import_schema()
        self._casts: list[tuple[int, pa.DataType]] = []
        self._is_same = found.equals(schema)
        self.ordered_types: dict[str, pa.DataType] = {}
        present = self._places.tolist()
        for place, field in zip(present, found, strict=True):
            target = schema.field(place).type
            if field.type.equals(target):
                self.ordered_types[field.name] = field.type
                continue
            self._casts.append((place, target))
            united = widened(target, field.type)
            if united is not None and united.equals(target):
                self.ordered_types[field.name] = field.type
            else:
                _check_cast(field, target, path)

    def adapt(self, batch: pa.RecordBatch, path: str) -> pa.RecordBatch:
        """A batch of :attr:`selection`, as one of the wanted schema."""
        if self._is_same:
            return batch
        nulls: dict[pa.DataType, pa.Array] = {}
        columns: list[pa.Array | None] = [None] * len(self._schema)
        for place, column in zip(self._places.tolist(), batch.columns, strict=True):
            columns[place] = column
        for place, target in self._casts:
            columns[place] = _cast(columns[place], target, self._schema.field(place).name, path)
        for place, arrow_type in enumerate(self._schema.types):
            if columns[place] is None:
                array = nulls.get(arrow_type)
                if array is None:
                    array = nulls[arrow_type] = pa.nulls(batch.num_rows, arrow_type)
                columns[place] = array
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


def _check_cast(field: pa.Field, target: pa.DataType, path: str) -> None:
    try:
        pa.nulls(0, field.type).cast(target)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise DatasetError(
            f"column {field.name!r} is {field.type} in {path}, which cannot become {target}"
        ) from error


def _cast(column: pa.Array, target: pa.DataType, name: str, path: str) -> pa.Array:
    try:
        return column.cast(target)
    except pa.ArrowInvalid as error:
        raise DatasetError(f"{path}: column {name!r} does not fit {target}: {error}") from error
