"""What cannot be: one clear line, and nothing is written."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.paimon import add_columns, dataset, write
from tests.paimon.building import Warehouse, theirs
from tests.paimon.test_writing import files_below

DATA = pa.table({"id": [1, 2], "x": [1.0, 2.0]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"file.format": "xyz"}, "file.format = 'xyz' is not supported"),
        ({"file.format": "lance"}, "use one of mosaic, parquet, orc, avro"),
        ({"merge-engine": "xyz"}, "'xyz' to MergeEngine"),
        ({"bucket": "many"}, "'many'"),
    ],
)
def test_a_table_that_cannot_be_is_not_created(
    tmp_path: Path, options: dict[str, str], message: str
) -> None:
    with pytest.raises(pymosaic.MosaicError, match=message) as caught:
        write(DATA, tmp_path / "t", create=True, primary_key=["id"], table_options=options)
    assert "\n" not in str(caught.value)
    assert not files_below(str(tmp_path))


@pytest.mark.parametrize("kind", ["orc", "avro", "parquet"])
def test_other_formats_are_read_and_written(tmp_path: Path, kind: str) -> None:
    write(DATA, tmp_path / "t", create=True, table_options={"file.format": kind})
    assert dataset(tmp_path / "t").to_table().to_pylist() == DATA.to_pylist()


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update", "aggregation", "first-row"])
def test_merge_engines_are_those_of_pypaimon(warehouse: Warehouse, engine: str) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), False), pa.field("x", pa.float64())])
    options = {"merge-engine": engine, "bucket": "1"}
    table = warehouse.create(schema, primary_keys=["id"], options=options)
    write(DATA.cast(schema), table)
    write(DATA.cast(schema), table)
    assert dataset(table).to_table().to_pylist() == theirs(table).to_pylist()


@pytest.mark.parametrize("function", [dataset, lambda path: add_columns(path, {"a": "b"})])
def test_what_is_not_a_table(tmp_path: Path, function: Any) -> None:
    (tmp_path / "file").write_text("x")
    for name in ("file", "nothing", "."):
        with pytest.raises(pymosaic.DatasetError, match="is not a Paimon table"):
            function(tmp_path / name)
    assert len(files_below(str(tmp_path))) == 1


@pytest.mark.parametrize("pattern", ["snapshot/snapshot-1", "manifest/manifest-*"])
@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"\x00\xff" * 40])
def test_damaged_metadata(tmp_path: Path, pattern: str, damage: bytes) -> None:
    write(DATA, tmp_path / "t", create=True)
    for path in glob.glob(f"{tmp_path}/t/{pattern}"):
        Path(path).write_bytes(damage)
    with pytest.raises(pymosaic.DatasetError, match="cannot be read"):
        dataset(tmp_path / "t")
