"""Objects that only the garbage collector can free are freed by it, whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

# The collector clears what an object refers to before it frees the object.
COLLECT = """
import gc, io, os, sys
import pyarrow as pa
import pymosaic
from pymosaic.file.reader import opened

gc.disable()
table = pa.table({f"c{i}": pa.array(range(i, i + 20_000)) for i in range(10)})

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def leave_cycles():
    writer = pymosaic.MosaicWriter(io.BytesIO(), table.schema)
    writer.write(table)
    parts = [writer._rows, writer._catalog, writer._bind(table.schema), writer._compressor]
    writer.close()
    file = pymosaic.MosaicFile(writer._sink._file.getvalue())
    parts += [file, opened(file).index, opened(file).catalog, file.metadata, file.iter_batches()]
    next(parts[-1])
    writer = pymosaic.MosaicWriter(io.BytesIO(), table.schema)
    writer.write(table)
    parts += [writer, writer._rows]
    for part in parts:
        cycle = [part]
        cycle.append(cycle)

for _ in range(5):
    leave_cycles()
    gc.collect()
before = resident()
for _ in range(25):
    leave_cycles()
    gc.collect()
grown = resident() - before
# 25 times two row groups of 1.6 MB, were they not freed.
assert grown < 32 << 20, f"{grown} bytes are still held"
"""


def test_what_is_left_in_cycles_is_freed() -> None:
    run = subprocess.run(
        [sys.executable, "-c", COLLECT],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert run.returncode == 0, run.stderr
