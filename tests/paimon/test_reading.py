"""Tables made by PyPaimon, read by pymosaic: the same rows as PyPaimon reads."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pypaimon.schema.data_types import AtomicType
from pypaimon.schema.schema_change import SchemaChange

import pymosaic
from pymosaic.paimon import dataset
from tests.paimon.building import EVOLVING, Warehouse, delete, theirs, update, write

PEOPLE = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int32()),
        "name": ["Ann", "Bo", None, "Di"],
        "score": [0.5, None, 2.5, 3.5],
    }
)


class TestAppended:
    @pytest.fixture
    def table(self, warehouse: Warehouse) -> Any:
        table = warehouse.create(PEOPLE.schema)
        write(table, PEOPLE)
        write(table, PEOPLE.slice(1, 2))
        return table

    def test_rows_and_schema_are_pypaimons(self, table: Any) -> None:
        people = dataset(table)
        assert people.to_table() == theirs(table)
        assert people.schema == theirs(table).schema
        assert people.snapshot_id == 2

    def test_a_path_will_do(self, table: Any) -> None:
        assert dataset(table.table_path).to_table() == theirs(table)

    def test_columns_patterns_filters_and_limits(self, table: Any) -> None:
        people = dataset(table)
        assert people.scan(["score", "id"]).to_table() == theirs(table, ["score", "id"])
        assert people.scan(["s*"]).schema.names == ["score"]
        found = people.scan(["name"], filters=[("id", ">", 1)], limit=2).to_table()
        assert found.to_pydict() == {"name": ["Bo", None]}
        assert people.scan(limit=5).to_table() == theirs(table).slice(0, 5)

    def test_an_unknown_column_names_the_closest(self, table: Any) -> None:
        with pytest.raises(pymosaic.ColumnNotFoundError, match="'score'"):
            dataset(table).scan(["scores"])

    def test_rows_are_counted_without_opening_files(self, table: Any, opened: list[str]) -> None:
        assert dataset(table).count_rows() == 6
        assert opened == []
        assert dataset(table).count_rows([("id", "<=", 2)]) == 3
        assert len(opened) == 2

    def test_engines_and_other_processes(self, table: Any) -> None:
        import duckdb

        people = dataset(table)
        again = pickle.loads(pickle.dumps(people))
        assert again.to_table() == people.to_table()
        scan = people.scan(["id"], filters=[("score", ">", 1)])
        task = pickle.loads(pickle.dumps(scan.task()))
        pieces = pickle.loads(pickle.dumps(scan.plan().pieces))
        assert pa.Table.from_batches(task.read(pieces)).column(0).to_pylist() == [3, 4, 3]
        summed: Any = duckdb.sql("select sum(id) from people where score > 1")
        assert summed.fetchall() == [(10,)]
        frame = pymosaic.scan_polars(people).filter(pl.col("score") > 1).select("id").collect()
        assert frame["id"].to_list() == [3, 4, 3]
        assert people.scan(["id"]).to_pandas()["id"].sum() == 15

    def test_explain_tells_what_is_read(self, table: Any) -> None:
        text = dataset(table).scan(["id"], filters=[("id", ">", 3)]).explain()
        assert "row ranges" in text
        assert "id > 3" in text

    def test_a_file_with_fewer_rows_than_the_manifest_says_is_refused(self, table: Any) -> None:
        path = dataset(table).files[0]
        pymosaic.write_table(PEOPLE.slice(0, 3), path)
        with pytest.raises(pymosaic.CorruptFileError, match="the manifest says 4"):
            dataset(table).to_table()


def test_an_empty_table_has_its_columns(warehouse: Warehouse) -> None:
    table = warehouse.create(PEOPLE.schema)
    assert dataset(table).to_table() == PEOPLE.schema.empty_table()
    assert dataset(table).snapshot_id is None


def test_every_type_reads_as_pypaimon_reads_it(warehouse: Warehouse) -> None:
    moment = datetime.datetime(2024, 2, 29, 12, 30, 1, 123456)
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {
        "b": (pa.bool_(), [True, None]),
        "i8": (pa.int8(), [-1, None]),
        "i16": (pa.int16(), [-1, None]),
        "i64": (pa.int64(), [2**62, None]),
        "f": (pa.float32(), [1.5, None]),
        "text": (pa.string(), ["é", None]),
        "bytes": (pa.binary(), [b"\0", None]),
        "decimal": (pa.decimal128(20, 3), [Decimal("1.250"), None]),
        "date": (pa.date32(), [moment.date(), None]),
        "ms": (pa.timestamp("ms"), [moment.replace(microsecond=123000), None]),
        "us": (pa.timestamp("us"), [moment, None]),
        "zone": (pa.timestamp("us", "UTC"), [moment, None]),
        "list": (pa.list_(pa.int32()), [[1, None], None]),
        "map": (pa.map_(pa.string(), pa.int32()), [[("a", 1)], None]),
    }
    data = pa.table({name: pa.array(values, of) for name, (of, values) in columns.items()})
    table = warehouse.create(data.schema)
    write(table, data)
    found = dataset(table).to_table()
    assert found.to_pydict() == theirs(table).to_pydict()
    assert found.schema.types == theirs(table).schema.types


class TestPartitions:
    @pytest.fixture
    def table(self, warehouse: Warehouse) -> Any:
        data = PEOPLE.append_column("day", pa.array(["a", "a", "b", None])).append_column(
            "year", pa.array([2023, 2024, 2024, 2024], pa.int32())
        )
        table = warehouse.create(data.schema, partition_keys=["day", "year"])
        write(table, data)
        return table

    def test_values_come_from_the_manifest(self, table: Any) -> None:
        found = dataset(table).to_table().sort_by("id")
        assert found == theirs(table).sort_by("id")
        assert dataset(table).partition_columns == ("day", "year")

    def test_filters_prune_before_files_are_opened(self, table: Any, opened: list[str]) -> None:
        found = dataset(table).scan(["id"], filters=[("year", "=", 2024), ("day", "=", "a")])
        assert found.to_table().to_pydict() == {"id": [2]}
        assert len(opened) == 1
        assert found.count_rows() == 1
        assert len(opened) == 1
        assert dataset(table).count_rows([("day", "is null")]) == 1

    def test_only_partition_columns_open_nothing(self, table: Any, opened: list[str]) -> None:
        days = dataset(table).scan(["year", "day"]).to_table()
        assert sorted(days.column("year").to_pylist()) == [2023, 2024, 2024, 2024]
        assert days.column_names == ["year", "day"]
        assert opened == []


class TestSchemaChanges:
    def test_columns_are_found_by_their_ids(self, warehouse: Warehouse) -> None:
        table = warehouse.create(PEOPLE.schema)
        write(table, PEOPLE)
        table = warehouse.alter(
            SchemaChange.rename_column("name", "nickname"),
            SchemaChange.drop_column("score"),
            SchemaChange.update_column_type("id", AtomicType("BIGINT")),
        )
        # The old name, and the name of a dropped column, under new ids.
        table = warehouse.alter(
            SchemaChange.add_column("name", AtomicType("STRING")),
            SchemaChange.add_column("score", AtomicType("DOUBLE")),
        )
        assert dataset(table).to_table() == theirs(table)
        assert dataset(table).to_table().to_pydict() == {
            "id": [1, 2, 3, 4],
            "nickname": ["Ann", "Bo", None, "Di"],
            "name": [None] * 4,
            "score": [None] * 4,
        }
        write(table, theirs(table).slice(0, 1))
        people = dataset(table)
        assert people.to_table() == theirs(table)
        assert (
            people.scan(["name", "nickname"], [("nickname", "=", "Ann")]).to_table().num_rows == 2
        )
        assert people.count_rows([("score", "is null")]) == 5
        assert people.count_rows([("id", ">", 3)]) == 1

    def test_values_are_cast_as_pypaimon_casts_them(self, warehouse: Warehouse) -> None:
        data = pa.table({"d": [1.5, -2.5, None], "n": pa.array([1, 2, 3], pa.int32())})
        table = warehouse.create(data.schema)
        write(table, data)
        table = warehouse.alter(
            SchemaChange.update_column_type("d", AtomicType("INT")),
            SchemaChange.update_column_type("n", AtomicType("STRING")),
        )
        assert dataset(table).to_table() == theirs(table)

    def test_a_filter_on_a_cast_column(self, warehouse: Warehouse) -> None:
        data = pa.table({"n": pa.array([9, 10, 11], pa.int32())})
        table = warehouse.create(data.schema, options={"metadata.stats-mode": "full"})
        write(table, data)
        table = warehouse.alter(SchemaChange.update_column_type("n", AtomicType("STRING")))
        assert dataset(table).scan(filters=[("n", ">", "2")]).to_table().to_pydict() == {"n": ["9"]}


class TestTimeTravel:
    @pytest.fixture
    def table(self, warehouse: Warehouse) -> Any:
        table = warehouse.create(PEOPLE.schema)
        write(table, PEOPLE.slice(0, 1))
        table.create_tag("first")
        write(table, PEOPLE.slice(1, 1))
        table = warehouse.alter(SchemaChange.add_column("age", AtomicType("INT")))
        write(table, PEOPLE.slice(2, 1).append_column("age", pa.array([7], pa.int32())))
        return table

    def test_to_a_snapshot_tag_or_time(self, table: Any) -> None:
        assert dataset(table, snapshot=1).to_table() == theirs(table, snapshot_id="1")
        assert dataset(table, snapshot=2).to_table() == theirs(table, snapshot_id="2")
        assert dataset(table, tag="first").to_table() == theirs(table, tag_name="first")
        time = table.snapshot_manager().get_snapshot_by_id(2).time_millis
        assert dataset(table, timestamp=time).snapshot_id == 2
        moment = datetime.datetime.fromtimestamp(time / 1000 + 0.0005)
        assert dataset(table, timestamp=moment).snapshot_id == 2

    def test_a_dataset_stays_at_its_snapshot(self, table: Any) -> None:
        before = dataset(table)
        rows = before.to_table()
        write(table, rows)
        assert before.to_table() == rows
        assert dataset(table).count_rows() == 2 * len(rows)


class TestDataEvolution:
    @pytest.fixture
    def table(self, warehouse: Warehouse) -> Any:
        table = warehouse.create(PEOPLE.schema, options=EVOLVING)
        write(table, PEOPLE)
        write(table, PEOPLE.slice(0, 2))
        table = warehouse.alter(SchemaChange.add_column("ratio", AtomicType("DOUBLE")))
        ids = pa.array(range(6), pa.int64())
        update(table, pa.table({"_ROW_ID": ids, "ratio": [float(n) for n in range(6)]}))
        return table

    def test_column_files_are_read_side_by_side(self, table: Any) -> None:
        assert dataset(table).to_table() == theirs(table)
        assert dataset(table).to_table().column("ratio").to_pylist() == [0, 1, 2, 3, 4, 5]

    def test_only_files_with_wanted_columns_are_opened(self, table: Any, opened: list[str]) -> None:
        assert len(dataset(table).files) == 4
        assert dataset(table).scan(["ratio"]).to_table().num_rows == 6
        assert len(opened) == 2
        opened.clear()
        found = dataset(table).scan(["name"], filters=[("ratio", ">", 3)])
        assert found.to_table().to_pydict() == {"name": ["Ann", "Bo"]}
        assert found.plan().files.total == 4

    def test_the_newest_file_of_a_column_wins(self, table: Any) -> None:
        update(table, pa.table({"_ROW_ID": pa.array([1], pa.int64()), "score": [99.0]}))
        update(table, pa.table({"_ROW_ID": pa.array([1], pa.int64()), "score": [100.0]}))
        assert dataset(table).to_table() == theirs(table)
        assert dataset(table).scan(["score"]).to_table().column(0).to_pylist()[1] == 100.0

    def test_row_groups_need_not_begin_at_the_same_rows(self, warehouse: Warehouse) -> None:
        data = pa.table({"a": range(1000), "text": [str(n) * 20 for n in range(1000)]})
        table = warehouse.create(data.schema, options=EVOLVING)
        write(table, data)
        table = warehouse.alter(SchemaChange.add_column("b", AtomicType("BIGINT")))
        ids = pa.array(range(1000), pa.int64())
        update(table, pa.table({"_ROW_ID": ids, "b": pa.array(range(1000), pa.int64())}))
        files = {file.rsplit("/")[-1]: file for file in dataset(table).files}
        for path, group in zip(sorted(files.values()), (300, 170), strict=True):
            rows = pymosaic.read_table(path)
            with pymosaic.MosaicWriter(path, rows.schema) as writer:
                for start in range(0, 1000, group):
                    for batch in rows.slice(start, group).to_batches():
                        writer.write(batch)
                    writer.end_row_group()
        everything = dataset(table).to_table()
        assert everything == theirs(table)
        assert everything.column("a").to_pylist() == everything.column("b").to_pylist()
        few = dataset(table).scan(["text"], filters=[("b", ">", 168), ("a", "<", 172)])
        assert few.to_table().column(0).to_pylist() == [str(n) * 20 for n in (169, 170, 171)]

    def test_a_renamed_column_keeps_its_data(self, table: Any, warehouse: Warehouse) -> None:
        warehouse.alter(SchemaChange.rename_column("ratio", "share"))
        found = dataset(warehouse.table()).scan(["share", "id"]).to_table()
        assert found.column("share").to_pylist() == [0, 1, 2, 3, 4, 5]

    def test_many_added_columns(self, warehouse: Warehouse) -> None:
        data = pa.table({f"a{n}": [n, n + 1] for n in range(100)})
        table = warehouse.create(data.schema, options=EVOLVING)
        write(table, data)
        names = [f"b{n}" for n in range(90)]
        table = warehouse.alter(
            *(SchemaChange.add_column(name, AtomicType("BIGINT")) for name in names)
        )
        added = pa.table(
            {"_ROW_ID": pa.array([0, 1], pa.int64())} | {name: [5, 6] for name in names}
        )
        update(table, added)
        assert dataset(table).to_table() == theirs(table)
        assert dataset(table).scan(["b*", "a1"]).to_table() == theirs(table, [*names, "a1"])


class TestDeletions:
    @pytest.fixture
    def table(self, warehouse: Warehouse) -> Any:
        options = EVOLVING | {"deletion-vectors.enabled": "true"}
        table = warehouse.create(PEOPLE.schema, options=options)
        write(table, PEOPLE)
        write(table, PEOPLE)
        delete(table, [1, 6])
        return table

    def test_deleted_rows_are_gone(self, table: Any) -> None:
        assert dataset(table).to_table() == theirs(table)
        assert dataset(table).scan(["id"]).to_table().column(0).to_pylist() == [1, 3, 4, 1, 2, 4]
        assert dataset(table).scan(["id"], [("id", "<", 3)]).to_table().num_rows == 3

    def test_they_are_not_counted(self, table: Any, opened: list[str]) -> None:
        assert dataset(table).count_rows() == 6
        assert opened == []
        assert dataset(table).count_rows([("id", ">=", 3)]) == 3

    def test_they_count_in_no_limit(self, table: Any) -> None:
        assert dataset(table).scan(["id"], limit=5).to_table().num_rows == 5

    def test_a_damaged_vector_is_an_error(self, table: Any) -> None:
        people = dataset(table)
        rows: Any = next(rows for rows in people._rows)
        path = Path(rows.deletions.path)
        data = bytearray(path.read_bytes())
        data[rows.deletions.offset + 4] ^= 255
        path.write_bytes(bytes(data))
        with pytest.raises(pymosaic.CorruptFileError, match="deletion vector"):
            people.to_table()


class TestPrimaryKeys:
    @pytest.fixture
    def table(self, warehouse: Warehouse) -> Any:
        schema = pa.schema([PEOPLE.schema.field(0).with_nullable(False), *list(PEOPLE.schema)[1:]])
        table = warehouse.create(schema, primary_keys=["id"], options={"bucket": "1"})
        write(table, PEOPLE.cast(schema))
        return table

    def test_files_that_do_not_overlap(self, table: Any) -> None:
        assert dataset(table).to_table().to_pydict() == theirs(table).to_pydict()

    def test_files_that_overlap_are_merged(self, table: Any) -> None:
        newer = pa.table(
            {"id": pa.array([2, 5], pa.int32()), "name": ["Bob", "E"], "score": [9.0, 8.0]}
        )
        write(table, newer.cast(table_schema(table)))
        people = dataset(table)
        assert people.to_table().to_pydict() == theirs(table).to_pydict()
        assert people.count_rows() == 5
        assert people.scan(["name"], filters=[("score", ">", 5)]).to_table().to_pydict() == {
            "name": ["Bob", "E"]
        }
        assert people.count_rows([("id", "=", 2)]) == 1
        assert pickle.loads(pickle.dumps(people)).count_rows() == 5


def table_schema(table: Any) -> pa.Schema:
    return dataset(table).schema


class TestOtherFormats:
    @pytest.mark.parametrize("other", ["parquet", "orc", "avro"])
    def test_files_of_both_formats(self, warehouse: Warehouse, other: str) -> None:
        table = warehouse.create(PEOPLE.schema)
        write(table, PEOPLE)
        table = warehouse.alter(SchemaChange.set_option("file.format", other))
        write(table, PEOPLE)
        people = dataset(table)
        assert {path.rsplit(".")[-1] for path in people.files} == {"mosaic", other}
        assert people.to_table() == theirs(table)
        assert people.scan(["id"], filters=[("score", ">", 3)]).to_table().num_rows == 2
        assert people.count_rows() == 8


class TestManifestStatistics:
    def test_files_without_matching_rows_are_not_opened(
        self, warehouse: Warehouse, opened: list[str]
    ) -> None:
        schema = pa.schema(
            [
                *(("n", pa.int64()), ("day", pa.date32()), ("text", pa.string())),
                *(("d", pa.decimal128(10, 2)), ("ts", pa.timestamp("us")), ("x", pa.float64())),
            ]
        )
        table = warehouse.create(schema, options={"metadata.stats-mode": "full"})
        for n in range(4):
            day = datetime.date(2024, 1, 1 + n)
            row = {"n": n, "day": day, "text": f"t{n}", "d": Decimal(n), "x": float(n)}
            row["ts"] = datetime.datetime(2024, 1, 1 + n, 12)
            write(table, pa.Table.from_pylist([row], schema))
        tests: list[tuple[str, Any]] = [
            ("n", 2),
            ("day", datetime.date(2024, 1, 3)),
            ("text", "t2"),
        ]
        tests += [("d", Decimal(2)), ("ts", datetime.datetime(2024, 1, 3, 12)), ("x", 2.0)]
        for name, value in tests:
            opened.clear()
            found = dataset(table).scan(["n"], filters=[(name, "=", value)]).to_table()
            assert found.to_pydict() == {"n": [2]}, name
            assert len(opened) == 1, name
        opened.clear()
        assert dataset(table).count_rows([("n", ">=", 1)]) == 3
        assert opened == []


class TestBadInput:
    def test_not_a_table(self, tmp_path: Any) -> None:
        with pytest.raises(pymosaic.DatasetError, match="is not a Paimon table"):
            dataset(tmp_path)
        with pytest.raises(pymosaic.DatasetError, match="is not a Paimon table"):
            dataset(tmp_path / "missing")
        with pytest.raises(pymosaic.InvalidOptionError, match="must be a path"):
            dataset(5)

    def test_unknown_snapshots_and_tags(self, warehouse: Warehouse) -> None:
        table = warehouse.create(PEOPLE.schema)
        with pytest.raises(pymosaic.DatasetError, match="no snapshot 1; it has none"):
            dataset(table, snapshot=1)
        write(table, PEOPLE)
        table.create_tag("known")
        with pytest.raises(pymosaic.DatasetError, match="no snapshot 9; it has 1 to 1"):
            dataset(table, snapshot=9)
        with pytest.raises(pymosaic.DatasetError, match="no tag 'x'; it has known"):
            dataset(table, tag="x")
        with pytest.raises(pymosaic.DatasetError, match="no snapshot as old as"):
            dataset(table, timestamp=1)
        with pytest.raises(pymosaic.InvalidOptionError, match="one of snapshot"):
            dataset(table, snapshot=1, tag="known")
        with pytest.raises(pymosaic.InvalidOptionError, match="snapshot must be an int"):
            dataset(table, snapshot="1")  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "damage",
        ["{", "[]", '{"id": 0}', '{"id": 0, "fields": [{"id": 0, "name": 5, "type": "INT"}]}'],
    )
    def test_a_damaged_schema(self, warehouse: Warehouse, damage: str) -> None:
        table = warehouse.create(PEOPLE.schema)
        with open(f"{table.table_path}/schema/schema-0", "w") as file:
            file.write(damage)
        with pytest.raises(pymosaic.DatasetError, match="is not a schema of a Paimon table"):
            dataset(table.table_path)
