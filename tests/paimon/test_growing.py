"""Columns that are added, updated, dropped and renamed: PyPaimon reads the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pymosaic
from pymosaic.paimon import (
    add_columns,
    dataset,
    drop_columns,
    rename_columns,
    update_columns,
    write,
)
from pymosaic.paimon.expressions import Expression
from tests.paimon.building import EVOLVING, Warehouse, delete, theirs
from tests.paimon.test_writing import files_below

DATA = pa.table({"id": [1, 2, 3], "a": [1.0, 2.0, 3.0], "b": [2.0, 0.5, None]})


@pytest.fixture
def table(warehouse: Warehouse) -> Any:
    table = warehouse.create(DATA.schema, options=EVOLVING)
    write(DATA, table)
    write(DATA.slice(0, 2), table)
    return table


class TestAdd:
    def test_by_expressions(self, table: Any, warehouse: Warehouse) -> None:
        before = {path for path in files_below(table.table_path) if path.endswith(".mosaic")}
        stamps = {path: Path(path).stat().st_mtime_ns for path in before}
        report = add_columns(table, {"ratio": "a / b", "both": "(a > 1) & (b > 1)"})
        assert (report.num_files, report.num_rows, report.snapshot_id) == (2, 5, 3)
        now = warehouse.table()
        assert dataset(now).to_table() == theirs(now)
        assert dataset(now).scan(["ratio"]).to_table().column(0).to_pylist() == [
            *(0.5, 4.0, None),
            *(0.5, 4.0),
        ]
        assert {path: Path(path).stat().st_mtime_ns for path in before} == stamps

    def test_by_a_function_of_batches(self, table: Any, warehouse: Warehouse) -> None:
        seen = []

        def double(batch: pa.RecordBatch) -> dict[str, Any]:
            seen.append(batch.schema.names)
            return {"twice": pc.multiply(batch.column("id"), 2), "text": ["x"] * batch.num_rows}

        add_columns(table, double, columns=["id"])
        assert seen == [["id"], ["id"]]
        now = warehouse.table()
        assert dataset(now).to_table() == theirs(now)
        assert dataset(now).scan(["twice"]).to_table().column(0).to_pylist() == [2, 4, 6, 2, 4]

    def test_by_a_frame_with_a_key(self, table: Any, warehouse: Warehouse) -> None:
        frame = pa.table({"id": pa.array([3, 1, 77], pa.int32()), "note": ["c", "a", "z"]})
        add_columns(table, frame, key="id")
        now = warehouse.table()
        assert dataset(now).scan(["note"]).to_table().column(0).to_pylist() == [
            *("a", None, "c"),
            *("a", None),
        ]
        assert dataset(now).to_table() == theirs(now)

    def test_day_after_day(self, table: Any, warehouse: Warehouse) -> None:
        for day in range(4):
            add_columns(warehouse.table(), {f"day{day}": f"a + {day}"})
        write(DATA, warehouse.table())
        now = warehouse.table()
        assert dataset(now).to_table() == theirs(now)
        assert dataset(now, snapshot=2).schema.names == ["id", "a", "b"]
        found = dataset(now).scan(["id"], filters=[("day3", ">", 5)])
        assert found.to_table().column(0).to_pylist() == [3]

    def test_in_partitions_with_deleted_rows(self, warehouse: Warehouse) -> None:
        options = EVOLVING | {"deletion-vectors.enabled": "true"}
        data = DATA.append_column("day", pa.array(["x", "y", "x"]))
        table = warehouse.create(data.schema, partition_keys=["day"], options=options)
        write(data, table)
        delete(table, [0])
        add_columns(table, {"c": "id * 10"})
        now = warehouse.table()
        assert sorted(dataset(now).scan(["c"]).to_table().column(0).to_pylist()) == sorted(
            theirs(now, ["c"]).column(0).to_pylist()
        )
        assert dataset(now).count_rows() == 2

    def test_to_an_empty_table(self, tmp_path: Path) -> None:
        write(DATA.slice(0, 0), tmp_path / "t", create=True)
        add_columns(tmp_path / "t", {"c": "a + b"})
        assert dataset(tmp_path / "t").schema.field("c").type == pa.float64()

    def test_a_failure_leaves_the_table_as_it_was(self, table: Any, warehouse: Warehouse) -> None:
        calls = []

        def failing(batch: pa.RecordBatch) -> dict[str, Any]:
            calls.append(batch.num_rows)
            if len(calls) > 1:
                raise OSError("gone")
            return {"c": [1] * batch.num_rows}

        with pytest.raises(OSError, match="gone"):
            add_columns(table, failing)
        now = dataset(warehouse.table())
        assert (now.schema.names, now.snapshot_id) == (["id", "a", "b"], 2)


class TestUpdate:
    def test_by_expressions_and_functions(self, table: Any, warehouse: Warehouse) -> None:
        update_columns(table, {"a": "a * 10"})
        update_columns(table, lambda batch: {"b": [float(n) for n in range(batch.num_rows)]})
        assert dataset(table).to_table() == theirs(table)
        assert dataset(table).to_table().column("a").to_pylist() == [10, 20, 30, 10, 20]
        assert dataset(table, snapshot=2).to_table().column("a").to_pylist() == [1, 2, 3, 1, 2]

    def test_rows_that_a_frame_lacks_keep_their_values(self, table: Any) -> None:
        frame = pa.table({"id": [2], "a": [99.0], "b": pa.array([None], pa.float64())})
        update_columns(table, frame, key="id")
        assert dataset(table).to_table().column("a").to_pylist() == [1, 99, 3, 1, 99]
        assert dataset(table).to_table().column("b").to_pylist() == [2.0, None, None, 2.0, None]
        assert dataset(table).to_table() == theirs(table)

    def test_rows_replaced_meanwhile_are_a_conflict(self, table: Any) -> None:
        def slow(batch: pa.RecordBatch) -> dict[str, Any]:
            if dataset(table).snapshot_id == 2:
                write(DATA, table, mode="overwrite")
            return {"a": [0.0] * batch.num_rows}

        with pytest.raises(pymosaic.CommitConflictError):
            update_columns(table, slow)
        assert dataset(table).to_table() == DATA


class TestNamesOnly:
    def test_drop_and_rename_write_no_data(self, table: Any, warehouse: Warehouse) -> None:
        before = files_below(table.table_path)
        rename_columns(table, {"a": "first"})
        drop_columns(table, ["b"])
        now = dataset(warehouse.table())
        assert now.schema.names == ["id", "first"]
        assert now.to_table().column("first").to_pylist() == [1, 2, 3, 1, 2]
        added = files_below(table.table_path) - before
        assert {Path(path).parent.name for path in added} == {"schema"}


class TestRefused:
    @pytest.mark.parametrize(
        ("values", "options", "error", "message"),
        [
            ({"a": "b"}, {}, pymosaic.InvalidDataError, "use update_columns"),
            ({}, {}, pymosaic.InvalidOptionError, "at least one"),
            ({"c": "ab + 1"}, {}, pymosaic.ColumnNotFoundError, "'ab'"),
            (pa.table({"id": [1]}), {"key": "id"}, pymosaic.InvalidOptionError, "beside its key"),
            (pa.table({"c": [1]}), {"key": "id"}, pymosaic.InvalidOptionError, "needs key"),
            (
                pa.table({"id": [1, 1], "c": [1, 2]}),
                {"key": "id"},
                pymosaic.InvalidDataError,
                "unique",
            ),
            (lambda batch: {"c": [1]}, {}, pymosaic.InvalidDataError, "as many rows"),
        ],
    )
    def test_nothing_is_written(
        self, table: Any, values: Any, options: Any, error: Any, message: str
    ) -> None:
        before = files_below(table.table_path)
        with pytest.raises(error, match=message):
            add_columns(table, values, **options)
        assert files_below(table.table_path) == before

    def test_tables_without_row_tracking(self, warehouse: Warehouse) -> None:
        table = warehouse.create(DATA.schema)
        with pytest.raises(pymosaic.UnsupportedFeatureError, match="row-tracking"):
            add_columns(table, {"c": "a"})

    def test_unknown_columns(self, table: Any) -> None:
        with pytest.raises(pymosaic.ColumnNotFoundError, match="no column 'x'"):
            drop_columns(table, ["x"])
        with pytest.raises(pymosaic.ColumnNotFoundError, match="no column 'x'"):
            rename_columns(table, {"x": "y"})
        with pytest.raises(pymosaic.ColumnNotFoundError, match="no column 'x'"):
            update_columns(table, {"x": "a"})
        with pytest.raises(pymosaic.DatasetError):
            rename_columns(table, {"a": "b"})


class TestExpressions:
    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("a + b * 2", [5, 8]),
            ("-a / 2", [-0.5, -1.0]),
            ("a >= 2 or b == 2", [True, True]),
            ("not (a > 1)", [True, False]),
            ("if_else(a > 1, 'big', upper('small'))", ["SMALL", "big"]),
            ("column('x y') ** 2", [9, 16]),
            ("coalesce(n, a)", [1, 7]),
            ("5", [5, 5]),
        ],
    )
    def test_values(self, text: str, wanted: list[Any]) -> None:
        batch = pa.record_batch({"a": [1, 2], "b": [2, 3], "x y": [3, 4], "n": [None, 7]})
        assert Expression(text).evaluate(batch).to_pylist() == wanted

    @pytest.mark.parametrize(
        "text",
        ["a +", "__import__('os')", "a.b", "a[0]", "lambda: 1", "1 < a < 3", "a // b", "column(a)"],
    )
    def test_nothing_else(self, text: str) -> None:
        with pytest.raises(pymosaic.InvalidOptionError, match="expression"):
            Expression(text)
