"""Numbers on their way out: decoded columns as a part of a matrix."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pymosaic.kernels.arrow_export import BatchExport
from pymosaic.kernels.catalog import Catalog

def first_unfit(catalog: Catalog, positions: npt.NDArray[np.int64], width: int, whole: bool) -> int:
    """The index of the first column that does not fit a matrix, or -1."""

def fill(
    batch: BatchExport,
    positions: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    matrix: npt.NDArray[Any],
    first_row: int,
    rows: npt.NDArray[np.int64] | None,
    null: float,
    mask: npt.NDArray[np.uint8] | None,
    refuse: bool,
) -> int:
    """Copy a batch into a matrix; returns the first column whose nulls are refused, or -1."""
