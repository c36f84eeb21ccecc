from numpy import int64, uint8
from numpy.typing import NDArray

def expand_runs(
    values: NDArray[uint8],
    value_starts: NDArray[int64],
    lengths: NDArray[uint8],
    length_starts: NDArray[int64],
    num_runs: NDArray[int64],
    counts: NDArray[int64],
    width: int,
    out: NDArray[uint8],
) -> None: ...
def count_runs(values: NDArray[uint8], width: int, chunk_values: int) -> int: ...
def find_runs(
    values: NDArray[uint8],
    width: int,
    chunk_values: int,
    run_values: NDArray[uint8],
    run_lengths: NDArray[uint8],
    runs_per_chunk: NDArray[int64],
) -> None: ...
