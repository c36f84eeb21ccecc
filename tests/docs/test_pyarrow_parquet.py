"""The page about pyarrow.parquet has every public name and argument of the installed pyarrow."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import core

import pymosaic

PAGE = (Path(__file__).parents[2] / "docs/guides/pyarrow-parquet.md").read_text()
SECTIONS = {
    title.strip("`"): text
    for title, text in re.findall(r"^## (.*)\n((?:(?!^## ).*\n?)*)", PAGE, re.MULTILINE)
}
NAMES = [name for name in core.__all__ if not name.startswith("_")]
WITH_MEMBERS = ("ParquetFile", "ParquetWriter", "ParquetDataset")


def first_cells(section: str) -> set[str]:
    """The names in the first column of a section's tables."""
    rows = [line.split(" | ")[0] for line in SECTIONS[section].splitlines() if line[:3] == "| `"]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def parameters(function: Any) -> set[str]:
    return set(inspect.signature(function).parameters) - {"self"}


def is_described_by_a_row(name: str) -> bool:
    return inspect.isclass(getattr(pq, name)) and name not in WITH_MEMBERS


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_there(name):
    if is_described_by_a_row(name):
        assert name in first_cells("What a file is made of")
    else:
        assert name in SECTIONS


@pytest.mark.parametrize("name", [name for name in NAMES if not is_described_by_a_row(name)])
def test_every_argument_is_there(name):
    assert parameters(getattr(pq, name)) <= first_cells(name)


@pytest.mark.parametrize("name", WITH_MEMBERS)
def test_every_member_is_there_with_its_arguments(name):
    kind = getattr(pq, name)
    for member in dir(kind):
        if member.startswith("_"):
            continue
        assert member in first_cells(name)
        if inspect.isfunction(getattr(kind, member)):
            [row] = [
                line
                for line in SECTIONS[name].splitlines()
                if re.search(rf"`{member}`(?= \(|,|$)", line.rsplit(" | ", 1)[0])
                and line not in argument_rows(name)
            ]
            assert parameters(getattr(kind, member)) <= set(re.findall(r"`(\w+)`", row))


def argument_rows(name: str) -> list[str]:
    return SECTIONS[name].split("| member |")[0].splitlines()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`(pymosaic\.[\w.]+)`", PAGE))))
def test_what_takes_their_place_exists(path):
    found: Any = pymosaic
    for part in path.split(".")[1:]:
        found = getattr(found, part)


FUNCTIONS = [
    pymosaic.read_table,
    pymosaic.write_table,
    pymosaic.dataset,
    pymosaic.write_dataset,
    pymosaic.read_pandas,
    pymosaic.MosaicFile,
    pymosaic.MosaicWriter,
    pymosaic.Dataset.scan,
    pymosaic.parse_filter,
]


@pytest.mark.parametrize("option", sorted(set(re.findall(r"`(\w+)=", PAGE))))
def test_options_that_take_their_place_exist(option):
    assert any(option in parameters(function) for function in FUNCTIONS)
