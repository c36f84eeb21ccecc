from typing import Any

from numpy import int64, uint8
from numpy.typing import NDArray

def measure_values(
    data: NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    counts: NDArray[int64],
    width: int,
) -> int: ...
def join_values(
    data: NDArray[uint8],
    starts: NDArray[int64],
    counts: NDArray[int64],
    width: int,
    offsets: NDArray[Any],
    out: NDArray[uint8],
) -> None: ...
def check_offsets(offsets: NDArray[Any], size: int) -> None: ...
def split_values(
    offsets: NDArray[Any],
    values: NDArray[uint8],
    counts: NDArray[int64],
    width: int,
    starts: NDArray[int64],
    sizes: NDArray[int64],
    out: NDArray[uint8],
) -> None: ...
def split_counts(
    offsets: NDArray[Any], width: int, target: int, most: int, counts: NDArray[int64]
) -> int: ...
