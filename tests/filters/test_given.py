"""Filters in every form that a caller may give them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pymosaic
from pymosaic.datasets.replacement import partitions_where
from pymosaic.file.reader import MosaicFile
from pymosaic.interop.training import WideBatches

AGE, LIMIT, CITY = pc.field("age"), pc.field("limit"), pc.field("city")
TABLE = pa.table(
    {
        "age": [10, 60, 70, None, 55],
        "limit": [20, 50, 80, 5, 55],
        "city": ["Oslo", "Rome", None, "Oslo", "Rome"],
        "day": [1, 1, 2, 2, 3],
    }
)

# Each filter in text, tuples and as an expression, with the ages that it keeps.
SPELLINGS: list[tuple[Any, Any, Any, list[int]]] = [
    ("age > 50", [("age", ">", 50)], AGE > 50, [60, 70, 55]),
    (
        "age > 50 and city in ('Rome')",
        [("age", ">", 50), ("city", "in", ["Rome"])],
        (AGE > 50) & CITY.isin(["Rome"]),
        [60, 55],
    ),
    (
        "age < 20 or city is null",
        [[("age", "<", 20)], [("city", "is null")]],
        (AGE < 20) | CITY.is_null(),
        [10, 70],
    ),
    ("day = 3", [("day", "==", 3)], pc.field("day") == 3, [55]),
]
# What only Arrow can compute.
EXPRESSIONS = [
    (AGE > LIMIT, [60]),
    ((AGE > LIMIT) | (AGE == 10), [10, 60]),
    (AGE + LIMIT >= 110, [60, 70, 55]),
    (~(AGE > LIMIT), [10, 70, 55]),
    (pc.starts_with(CITY, "Ro"), [60, 55]),
    (pc.field("day") * 40 < AGE, [60]),
    ((pc.field("day") + 1 == 3) & (AGE > 5), [70]),
    (pc.field("day") + 1 == 3, [70, None]),
    (pc.field("day") + 1 == 9, []),
    (pc.scalar(False), []),
    (pc.scalar(True), [10, 60, 70, None, 55]),
]


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> tuple[Path, Path]:
    """The same rows as a file and as a dataset of partitions."""
    base = tmp_path_factory.mktemp("forms")
    pymosaic.write_table(TABLE, base / "rows.mosaic", row_group_rows=2, statistics=True)
    pymosaic.write_dataset(TABLE, base / "days", partition_by=["day"], statistics=["age"])
    return base / "rows.mosaic", base / "days"


def every_way(places: tuple[Path, Path], filters: Any) -> list[list[Any]]:
    """The ages that each function finds."""
    path, directory = places
    dataset = pymosaic.dataset(directory)
    with MosaicFile(path) as file:
        batches = pa.Table.from_batches(file.iter_batches(2, filters=filters), file.schema)
        tables = [
            file.read(["age"], filters),
            batches,
            file.head(10, filters=filters),
            file.read_row_groups(range(file.num_row_groups), filters=filters),
            pymosaic.read_table(path, filters=filters),
            pymosaic.read_table(directory, filters=filters),
            dataset.scan(["age"], filters).to_table(),
            dataset.to_table(filter=filters),
            dataset.head(10, filters=filters),
            dataset.scanner(filter=filters).to_table(),
            pickle.loads(pickle.dumps(dataset.scan(filters=filters).task()))
            and dataset.scan(filters=filters).to_table(),
        ]
        matrix, _ = file.to_numpy(["age"], filters=filters)
    counts = [dataset.count_rows(filters), dataset.scan(filters=filters).count_rows()]
    frame = pymosaic.read_pandas(directory, columns=["age"], filters=filters)
    rows = WideBatches(directory, features=["age"], filters=filters).num_rows
    assert counts == [len(frame)] * 2 == [len(matrix)] * 2 == [rows] * 2
    return [table["age"].to_pylist() for table in tables]


@pytest.mark.parametrize("form", [0, 1, 2])
@pytest.mark.parametrize("number", range(len(SPELLINGS)))
def test_text_tuples_and_expressions_keep_the_same_rows(places, number, form):
    *forms, ages = SPELLINGS[number]
    assert every_way(places, forms[form]) == [ages] * 11


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
def test_expressions_that_filters_lack_are_computed_by_arrow(places, number):
    expression, ages = EXPRESSIONS[number]
    assert TABLE.filter(expression)["age"].to_pylist() == ages
    assert every_way(places, expression) == [ages] * 11


def test_what_filters_can_express_of_an_expression_prunes(places):
    scan = pymosaic.dataset(places[1]).scan(filters=(AGE > 56) & (AGE > LIMIT))
    assert scan.plan().row_groups.to_read == 2
    assert "filter: age > 56 and " in scan.explain()


def test_only_the_columns_of_an_expression_are_needed(places):
    scan = pymosaic.dataset(places[1]).scan(["city"], AGE > LIMIT)
    assert scan.to_table().to_pydict() == {"city": ["Rome"]}


def test_columns_that_do_not_exist_are_told_with_the_closest(places):
    with MosaicFile(places[0]) as file:
        for filters in ("aeg > 1", [("aeg", ">", 1)], pc.field("aeg") > LIMIT):
            with pytest.raises(pymosaic.ColumnNotFoundError, match="did you mean 'age'"):
                file.read(filters=filters)
            with pytest.raises(pymosaic.ColumnNotFoundError, match="did you mean 'age'"):
                pymosaic.dataset(places[1]).scan(filters=filters)


def test_a_syntax_error_shows_its_place(places):
    with pytest.raises(pymosaic.FilterSyntaxError, match="character 7"):
        pymosaic.read_table(places[0], filters="age > or city = 'Rome'")


def test_expressions_with_missing_columns_and_nulls(tmp_path):
    pymosaic.write_table(pa.table({"a": [1, 2], "b": [0, 5]}), tmp_path / "1.mosaic")
    pymosaic.write_table(pa.table({"a": [3, 4]}), tmp_path / "2.mosaic")
    found = pymosaic.read_table(tmp_path, filters=pc.field("a") > pc.coalesce(pc.field("b"), 3))
    assert found["a"].to_pylist() == [1, 4]


@pytest.mark.parametrize("filters", ["day >= 2", [("day", ">=", 2)], pc.field("day") >= 2])
def test_partitions_are_replaced_by_filters_of_every_form(tmp_path, filters):
    from pymosaic.datasets.commit import WriteJob

    pymosaic.write_dataset(TABLE, tmp_path / "days", partition_by=["day"])
    job = WriteJob.start(str(tmp_path / "days"), mode="append")
    assert len(job.commit([], removes=partitions_where(filters))) == 2
    assert pymosaic.read_table(tmp_path / "days")["day"].to_pylist() == [1, 1]
