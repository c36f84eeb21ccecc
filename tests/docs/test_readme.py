"""The README's promises that can be run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_python_blocks_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = README.read_text(encoding="utf-8")
    blocks = list(PYTHON_BLOCK.finditer(text))
    assert blocks
    namespace: dict[str, object] = {}
    for block in blocks:
        lines_before = text.count("\n", 0, block.start(1))
        # Tracebacks then show the line of the README.
        code = compile("\n" * lines_before + block[1], str(README), "exec")
        exec(code, namespace)


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_exist(document):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = (ROOT / document).read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    # Commands stand in backquotes or alone on a line of a shell block.
    named = set(re.findall(r"(?:`|^)(?:PYMOSAIC_\w+=1 )?make ([a-z-]+)", text, re.MULTILINE))
    assert named
    assert named <= targets


def test_links_to_files_resolve():
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
