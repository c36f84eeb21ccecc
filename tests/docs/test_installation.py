"""The page of installation names what can be installed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_extra_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "installation.md").read_text(encoding="utf-8")
    table = page.partition("## Extras")[2].partition("##")[0]
    explained = re.findall(r"^\| `([a-z]+)` \|", table, re.M)
    assert sorted(explained) == sorted(project["optional-dependencies"])
