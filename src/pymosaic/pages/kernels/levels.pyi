from typing import Any

from numpy import int32, int64, uint8, uint16
from numpy.typing import NDArray

def levels_to_validity(
    definition: NDArray[uint16], first_null: int, max_def: int, bitmap: NDArray[uint8]
) -> int: ...
def assemble_lists(
    rep: NDArray[uint16],
    definition: NDArray[uint16],
    max_visible_def: int,
    max_def: int,
    first_empty: int,
    list_validity: NDArray[uint8],
    offsets: NDArray[int32],
    item_validity: NDArray[uint8],
) -> tuple[int, int, int, int]: ...
def assemble(
    rep: NDArray[uint16],
    definition: NDArray[uint16],
    is_list: NDArray[uint8],
    start_of_rep: NDArray[int32],
    end_of_def: NDArray[int32],
    is_null: NDArray[uint8],
    validity: NDArray[uint8],
    offsets: NDArray[int32],
    counts: NDArray[int64],
    nulls: NDArray[int64],
) -> None: ...
def mark_nulls(
    definition: NDArray[uint16],
    slots: NDArray[int64],
    validity: NDArray[uint8],
    first_bit: int,
    level: int,
) -> None: ...
def count_expanded(
    definition: NDArray[uint16],
    slots: NDArray[int64],
    offsets: NDArray[Any],
    validity: NDArray[uint8],
    first_bit: int,
) -> int: ...
def expand_lists(
    rep: NDArray[uint16],
    definition: NDArray[uint16],
    slots: NDArray[int64],
    offsets: NDArray[Any],
    validity: NDArray[uint8],
    first_bit: int,
    continue_level: int,
    null_level: int,
    empty_level: int,
    new_rep: NDArray[uint16],
    new_def: NDArray[uint16],
    new_slots: NDArray[int64],
) -> None: ...
