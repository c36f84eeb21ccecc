"""Whatever one types for Parquet works for Mosaic: every row of the table, for both formats."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.spark.surface.judging import fault, wrong_without
from tests.spark.surface.page import PAGE, page
from tests.spark.surface.running import Surface
from tests.spark.surface.spellings import Spelling
from tests.spark.surface.table import KINDS
from tests.spark.versions import CAPABILITIES, can

# Rows are few: compiling queries would take longer than running them.
SETTINGS = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}


def _rows() -> Iterator[Any]:
    for kind, rows in KINDS.items():
        for row in rows:
            yield pytest.param(row, id=f"{kind}: {row.does}")


@pytest.fixture(scope="module")
def surface(spark, tmp_path_factory) -> Iterator[Surface]:
    before = {key: spark.conf.get(key) for key in SETTINGS}
    for key, value in SETTINGS.items():
        spark.conf.set(key, value)
    yield Surface(spark, tmp_path_factory.mktemp("surface"))
    for key, value in before.items():
        spark.conf.set(key, value)


@pytest.mark.parametrize("row", list(_rows()))
def test_a_spelling_does_what_it_does_for_parquet(surface, row):
    if row.needs and not can(row.needs):
        assert wrong_without(surface, row, CAPABILITIES[row.needs]) == ""
    else:
        assert fault(surface, row) == ""


def test_a_spelling_that_differs_is_noticed(surface):
    code = 'spark.range(2 if "mosaic" == "parquet" else 3)'
    assert "mosaic has" in fault(
        surface, Spelling("other rows", code.replace('"parquet"', '"par" + "quet"'))
    )
    assert "mosaic fails" in fault(surface, Spelling("fails", "1 / 0", parquet="1"))
    assert "does not fail" in fault(surface, Spelling("works", "1", error="division"))
    assert "mosaic says" in fault(surface, Spelling("other error", "1 / 0", error="overflow"))
    assert "parquet does not fail" in fault(
        surface, Spelling("one", "1 / 0", parquet="1", error="div")
    )
    forbidden = Spelling("both", "1 / 0", forbidden="division")
    assert "parquet fails" in fault(surface, forbidden)


def test_the_table_is_wide_and_its_rows_are_unique():
    assert sum(map(len, KINDS.values())) >= 120
    for kind, rows in KINDS.items():
        names = [row.does for row in rows]
        assert sorted(names) == sorted(set(names)), kind


def test_the_guide_shows_the_table():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.spark.surface.page"
