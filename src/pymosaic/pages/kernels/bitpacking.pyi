from numpy import int64, uint8
from numpy.typing import NDArray

def unpack_inline(
    data: NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    counts: NDArray[int64],
    bits: int,
    out: NDArray[uint8],
) -> None: ...
def unpack_groups(
    data: NDArray[uint8],
    starts: NDArray[int64],
    sizes: NDArray[int64],
    counts: NDArray[int64],
    bits: int,
    width: int,
    out: NDArray[uint8],
) -> None: ...
def measure_groups(values: NDArray[uint8], bits: int, widths: NDArray[int64]) -> None: ...
def pack_inline(
    values: NDArray[uint8], bits: int, widths: NDArray[int64], out: NDArray[uint8]
) -> None: ...
def pack_chunks(
    values: NDArray[uint8],
    bits: int,
    width: int,
    counts: NDArray[int64],
    sizes: NDArray[int64],
    out: NDArray[uint8],
) -> int: ...
