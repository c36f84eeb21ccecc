"""Merging of schemas: one schema for files whose columns change over time.

Files with the same schema block share a catalog, and each catalog is merged once. The kernel finds
which columns are new or differ; Python handles only those.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.datasets.widening import widened
from pymosaic.errors import DatasetError
from pymosaic.file.row_group_reader import Selection
from pymosaic.kernels.arrow_source import catalog_from_arrow
from pymosaic.kernels.catalog import Catalog
from pymosaic.kernels.column_union import ColumnUnion

__all__ = ["unite"]

# Alternating schemas are recognised; older ones that reappear are compared again.
_REMEMBERED_CATALOGS = 64
_ADVICE = "pass schema= to choose one, or omit the column"


def unite(
    files: Iterable[tuple[str, Catalog]],
    advice: str = _ADVICE,
    conflicts: dict[str, DatasetError] | None = None,
) -> pa.Schema:
    """The columns of all files, in the order in which they first appear.

    A column that is missing in some file is nullable in the result.

    Parameters
    ----------
    files : iterable of (path, Catalog)
    advice : str
        Advice for the error about incompatible types.
    conflicts : dict, optional
        Filled with the error of each column with incompatible types, instead of raising it; such a
        column has the type of the first file that has it.

    Raises
    ------
    DatasetError
        If a column has incompatible types; the message names both files.
    """
    union = _Union(advice, conflicts)
    for path, catalog in files:
        union.add(path, catalog)
    return union.schema()


class _Union:
    def __init__(self, advice: str, conflicts: dict[str, DatasetError] | None) -> None:
        self._advice = advice
        self._conflicts = conflicts
        self._columns = ColumnUnion()
        # One file for each catalog that describes columns, for messages.
        self._paths: dict[Catalog, str] = {}
        # Columns with a type and nullability that no file has.
        self._made: dict[int, pa.Field] = {}
        self._seen: OrderedDict[Catalog, None] = OrderedDict()

    def add(self, path: str, catalog: Catalog) -> None:
        if catalog in self._seen:
            self._seen.move_to_end(catalog)
            return
        self._seen[catalog] = None
        if len(self._seen) > _REMEMBERED_CATALOGS:
            self._seen.popitem(last=False)
        new = self._columns.find_new(catalog)
        if len(new):
            self._columns.extend(self._keep(catalog, new, path))
        columns, positions = self._columns.compare(catalog)
        if len(columns):
            self._widen(catalog, columns, positions, path)

    def _keep(self, catalog: Catalog, positions: npt.NDArray[np.int64], path: str) -> Catalog:
        """A catalog that describes these columns; a small one if they are few of many."""
        if 4 * len(positions) < catalog.num_columns and not catalog.has_nul_names:
            catalog = catalog_from_arrow(Selection(catalog, positions).import_schema(), 1)
        self._paths[catalog] = path
        return catalog

    def _widen(
        self,
        catalog: Catalog,
        columns: npt.NDArray[np.int64],
        positions: npt.NDArray[np.int64],
        path: str,
    ) -> None:
        replaced = []
        fields = Selection(catalog, positions).import_schema()
        for index, (column, known, found) in enumerate(
            zip(columns.tolist(), self._fields(columns), fields, strict=True)
        ):
            known = self._made.get(column, known)
            united = widened(known.type, found.type)
            if united is None:
                error = self._conflict(column, known, found, path)
                if self._conflicts is None:
                    raise error
                self._conflicts.setdefault(found.name, error)
                continue
            field = pa.field(found.name, united, known.nullable or found.nullable)
            if field.equals(found):
                replaced.append(index)
                self._made.pop(column, None)
            elif not field.equals(known):
                self._made[column] = field
        if replaced:
            kept = self._keep(catalog, positions[replaced], path)
            names = [fields.field(index).name for index in replaced]
            self._columns.describe(columns[replaced], kept, kept.find_many(names))

    def _conflict(self, column: int, known: pa.Field, found: pa.Field, path: str) -> DatasetError:
        other = self._paths[self._columns.origin(column)]
        return DatasetError(
            f"column {found.name!r} is {known.type} in {other} and {found.type} in {path}: no type "
            f"holds both without loss; {self._advice}"
        )

    def _fields(self, columns: npt.NDArray[np.int64]) -> list[pa.Field]:
        """The columns of the union, grouped by the catalogs that describe them."""
        catalogs, origins, places, _ = self._columns.result()
        fields: list[pa.Field] = [None] * len(columns)
        described_by = origins[columns]
        for origin in np.unique(described_by).tolist():
            chosen = np.flatnonzero(described_by == origin)
            schema = Selection(catalogs[origin], places[columns[chosen]]).import_schema()
            for index, field in zip(chosen.tolist(), schema, strict=True):
                fields[index] = field
        return fields

    def schema(self) -> pa.Schema:
        catalogs, _, _, counts = self._columns.result()
        if self._columns.num_compared == 1:
            (catalog,) = catalogs or [*self._seen]
            return Selection(catalog, catalog.original_order()).import_schema()
        fields = self._fields(np.arange(self._columns.num_columns))
        for column, field in self._made.items():
            fields[column] = field
        for column in np.flatnonzero(counts < self._columns.num_compared).tolist():
            fields[column] = fields[column].with_nullable(True)
        return pa.schema(fields)
