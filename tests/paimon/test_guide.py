"""The guide's blocks run, from top to bottom."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.running import run_document

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "paimon.md"


def test_blocks_run_from_top_to_bottom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_document(GUIDE)
