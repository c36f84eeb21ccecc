"""Make docs/tutorial.ipynb from docs/tutorial.md: the same text and code, as cells.

Run as ``python -m scripts.make_notebook``. A test compares the two, and runs the notebook.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
_BLOCK = re.compile(r"^(<!-- not run: .+? -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def notebook(text: str) -> dict[str, Any]:
    """The cells of a document; blocks that are not run stay text."""
    cells: list[dict[str, Any]] = []

    def add(kind: str, source: str) -> None:
        if not source.strip():
            return
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{len(cells)}", "metadata": {}}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        cells.append(cell | {"source": source.strip("\n").splitlines(keepends=True)})

    place = 0
    for block in _BLOCK.finditer(text):
        skipped, language, code = block.groups()
        if skipped or language not in ("python", "sh"):
            continue
        add("markdown", text[place : block.start()])
        add("code", code if language == "python" else f"%%bash\n{code}")
        place = block.end()
    add("markdown", text[place:])
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def as_text(text: str) -> str:
    """The notebook as the text of its file."""
    # Links lead to pages of the site, which a notebook does not have beside it.
    return json.dumps(notebook(text), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    document = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    (DOCS / "tutorial.ipynb").write_text(as_text(document), encoding="utf-8")
