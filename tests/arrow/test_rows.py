"""Rows by number and by mask of nested fixed-size lists, sliced in every way."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

from pymosaic.arrow.rows import filter_rows, take_rows

MATRICES = pa.FixedSizeListArray.from_arrays(
    pa.FixedSizeListArray.from_arrays(pa.array(range(384), pa.int16()), 2), 2
)
OFFSETS = pa.array(range(25), pa.int32())

ARRAYS: dict[str, Callable[[], pa.Array]] = {
    "matrices": lambda: MATRICES.slice(10, 24),
    "of sliced rows": lambda: pa.FixedSizeListArray.from_arrays(MATRICES.values.slice(2, 48), 2),
    "in structs": lambda: pa.StructArray.from_arrays([MATRICES], ["m"]).slice(10, 24),
    "in lists": lambda: pa.ListArray.from_arrays(OFFSETS, MATRICES.slice(9, 24)),
    "in maps": lambda: pa.MapArray.from_arrays(
        OFFSETS, pa.array(range(24)), MATRICES.slice(9, 24)
    ),
    "of bits": lambda: MATRICES.cast(pa.list_(pa.list_(pa.bool_(), 2), 2)).slice(7, 24),
    "vectors": lambda: MATRICES.values.slice(10, 24),
}  # fmt: skip
ROWS = [0, 3, 5, 5, 23]
MASK = pa.array([row in ROWS for row in range(24)])


@pytest.mark.parametrize("kind", ARRAYS)
def test_rows_are_those_that_were_asked_for(kind: str) -> None:
    array = ARRAYS[kind]()
    values = array.to_pylist()
    taken = [values[row] for row in ROWS]
    filtered = [values[row] for row in sorted(set(ROWS))]
    assert take_rows(array, pa.array(ROWS)).to_pylist() == taken
    assert filter_rows(array, MASK).to_pylist() == filtered
    batch = pa.record_batch({"n": pa.array(range(24)), "v": array})
    chunks = pa.chunked_array([array.slice(0, 4), array.slice(4)])
    for data in (batch, pa.table({"n": range(24), "v": chunks})):
        assert take_rows(data, pa.array(ROWS)).to_pydict() == {"n": ROWS, "v": taken}
        assert filter_rows(data, MASK).to_pydict() == {"n": sorted(set(ROWS)), "v": filtered}
