"""The examples of the Spark functions run, in a session of their own."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_examples_in_docstrings_run(tmp_path: Path) -> None:
    # A process of its own: relative paths are those of the directory in which a session began.
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.examples"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1500,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-6000:]
    assert " 0 failures" in done.stdout
    assert not done.stdout.startswith("0 lines")
