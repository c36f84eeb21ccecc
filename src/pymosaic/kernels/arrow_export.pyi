"""Arrow data on its way out: schemas and arrays through the Arrow C data interface."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.kernels.catalog import Catalog

class MemoryBudget:
    """Arrow memory that may still be taken; shared by the threads of one row group."""

    def __init__(self, limit: int, parent: MemoryBudget | None = None) -> None: ...

def fill_new_memory(byte: int) -> None:
    """Let new memory of arenas hold ``byte``, as used memory might; -1 for zeros again."""

class OutputArena:
    """Memory for the arrays that one thread decodes, charged to a budget."""

    def __init__(self, budget: MemoryBudget) -> None: ...

class BatchExport:
    """The columns of one batch while buckets are decoded into it, then an Arrow struct array."""

    def __init__(
        self, catalog: Catalog, positions: npt.NDArray[np.int64], num_rows: int
    ) -> None: ...
    @property
    def catalog(self) -> Catalog: ...
    @property
    def num_rows(self) -> int: ...
    def import_into(self, record_batch: type[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
        """Hand the arrays over to ``pyarrow.RecordBatch``; this can be done once."""

def export_schema(catalog: Catalog, positions: npt.NDArray[np.int64]) -> object:
    """An ``arrow_schema`` capsule: a struct of the columns at these positions."""
