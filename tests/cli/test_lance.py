"""Lance files and datasets, with and without pylance."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.lance import write_table as write_lance
from tests.cli.conftest import ROWS, small_table
from tests.cli.running import TIMEOUT, environment


def test_lance_files_are_written_read_and_looked_into(run, small, tmp_path):
    there, back = tmp_path / "there.lance", tmp_path / "back.mosaic"
    columns = ["id", "city", "score", "day", "tags"]
    result = run("convert", small, there, "-c", ",".join(columns))
    assert result.code == 0, result.stderr
    assert run("convert", there, back).code == 0
    assert pymosaic.read_table(back).equals(small_table().select(columns))
    assert [line["id"] for line in run("head", there, "-n", "2").lines()] == [0, 1]
    names = [column["name"] for column in run("schema", there, "--json").json()["columns"]]
    assert names == columns
    meta = run("meta", there, "--json").json()
    assert (meta["format"], meta["num_rows"], len(meta["columns"])) == ("lance 2.1", ROWS, 5)
    pages = run("pages", there, "-c", "id").lines()
    assert [(page["column"], page["first_row"], page["num_rows"]) for page in pages] == [
        ("id", 0, ROWS)
    ]


def test_sizes_of_lance_columns_are_those_of_their_pages(run, small, tmp_path):
    target = tmp_path / "some.lance"
    assert run("convert", small, target, "-c", "id,city,tags").code == 0
    pages: dict[str, int] = {}
    for page in run("pages", target).lines():
        pages[page["column"]] = pages.get(page["column"], 0) + page["compressed_bytes"]
    sizes = run("column-size", target, "--json").json()
    assert {row["column"]: row["bytes"] for row in sizes["columns"]} == pages
    assert all(row["exact"] and row["raw_bytes"] is None for row in sizes["columns"])
    assert sizes["bytes"] == sizes["data_bytes"] == sum(pages.values())
    by_type = run("column-size", target, "--by", "type", "-c", "id").lines()
    assert [(row["type"], row["bytes"]) for row in by_type] == [("int64", pages["id"])]
    encodings = run("column-size", target, "--by", "encoding").lines()
    assert sum(row["bytes"] for row in encodings) == sum(pages.values())
    both = run("column-size", target, small, "--json").json()
    assert (both["num_files"], both["raw_bytes"]) == (2, None)
    table = run("column-size", target, "--format", "table")
    assert "raw" not in table.stdout.splitlines()[0]
    buckets = run("column-size", target, "--by", "bucket")
    assert (buckets.code, "only Mosaic files have buckets" in buckets.stderr) == (2, True)


def test_lance_files_have_no_statistics_and_stats_says_so(run, small, tmp_path):
    target = tmp_path / "some.lance"
    assert run("convert", small, target, "-c", "id").code == 0
    assert "`pymosaic profile` computes" in run("stats", target, "--format", "table").stdout
    facts = run("stats", target, "--json").json()
    assert (facts["num_rows"], facts["statistics"]) == (ROWS, [])
    assert run("stats", target, "-c", "missing").code != 0
    assert run("stats", target, "--row-group", "0").code == 2


def test_lance_datasets_are_read_by_pylance(run, tmp_path):
    # In a process of its own: pylance starts threads that forks of this one would not have.
    code = (
        "import lance, pyarrow; lance.write_dataset(pyarrow.table({'n': [1, 2, 3]}), 'set.lance')"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=TIMEOUT)
    assert run("convert", tmp_path / "set.lance", tmp_path / "out.mosaic").code == 0
    assert pymosaic.read_table(tmp_path / "out.mosaic")["n"].to_pylist() == [1, 2, 3]
    assert run("count", tmp_path / "set.lance", "--where", "n > 1").stdout == "2\n"


@pytest.fixture
def lance_dataset(tmp_path):
    """A directory as pylance lays it out, as far as one sees without reading its manifests."""
    directory = tmp_path / "set.lance"
    (directory / "data").mkdir(parents=True)
    (directory / "_versions").mkdir()
    for name, values in {"b": [3], "a": [1, 2]}.items():
        write_lance(pa.table({"n": values}), directory / "data" / f"{name}.lance")
    return directory


def without_pylance(*arguments) -> subprocess.CompletedProcess[str]:
    code = "import sys; sys.modules['lance'] = None; from pymosaic.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=TIMEOUT,
        check=False,
    )


def test_without_pylance_a_dataset_is_its_data_files(lance_dataset, tmp_path):
    target = tmp_path / "out.mosaic"
    result = without_pylance("convert", lance_dataset, target)
    assert result.returncode == 0, result.stderr
    assert pymosaic.read_table(target)["n"].to_pylist() == [1, 2, 3]
    assert "pip install 'pymosaic-format[lance]'" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_without_pylance_data_files_of_other_columns_are_refused(lance_dataset):
    write_lance(pa.table({"m": [0]}), lance_dataset / "data" / "c.lance")
    result = without_pylance("count", lance_dataset)
    assert result.returncode == 1
    assert "different columns" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_data_files_of_a_lance_dataset_are_looked_into_one_by_one(run, lance_dataset):
    meta = run("meta", lance_dataset, "--format", "jsonl")
    assert meta.code == 0, meta.stderr
    assert [Path(line["file"]).name for line in meta.lines()] == ["a.lance", "b.lance"]
    assert [line["num_rows"] for line in run("pages", lance_dataset).lines()] == [2, 1]
    (lance_dataset.parent / "none.lance").mkdir()
    nothing = run("meta", lance_dataset.parent / "none.lance")
    assert nothing.code == 1
    assert "not a Lance dataset" in nothing.stderr
