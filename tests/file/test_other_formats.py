"""Files of other formats are recognised, and the error names both the file and its format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet
import pytest

import pymosaic
from pymosaic.lance import write_table as write_lance

TABLE = pa.table({"n": [1, 2, 3]})
WRITE: dict[str, Callable[[Path], object]] = {
    "a Parquet file": lambda path: pyarrow.parquet.write_table(TABLE, path),
    "an Arrow IPC file": lambda path: pyarrow.feather.write_feather(TABLE, str(path)),
    "an ORC file": lambda path: pyarrow.orc.write_table(TABLE, str(path)),
    "a Lance file": lambda path: write_lance(TABLE, path),
}


@pytest.mark.parametrize("kind", WRITE)
def test_a_file_of_another_format_is_named(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "data.mosaic"
    WRITE[kind](path)
    message = rf"data\.mosaic.*: this is {kind}, not a Mosaic file; `pymosaic convert`"
    for read in (pymosaic.read_table, pymosaic.read_schema, pymosaic.read_metadata):
        with pytest.raises(pymosaic.CorruptFileError, match=message):
            read(path)
    with pytest.raises(pymosaic.CorruptFileError, match=message):
        pymosaic.dataset(tmp_path)
    with pytest.raises(pymosaic.CorruptFileError, match=message):
        pymosaic.write_dataset(TABLE, tmp_path, mode="append")
