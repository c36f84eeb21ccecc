"""The numbers on the format page are those of the code."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

import pymosaic
from pymosaic.file.options import DEFAULT_NUM_BUCKETS, WriterOptions

PAGE = (Path(__file__).parents[2] / "docs" / "format.md").read_text()
UNITS = {"": 1, " MiB": 1 << 20, " GiB": 1 << 30}


@pytest.mark.parametrize("name", [field.name for field in fields(pymosaic.Limits)])
def test_limits(name: str) -> None:
    found = re.search(rf"^\| `{name}`: .* \| ([\d,]+)( [MG]iB|) \|$", PAGE, re.MULTILINE)
    assert found is not None
    stated = int(found[1].replace(",", "")) * UNITS[found[2]]
    assert stated == getattr(pymosaic.Limits(), name)


@pytest.mark.parametrize("name", ["max_dict_entries", "max_dict_bytes", "page_size_threshold"])
def test_options(name: str) -> None:
    assert f"`{name}` ({getattr(WriterOptions(), name):,})" in PAGE


def test_row_group_size_and_buckets() -> None:
    assert f"`row_group_bytes` ({WriterOptions().row_group_bytes >> 20} MiB)" in PAGE
    assert f"where {DEFAULT_NUM_BUCKETS} is requested by default" in PAGE
