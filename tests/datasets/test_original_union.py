"""Datasets whose files tell of the Arrow schema that they were written from."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.testing.annex import without_annex
from tests.file.test_original_schema import TABLE
from tests.property.reference import reference_table
from tests.writing import written


def fill(base: Path, *tables: pa.Table) -> None:
    for number, table in enumerate(tables):
        pymosaic.write_table(table, base / f"{number}.mosaic")


def column(values: Any, kind: pa.DataType, **metadata: str) -> pa.Table:
    return pa.table([pa.array(values, kind)], pa.schema([pa.field("a", kind, metadata=metadata)]))


@pytest.fixture
def zoo(tmp_path: Path) -> Path:
    fill(tmp_path, TABLE, TABLE)
    return tmp_path


class TestFilesOfOneSchema:
    def test_give_it_back(self, zoo: Path) -> None:
        dataset = pymosaic.dataset(zoo)
        assert dataset.schema.equals(TABLE.schema, check_metadata=True)
        expected = pa.concat_tables([TABLE, TABLE])
        for found in (dataset.scan().to_table(), dataset.to_table()):
            found.validate(full=True)
            assert found.schema.equals(TABLE.schema, check_metadata=True)
            assert found.equals(expected)

    @pytest.mark.parametrize("name", TABLE.column_names)
    def test_give_each_column_back(self, zoo: Path, name: str) -> None:
        found = pymosaic.dataset(zoo).scan([name], filters=[("plain", ">", 2)]).to_table()
        assert found.schema.equals(TABLE.select([name]).schema, check_metadata=True)
        expected = pa.concat_tables([TABLE.select([name]).slice(2)] * 2)
        # Dictionaries inside of lists have only what is used.
        assert found.equals(expected) or (
            name == "list of dictionaries" and found.to_pylist() == expected.to_pylist()
        )

    def test_are_stored_otherwise(self, zoo: Path) -> None:
        stored = pymosaic.read_table(zoo / "0.mosaic", types="mosaic")
        dataset = pymosaic.dataset(zoo, types="mosaic")
        assert dataset.schema.equals(stored.schema, check_metadata=True)
        assert dataset.scan().to_table().equals(pa.concat_tables([stored, stored]))
        assert pymosaic.dataset(zoo).stored_schema.equals(stored.schema)

    def test_are_read_elsewhere(self, zoo: Path) -> None:
        scan = pymosaic.dataset(zoo).scan(["dictionary", "uint8"])
        task, pieces = pickle.loads(pickle.dumps((scan.task(), scan.plan().pieces)))
        found = pa.Table.from_batches(task.read(pieces), task.output_schema)
        assert found.equals(pa.concat_tables([TABLE.select(["dictionary", "uint8"])] * 2))
        dataset = pickle.loads(pickle.dumps(pymosaic.dataset(zoo)))
        assert dataset.schema.equals(TABLE.schema, check_metadata=True)

    def test_a_given_schema_decides(self, zoo: Path) -> None:
        schema = pa.schema([("uint8", pa.int64())])
        assert pymosaic.dataset(zoo, schema=schema).scan().to_table().schema.equals(schema)

    def test_are_counted(self, zoo: Path) -> None:
        assert pymosaic.dataset(zoo).count_rows([("uint8", ">", 0)]) > 0
        assert pymosaic.dataset(zoo).scan(["dictionary"], limit=3).to_table().num_rows == 3


class TestFilesThatDiffer:
    def types(self, base: Path) -> list[pa.DataType]:
        found = pymosaic.dataset(base).scan().to_table()
        found.validate(full=True)
        assert found.schema.equals(pymosaic.dataset(base).schema, check_metadata=True)
        return list(found.schema.types)

    def test_in_a_type_have_the_stored_one(self, tmp_path: Path) -> None:
        fill(tmp_path, column(["x"], pa.large_string()), column(["y"], pa.string_view()))
        assert self.types(tmp_path) == [pa.string()]

    def test_in_that_only_one_has_a_type(self, tmp_path: Path) -> None:
        for number, tables in enumerate(([0, 1], [1, 0])):
            both = [column([1], pa.uint8()), column([2], pa.int16())]
            (tmp_path / str(number)).mkdir()
            fill(tmp_path / str(number), *(both[i] for i in tables))
            assert self.types(tmp_path / str(number)) == [pa.int16()]

    def test_in_width_are_widened(self, tmp_path: Path) -> None:
        fill(tmp_path, column([1], pa.uint8()), column([2], pa.uint16()))
        assert self.types(tmp_path) == [pa.int32()]

    def test_in_columns_keep_the_types_of_each(self, tmp_path: Path) -> None:
        one = pa.table({"a": pa.array([1], pa.uint8())})
        other = pa.table({"b": pa.array(["x"]).dictionary_encode(), "a": one["a"]})
        fill(tmp_path, one, other)
        assert self.types(tmp_path) == [pa.uint8(), other.schema.field("b").type]
        found = pymosaic.dataset(tmp_path).scan().to_table()
        assert found.to_pydict() == {"a": [1, 1], "b": [None, "x"]}

    def test_in_metadata_keep_what_is_the_same(self, tmp_path: Path) -> None:
        one, other = (column([1], pa.int64(), unit="m", by=name) for name in ("Ann", "Bo"))
        fill(
            tmp_path,
            one.replace_schema_metadata({"k": "v", "n": "1"}),
            other.replace_schema_metadata({"k": "v", "n": "2"}),
        )
        schema = pymosaic.dataset(tmp_path).schema
        assert schema.metadata == {b"k": b"v"}
        assert schema.field("a").metadata == {b"unit": b"m"}

    def test_in_that_one_has_no_annex(self, tmp_path: Path) -> None:
        table = column([1], pa.uint8()).replace_schema_metadata({"k": "v"})
        fill(tmp_path, table)
        (tmp_path / "1.mosaic").write_bytes(without_annex(written(table)))
        schema = pymosaic.dataset(tmp_path).schema
        assert schema.types == [pa.int16()]
        assert schema.metadata is None

    def test_in_dictionaries(self, tmp_path: Path) -> None:
        parts = [pa.array(values).dictionary_encode() for values in (["b", "a"], ["c", "a"])]
        fill(tmp_path, *(pa.table({"d": part}) for part in parts))
        found = pymosaic.dataset(tmp_path).scan().to_table()
        assert pa.types.is_dictionary(found.schema.field("d").type)
        assert found["d"].to_pylist() == ["b", "a", "c", "a"]
        assert found.to_pandas()["d"].tolist() == ["b", "a", "c", "a"]


def test_statistics_still_rule_out_row_groups(tmp_path: Path) -> None:
    for number in range(2):
        table = pa.table({"a": pa.array([number], pa.uint8())})
        pymosaic.write_table(table, tmp_path / f"{number}.mosaic", statistics=True)
    plan = pymosaic.dataset(tmp_path).scan(filters=[("a", ">", 0)]).plan()
    assert plan.row_groups.to_read == 1


def test_partition_columns_follow(tmp_path: Path) -> None:
    table = pa.table({"k": [1, 2], "u": pa.array([1, 2], pa.uint8())})
    pymosaic.write_dataset(table.replace_schema_metadata({"x": "y"}), tmp_path, partition_by=["k"])
    found = pymosaic.dataset(tmp_path).scan(["k", "u"]).to_table()
    assert found.schema.names == ["k", "u"]
    assert found.schema.metadata == {b"x": b"y"}
    assert found.sort_by("k")["u"].equals(table["u"])


def test_a_frame_written_as_a_dataset_comes_back(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"c": pd.Categorical(["x", "y"], ["z", "y", "x"], ordered=True), "n": [1, None]},
        index=pd.Index(["r", "s"], name="row"),
    ).astype({"n": "Int8"})
    pymosaic.write_dataset(frame, tmp_path)
    pd.testing.assert_frame_equal(pymosaic.read_pandas(tmp_path), frame)


@pytest.mark.parametrize("copies", [False, True])
def test_compaction_keeps_it(tmp_path: Path, copies: bool) -> None:
    for number in range(3):
        own = {"by": "me", "n": str(number)}
        pymosaic.write_dataset(TABLE, tmp_path, mode="append", metadata=own)
    report = pymosaic.compact(tmp_path, min_row_group_bytes=1 if copies else 1 << 20)
    assert (report.files_copied, report.files_reencoded) == ((3, 0) if copies else (0, 3))
    dataset = pymosaic.dataset(tmp_path)
    (file,) = dataset.files
    assert pymosaic.read_metadata(file).user == {"by": "me"}
    assert dataset.schema.equals(TABLE.schema, check_metadata=True)
    assert dataset.scan().to_table().equals(pa.concat_tables([TABLE] * 3))
    assert reference_table(Path(file).read_bytes()).num_rows == 3 * TABLE.num_rows


@pytest.mark.parametrize("copies", [False, True])
def test_compaction_unites_dictionaries(tmp_path: Path, copies: bool) -> None:
    for entries in (["b", "unused", "a"], ["c", "a"]):
        part = pa.DictionaryArray.from_arrays(pa.array([0, None, 1], pa.int8()), entries)
        pymosaic.write_dataset(pa.table({"d": part}), tmp_path, mode="append")
    values = pymosaic.dataset(tmp_path).scan().to_table()["d"].to_pylist()
    report = pymosaic.compact(tmp_path, min_row_group_bytes=1 if copies else 1 << 20)
    assert bool(report.files_copied) == copies
    found = pymosaic.dataset(tmp_path).scan().to_table()["d"]
    assert found.to_pylist() == values
    assert found.chunk(0).dictionary.to_pylist() == ["b", "unused", "a", "c"]


def test_files_written_from_other_types_are_not_glued(tmp_path: Path) -> None:
    for kind in (pa.string(), pa.large_string()):
        pymosaic.write_dataset(column(["x"], kind, unit="m"), tmp_path, mode="append")
    report = pymosaic.compact(tmp_path, min_row_group_bytes=1)
    assert (report.files_copied, report.files_reencoded) == (0, 2)
    schema = pymosaic.dataset(tmp_path).schema
    assert schema.types == [pa.string()]


def test_metadata_of_a_dataset_is_checked_first(tmp_path: Path) -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match="checksum=True"):
        pymosaic.write_dataset(TABLE, tmp_path, metadata={"a": "b"}, checksum=False)
    assert not list(tmp_path.iterdir())
