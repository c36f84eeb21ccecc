"""What may be appended to a dataset: checked against the columns of all files, at little cost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.datasets.appending import check_appendable
from pymosaic.io import Entry, open_directory
from pymosaic.io.local import _LocalDirectory
from tests.datasets.building import Reads


def append(base: Path, **columns: pa.Array) -> None:
    pymosaic.write_dataset(pa.table(columns), base, mode="append")


def test_a_column_that_only_a_later_file_has_is_checked_too(tmp_path: Path) -> None:
    append(tmp_path, id=[1])
    append(tmp_path, id=[2], weight=[1.5])
    append(tmp_path, id=[3])
    with pytest.raises(
        pymosaic.DatasetError,
        match=r"column 'weight' is double in .*\.mosaic and string in the data to append",
    ):
        append(tmp_path, id=[4], weight=["heavy"])
    assert sorted(pymosaic.dataset(tmp_path).to_table()["id"].to_pylist()) == [1, 2, 3]


def test_types_unite_with_those_of_all_files_together(tmp_path: Path) -> None:
    """Each file alone unites with the new one; their union, a double, does not hold an int64."""
    append(tmp_path, x=pa.array([1], pa.int32()))
    append(tmp_path, x=pa.array([1.5], pa.float32()))
    with pytest.raises(pymosaic.DatasetError, match=r"column 'x' is double in .* and int64 in"):
        append(tmp_path, x=pa.array([1], pa.int64()))
    assert pymosaic.dataset(tmp_path).schema.field("x").type == pa.float64()


def test_one_end_of_a_file_is_read_where_its_columns_are_those_of_the_data(
    tmp_path: Path, reads: Reads
) -> None:
    for number in range(20):
        append(tmp_path, id=[number], name=["a"])
    reads.clear()
    schema = pa.schema([pa.field("name", pa.string(), nullable=False)])
    check_appendable(open_directory(tmp_path), schema)
    # A few are read ahead of what is looked at.
    assert len([name for name in reads.files if name.endswith(".mosaic")]) <= 8


def test_nothing_to_append_to(tmp_path: Path) -> None:
    missing = open_directory(tmp_path / "none")
    assert check_appendable(missing, pa.schema({"a": pa.int8()})) == ()
    assert check_appendable(missing, pa.schema({"a": pa.int8()}), ["a"]) == ("a",)


def test_ten_thousand_columns_are_compared_without_python_objects(tmp_path: Path) -> None:
    schema = pa.schema([(f"c{number:05}", pa.int32()) for number in range(10_000)])
    pymosaic.write_dataset(schema.empty_table(), tmp_path)
    storage = open_directory(tmp_path)
    assert check_appendable(storage, schema) == ()
    wrong = schema.set(7_777, pa.field("c07777", pa.string()))
    with pytest.raises(pymosaic.DatasetError, match="column 'c07777' is int32 in"):
        check_appendable(storage, wrong)


def test_an_append_of_known_columns_looks_at_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"k": [1], "n": [2], "x": ["a"]})
    monkeypatch.setattr("pymosaic.datasets.maintenance.RECORDS_PER_CHECKPOINT", 1)
    for _ in range(3):
        pymosaic.write_dataset(table, tmp_path, partition_by="k", mode="append")
    monkeypatch.undo()
    assert list(tmp_path.glob("_mosaic/checkpoint-*"))
    listed: list[str] = []
    list_files = _LocalDirectory.list_files

    def listing(self: Any, directory: str = "", *given: Any, **options: Any) -> list[Entry]:
        listed.append(directory)
        return list_files(self, directory, *given, **options)

    read: list[str] = []
    read_one = _LocalDirectory.read

    def reading(self: Any, path: str) -> bytes:
        read.append(path)
        return read_one(self, path)

    monkeypatch.setattr(_LocalDirectory, "list_files", listing)
    monkeypatch.setattr(_LocalDirectory, "read", reading)
    pymosaic.write_dataset(table.select(["k", "n"]), tmp_path, mode="append")
    assert set(listed) == {"_mosaic"}
    assert all(path.endswith(".committed.json") for path in read)
    assert len(read) <= 2, "however many records and checkpoints there are"
    with pytest.raises(pymosaic.DatasetError, match="'n' is int64"):
        pymosaic.write_dataset(
            table.set_column(1, "n", pa.array(["text"])), tmp_path, mode="append"
        )
    assert "" in listed
    assert pymosaic.dataset(str(tmp_path)).count_rows() == 4
