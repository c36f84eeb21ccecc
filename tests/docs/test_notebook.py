"""The notebook of the tutorial is the tutorial, and runs."""

from __future__ import annotations

import json
from typing import Any

from scripts.make_notebook import DOCS, as_text

from tests.docs.running import run_shell

NOTEBOOK = DOCS / "tutorial.ipynb"


def test_it_is_made_from_the_page():
    """If not, run ``python -m scripts.make_notebook``."""
    page = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    assert NOTEBOOK.read_text(encoding="utf-8") == as_text(page)


def test_its_cells_run_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    namespace: dict[str, Any] = {"__name__": "notebook"}
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(sources) >= 6
    for source in sources:
        if source.startswith("%%bash\n"):
            run_shell(source.removeprefix("%%bash\n"))
        else:
            exec(compile(source, "tutorial.ipynb", "exec"), namespace)
