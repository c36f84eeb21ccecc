"""``kill -9`` at random moments of a write: the old file or a new one, whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_a_killed_writer_leaves_the_old_file_or_the_new_one() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.faults.kills", "--kills", "20", "--seed", "11"],
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout)
    assert figures["old_file_whole"] + figures["newer_file_whole"] == figures["kills"] == 20
