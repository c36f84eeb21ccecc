"""The Python in the guides runs as it stands, from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS_A_STORE = "# needs an object store\n"


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_python_blocks(
    guide: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    text = guide.read_text(encoding="utf-8")
    blocks = list(PYTHON_BLOCK.finditer(text))
    assert blocks
    # DuckDB looks a table's name up in the variables of the module that asks.
    namespace: dict[str, object] = {"__name__": "guide"}
    for block in blocks:
        lines_before = text.count("\n", 0, block.start(1))
        code = compile("\n" * lines_before + block[1], str(guide), "exec")
        if not block[1].startswith(NEEDS_A_STORE):
            exec(code, namespace)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_links_to_files_resolve(guide: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", guide.read_text(encoding="utf-8"))
    assert [link for link in links if not (guide.parent / link).exists()] == []
