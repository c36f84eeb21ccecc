"""Tables written by pymosaic: PyPaimon reads the same rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.paimon import dataset, write
from pymosaic.paimon.table import open_table
from pymosaic.paimon.write import TableWrite
from tests.paimon.building import Warehouse, theirs

DATA = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "day": ["a", "a", "b"]})


def files_below(path: str) -> set[str]:
    return {os.path.join(root, name) for root, _, names in os.walk(path) for name in names}


class TestAppend:
    def test_pypaimon_reads_what_was_written(self, warehouse: Warehouse) -> None:
        table = warehouse.create(DATA.schema)
        report = write(DATA, table)
        assert (report.snapshot_id, report.num_rows, report.num_files) == (1, 3, 1)
        write(DATA.slice(0, 1), table.table_path)
        assert theirs(table) == pa.concat_tables([DATA, DATA.slice(0, 1)])
        assert dataset(table).to_table() == theirs(table)

    def test_to_partitions(self, warehouse: Warehouse) -> None:
        table = warehouse.create(DATA.schema, partition_keys=["day"])
        assert write(DATA, table).num_files == 2
        assert theirs(table).sort_by("id") == DATA
        assert dataset(table).scan(filters=[("day", "=", "b")]).to_table().num_rows == 1

    def test_columns_are_found_by_name_and_cast(self, warehouse: Warehouse) -> None:
        table = warehouse.create(DATA.schema)
        write(pa.table({"day": ["x"], "id": pa.array([7], pa.int64())}), table)
        write(pa.table({"id": [8]}), table)
        assert theirs(table).to_pydict() == {"id": [7, 8], "day": ["x", None]}

    def test_options_of_the_table_are_honoured(self, warehouse: Warehouse) -> None:
        options = {
            "mosaic.num-buckets": "3",
            "mosaic.stats-columns": "id",
            "metadata.stats-mode": "full",
            "target-file-size": "64 kb",
        }
        data = pa.table({"id": range(40_000), "text": [str(n * 7919) for n in range(40_000)]})
        table = warehouse.create(data.schema, options=options)
        report = write(data.to_reader(5_000), table)
        assert report.num_files > 2
        with pymosaic.MosaicFile(dataset(table).files[0]) as file:
            assert file.metadata.num_buckets == 3 or len(file.schema) < 3
            assert "id" in file.statistics(0)
        plan = dataset(table).scan(filters=[("id", "<", 100)]).plan()
        assert plan.files.to_read == 1
        assert dataset(table).to_table() == theirs(table)

    def test_a_table_with_a_primary_key(self, warehouse: Warehouse) -> None:
        schema = pa.schema([pa.field("id", pa.int32(), nullable=False), ("day", pa.string())])
        table = warehouse.create(schema, primary_keys=["id"], options={"bucket": "1"})
        write(DATA, table)
        write(pa.table({"id": [2, 9], "day": ["new", "z"]}), table)
        assert dataset(table).to_table().to_pydict() == theirs(table).to_pydict()
        assert theirs(table).num_rows == 4


class TestOverwrite:
    def test_replaces_all_rows(self, warehouse: Warehouse) -> None:
        table = warehouse.create(DATA.schema, partition_keys=["day"])
        write(DATA, table)
        write(DATA.slice(2), table, mode="overwrite")
        assert theirs(table) == DATA.slice(2)
        assert dataset(table).to_table() == DATA.slice(2)
        assert dataset(table, snapshot=1).count_rows() == 3

    def test_replaces_one_partition(self, warehouse: Warehouse) -> None:
        table = warehouse.create(DATA.schema, partition_keys=["day"])
        write(DATA, table)
        new = pa.table({"id": [50], "day": ["a"]})
        write(new, table, mode="overwrite", partition={"day": "a"})
        assert sorted(theirs(table).column("id").to_pylist()) == [3, 50]

    def test_rows_of_another_partition_are_refused(self, warehouse: Warehouse) -> None:
        table = warehouse.create(DATA.schema, partition_keys=["day"])
        write(DATA, table)
        with pytest.raises(pymosaic.DatasetError, match="does not belong"):
            write(DATA, table, mode="overwrite", partition={"day": "a"})
        assert dataset(table).count_rows() == 3


class TestCreate:
    def test_a_table_that_columns_can_be_added_to(self, tmp_path: Path) -> None:
        path = tmp_path / "shop.db" / "sales"
        data = pa.table({"n": pa.array([1, 2], pa.uint8()), "x": [0.5, None]})
        assert write(data, path, create=True).snapshot_id == 1
        found = dataset(path)
        assert found.schema.types == [pa.int16(), pa.float64()]
        assert found.to_table().to_pydict() == data.to_pydict()
        assert found._fields.options["data-evolution.enabled"] == "true"

    def test_with_keys_and_options(self, tmp_path: Path) -> None:
        path = tmp_path / "t"
        options = {"file.compression.zstd-level": "3"}
        write(DATA, path, create=True, partition_by=["day"], table_options=options)
        assert dataset(path).partition_columns == ("day",)
        write(DATA, tmp_path / "k", create=True, primary_key=["id"])
        write(DATA, tmp_path / "k", create=True)
        assert dataset(tmp_path / "k").count_rows() == 3


class TestRefused:
    """Nothing is written."""

    @pytest.fixture
    def table(self, warehouse: Warehouse) -> Any:
        schema = pa.schema([pa.field("id", pa.int32(), nullable=False), ("day", pa.string())])
        return warehouse.create(schema)

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (pa.table({"id": [1], "dya": ["x"]}), "no column 'dya'.*'day'"),
            (pa.table({"day": ["x"]}), "'id' must not be null, but is missing"),
            (pa.table({"id": [2**40], "day": ["x"]}), "does not fit int32"),
            (pa.table({"id": pa.array([None], pa.int32()), "day": ["x"]}), "must not be null"),
            (pa.table([[1], [2]], names=["id", "id"]), "must be unique"),
            (5, "cannot write int"),
        ],
    )
    def test_data_that_does_not_fit(self, table: Any, data: Any, message: str) -> None:
        before = files_below(table.table_path)
        with pytest.raises(pymosaic.InvalidDataError, match=message):
            write(data, table)
        assert files_below(table.table_path) == before

    def test_options(self, table: Any, tmp_path: Path) -> None:
        with pytest.raises(pymosaic.InvalidOptionError, match="mode must be"):
            write(DATA, table, mode="add")
        with pytest.raises(pymosaic.InvalidOptionError, match="partition is for"):
            write(DATA, table, partition={"day": "a"})
        with pytest.raises(pymosaic.InvalidOptionError, match="not a partition key"):
            write(DATA, table, mode="overwrite", partition={"day": "a"})
        with pytest.raises(pymosaic.InvalidOptionError, match="need create=True"):
            write(DATA, table, partition_by=["day"])
        with pytest.raises(pymosaic.DatasetError, match="pass create=True"):
            write(DATA, tmp_path / "missing")
        with pytest.raises(pymosaic.InvalidOptionError, match="did you mean 'day'"):
            write(DATA, tmp_path / "missing", create=True, partition_by=["dya"])
        assert not (tmp_path / "missing").exists()

    def test_a_failing_source_leaves_no_files(self, table: Any) -> None:
        def batches() -> Any:
            yield pa.record_batch({"id": pa.array([1], pa.int32()), "day": ["x"]})
            raise OSError("gone")

        before = files_below(table.table_path)
        schema = pa.schema([("id", pa.int32()), ("day", pa.string())])
        with pytest.raises(OSError, match="gone"):
            write(pa.RecordBatchReader.from_batches(schema, batches()), table)
        assert files_below(table.table_path) == before


class TestAbort:
    """Spark aborts a write also after its commit has failed."""

    @pytest.fixture
    def job(self, tmp_path: Path) -> TableWrite:
        write(DATA, tmp_path / "t", create=True)
        return TableWrite(open_table(str(tmp_path / "t"), None), DATA.schema)

    def test_files_that_no_snapshot_has_are_deleted(self, job: TableWrite, tmp_path: Path) -> None:
        before = files_below(str(tmp_path))
        messages = job.write(DATA.to_batches())
        write(DATA, tmp_path / "t")
        theirs_too = files_below(str(tmp_path))
        job.abort(messages)
        assert before < files_below(str(tmp_path)) < theirs_too
        assert dataset(tmp_path / "t").count_rows() == 6

    def test_files_of_a_commit_without_an_answer_stay(
        self, job: TableWrite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from pypaimon.write.file_store_commit import FileStoreCommit

        published = FileStoreCommit._try_commit

        def without_answer(self: Any, *arguments: Any, **options: Any) -> None:
            published(self, *arguments, **options)
            raise RuntimeError("connection lost")

        monkeypatch.setattr(FileStoreCommit, "_try_commit", without_answer)
        messages = job.write(DATA.to_batches())
        with pytest.raises(pymosaic.DatasetError, match="connection lost"):
            job.commit(messages)
        job.abort(messages)
        assert dataset(tmp_path / "t").to_table().num_rows == 6
