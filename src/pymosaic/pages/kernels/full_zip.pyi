from numpy import int64, uint8, uint16
from numpy.typing import NDArray

def unzip_fixed(
    data: NDArray[uint8],
    control_width: int,
    bits_def: int,
    max_rep: int,
    max_def: int,
    max_visible_def: int,
    value_width: int,
    rep: NDArray[uint16],
    definition: NDArray[uint16],
    values: NDArray[uint8],
) -> tuple[int, int]: ...
def unzip_variable(
    data: NDArray[uint8],
    control_width: int,
    bits_def: int,
    max_rep: int,
    max_def: int,
    max_visible_def: int,
    length_width: int,
    rep: NDArray[uint16],
    definition: NDArray[uint16],
    offsets: NDArray[int64],
    values: NDArray[uint8],
) -> tuple[int, int, int]: ...
def zip_fixed(
    rep: NDArray[uint16],
    definition: NDArray[uint16],
    control_width: int,
    bits_def: int,
    max_visible_def: int,
    values: NDArray[uint8],
    value_width: int,
    item_starts: NDArray[int64],
    out: NDArray[uint8],
) -> int: ...
def zip_variable(
    rep: NDArray[uint16],
    definition: NDArray[uint16],
    control_width: int,
    bits_def: int,
    max_visible_def: int,
    offsets: NDArray[int64],
    values: NDArray[uint8],
    length_width: int,
    item_starts: NDArray[int64],
    out: NDArray[uint8],
) -> int: ...
