"""Writes on a real cluster: executors in other processes, and what may befall them.

One driver runs all the cases; the tests look at what it saw.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.spark.cluster import Cluster
from tests.spark.cluster_driver import ROWS, TASKS

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def seen(tmp_path_factory) -> dict[str, Any]:
    directory = tmp_path_factory.mktemp("cluster")
    data = directory / "data"
    data.mkdir()
    with Cluster(directory) as cluster, (directory / "driver.log").open("wb") as log:
        environment = os.environ | {"PYSPARK_PYTHON": cluster.python}
        command = [sys.executable, "-m", "tests.spark.cluster_driver"]
        done = subprocess.run(
            [*command, cluster.master, str(data)],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            timeout=1500,
        )
    if done.returncode:
        pytest.fail((directory / "driver.log").read_text(errors="replace")[-6000:])
    found: dict[str, Any] = json.loads((data / "outcome.json").read_text())
    return found


def test_push_down_works_with_executors_in_other_processes(seen):
    assert seen["support"] == [True, True]
    assert seen["plain"]["found"] == [7]


def test_executors_use_an_environment_of_their_own(seen):
    [prefix] = seen["plain"]["prefixes"]
    assert prefix != seen["plain"]["driver"]


def test_executors_pack_long_rows(seen):
    assert seen["pivot"]["shape"] == [ROWS, 31, ROWS * 30]
    expected = [[row, row * 0.5, (29 * ROWS + row) * 0.5] for row in range(ROWS)]
    assert seen["pivot"]["rows"] == expected


@pytest.mark.parametrize("case", ["plain", "failing", "speculated", "killed"])
def test_every_row_is_there_once(seen, case):
    assert seen[case]["ids"] == list(range(ROWS))


@pytest.mark.parametrize("case", ["plain", "failing", "speculated", "killed"])
def test_one_file_of_each_task_is_published(seen, case):
    # Attempts that lost may still write, but only where nobody looks.
    assert seen[case]["visible"] == TASKS
    assert seen[case]["data"] == TASKS
    assert seen[case]["pending"] == 0


def test_what_was_to_happen_did(seen):
    assert seen["failing"]["notes"] == ["failed"]
    assert seen["killed"]["notes"] == ["killed"]
