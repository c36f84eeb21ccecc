"""The page of changes names files that exist, and few of them for each change."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "pymosaic"
PAGE = (ROOT / "docs" / "how-to-change.md").read_text(encoding="utf-8")
MOST_FILES = 5
MOST_FILES_OF_A_TYPE = 10


def read_changes(page: str) -> dict[str, list[tuple[str, bool]]]:
    """For each change its files, and whether a file is one that the change adds."""
    changes = {}
    for section in page.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        items = [line.partition(":")[0] for line in text.splitlines() if line.startswith("- ")]
        changes[title] = [
            (path, "(new)" in item) for item in items for path in re.findall(r"`([\w./]+)`", item)
        ]
    return changes


CHANGES = read_changes(PAGE)


def test_there_are_twelve_changes() -> None:
    assert len(CHANGES) == 12


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_touches_few_files_which_are_there_unless_it_adds_them(change: str) -> None:
    files = CHANGES[change]
    assert 0 < len(files) <= (MOST_FILES_OF_A_TYPE if change == "A new type" else MOST_FILES)
    assert [path for path, new in files if (PACKAGE / path).is_file() is new] == []
