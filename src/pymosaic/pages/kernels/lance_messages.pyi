from numpy import int32, int64, uint8
from numpy.typing import NDArray

def count_parts(content: NDArray[uint8], number: int) -> int: ...
def read_fields(
    content: NDArray[uint8],
    places: NDArray[int64],
    ids: NDArray[int32],
    flags: NDArray[uint8],
) -> tuple[list[str], list[str], list[tuple[str, bytes]]]: ...
def count_leaves(
    parents: NDArray[int64], flags: NDArray[uint8], leaves: NDArray[int64]
) -> None: ...
def read_pages(
    content: NDArray[uint8],
) -> list[tuple[tuple[int, ...], tuple[int, ...], int, bytes | None, bool]]: ...
def write_columns(
    prefix: NDArray[uint8],
    offsets: NDArray[int64],
    sizes: NDArray[int64],
    num_rows: int,
    descriptions: list[bytes],
    numbers: NDArray[int64],
    message_sizes: NDArray[int64],
) -> bytes: ...
