"""Columns whose writer is killed, or is not alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange

import pymosaic
from pymosaic.paimon import add_columns, dataset, rename_columns, update_columns, write
from pymosaic.paimon.exclusive import exclusive_storage
from tests.paimon.building import EVOLVING, Warehouse, theirs

DATA = pa.table({"id": [1, 2, 3], "a": [1.0, 2.0, 3.0]})

# Ends the process at the moment that `MOMENT` names.
KILLED = """
import os, signal, sys
from pymosaic.paimon import add_columns
from pypaimon.snapshot.renaming_snapshot_commit import RenamingSnapshotCommit

path, moment = sys.argv[1:]
calls = []


def kill(*arguments):
    os.kill(os.getpid(), signal.SIGKILL)


def double(batch):
    calls.append(batch)
    if moment == "computing" and len(calls) > 1:
        kill()
    return {"c": [2.0 * value for value in batch["a"].to_pylist()]}


if moment == "publishing":
    RenamingSnapshotCommit.commit = kill
add_columns(path, double)
"""


@pytest.fixture
def table(warehouse: Warehouse) -> Any:
    table = warehouse.create(DATA.schema, options=EVOLVING)
    write(DATA, table)
    write(DATA.slice(0, 2), table)
    return table


def kill_while(moment: str, path: str) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, path, moment], check=False)
    assert ended.returncode == -signal.SIGKILL


def test_killed_while_computing_nothing_has_changed(table: Any) -> None:
    kill_while("computing", table.table_path)
    now = dataset(table.table_path)
    assert (now.schema.names, now.snapshot_id) == (["id", "a"], 2)


def test_killed_before_the_snapshot_the_same_call_finishes(table: Any) -> None:
    path = table.table_path
    kill_while("publishing", path)
    assert dataset(path).to_table().column("c").null_count == 5
    with pytest.raises(pymosaic.InvalidDataError, match="never filled"):
        add_columns(path, {"c": "id"})
    add_columns(path, {"c": "a * 2"})
    assert dataset(path).to_table().column("c").to_pylist() == [2, 4, 6, 2, 4]
    assert dataset(path, snapshot=3).schema.names == ["id", "a", "c"]
    with pytest.raises(pymosaic.InvalidDataError, match="already"):
        add_columns(path, {"c": "a * 3"})


def test_another_schema_meanwhile_is_followed(table: Any, warehouse: Warehouse) -> None:
    def slow(batch: pa.RecordBatch) -> dict[str, Any]:
        if "other" not in dataset(table.table_path).schema.names:
            warehouse.alter(SchemaChange.add_column("other", AtomicType("INT")))
            rename_columns(table.table_path, {"a": "first"})
        return {"c": batch["id"]}

    add_columns(table, slow, columns=["id"])
    now = warehouse.table()
    assert dataset(now).schema.names == ["id", "first", "other", "c"]
    assert dataset(now).to_table().column("c").to_pylist() == [1, 2, 3, 1, 2]
    assert dataset(now).to_table() == theirs(now)


def test_the_same_column_meanwhile_is_a_conflict(table: Any, warehouse: Warehouse) -> None:
    def slow(batch: pa.RecordBatch) -> dict[str, Any]:
        if "c" not in dataset(table.table_path).schema.names:
            add_columns(table.table_path, {"c": "id"})
        return {"c": batch["a"]}

    with pytest.raises(pymosaic.CommitConflictError, match="meanwhile"):
        add_columns(table, slow)
    assert dataset(warehouse.table()).to_table().column("c").to_pylist() == [1, 2, 3, 1, 2]


def test_rows_replaced_meanwhile_leave_no_column(table: Any, warehouse: Warehouse) -> None:
    def slow(batch: pa.RecordBatch) -> dict[str, Any]:
        if dataset(table.table_path).snapshot_id == 2:
            write(DATA, table, mode="overwrite")
        return {"c": batch["a"]}

    with pytest.raises(pymosaic.CommitConflictError):
        add_columns(table, slow)
    assert dataset(warehouse.table()).to_table() == DATA


def test_a_conflict_found_after_the_schema_takes_it_back(
    table: Any, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pypaimon.snapshot.renaming_snapshot_commit import RenamingSnapshotCommit

    real = RenamingSnapshotCommit.commit
    calls: list[int] = []

    def overtaken(self: Any, *arguments: Any) -> bool:
        calls.append(1)
        if len(calls) == 1:
            write(DATA, table.table_path, mode="overwrite")
        return real(self, *arguments)

    monkeypatch.setattr(RenamingSnapshotCommit, "commit", overtaken)
    with pytest.raises(pymosaic.CommitConflictError):
        add_columns(table, {"c": "a"})
    assert dataset(warehouse.table()).to_table() == DATA


def test_appended_rows_are_no_conflict(table: Any, warehouse: Warehouse) -> None:
    def slow(batch: pa.RecordBatch) -> dict[str, Any]:
        if dataset(table.table_path).snapshot_id == 2:
            write(DATA, table)
        return {"a": [0.0] * batch.num_rows}

    update_columns(table, slow)
    now = warehouse.table()
    assert dataset(now).to_table().column("a").to_pylist() == [0, 0, 0, 0, 0, 1, 2, 3]
    assert dataset(now).to_table() == theirs(now)


class TestExclusiveStorage:
    def test_the_second_writer_of_a_name_fails(self, tmp_path: Path) -> None:
        storage = self.storage()
        path = str(tmp_path / "snapshot" / "snapshot-1")
        assert storage.try_to_write_atomic(path, "first")
        assert not storage.try_to_write_atomic(path, "second")
        assert storage.read_file_utf8(path) == "first"
        assert os.listdir(tmp_path / "snapshot") == ["snapshot-1"]

    def test_hints_are_replaced(self, tmp_path: Path) -> None:
        path = str(tmp_path / "LATEST")
        assert self.storage().try_to_write_atomic(path, "1")
        assert self.storage().try_to_write_atomic(path, "2")
        assert self.storage().read_file_utf8(path) == "2"

    def test_without_links_pypaimon_renames(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused(*arguments: Any) -> None:
            raise PermissionError("no links")

        monkeypatch.setattr(os, "link", refused)
        path = str(tmp_path / "snapshot-1")
        assert self.storage().try_to_write_atomic(path, "first")
        assert not self.storage().try_to_write_atomic(path, "second")
        assert os.listdir(tmp_path) == ["snapshot-1"]

    @staticmethod
    def storage() -> Any:
        from pypaimon.common.file_io import FileIO
        from pypaimon.common.options import Options

        return exclusive_storage(FileIO.get("/", Options({})))
