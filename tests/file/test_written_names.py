"""Column names that are written can be read back under default limits; longer ones are refused."""

from __future__ import annotations

import io

import pyarrow as pa
import pytest

import pymosaic

LONGEST = pymosaic.Limits().max_name_bytes


@pytest.mark.parametrize("name", ["x" * LONGEST, "ü" * (LONGEST // 2)], ids=["ascii", "two bytes"])
def test_the_longest_name_is_read_back(name: str) -> None:
    file = io.BytesIO()
    pymosaic.write_table(pa.table({name: [1]}), file)
    assert pymosaic.read_table(file.getvalue()).column_names == [name]


@pytest.mark.parametrize(
    "name", ["x" * (LONGEST + 1), "ü" * (LONGEST // 2 + 1)], ids=["ascii", "two bytes"]
)
def test_a_longer_name_is_refused_before_anything_is_written(name: str) -> None:
    file = io.BytesIO()
    with pytest.raises(pymosaic.InvalidDataError, match=r"Limits\.max_name_bytes"):
        pymosaic.write_table(pa.table({"short": [1], name: [1]}), file)
    assert file.getvalue() == b""
