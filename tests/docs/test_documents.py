"""Every Python, shell and SQL block of the documents runs, or says why not."""

import os
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from tests.docs.running import BLOCK, run_document, run_shell, run_with_spark

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
MARKDOWN_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def named(paths: list[Path]) -> list[Any]:
    return [pytest.param(path, id=str(path.relative_to(ROOT))) for path in paths]


def uses_spark(path: Path) -> bool:
    return "SparkSession" in path.read_text(encoding="utf-8")


# tests/paimon/test_guide.py runs this one, in the environment that has PyPaimon.
PAIMON = ROOT / "docs" / "guides" / "paimon.md"
RUN_HERE = [path for path in DOCUMENTS if not uses_spark(path) and path != PAIMON]


@pytest.mark.parametrize("path", named(RUN_HERE))
def test_blocks_run_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_document(path)


@pytest.fixture(scope="module")
def with_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessPoolExecutor]:
    """A process in a directory of its own; the documents that it runs use one JVM."""
    with ProcessPoolExecutor(
        1, get_context("spawn"), os.chdir, (tmp_path_factory.mktemp("documents"),)
    ) as pool:
        yield pool


@pytest.mark.xdist_group("documents with Spark")
@pytest.mark.parametrize("path", named([path for path in DOCUMENTS if uses_spark(path)]))
def test_blocks_with_spark_run_from_top_to_bottom(
    path: Path, with_spark: ProcessPoolExecutor
) -> None:
    assert with_spark.submit(run_with_spark, path).result() > 0


@pytest.mark.parametrize("path", named(DOCUMENTS))
def test_make_targets_exist(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    # Commands stand in backquotes or alone on a line of a shell block.
    asked = set(re.findall(r"(?:`|^)(?:PYMOSAIC_\w+=1 )?make ([a-z-]+)", text, re.MULTILINE))
    assert asked <= targets


@pytest.mark.parametrize("path", named(DOCUMENTS))
def test_links_to_files_resolve(path: Path) -> None:
    links = MARKDOWN_LINK.findall(path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_a_block_that_is_not_run_says_why() -> None:
    text = "<!-- not run: needs a cluster -->\n```python\n1 / 0\n```\n\n```python\nx = 1\n```\n"
    assert [block["reason"] for block in BLOCK.finditer(text)] == ["needs a cluster", None]


def test_blocks_that_fail_are_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="false"):
        run_shell("false")
    document = tmp_path / "wrong.md"
    document.write_text("```python\nassert 1 == 2\n```\n")
    with pytest.raises(AssertionError):
        run_document(document)
