"""Limits hold before work starts: what a file claims never takes memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.testing import illegal_files
from tests.writing import write

ROOT = Path(__file__).parents[2]

READ_ALL = """
import json, resource, sys
import pymosaic
from pymosaic.testing import illegal_files
files = illegal_files()
def mapped():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
outcomes = {}
if sys.argv[1] == "capped":
    cap = mapped() + (256 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (cap, cap))
limits = pymosaic.Limits(max_row_group_bytes=64 << 20, max_table_bytes=64 << 20)
for file in files:
    try:
        pymosaic.read_table(file.data, use_threads=False, limits=limits)
    except BaseException as error:
        outcomes[file.name] = type(error).__name__
    pymosaic.verify(file.data, use_threads=False, limits=limits)
sys.stdout.write(json.dumps(outcomes))
"""


def test_files_that_claim_gigabytes_are_refused_with_256_mib_to_spare() -> None:
    # The address sanitizer maps terabytes of shadow memory for itself.
    capped = "free" if "asan" in os.environ.get("LD_PRELOAD", "") else "capped"
    run = subprocess.run(
        [sys.executable, "-c", READ_ALL, capped],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {file.name: file.error.__name__ for file in illegal_files()}


BATCH = pa.record_batch({"first": range(1000), "second": [f"{i:050}" for i in range(1000)]})
DATA = write([BATCH], BATCH.schema)


@pytest.mark.parametrize(
    ("limit", "enough", "too_little"),
    [
        ("max_block_bytes", 100_000, 10_000),
        ("max_index_bytes", 100_000, 20),
        ("max_columns", 2, 1),
        ("max_name_bytes", 6, 5),
        ("max_names_bytes", 11, 10),
        ("max_row_group_bytes", 200_000, 20_000),
        ("max_table_bytes", 200_000, 20_000),
    ],
)
def test_each_limit_is_held_and_named(limit: str, enough: int, too_little: int) -> None:
    assert pymosaic.read_table(DATA, limits=pymosaic.Limits(**{limit: enough})).num_rows == 1000
    with pytest.raises(pymosaic.LimitExceededError, match=limit):
        pymosaic.read_table(DATA, limits=pymosaic.Limits(**{limit: too_little}))
