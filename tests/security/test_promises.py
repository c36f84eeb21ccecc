"""SECURITY.md names a test for every promise; each of them exists, and its example runs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "SECURITY.md").read_text()
ROWS = [
    line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| promise")
]
TESTS = re.findall(r"`(tests/[^`]+)`", PAGE)


def test_every_promise_has_a_test() -> None:
    assert len(ROWS) >= 10
    for row in ROWS:
        assert "`tests/" in row.rsplit("|", 2)[1], row


@pytest.mark.parametrize("name", sorted(set(TESTS)))
def test_the_tests_are_there(name: str) -> None:
    path, *parts = name.split("::")
    body: list[ast.stmt] = ast.parse((ROOT / path).read_text()).body
    for part in parts:
        found = [
            node
            for node in body
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == part
        ]
        assert found, f"{part} is not in {path}"
        body = found[0].body


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example, "SECURITY.md", "exec"), names)
    assert getattr(names["table"], "num_rows", None) == 3
