"""10,000 columns in 1,000 files: schemas are parsed once, and Python sees what differs."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.file.catalogs import CatalogCache

COLUMNS, FILES = 10_000, 1_000


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three schemas in turn: as it was, two columns renamed, one type widened."""
    base = tmp_path_factory.mktemp("wide")
    names = [f"sensor_{i:05}" for i in range(COLUMNS)]
    array = pa.array([1, None], pa.int32())
    first = pa.table([array] * COLUMNS, names=names)
    renamed = first.rename_columns(["new_0", "new_1", *names[2:]])
    widened = first.set_column(7, names[7], pa.array([2**40, None]))
    originals = []
    for number, table in enumerate((first, renamed, widened)):
        originals.append(base / f"original_{number}")
        pymosaic.write_table(table, originals[-1], compression_level=-5)
    (base / "files").mkdir()
    for number in range(FILES):
        os.link(originals[number % 3], base / "files" / f"{number:04}.mosaic")
    return base / "files"


def test_a_schema_block_that_was_seen_is_not_parsed_again(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = CatalogCache()
    monkeypatch.setattr("pymosaic.file.open_file.catalogs", cache)
    dataset = pymosaic.dataset(base)
    assert cache.parsed == 3
    assert len(dataset.files) == FILES
    assert len(dataset.schema) == COLUMNS + 2
    assert dataset.schema.field("sensor_00007").type == pa.int64()
    assert dataset.schema.field("sensor_00008").type == pa.int32()
    assert dataset.schema.names[-2:] == ["new_0", "new_1"]
    assert dataset.count_rows() == 2 * FILES
    plan = dataset.scan(["new_0", "sensor_00007"]).plan()
    assert plan.files.to_read == len(plan.pieces) == FILES
    table = dataset.scan(["new_0", "sensor_00007"], [("sensor_00007", "is not null")]).to_table()
    assert table["new_0"].to_pylist() == [[None, 1, None][i % 3] for i in range(FILES)]
    assert table["sensor_00007"].to_pylist() == [[1, 1, 2**40][i % 3] for i in range(FILES)]
    assert cache.parsed == 3


def test_all_columns_of_files_with_different_schemas(base: Path) -> None:
    files = [base / f"{number:04}.mosaic" for number in range(3)]
    table = pymosaic.dataset(files).scan().to_table()
    assert table.shape == (6, COLUMNS + 2)
    assert table["new_1"].to_pylist() == [None, None, 1, None, None, None]
    assert table["sensor_00000"].to_pylist() == [1, None, None, None, 1, None]
    assert table["sensor_00007"].to_pylist() == [1, None, 1, None, 2**40, None]
    assert table["sensor_09999"].to_pylist() == [1, None] * 3
