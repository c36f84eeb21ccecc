from numpy import int64, uint8
from numpy.typing import NDArray

def locate_buffers(
    data: NDArray[uint8],
    chunk_starts: NDArray[int64],
    chunk_sizes: NDArray[int64],
    num_level_buffers: int,
    num_value_buffers: int,
    large: bool,
    num_levels: NDArray[int64],
    starts: NDArray[int64],
    sizes: NDArray[int64],
) -> None: ...
def gather(
    data: NDArray[uint8], starts: NDArray[int64], sizes: NDArray[int64], out: NDArray[uint8]
) -> None: ...
def gather_bits(
    data: NDArray[uint8], starts: NDArray[int64], counts: NDArray[int64], out: NDArray[uint8]
) -> None: ...
def scatter(
    data: NDArray[uint8], sizes: NDArray[int64], starts: NDArray[int64], out: NDArray[uint8]
) -> None: ...
