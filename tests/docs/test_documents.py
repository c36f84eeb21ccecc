"""Every Python and shell block of the documents runs, or says why not.

Python blocks of a document run from top to bottom in one namespace and one directory, and shell
blocks between them in the same directory. A block that cannot run has ``<!-- not run: reason -->``
on the line before it. Blocks that call make are held to the Makefile instead of run.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"^(?P<skip><!-- not run: (?P<reason>.+?) -->\n+)?^```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
MARKDOWN_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def documents() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    found = [ROOT / name for name in listed] or sorted(ROOT.glob("*.md")) + sorted(
        ROOT.glob("docs/**/*.md")
    )
    return [path for path in found if path.exists() and "tests" not in path.parts]


def names(paths: list[Path]) -> list[Any]:
    spark = pytest.mark.xdist_group("spark")
    return [
        pytest.param(
            path,
            id=str(path.relative_to(ROOT)),
            marks=[spark] if "SparkSession" in path.read_text(encoding="utf-8") else [],
        )
        for path in paths
    ]


def blocks(path: Path, *languages: str) -> list[re.Match[str]]:
    text = path.read_text(encoding="utf-8")
    return [block for block in BLOCK.finditer(text) if block["language"] in languages]


def run_python(path: Path, block: re.Match[str], namespace: dict[str, object]) -> None:
    # Tracebacks then show the line of the document.
    lines_before = path.read_text(encoding="utf-8").count("\n", 0, block.start("code"))
    exec(compile("\n" * lines_before + block["code"], str(path), "exec"), namespace)


def run_shell(code: str, directory: Path) -> None:
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        cwd=directory,
        env=os.environ | {"PATH": search},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, f"{code}\n{process.stdout}{process.stderr}"


def is_about_make(code: str) -> bool:
    return all(line.startswith("make ") for line in code.splitlines() if line.strip())


@pytest.mark.parametrize("path", names(documents()))
def test_blocks_run_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(path, "python", "sh"):
        if block["skip"] or is_about_make(block["code"]):
            continue
        if block["language"] == "python":
            run_python(path, block, namespace)
        else:
            run_shell(block["code"], tmp_path)


@pytest.mark.parametrize("path", names(documents()))
def test_make_targets_exist(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    # Commands stand in backquotes or alone on a line of a shell block.
    named = set(re.findall(r"(?:`|^)(?:PYMOSAIC_\w+=1 )?make ([a-z-]+)", text, re.MULTILINE))
    assert named <= targets


@pytest.mark.parametrize("path", names(documents()))
def test_links_to_files_resolve(path: Path) -> None:
    links = MARKDOWN_LINK.findall(path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


def test_a_block_that_is_not_run_says_why() -> None:
    text = '<!-- not run: needs a cluster -->\n```python\n1 / 0\n```\n\n```python\nx = 1\n```\n'
    found = list(BLOCK.finditer(text))
    assert [block["reason"] for block in found] == ["needs a cluster", None]


def test_shell_blocks_that_fail_are_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="false"):
        run_shell("false", tmp_path)
