"""The page of a dataset: files, groups of columns, differences, and what a query would read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from tests.report.conftest import OpenPage

FILES = 50


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifty files: some lack a column, one has it in another type, one is damaged."""
    base: Path = tmp_path_factory.mktemp("dataset") / "parts"
    base.mkdir()
    for part in range(FILES):
        columns: dict[str, object] = {f"cell_{n}_voltage": [n * 0.5, part] for n in range(20)}
        columns["id"] = [part, part + 1]
        if part % 5:
            columns["note"] = ["x", "<b>y</b>"] if part != 7 else pa.array([1, 2])
        table = pa.table(columns)
        pymosaic.write_table(table, base / f"part-{part:02}.mosaic", num_buckets=5)
    damaged = base / "part-03.mosaic"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    return base


def test_files_groups_and_differences(open_page: OpenPage, dataset: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    pymosaic.write_report(dataset, target)
    assert str(dataset.parent) not in target.read_text(encoding="utf-8")
    page = open_page(target)
    assert page.text("#facts").startswith("50 files, 98 rows, 22 columns, 3 different schemas, ")
    assert page.text("#notice") == "1 file cannot be read"
    assert page.page.locator("#rows tr").count() == FILES
    heads = page.page.locator("#heads th").all_inner_texts()
    assert heads[:5] == ["File", "Rows", "Size", "Age", "Columns"]
    assert sorted(heads[5:]) == ["cell_*", "id", "note"]
    different = page.page.locator("#differences tr").all_inner_texts()
    assert [line.split("\t") for line in different] == [["note", "STRING, BIGINT", "39 of 49"]]


def test_what_a_query_reads_is_what_the_scan_plans(
    open_page: OpenPage, dataset: Path, tmp_path: Path
) -> None:
    target = tmp_path / "page.html"
    pymosaic.write_report(dataset, target)
    page = open_page(target)
    page.page.fill("#columns", "id")
    page.settle()
    expected = 0
    for path in sorted(dataset.glob("*.mosaic")):
        if path.name == "part-03.mosaic":
            continue
        metadata = pymosaic.read_metadata(path)
        bucket = metadata.row_group(0).bucket(metadata.column_bucket("id"))
        expected += metadata.file_size - metadata.schema_offset + bucket.compressed_size
    assert page.page.get_attribute("#reads", "data-bytes") == str(expected)
    page.page.fill("#columns", "nosuch*")
    page.settle()
    assert page.text("#reads") == "No column matches."
