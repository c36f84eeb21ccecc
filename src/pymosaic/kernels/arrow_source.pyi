"""Arrow schemas on their way into a file: the catalog they make, and how their arrays are read."""

import pyarrow as pa

from pymosaic.kernels.catalog import Catalog

class ArrowSource:
    """How the columns of one Arrow schema are read; made by :func:`bind`."""

    @property
    def num_columns(self) -> int: ...
    @property
    def has_durations(self) -> bool:
        """Whether a type has a duration: its unit must be compared with that of the writer."""

def catalog_from_arrow(
    schema: pa.Schema, num_buckets: int, unusual: list[int] | None = None
) -> Catalog:
    """The catalog that a table of this Arrow schema is written with.

    ``unusual`` gets the numbers of columns that may be read in another form than written.
    """

def bind(schema: pa.Schema, catalog: Catalog, writer_schema: pa.Schema) -> ArrowSource:
    """Match an Arrow schema's columns with a catalog's, by name."""
