"""Arrow arrays whose offsets lie are refused, never followed out of their buffers."""

import io

import numpy as np
import pyarrow as pa
import pytest

import pymosaic

CHILD = pa.array([1, 2, 3], pa.int64())


def integers(values: list[int], width: int = 8) -> pa.Buffer:
    return pa.py_buffer(np.array(values, f"i{width}"))


ARRAYS = {
    "view behind the end": pa.Array.from_buffers(
        pa.large_list_view(pa.int64()),
        1,
        [None, integers([2**63 - 1]), integers([1])],
        children=[CHILD],
    ),
    "view of too many": pa.Array.from_buffers(
        pa.list_view(pa.int64()), 1, [None, integers([2], 4), integers([2], 4)], children=[CHILD]
    ),
    "list that jumps": pa.Array.from_buffers(
        pa.large_list(pa.int64()),
        3,
        [pa.py_buffer(b"\x06"), integers([0, 2**63 - 1, -(2**63), 3])],
        children=[CHILD],
    ),
    "string that jumps": pa.Array.from_buffers(
        pa.binary(), 2, [None, integers([0, 2**30, 5], 4), pa.py_buffer(b"hello")]
    ),
    "large string that jumps": pa.Array.from_buffers(
        pa.large_binary(), 2, [None, integers([0, 2**60, 5]), pa.py_buffer(b"hello")]
    ),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS.keys())
def test_offsets_outside_of_the_data_are_refused(array: pa.Array) -> None:
    with pytest.raises(pymosaic.InvalidDataError, match=r"'a'|not valid Arrow"):
        pymosaic.write_table(pa.table({"a": array}), io.BytesIO())


def test_a_nul_in_a_nested_name_is_refused() -> None:
    table = pa.table({"a": pa.array([[1]], pa.list_(pa.field("x\0y", pa.int64())))})
    with pytest.raises(pymosaic.InvalidDataError, match=r"'a'.*NUL"):
        pymosaic.write_table(table, io.BytesIO())
