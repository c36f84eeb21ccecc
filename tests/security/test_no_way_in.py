"""Whatever a file holds, reading it only computes: Python's audit events say what else happened."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

READ_ALL = r"""
import json, sys
import pyarrow as pa, pyarrow.compute
import pymosaic
from pymosaic.testing import illegal_files, legal_files
from pymosaic.testing.pieces import monolithic, numbers, schema, text

HOSTILE = [
    "__import__('os').system('true')", "/etc/passwd", "../../../../etc/passwd",
    "file:///etc/passwd", "http://127.0.0.1:9/", "$(true)", "`true`", "{0.__class__}", "%s%n",
    "cos\nsystem\n(S'true'\ntR.", "Europe/../../../etc/passwd", "localtime\u2028",
]

def hostile(text_of):
    # A column of nanoseconds in a zone, with statistics, so that the zone is looked at.
    value = numbers(1, width=8) + numbers(0)
    descriptor = b"\x11\x01\x09" + text(text_of)
    content = schema((text_of, descriptor))
    return monolithic(bytes([1, 0]) + value, content, statistics=b"\x01\x00\x00" + value * 2)

def read(data):
    shown = []
    try:
        with pymosaic.MosaicFile(data) as file:
            shown.append(repr(file))
            table = file.read()
            shown.append(str(table.num_rows))
            for group in range(file.num_row_groups):
                shown.append(repr(file.statistics(group)))
            for name in file.column_names:
                file.read(columns=[name])
                shown.append(file.metadata.column_type(name))
            for group in file.metadata.row_groups():
                shown += [repr(bucket.columns()) for bucket in group.buckets()]
            file.read(columns=["no such column"])
    except (pymosaic.MosaicError, IndexError) as error:
        shown.append(str(error))
    shown += [str(finding) for finding in pymosaic.verify(data)]
    return shown

files = [hostile(item) for item in HOSTILE]
files += [file.data for file in legal_files() if "more buckets" not in file.name]
files += [file.data for file in illegal_files()]
# Modules that are imported when first needed, and zones that do exist, come before the hook.
read(hostile("Asia/Shanghai"))
for data in files[len(HOSTILE):]:
    read(data)
events = []
watching = True
# About Python's own objects and threads.
HARMLESS = ("object.", "builtins.id", "array.__new__", "cpython.", "sys._getframe", "_thread.")
sys.addaudithook(
    lambda event, arguments: events.append([event, repr(arguments)[:200]])
    if watching and not event.startswith(HARMLESS) else None
)
shown = [line for data in files for line in read(data)]
found = list(events)
# That the hook would have noticed:
open("/dev/null").close()
eval("1")
watching = False
noticed = [event for event, _ in events[len(found):]]
sys.stdout.write(json.dumps([len(files), len(shown), found, noticed]))
"""


def test_reading_imports_opens_runs_and_sends_nothing() -> None:
    run = subprocess.run(
        [sys.executable, "-c", READ_ALL],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    num_files, num_shown, events, noticed = json.loads(run.stdout)
    assert num_files > 200
    assert num_shown > num_files
    assert events == []
    assert {"open", "compile", "exec"} <= set(noticed)
