from typing import Any

from numpy import int64, uint8
from numpy.typing import NDArray

def expand(
    symbols: NDArray[uint8],
    lengths: NDArray[uint8],
    offsets: NDArray[Any],
    data: NDArray[uint8],
    new_offsets: NDArray[Any],
    out: NDArray[uint8],
) -> int: ...
def train(
    sample: NDArray[uint8], ends: NDArray[int64], symbols: NDArray[uint8], lengths: NDArray[uint8]
) -> int: ...
def compress(
    symbols: NDArray[uint8],
    lengths: NDArray[uint8],
    offsets: NDArray[Any],
    data: NDArray[uint8],
    new_offsets: NDArray[Any],
    out: NDArray[uint8],
) -> int: ...
