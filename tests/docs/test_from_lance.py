"""The guide to Lance files runs from top to bottom."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.test_readme import PYTHON_BLOCK, ROOT

GUIDE = ROOT / "docs" / "guides" / "from-lance.md"


def test_python_blocks_run_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text(encoding="utf-8")
    blocks = list(PYTHON_BLOCK.finditer(text))
    assert len(blocks) >= 4
    namespace: dict[str, object] = {}
    for block in blocks:
        lines_before = text.count("\n", 0, block.start(1))
        code = compile("\n" * lines_before + block[1], str(GUIDE), "exec")
        exec(code, namespace)
