"""Tasks that are tried again, in a Spark of their own: that of the other tests tries once."""

import json
import subprocess
import sys
from pathlib import Path


def test_a_retried_task_publishes_its_rows_once(tmp_path):
    driver = Path(__file__).with_name("retrying_driver.py")
    done = subprocess.run(
        [sys.executable, driver, tmp_path], stdout=subprocess.PIPE, timeout=600, text=True
    )
    assert done.returncode == 0
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["failed"]
    assert seen["ids"] == list(range(40))
    assert (seen["rows"], seen["files"], len(seen["files_after"])) == (40, 4, 4)
    assert seen["told"]
    assert seen["unchanged"]
