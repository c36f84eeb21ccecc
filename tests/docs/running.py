"""Run the blocks of a document: ``python -m tests.docs.running DOCUMENT`` in an empty directory.

Python blocks run from top to bottom in one namespace, shell and SQL blocks between them (SQL in the
session that the document made). A block that cannot run has ``<!-- not run: reason -->`` on the
line before it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

BLOCK = re.compile(
    r"^(?P<skip><!-- not run: (?P<reason>.+?) -->\n+)?"
    r"^```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


def is_about_make(code: str) -> bool:
    return all(line.startswith("make ") for line in code.splitlines() if line.strip())


def run_shell(code: str) -> None:
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        env=os.environ | {"PATH": search},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, f"{code}\n{process.stdout}{process.stderr}"


def run_document(path: Path) -> int:
    """Run all blocks in the working directory; returns how many ran."""
    text = path.read_text(encoding="utf-8")
    # DuckDB looks a table's name up in the variables of the module that asks.
    namespace: dict[str, Any] = {"__name__": "document"}
    ran = 0
    for block in BLOCK.finditer(text):
        language, code = block["language"], block["code"]
        if language not in ("python", "sh", "sql") or block["skip"] or is_about_make(code):
            continue
        if language == "python":
            # Tracebacks then show the line of the document.
            lines_before = text.count("\n", 0, block.start("code"))
            exec(compile("\n" * lines_before + code, str(path), "exec"), namespace)
        elif language == "sh":
            run_shell(code)
        else:
            for statement in filter(str.strip, code.split(";")):
                namespace["spark"].sql(statement)
        ran += 1
    return ran


def run_with_spark(path: Path) -> int:
    """Run all blocks in the working directory, which is emptied first, in a session of their own.

    A process can do this again and again: sessions after the first need not start a JVM, whose
    relative paths are those of the directory in which it began.
    """
    # The environment of tests without Spark runs the other documents.
    from pyspark.sql import SparkSession

    for entry in Path.cwd().iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    try:
        return run_document(path)
    finally:
        if (session := SparkSession.getActiveSession()) is not None:
            session.stop()


if __name__ == "__main__":
    run_document(Path(sys.argv[1]))
