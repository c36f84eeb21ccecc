"""The rows of the row group being written: each physical column's values, serialised."""

from pymosaic.kernels.arrow_source import ArrowSource
from pymosaic.kernels.catalog import Catalog

class RowGroupBuffer:
    """Buffers for one row group of a catalog's columns."""

    def __init__(self, catalog: Catalog) -> None: ...
    @property
    def catalog(self) -> Catalog: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def serialised_bytes(self) -> int:
        """Bytes of all non-null values as PLAIN would store them."""

    def append(
        self, source: ArrowSource, batch: object, first: int, last: int, start: int, count: int
    ) -> None:
        """Copy in the columns at positions ``first`` to ``last`` of an ``arrow_array`` capsule."""

    def add_rows(self, count: int) -> None:
        """Count the rows of a batch whose columns are all in."""
