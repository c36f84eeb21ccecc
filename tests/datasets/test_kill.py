"""Processes killed at every change that they make: the old dataset or the new one, nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.datasets.killing import ACTIONS, NEW, OLD

ROOT = Path(__file__).parents[2]
OLD_ROWS = sorted(row["n"] for row in OLD)
NEW_ROWS = sorted(row["n"] for row in NEW)
AFTER = {
    "append": OLD_ROWS + NEW_ROWS,
    "overwrite": NEW_ROWS,
    "compact": OLD_ROWS,
    "reencode": OLD_ROWS,
}


def kill_everywhere(action: str, directory: Path) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "tests.datasets.killing", action, str(directory)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=800, check=False)
    assert run.returncode == 0, run.stderr.decode()
    results: list[dict[str, Any]] = json.loads(run.stdout)
    return results


@pytest.mark.parametrize("action", ACTIONS)
def test_killed_at_any_change(action: str, tmp_path: Path) -> None:
    results = kill_everywhere(action, tmp_path)
    assert len(results) > 10
    after = AFTER[action]
    switched = False
    for number, result in enumerate(results):
        seen = result["seen"]
        switched = switched or seen == after
        assert seen == (after if switched else OLD_ROWS), (number, result)
        assert result["vacuumed"] == seen, (number, result)
        assert not result["staging"], (number, result)
        again = sorted(seen + NEW_ROWS) if action == "append" else after
        assert result["again"] == again, (number, result)
    assert results[-1]["ended"] == "done"
    assert results[-1]["seen"] == after
