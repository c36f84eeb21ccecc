from numpy import int64, uint8
from numpy.typing import NDArray

def measure_rows(
    data: NDArray[uint8], positions: NDArray[int64], offsets: NDArray[int64], length_width: int
) -> int: ...
def split_field(
    data: NDArray[uint8],
    positions: NDArray[int64],
    offsets: NDArray[int64],
    width: int,
    length_width: int,
    new_offsets: NDArray[int64] | None,
    out: NDArray[uint8],
) -> None: ...
def join_rows(
    values: NDArray[uint8],
    value_offsets: NDArray[int64],
    length_width: int,
    positions: NDArray[int64],
    out: NDArray[uint8],
) -> None: ...
