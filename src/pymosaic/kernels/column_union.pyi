"""The columns of many catalogs, united by name; only what differs is handed to Python."""

import numpy as np
import numpy.typing as npt

from pymosaic.kernels.catalog import Catalog

class ColumnUnion:
    """Columns of many catalogs, numbered in the order of their first appearance."""

    @property
    def num_columns(self) -> int: ...
    @property
    def num_compared(self) -> int: ...
    def find_new(self, catalog: Catalog) -> npt.NDArray[np.int64]:
        """Positions of a catalog's columns that are not known yet, in their original order."""

    def extend(self, catalog: Catalog) -> None:
        """Take over the columns of a catalog that are not known yet; it is kept."""

    def compare(self, catalog: Catalog) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Count a catalog's columns, and find those that differ in Arrow type or nullability."""

    def describe(
        self, columns: npt.NDArray[np.int64], catalog: Catalog, positions: npt.NDArray[np.int64]
    ) -> None:
        """Let columns of a catalog, which is kept, stand for columns of the union."""

    def origin(self, column: int) -> Catalog:
        """The catalog that describes a column."""

    def result(
        self,
    ) -> tuple[list[Catalog], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The catalogs, and for each column: which describes it, where, and how many have it."""

def differing(
    left: Catalog,
    left_positions: npt.NDArray[np.int64],
    right: Catalog,
    right_positions: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Places at which two lists of columns differ in Arrow type or nullability."""
