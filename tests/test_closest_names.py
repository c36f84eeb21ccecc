"""Columns that are not there: every message names the closest, whatever asked for them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pymosaic
from pymosaic.lance import write_table as write_lance

TABLE = pa.table({"age": [1], "height": [2]})


def append_without_key(base: Path) -> object:
    pymosaic.write_dataset(TABLE, base / "keyed", partition_by="height")
    other = pa.table({"age": [1], "heigth": [2]})
    return pymosaic.write_dataset(other, base / "keyed", mode="append")


def batches_that_differ() -> list[pa.RecordBatch]:
    return [pa.record_batch({"height": [1]}), pa.record_batch({"heigth": [1]})]


ASK: dict[str, Callable[[Path], object]] = {
    "columns": lambda base: pymosaic.dataset(base).to_table(["heigth"]),
    "filters": lambda base: pymosaic.dataset(base).to_table(filters=[("heigth", ">", 1)]),
    "expression": lambda base: pymosaic.dataset(base).to_table(filter=pc.field("heigth") > 1),
    "an expression that filters cannot say": lambda base: pymosaic.dataset(base).to_table(
        filter=pc.field("heigth") * 2 > 1
    ),
    "partition_by": lambda base: pymosaic.write_dataset(TABLE, base, partition_by="heigth"),
    "append": append_without_key,
    "batches": lambda base: pymosaic.write_dataset(batches_that_differ(), base / "new"),
    "statistics": lambda base: pymosaic.write_table(TABLE, io.BytesIO(), statistics=["heigth"]),
    "index": lambda base: pymosaic.read_pandas(base, index="heigth"),
    "metadata": lambda base: pymosaic.read_metadata(pymosaic.dataset(base).files[0]).column_bucket(
        "heigth"
    ),
    "encodings": lambda base: write_lance(
        TABLE, base / "table.lance", encodings={"heigth": "plain"}
    ),
}


@pytest.mark.parametrize("ask", ASK.values(), ids=ASK)
def test_the_closest_column_is_named(ask: Callable[[Path], object], tmp_path: Path) -> None:
    pymosaic.write_dataset(TABLE, tmp_path)
    with pytest.raises(pymosaic.MosaicError, match=r"did you mean '(height|heigth)'"):
        ask(tmp_path)
