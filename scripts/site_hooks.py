"""Hooks of the documentation site, which ``mkdocs.yml`` names.

They add pages from files outside of ``docs``, take Sphinx roles out of docstrings, and tell the
search which pages matter most.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
# Pages made of files of the project, with their links as seen from docs.
_PAGES = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
_ROLE = re.compile(r":(?:py:)?(?:func|class|meth|mod|data|attr|exc|obj):<code>~?([^<]*)</code>")
_BOOSTS = {"guides/": 3.0, "installation.md": 3.0, "tutorial.md": 2.0, "decisions/": 0.1}
_BOOSTED = {
    "guides/spark.md": 8.0,
    # Lists of very many names: the pages that explain them come first.
    "guides/pyarrow-parquet.md": 0.3,
    "guides/spark-spellings.md": 0.5,
    "command-line.md": 2.0,
    "changelog.md": 0.2,
}


def on_files(files: Any, config: Any) -> Any:
    """Add the changelog and the page for contributors."""
    for page, source in _PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Set how much a page counts in searches."""
    path = page.file.src_uri
    boost = _BOOSTED.get(path)
    if boost is None:
        boost = next((value for start, value in _BOOSTS.items() if path.startswith(start)), None)
    if boost is not None:
        page.meta.setdefault("search", {})["boost"] = boost
    return markdown


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Show what Sphinx roles refer to, without the roles."""
    return _ROLE.sub(r"<code>\1</code>", html)
