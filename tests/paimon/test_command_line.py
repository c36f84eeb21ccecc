"""Commands that take a Paimon table."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pypaimon.table.file_store_table import FileStoreTable

import pymosaic
from pymosaic.cli.application import run
from pymosaic.paimon import add_columns, dataset, write
from pymosaic.report.dataset_contents import collect_dataset

DATA = pa.table({"id": [1, 2, 3, 4], "x": [1.5, None, 3.5, 4.5], "day": ["a", "a", "b", "b"]})


@pytest.fixture
def path(tmp_path: Path) -> str:
    path = str(tmp_path / "t")
    write(DATA, path, create=True, partition_by=["day"])
    FileStoreTable.from_path(path).create_tag("first")
    add_columns(path, {"twice": "id * 2"})
    write(DATA.slice(0, 1), path)
    # A file of no snapshot any more.
    write(DATA.slice(2, 2), path, mode="overwrite", partition={"day": "b"})
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(list(arguments)) == code
    found = capsys.readouterr()
    return found.err if code else found.out


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(said(capsys, *arguments, "--json"))


def test_schema(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "schema", path)
    assert [column["name"] for column in found["columns"]] == ["id", "x", "day", "twice"]
    assert found["num_rows"] == 5


def test_meta(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "meta", path)
    assert (found["snapshot"], found["num_rows"], found["num_columns"]) == (4, 5, 4)
    files = found["column_files"]
    assert sorted(file["num_columns"] for file in files) == [1, 3, 4, 4]
    assert all(os.path.getsize(f"{path}/{file['path']}") == file["file_bytes"] for file in files)


def test_head_count_and_cat(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys, "count", path) == {"num_rows": 5}
    assert told(capsys, "count", path, "--where", "x > 2") == {"num_rows": 2}
    rows = said(capsys, "cat", path, "-c", "id,twice", "--json").splitlines()
    assert len(rows) == 5
    [row] = said(capsys, "head", path, "-n", "1", "--offset", "1", "--json").splitlines()
    assert json.loads(row) == json.loads(said(capsys, "cat", path, "--json").splitlines()[1])


def test_verify(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "verify", path, "--json").splitlines()
    found = [json.loads(line) for line in lines]
    assert all(item["ok"] for item in found)
    assert {item["file"] for item in found} == {path, *dataset(path).files}
    victim = next(file for file in dataset(path).files)
    os.remove(victim)
    assert run(["verify", path, "--json"]) == 1
    assert f'"file":"{victim}","ok":false' in capsys.readouterr().out


def test_convert_from_and_to(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = str(tmp_path / "rows.parquet")
    said(capsys, "convert", path, target)
    assert pq.read_table(target).num_rows == 5
    assert "--append or --overwrite" in said(capsys, "convert", target, path, code=2)
    said(capsys, "convert", target, path, "--append")
    assert (dataset(path).snapshot_id, dataset(path).count_rows()) == (5, 10)
    said(capsys, "convert", target, path, "--overwrite")
    assert (dataset(path).snapshot_id, dataset(path).count_rows()) == (6, 5)


def test_view_draws_the_files_of_the_snapshot(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "t.html"
    said(capsys, "view", path, "-o", str(target))
    assert target.stat().st_size > 10_000
    shown = {f"{path}/{file['path']}" for file in collect_dataset(path, None)["files"]}
    assert shown == set(dataset(path).files)


def test_snapshots(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "paimon", "snapshots", path)
    assert [row["snapshot"] for row in found["snapshots"]] == [1, 2, 3, 4]
    assert [row["tags"] for row in found["snapshots"]] == ["first", "", "", ""]
    assert found["snapshots"][0]["total_records"] == 4
    assert "is not a Paimon table" in said(
        capsys, "paimon", "snapshots", os.path.dirname(path), code=1
    )


def test_compact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "d.db/small")
    write(DATA, path, create=True)
    assert "nothing to do for 1 file" in said(capsys, "compact", path)
    add_columns(path, {"again": "id"})
    refused = said(capsys, "compact", path, "--num-buckets", "3", code=2)
    assert "--num-buckets is not for Paimon tables" in refused
    found = told(capsys, "compact", path)
    assert (found["files_before"], found["files_after"], found["snapshot_id"]) == (2, 1, 3)
    assert dataset(path).count_rows() == DATA.num_rows


def test_a_table_is_not_a_directory_of_files(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(pymosaic.DatasetError, match=r"use pymosaic\.paimon\.compact"):
        pymosaic.compact(path)
    with pytest.raises(pymosaic.DatasetError, match="is a Paimon table"):
        pymosaic.dataset(path)
    with pytest.raises(pymosaic.DatasetError, match="is a Paimon table"):
        pymosaic.write_dataset(DATA, path, mode="append")
    assert dataset(path).count_rows() == 5
