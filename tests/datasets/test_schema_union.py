"""Files whose columns come and go: united by name, widened without loss, or refused."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.datasets.schema_union import unite
from pymosaic.datasets.widening import widened
from pymosaic.file.catalogs import CatalogCache
from pymosaic.format.compression import NONE
from pymosaic.kernels.arrow_source import catalog_from_arrow
from tests.datasets.building import write_files

MOMENT = datetime.datetime(2024, 5, 31, 12, 0, 0, 1000)


def two_files(base: Path, first: Any, second: Any) -> pymosaic.Dataset:
    return pymosaic.dataset(write_files(base, {"1.mosaic": first, "2.mosaic": second}))


def united(*schemas: pa.Schema) -> pa.Schema:
    return unite((f"{i}.mosaic", catalog_from_arrow(s, 2)) for i, s in enumerate(schemas))


class TestNames:
    def test_columns_come_in_the_order_in_which_they_first_appear(self, tmp_path: Path) -> None:
        dataset = two_files(tmp_path, {"z": [1], "b": [2]}, {"c": [3], "b": [4], "a": [5]})
        assert dataset.schema.names == ["z", "b", "c", "a"]
        assert dataset.scan().to_table().to_pydict() == {
            "z": [1, None],
            "b": [2, 4],
            "c": [None, 3],
            "a": [None, 5],
        }

    def test_a_column_that_a_file_lacks_is_nullable(self) -> None:
        required = pa.field("a", pa.int8(), nullable=False)
        assert united(pa.schema([required]), pa.schema([required])) == pa.schema([required])
        lacking = united(pa.schema([required]), pa.schema({"b": pa.int8()}))
        assert lacking.field("a").nullable
        assert united(pa.schema([required]), pa.schema({"a": pa.int8()})).field("a").nullable

    def test_missing_columns_of_every_type_are_null(self, tmp_path: Path) -> None:
        columns = {
            "bool": pa.array([True]),
            "text": pa.array(["x"]),
            "bytes": pa.array([b"x"]),
            "decimal": pa.array([Decimal("1.5")]),
            "date": pa.array([datetime.date(2024, 5, 31)]),
            "list": pa.array([[1, None]]),
            "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
            "time": pa.array([MOMENT], pa.timestamp("ms", "Europe/Oslo")),
        }
        dataset = two_files(tmp_path, {"n": [1]}, columns)
        table = dataset.scan().to_table()
        table.validate(full=True)
        expected = pa.table(columns)
        assert table.slice(1).drop_columns(["n"]).equals(expected)
        assert all(value is None for name, value in table.to_pylist()[0].items() if name != "n")

    def test_files_without_a_wanted_column_still_have_their_rows(self, tmp_path: Path) -> None:
        dataset = two_files(tmp_path, {"a": [1, 2]}, {"b": [3]})
        assert dataset.scan(["b"]).to_table().to_pydict() == {"b": [None, None, 3]}

    def test_many_random_schemas_unite_as_a_dictionary_would(self) -> None:
        choose = random.Random(7)
        names = [f"{choose.choice('abc')}{i}" for i in range(60)]
        schemas = [
            pa.schema([(name, pa.int64()) for name in choose.sample(names, choose.randint(0, 40))])
            for _ in range(150)
        ]
        expected = dict.fromkeys(name for schema in schemas for name in schema.names)
        assert united(*schemas).names == list(expected)


class TestTypes:
    @pytest.mark.parametrize(
        ("left", "right", "expected"),
        [
            (pa.int8(), pa.int16(), pa.int16()),
            (pa.int32(), pa.int64(), pa.int64()),
            (pa.float32(), pa.float64(), pa.float64()),
            (pa.int16(), pa.float32(), pa.float32()),
            (pa.int32(), pa.float32(), pa.float64()),
            (pa.int32(), pa.float64(), pa.float64()),
            (pa.decimal128(5, 2), pa.decimal128(9, 2), pa.decimal128(9, 2)),
            (pa.decimal128(5, 2), pa.decimal128(6, 4), pa.decimal128(7, 4)),
            (pa.int32(), pa.decimal128(5, 2), pa.decimal128(12, 2)),
            (pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("us")),
            (pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC"), pa.timestamp("ns", "UTC")),
            (pa.list_(pa.int32()), pa.list_(pa.int64()), pa.list_(pa.int64())),
            (
                pa.map_(pa.string(), pa.float32()),
                pa.map_(pa.string(), pa.float64()),
                pa.map_(pa.string(), pa.float64()),
            ),
        ],
    )
    def test_types_that_widen(
        self, left: pa.DataType, right: pa.DataType, expected: pa.DataType
    ) -> None:
        assert widened(left, right) == expected
        assert widened(right, left) == expected
        assert united(pa.schema({"a": left}), pa.schema({"a": right})).field("a").type == expected

    @pytest.mark.parametrize(
        ("left", "right"),
        [
            (pa.int64(), pa.float64()),
            (pa.int64(), pa.string()),
            (pa.bool_(), pa.int8()),
            (pa.date32(), pa.timestamp("us")),
            (pa.timestamp("us"), pa.timestamp("us", "UTC")),
            (pa.timestamp("us", "UTC"), pa.timestamp("us", "Europe/Oslo")),
            (pa.decimal128(38, 0), pa.decimal128(38, 10)),
            (pa.list_(pa.int64()), pa.list_(pa.string())),
            (pa.list_(pa.int64()), pa.int64()),
            (pa.string(), pa.binary()),
        ],
    )
    def test_types_that_do_not(self, left: pa.DataType, right: pa.DataType) -> None:
        assert widened(left, right) is None
        assert widened(right, left) is None
        with pytest.raises(pymosaic.DatasetError, match=r"0\.mosaic .* 1\.mosaic"):
            united(pa.schema({"a": left}), pa.schema({"a": right}))

    def test_widened_values_are_the_same_values(self, tmp_path: Path) -> None:
        narrow = {
            "int": pa.array([-5, None], pa.int8()),
            "float": pa.array([0.1, None], pa.float32()),
            "decimal": pa.array([Decimal("1.25"), None], pa.decimal128(3, 2)),
            "list": pa.array([[1], None], pa.list_(pa.int32())),
        }
        wide = {
            "int": pa.array([2**40], pa.int64()),
            "float": pa.array([0.1], pa.float64()),
            "decimal": pa.array([Decimal("12345.5")], pa.decimal128(6, 1)),
            "list": pa.array([[2**40]], pa.list_(pa.int64())),
        }
        table = two_files(tmp_path, narrow, wide).scan().to_table()
        assert table.schema == pa.schema(
            {
                "int": pa.int64(),
                "float": pa.float64(),
                "decimal": pa.decimal128(7, 2),
                "list": pa.list_(pa.int64()),
            }
        )
        assert table["int"].to_pylist() == [-5, None, 2**40]
        assert table["float"].to_pylist() == [0.10000000149011612, None, 0.1]
        assert table["decimal"].to_pylist() == [Decimal("1.25"), None, Decimal("12345.50")]
        assert table["list"].to_pylist() == [[1], None, [2**40]]

    def test_a_type_may_widen_again_and_again(self) -> None:
        types = [pa.int8(), pa.decimal128(5, 4), pa.int64(), pa.int16(), pa.decimal128(22, 1)]
        schema = united(*(pa.schema({"a": item}) for item in types))
        assert schema.field("a").type == pa.decimal128(25, 4)

    def test_a_conflict_names_column_types_and_files(self, tmp_path: Path) -> None:
        with pytest.raises(pymosaic.DatasetError) as caught:
            two_files(tmp_path, {"a": [1], "b": [1]}, {"b": ["x"]})
        message = str(caught.value)
        for part in ("'b'", "int64", "string", "1.mosaic", "2.mosaic", "schema="):
            assert part in message

    def test_a_moment_beyond_the_finer_unit_is_an_error_with_its_place(
        self, tmp_path: Path
    ) -> None:
        far = pa.array([datetime.datetime(9999, 12, 31)], pa.timestamp("us"))
        dataset = two_files(tmp_path, {"t": far}, {"t": pa.array([0], pa.timestamp("ns"))})
        with pytest.raises(pymosaic.DatasetError, match=r"1\.mosaic: column 't' .*timestamp\[ns\]"):
            dataset.scan().to_table()

    def test_filters_compare_with_the_united_type(self, tmp_path: Path) -> None:
        write_files(
            tmp_path,
            {
                "1.mosaic": {"a": pa.array([1, 100], pa.int8())},
                "2.mosaic": {"a": pa.array([100, 2**40], pa.int64())},
                "3.mosaic": {"b": ["no a"]},
            },
            statistics=True,
        )
        dataset = pymosaic.dataset(tmp_path)
        assert dataset.scan(["a"], [("a", ">", 300)]).to_table()["a"].to_pylist() == [2**40]
        assert dataset.scan(["a"], [("a", "<=", 100)]).to_table()["a"].to_pylist() == [1, 100, 100]
        assert dataset.scan(["b"], [("a", "is null")]).to_table()["b"].to_pylist() == ["no a"]


class TestGivenSchema:
    def test_only_its_columns_are_read_and_cast(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"1.mosaic": {"a": [1], "b": ["2"], "c": [0]}})
        schema = pa.schema({"b": pa.int32(), "a": pa.float64(), "new": pa.string()})
        table = pymosaic.dataset(tmp_path, schema=schema).scan().to_table()
        assert table.schema == schema
        assert table.to_pydict() == {"b": [2], "a": [1.0], "new": [None]}

    def test_a_value_that_does_not_fit_is_an_error_with_its_place(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"1.mosaic": {"a": [1000]}})
        dataset = pymosaic.dataset(tmp_path, schema=pa.schema({"a": pa.int8()}))
        with pytest.raises(pymosaic.DatasetError, match=r"1\.mosaic: column 'a' does not fit int8"):
            dataset.scan().to_table()

    def test_a_cast_that_does_not_exist_names_file_and_types(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"1.mosaic": {"a": [[1]]}})
        dataset = pymosaic.dataset(tmp_path, schema=pa.schema({"a": pa.int8()}))
        with pytest.raises(pymosaic.DatasetError, match=r"'a' is list.* in .*1\.mosaic.*int8"):
            dataset.scan().plan()

    def test_statistics_of_another_order_do_not_prune(self, tmp_path: Path) -> None:
        # As text, "10" stands before "9".
        write_files(tmp_path, {"1.mosaic": {"a": ["10", "9"]}}, statistics=True)
        dataset = pymosaic.dataset(tmp_path, schema=pa.schema({"a": pa.int64()}))
        assert dataset.scan(filters=[("a", ">=", 10)]).to_table()["a"].to_pylist() == [10]

    def test_nulls_where_there_may_be_none_are_an_error(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"1.mosaic": {"a": [1, None]}})
        schema = pa.schema([pa.field("a", pa.int64(), nullable=False)])
        with pytest.raises(pymosaic.DatasetError, match="has nulls"):
            pymosaic.dataset(tmp_path, schema=schema).scan().to_table()
        missing = pa.schema([pa.field("b", pa.int64(), nullable=False)])
        with pytest.raises(pymosaic.DatasetError, match="does not have it"):
            pymosaic.dataset(tmp_path, schema=missing).scan().to_table()

    def test_what_no_file_can_hold_is_refused(self, tmp_path: Path) -> None:
        write_files(tmp_path, {"1.mosaic": {"a": [1]}})
        with pytest.raises(pymosaic.UnsupportedFeatureError, match="'a'"):
            pymosaic.dataset(tmp_path, schema=pa.schema({"a": pa.struct({"x": pa.int8()})}))
        with pytest.raises(pymosaic.InvalidOptionError, match="schema must be"):
            pymosaic.dataset(tmp_path, schema={"a": "int"})


class TestCatalogCache:
    def block(self, *names: str) -> bytes:
        from pymosaic.format import schema_block
        from pymosaic.kernels import schema_content

        catalog = catalog_from_arrow(pa.schema([(name, pa.int8()) for name in names]), 1)
        return schema_block.emit(schema_content.emit(catalog), NONE.compressor(1, checksum=False))

    def test_a_block_is_parsed_once(self) -> None:
        cache, limits = CatalogCache(), pymosaic.Limits()
        first = cache.parse(self.block("a"), NONE, limits)
        assert cache.parse(self.block("a"), NONE, limits) is first
        assert cache.parse(self.block("b"), NONE, limits) is not first
        assert cache.parsed == 2

    def test_a_file_held_to_other_limits_is_parsed_again(self) -> None:
        cache = CatalogCache()
        cache.parse(self.block("a", "b"), NONE, pymosaic.Limits())
        with pytest.raises(pymosaic.LimitExceededError):
            cache.parse(self.block("a", "b"), NONE, pymosaic.Limits(max_columns=1))

    def test_the_longest_unused_goes_first(self) -> None:
        cache, limits = CatalogCache(max_bytes=300), pymosaic.Limits()
        for name in ("a", "b", "a", "c", "a"):
            cache.parse(self.block(name), NONE, limits)
        assert cache.parsed == 3
        cache.parse(self.block("b"), NONE, limits)
        assert cache.parsed == 4


def test_conflicts_may_wait_until_a_scan_selects_the_column(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"a.mosaic": {"id": [1], "x": [10]}, "b.mosaic": {"id": [2], "x": ["ten"]}}
    )
    dataset = pymosaic.Dataset(str(tmp_path), defer_conflicts=True)
    assert dataset.conflicts == {"x"}
    assert dataset.scan(columns=["id"]).to_table()["id"].to_pylist() == [1, 2]
    for columns, filters in ((None, None), (["x"], None), (["id"], [("x", "=", 10)])):
        with pytest.raises(pymosaic.DatasetError, match="column 'x' is int64 in"):
            dataset.scan(columns=columns, filters=filters)
