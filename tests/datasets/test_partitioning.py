"""Hive directories as columns: types, escapes, nulls, and what does not fit."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from tests.datasets.building import write_files


def partitioned(base: Path, *directories: str, **content: Any) -> pymosaic.Dataset:
    content = content or {"n": [1]}
    write_files(base, {f"{directory}/a.mosaic": content for directory in directories})
    return pymosaic.dataset(base)


@pytest.mark.parametrize(
    ("values", "arrow_type", "expected"),
    [
        (["1", "-20", "0"], pa.int64(), [0, 1, -20]),
        (["9223372036854775807"], pa.int64(), [2**63 - 1]),
        (["9223372036854775808"], pa.string(), ["9223372036854775808"]),
        (["007", "12"], pa.string(), ["007", "12"]),
        (["12", "9"], pa.int64(), [9, 12]),
        (["2024-02-29"], pa.date32(), [datetime.date(2024, 2, 29)]),
        (["2023-02-29"], pa.string(), ["2023-02-29"]),
        (["1", "x"], pa.string(), ["1", "x"]),
        (["1", "__HIVE_DEFAULT_PARTITION__"], pa.int64(), [1, None]),
        (["__HIVE_DEFAULT_PARTITION__"], pa.string(), [None]),
        (["S%C3%A3o%20Paulo", "a%2Fb%3Dc"], pa.string(), ["São Paulo", "a/b=c"]),
        ([""], pa.string(), [""]),
    ],
)
def test_a_key_has_the_type_that_holds_all_its_values(
    tmp_path: Path, values: list[str], arrow_type: pa.DataType, expected: list[Any]
) -> None:
    dataset = partitioned(tmp_path, *(f"k={value}" for value in values))
    assert dataset.partition_columns == ("k",)
    assert dataset.schema == pa.schema({"n": pa.int64(), "k": arrow_type})
    assert dataset.scan(["k"]).to_table().to_pydict() == {"k": expected}


def test_keys_are_unescaped_and_come_last(tmp_path: Path) -> None:
    dataset = partitioned(tmp_path, "a%20b=1/c=x", n=[5])
    assert dataset.schema.names == ["n", "a b", "c"]
    assert dataset.scan().to_table().to_pylist() == [{"n": 5, "a b": 1, "c": "x"}]


def test_a_directory_wins_over_a_column_of_the_same_name(tmp_path: Path) -> None:
    dataset = partitioned(tmp_path, "k=7", k=["inside"], n=[1])
    assert dataset.schema.names == ["n", "k"]
    assert dataset.scan().to_table().to_pydict() == {"n": [1], "k": [7]}


def test_directories_without_an_equals_sign_are_just_directories(tmp_path: Path) -> None:
    dataset = partitioned(tmp_path, "x/k=1/y")
    assert dataset.partition_columns == ("k",)


def test_without_partitioning_directories_say_nothing(tmp_path: Path) -> None:
    write_files(tmp_path, {"k=1/a.mosaic": {"n": [1]}, "b.mosaic": {"n": [2]}})
    dataset = pymosaic.dataset(tmp_path, partitioning=None)
    assert dataset.scan().to_table().to_pydict() == {"n": [2, 1]}


def test_a_given_schema_decides_type_and_place(tmp_path: Path) -> None:
    write_files(tmp_path, {"k=07/a.mosaic": {"n": [1]}})
    schema = pa.schema({"k": pa.int8(), "n": pa.int64()})
    table = pymosaic.dataset(tmp_path, schema=schema).scan().to_table()
    assert table.schema == schema
    assert table.to_pydict() == {"k": [7], "n": [1]}


def test_a_value_that_is_none_of_its_type_is_named_with_its_file(tmp_path: Path) -> None:
    write_files(tmp_path, {"k=many/a.mosaic": {"n": [1]}})
    with pytest.raises(pymosaic.DatasetError, match=r"k=many/a.mosaic: .*'many' of 'k'.*int8"):
        pymosaic.dataset(tmp_path, schema=pa.schema({"n": pa.int64(), "k": pa.int8()}))


def test_files_under_different_keys_are_both_named(tmp_path: Path) -> None:
    write_files(tmp_path, {"k=1/a.mosaic": {"n": [1]}, "b.mosaic": {"n": [2]}})
    with pytest.raises(pymosaic.DatasetError, match=r"b\.mosaic has \[\].*k=1/a\.mosaic has"):
        pymosaic.dataset(tmp_path)


def test_a_key_twice_in_a_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pymosaic.DatasetError, match="appears twice"):
        partitioned(tmp_path, "k=1/k=2")


@pytest.mark.parametrize(
    ("filters", "rows"),
    [
        ([("k", ">", 1)], [2, 3]),
        ([("k", "is null")], [9]),
        ([("k", "not in", [1, 3])], [2]),
        ([[("k", "=", 1)], [("n", "=", 3)]], [1, 3]),
        ([("k", "=", 2), ("n", "=", 3)], []),
    ],
)
def test_filters_on_partition_columns(tmp_path: Path, filters: Any, rows: list[int]) -> None:
    values = {"1": 1, "2": 2, "3": 3, "__HIVE_DEFAULT_PARTITION__": 9}
    write_files(tmp_path, {f"k={key}/a.mosaic": {"n": [n]} for key, n in values.items()})
    dataset = pymosaic.dataset(tmp_path)
    assert dataset.scan(["n"], filters).to_table()["n"].to_pylist() == rows
    assert dataset.count_rows(filters) == len(rows)


def test_only_hive_is_known() -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match="partitioning must be 'hive' or None"):
        pymosaic.dataset(".", partitioning="directory")
