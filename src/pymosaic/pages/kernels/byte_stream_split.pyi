from numpy import int64, uint8
from numpy.typing import NDArray

def join_streams(
    data: NDArray[uint8],
    starts: NDArray[int64],
    counts: NDArray[int64],
    width: int,
    out: NDArray[uint8],
) -> None: ...
def split_streams(
    values: NDArray[uint8], width: int, chunk_values: int, out: NDArray[uint8]
) -> None: ...
