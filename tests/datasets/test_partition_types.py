"""Partition columns come back in the types that they were written with."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.datasets.commit import StagedFile, WriteJob
from pymosaic.datasets.partition_types import parse_type, type_texts
from tests.datasets.building import write_files

UTC = datetime.UTC
MOMENT = datetime.datetime(2024, 5, 31, 10, 30, 0, 123456)
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text of digits": (pa.string(), ["1", "007", "-2"]),
    "text of dates": (pa.string(), ["2024-05-31"]),
    "text": (pa.string(), ["a/b=c%d", "", "Größe", "a b", ".", "__HIVE_DEFAULT_PARTITION__"]),
    "null": (pa.string(), ["a", None]),
    "bool": (pa.bool_(), [True, False, None]),
    "int8": (pa.int8(), [-128, 127, None]),
    "int32": (pa.int32(), [0, -5]),
    "int64": (pa.int64(), [-(1 << 63), (1 << 63) - 1]),
    "float": (pa.float32(), [0.5, 2.0**100, math.inf]),
    "double": (pa.float64(), [0.1, -1e-300, 3.0, None]),
    "decimal": (pa.decimal128(7, 2), [Decimal("1.50"), Decimal("-12345.67"), None]),
    "date": (pa.date32(), [datetime.date(1969, 12, 31), datetime.date(2024, 5, 31)]),
    "timestamp": (pa.timestamp("us"), [MOMENT, None]),
    "timestamp in seconds": (pa.timestamp("s"), [MOMENT.replace(microsecond=0)]),
    "timestamp of a zone": (
        pa.timestamp("ms", "UTC"),
        [datetime.datetime(2024, 5, 31, tzinfo=UTC)],
    ),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["1", "2"]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_types_and_values_come_back(kind: str, tmp_path: Path) -> None:
    data_type, values = COLUMNS[kind]
    table = pa.table({"k": pa.array(values, data_type), "n": range(len(values))})
    pymosaic.write_dataset(table, tmp_path, partition_by="k")
    found = pymosaic.dataset(tmp_path).to_table().sort_by("n")
    expected = data_type.value_type if pa.types.is_dictionary(data_type) else data_type
    assert found.schema.field("k").type == expected
    assert found["k"].to_pylist() == table["k"].to_pylist()
    for value in values:
        asked = [("k", "is null")] if value is None else [("k", "=", value)]
        assert pymosaic.dataset(tmp_path).count_rows(asked) == 1


def test_nan_is_a_float(tmp_path: Path) -> None:
    table = pa.table({"k": [math.nan, 1.0, None], "n": [1, 2, 3]})
    pymosaic.write_dataset(table, tmp_path, partition_by="k")
    found = pymosaic.dataset(tmp_path).to_table().sort_by("n")["k"].to_pylist()
    assert math.isnan(found[0])
    assert found[1:] == [1.0, None]


def test_moments_that_python_does_not_have_come_back(tmp_path: Path) -> None:
    # A day before the year 1, in UTC: what 0001-01-01 in Tokyo is.
    moments = pa.array([-62_135_630_339_000_000, 0, None], pa.timestamp("us", "UTC"))
    table = pa.table({"k": moments, "n": [1, 2, 3]})
    pymosaic.write_dataset(table, tmp_path, partition_by="k")
    found = pymosaic.dataset(tmp_path).to_table().sort_by("n")["k"].combine_chunks()
    assert found.equals(moments)
    assert pymosaic.dataset(tmp_path).count_rows([("k", "=", moments[0])]) == 1


def test_a_column_whose_directories_would_be_hidden_is_refused(tmp_path: Path) -> None:
    table = pa.table({".k": [1], "n": [1]})
    with pytest.raises(pymosaic.InvalidOptionError, match="would be hidden"):
        pymosaic.write_dataset(table, tmp_path / "set", partition_by=".k")
    assert not (tmp_path / "set").exists()


def test_types_outlive_appends_and_compaction(tmp_path: Path) -> None:
    table = pa.table({"k": ["1", "2"], "n": [1, 2]})
    for _ in range(3):
        pymosaic.write_dataset(table, tmp_path, partition_by="k", mode="append")
    pymosaic.compact(tmp_path)
    assert pymosaic.dataset(tmp_path).schema.field("k").type == pa.string()
    assert pymosaic.dataset(tmp_path / "k=1").to_table().num_rows == 3


def test_an_append_widens_or_is_refused(tmp_path: Path) -> None:
    def append(values: list[Any], data_type: pa.DataType) -> None:
        table = pa.table({"k": pa.array(values, data_type), "n": range(len(values))})
        pymosaic.write_dataset(table, tmp_path, partition_by="k", mode="append")

    append([1, 2], pa.int8())
    append([3000], pa.int16())
    assert pymosaic.dataset(tmp_path).schema.field("k").type == pa.int16()
    append([4], pa.int8())
    assert pymosaic.dataset(tmp_path).schema.field("k").type == pa.int16()
    with pytest.raises(pymosaic.DatasetError, match=r"column 'k' is int16 in .* string"):
        append(["x"], pa.string())
    assert sorted(pymosaic.dataset(tmp_path).to_table()["k"].to_pylist()) == [1, 2, 4, 3000]


def test_an_overwrite_may_choose_another_type(tmp_path: Path) -> None:
    pymosaic.write_dataset(pa.table({"k": [1], "n": [1]}), tmp_path, partition_by="k")
    text = pa.table({"k": ["1"], "n": [1]})
    pymosaic.write_dataset(text, tmp_path, partition_by="k", mode="overwrite")
    assert pymosaic.dataset(tmp_path).to_table()["k"].to_pylist() == ["1"]


def test_directories_of_others_are_inferred_also_beside_ours(tmp_path: Path) -> None:
    write_files(tmp_path / "others", {"k=1/a.mosaic": {"n": [1]}})
    assert pymosaic.dataset(tmp_path / "others").schema.field("k").type == pa.int64()
    pymosaic.write_dataset(pa.table({"k": [True], "n": [1]}), tmp_path / "ours", partition_by="k")
    write_files(tmp_path / "ours", {"k=maybe/a.mosaic": {"n": [2]}})
    found = pymosaic.dataset(tmp_path / "ours").to_table()
    assert sorted(found["k"].to_pylist()) == ["maybe", "true"]


@pytest.mark.parametrize(
    ("value", "reason"), [("a\0b", "holds a NUL character"), ("x" * 300, "longer than 255 bytes")]
)
def test_values_that_cannot_name_a_directory_are_named(
    value: str, reason: str, tmp_path: Path
) -> None:
    table = pa.table({"key": ["fine", value], "n": [1, 2]})
    with pytest.raises(pymosaic.InvalidDataError, match=rf"of column 'key' .*{reason}"):
        pymosaic.write_dataset(table, tmp_path / "set", partition_by="key")
    assert not (tmp_path / "set").exists()


@pytest.mark.parametrize(
    "text", ["", "int7", "decimal128(0, 0)", "decimal128(39, 1)", "list<item>"]
)
def test_a_type_that_is_not_known_is_ignored(text: str) -> None:
    assert parse_type(text) is None


def test_types_that_columns_cannot_have_are_not_kept() -> None:
    schema = pa.schema({"a": pa.uint64(), "b": pa.int8(), "c": pa.duration("s")})
    assert type_texts(schema, ["a", "b", "c"]) == {"b": "int8"}


def test_types_of_jobs_that_did_not_know_of_each_other_are_united(tmp_path: Path) -> None:
    def start(name: str, value: int) -> tuple[WriteJob, StagedFile]:
        job = WriteJob.start(tmp_path, partition_types={"k": name})
        file = job.file(f"k={value}", 0, 0)
        pymosaic.write_table(pa.table({"n": [1]}), file.write_path)
        return job, file

    wide, narrow = start("int64", 1 << 40), start("int32", 7)
    for job, file in (wide, narrow):
        job.commit([file])
    found = pymosaic.dataset(tmp_path).to_table()["k"]
    assert found.type == pa.int64()
    assert found.to_pylist() == [1 << 40, 7]
    replaced = pa.table({"k": pa.array([5], pa.int32()), "n": [1]})
    pymosaic.write_dataset(replaced, tmp_path, partition_by="k", mode="overwrite")
    assert pymosaic.dataset(tmp_path).to_table()["k"].type == pa.int32()
