"""Conversion of a file's columns to the columns of a scan."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.arrow.restoring import relabelled
from pymosaic.datasets.widening import widened
from pymosaic.errors import DatasetError
from pymosaic.file.projection import resolve_columns
from pymosaic.file.row_group_reader import Selection
from pymosaic.kernels.arrow_source import catalog_from_arrow
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.column_union import differing

__all__ = ["FileColumns", "WantedColumns", "select_fields"]


def select_fields(
    schema: pa.Schema, catalog: Catalog, columns: Iterable[str], option: str
) -> pa.Schema:
    """The fields that names and patterns select; ``catalog`` is that of the schema."""
    order = catalog.original_order()
    place_of = np.empty(len(order), np.int64)
    place_of[order] = np.arange(len(order))
    positions = resolve_columns(columns, catalog, option)
    return pa.schema([schema.field(place) for place in place_of[positions].tolist()])


class WantedColumns:
    """The columns that a scan wants from every file."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.names: list[str] = schema.names
        self._catalog = catalog_from_arrow(schema, 1)
        self._positions = self._catalog.original_order()
        # A schema given by the user may have types that no file has.
        described = Selection(self._catalog, self._positions).import_schema()
        self._is_exact = described.equals(schema)

    def differing(self, catalog: Catalog, positions: npt.NDArray[np.int64]) -> list[int]:
        """Which of the columns at these positions (-1: none) may differ in type or nullability."""
        if self._is_exact:
            places = differing(self._catalog, self._positions, catalog, positions)
        else:
            places = np.flatnonzero(positions >= 0)
        result: list[int] = places.tolist()
        return result


class FileColumns:
    """The columns of a scan, found in files with one catalog.

    Parameters
    ----------
    catalog : Catalog
        The columns of the file.
    wanted : WantedColumns
        Columns missing in the file are null, and those of another type are cast.
    path : str
        A file with this catalog, for messages.

    Attributes
    ----------
    names : list of str
        The wanted columns.
    selection : Selection
        The columns to read from the file.
    """

    def __init__(self, catalog: Catalog, wanted: WantedColumns, path: str) -> None:
        self.catalog = catalog
        self.path = path
        self.names: list[str] = wanted.names
        self._schema = wanted.schema
        positions = catalog.find_many(wanted.names)
        places = np.flatnonzero(positions >= 0)
        changed = wanted.differing(catalog, positions)
        self._is_same = len(places) == len(positions) and not changed
        known = self._schema if self._is_same else None
        self.selection: Selection = Selection(catalog, positions[places], known)
        # The index of each wanted column in the selection; -1 for missing ones.
        self._source = np.full(len(positions), -1, np.int64)
        self._source[places] = np.arange(len(places))
        self._casts: list[int] = []
        self._not_null: list[int] = []
        self._reinterpreted: set[str] = set()
        if changed:
            own = Selection(catalog, positions[changed]).import_schema()
            for place, field in zip(changed, own, strict=True):
                self._compare(place, field)
        for place in np.flatnonzero(self._source < 0).tolist():
            if not self._schema.field(place).nullable:
                raise DatasetError(
                    f"column {wanted.names[place]!r} must not be null, but {path} does not have it"
                )

    def _compare(self, place: int, own: pa.Field) -> None:
        wanted = self._schema.field(place)
        if own.nullable and not wanted.nullable:
            self._not_null.append(place)
        if own.type.equals(wanted.type):
            return
        self._casts.append(place)
        united = widened(wanted.type, own.type)
        if united is not None and united.equals(wanted.type):
            return
        self._reinterpreted.add(own.name)
        try:
            pa.nulls(0, own.type).cast(wanted.type)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
            raise DatasetError(
                f"column {own.name!r} is {own.type} in {self.path}, "
                f"which cannot be converted to {wanted.type}"
            ) from error

    @property
    def is_plain(self) -> bool:
        """Whether the values of all columns are in the file as the scan wants them."""
        return not self._reinterpreted and not self._not_null

    @property
    def has(self) -> npt.NDArray[np.bool_]:
        """For each wanted column, whether the file has it; the selection has these, in order."""
        return self._source >= 0

    @cached_property
    def ordered_types(self) -> dict[str, pa.DataType]:
        """The file's own types of columns whose values, and so their order, a cast preserves."""
        return {
            field.name: field.type
            for field in self.selection.import_schema()
            if field.name not in self._reinterpreted
        }

    @cached_property
    def null_width(self) -> int:
        """Approximate bytes per row for columns missing in the file."""
        return _NULL_WIDTH * len(self._sources_and_nulls[1])

    def adapt(self, batch: pa.RecordBatch, path: str) -> pa.RecordBatch:
        """Convert a batch of :attr:`selection` to the wanted schema."""
        if self._is_same:
            return batch
        for place in self._not_null:
            if batch.column(int(self._source[place])).null_count:
                raise DatasetError(
                    f"{path}: column {self._schema.field(place).name!r} has nulls, "
                    "which the schema does not allow"
                )
        if self._casts:
            return self._cast(batch, path)
        return self._rearrange(batch)

    def _cast(self, batch: pa.RecordBatch, path: str) -> pa.RecordBatch:
        sources, null_types = self._sources_and_nulls
        own = [*batch.columns, *(pa.nulls(batch.num_rows, item) for item in null_types)]
        columns = [own[source] for source in sources]
        for place in self._casts:
            columns[place] = _cast(columns[place], self._schema.field(place), path)
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    @cached_property
    def _sources_and_nulls(self) -> tuple[list[int], list[pa.DataType]]:
        """For each wanted column its source; nulls of each type follow after the columns."""
        sources = self._source.copy()
        types: dict[pa.DataType, int] = {}
        for place in np.flatnonzero(sources < 0).tolist():
            arrow_type = self._schema.field(place).type
            sources[place] = len(self.selection.positions) + types.setdefault(
                arrow_type, len(types)
            )
        return sources.tolist(), list(types)

    def _rearrange(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Add nulls for missing columns, without a Python object per column."""
        sources, null_types = self._sources_and_nulls
        for arrow_type in null_types:
            batch = batch.append_column("", pa.nulls(batch.num_rows, arrow_type))
        return relabelled(batch.select(sources), self._schema)


# The widest null is a decimal, plus its validity bit.
_NULL_WIDTH = 17


def _cast(column: pa.Array, field: pa.Field, path: str) -> pa.Array:
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise DatasetError(
            f"{path}: column {field.name!r} does not fit {field.type}: {error}"
        ) from error
