"""Columns and schemas in the Arrow types that they were written from."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pymosaic.kernels.arrow_export import OutputArena
from pymosaic.kernels.catalog import Catalog

CONVERSIONS: dict[str, int]

def convert_columns(
    address: int,
    columns: npt.NDArray[np.int64],
    conversions: npt.NDArray[np.uint8],
    output: OutputArena,
) -> None:
    """Convert columns of an exported batch, given by the address of its struct array."""

class Fields:
    """Fields, kept so that schemas of many columns can be made of them."""

    def __init__(self, fields: Sequence[pa.Field]) -> None: ...
    @property
    def num_fields(self) -> int: ...
    def export_schema(
        self,
        catalog: Catalog,
        positions: npt.NDArray[np.int64],
        numbers: npt.NDArray[np.int64],
    ) -> object:
        """An ``arrow_schema`` capsule: a struct of the columns at these positions."""
