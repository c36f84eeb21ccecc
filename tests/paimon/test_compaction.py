"""Compaction of tables without a primary key: the rows stay, whatever others write meanwhile."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.paimon import add_columns, compact, dataset, update_columns, write
from pymosaic.paimon.compaction import Compaction
from pymosaic.paimon.table import open_table
from tests.paimon.building import EVOLVING, Warehouse, theirs

SCHEMA = pa.schema([("a", pa.int64()), ("p", pa.string())])
TRACKED = {"row-tracking.enabled": "true"}


def rows(start: int, count: int = 2, partition: str = "x") -> pa.Table:
    values = range(start, start + count)
    return pa.table({"a": pa.array(values), "p": [partition] * count}, SCHEMA)


def values(table: Any) -> list[int]:
    found = dataset(table).to_table().sort_by("a")
    assert found == theirs(table).sort_by("a")
    return [int(value) for value in found["a"].to_pylist()]


def ranges(table: Any) -> list[Any]:
    return list(dataset(table)._rows)


@pytest.mark.parametrize("options", [{}, TRACKED], ids=["plain", "row ids"])
class TestJoin:
    def test_small_files_become_one_for_each_partition(
        self, warehouse: Warehouse, options: dict[str, str]
    ) -> None:
        table = warehouse.create(SCHEMA, partition_keys=["p"], options=options)
        for number in range(3):
            write(rows(10 * number), table)
        for number in range(3, 5):
            write(rows(10 * number, partition="y"), table)
        write(rows(90, partition="z"), table)
        before = values(table)
        report = compact(table)
        assert (report.files_before, report.files_after, report.files_written) == (6, 3, 2)
        assert (report.rows_written, report.snapshot_id) == (10, 7)
        assert values(warehouse.table()) == before
        # What was there is still there at its snapshot.
        assert sorted(dataset(table, snapshot=1).to_table()["a"].to_pylist()) == [0, 1]
        assert compact(warehouse.table()).snapshot_id is None

    def test_rows_that_are_appended_meanwhile_stay(
        self, warehouse: Warehouse, options: dict[str, str]
    ) -> None:
        table = warehouse.create(SCHEMA, options=options)
        for number in range(3):
            write(rows(10 * number), table)
        compaction = pickle.loads(pickle.dumps(Compaction(open_table(table, None))))
        written = [compaction.write(number) for number in range(len(compaction.groups))]
        write(rows(50), table)
        report = compaction.commit(written)
        assert report.snapshot_id == 5
        assert values(warehouse.table()) == [0, 1, 10, 11, 20, 21, 50, 51]

    @pytest.mark.parametrize("by", ["overwrite", "compaction"])
    def test_files_that_are_replaced_meanwhile(
        self, warehouse: Warehouse, options: dict[str, str], by: str
    ) -> None:
        table = warehouse.create(SCHEMA, options=options)
        for number in range(3):
            write(rows(10 * number), table)
        compaction = Compaction(open_table(table, None))
        written = [compaction.write(0)]
        if by == "overwrite":
            write(rows(70), table, mode="overwrite")
        else:
            compact(table)
        expected = values(warehouse.table())
        with pytest.raises(pymosaic.CommitConflictError):
            compaction.commit(written)
        assert values(warehouse.table()) == expected


def test_row_ids_stay(warehouse: Warehouse) -> None:
    table = warehouse.create(SCHEMA, options=TRACKED)
    for number in range(3):
        write(rows(10 * number), table)
    compact(table)
    write(rows(30), warehouse.table())
    (joined, appended) = sorted(ranges(warehouse.table()), key=lambda x: x.first_row_id)
    assert (joined.first_row_id, joined.num_rows) == (0, 6)
    assert (appended.first_row_id, appended.num_rows) == (6, 2)


def test_large_files_stay_as_they_are(warehouse: Warehouse) -> None:
    schema = pa.schema([("a", pa.int64())])
    table = warehouse.create(schema, options={"target-file-size": "100 kb"})
    numbers = np.random.default_rng(1).integers(10, 1 << 60, 12_000)
    for part in ([1, 2], numbers, [3], [4, 5]):
        write(pa.table({"a": part}, schema), table)
    before = {file.path: file.num_rows for x in ranges(table) for file in x.files}
    held = values(table)
    report = compact(table)
    assert (report.files_before, report.files_after, report.rows_written) == (4, 2, 5)
    now = warehouse.table()
    assert values(now) == held
    after = {file.path: file.num_rows for x in ranges(now) for file in x.files}
    assert [after[path] for path in after.keys() & before.keys()] == [12_000]


class TestFold:
    @pytest.fixture
    def table(self, warehouse: Warehouse) -> Any:
        table = warehouse.create(SCHEMA, options=EVOLVING)
        write(rows(0), table)
        write(rows(10), table)
        add_columns(table, {"b": "a * 2"})
        update_columns(warehouse.table(), {"a": "a + 100"})
        return warehouse.table()

    def test_column_files_of_a_range_become_one(self, table: Any, warehouse: Warehouse) -> None:
        before = dataset(table).to_table()
        report = compact(table)
        assert (report.files_before, report.files_after, report.rows_written) == (6, 2, 4)
        now = warehouse.table()
        assert dataset(now).to_table() == theirs(now) == before
        # Ranges, and so row ids, are as before; columns can be added again.
        assert [x.first_row_id for x in ranges(now)] == [0, 2]
        add_columns(now, {"c": "a + b"})
        again = warehouse.table()
        assert dataset(again).to_table() == theirs(again)
        assert compact(again).files_after == 2

    @pytest.mark.parametrize("by", ["update", "append", "overwrite"])
    def test_any_change_meanwhile_is_a_conflict(
        self, table: Any, warehouse: Warehouse, by: str
    ) -> None:
        compaction = Compaction(open_table(table, None))
        written = [compaction.write(number) for number in range(len(compaction.groups))]
        if by == "update":
            update_columns(table, {"a": "a + 1000"})
        else:
            data = rows(50).append_column("b", pa.array([1, 2]))
            write(data, table, mode="append" if by == "append" else "overwrite")
        expected = dataset(warehouse.table()).to_table()
        with pytest.raises(pymosaic.CommitConflictError):
            compaction.commit(written)
        now = warehouse.table()
        assert dataset(now).to_table() == theirs(now) == expected


def test_a_primary_key_is_refused(warehouse: Warehouse) -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False), ("p", pa.string())])
    table = warehouse.create(schema, primary_keys=["a"], options={"bucket": "1"})
    with pytest.raises(pymosaic.UnsupportedFeatureError, match=r"primary key.*sys\.compact"):
        compact(table)


def test_a_table_without_rows(warehouse: Warehouse) -> None:
    table = warehouse.create(SCHEMA)
    assert compact(table).snapshot_id is None
