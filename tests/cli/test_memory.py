"""convert holds a part of the table at a time, however long that is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import pymosaic
from tests.cli.running import TIMEOUT, environment

COLUMNS = 16
ROWS_PER_BATCH = 16 << 10
BATCHES = 96
BATCH_BYTES = COLUMNS * ROWS_PER_BATCH * 8
TABLE_BYTES = BATCHES * BATCH_BYTES
# VmHWM is what this process had at most; ru_maxrss would count what its parent had before.
MEASURED = """
import sys
from pymosaic.cli import main
try:
    main()
finally:
    status = open("/proc/self/status").read()
    print(status.partition("VmHWM:")[2].split()[0], file=sys.stderr)
"""
SMALL_ROW_GROUPS = ("--row-group-bytes", "2097152", "--compression", "none", "--no-threads")


def batches(count: int) -> list[pa.RecordBatch]:
    """The same rows, over and over."""
    values = np.random.default_rng(7).integers(0, 1 << 20, size=(COLUMNS, ROWS_PER_BATCH))
    batch = pa.record_batch({f"c{index}": column for index, column in enumerate(values)})
    return [batch] * count


def write(path: Path, count: int) -> None:
    rows = batches(count)
    schema = rows[0].schema
    if path.suffix == ".mosaic":
        writer = pymosaic.MosaicWriter(
            path, schema, row_group_bytes=BATCH_BYTES, compression="none"
        )
    elif path.suffix == ".parquet":
        writer = pq.ParquetWriter(path, schema, compression="none", use_dictionary=False)
    else:
        writer = pa_csv.CSVWriter(path, schema)
    with writer:
        for batch in rows:
            writer.write(batch)


def peak(*arguments: str | Path) -> int:
    """The most memory that a command had, in bytes."""
    result = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=TIMEOUT,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return int(result.stderr) << 10


@pytest.mark.parametrize(
    ("source", "target", "options"),
    [
        ("parquet", "mosaic", SMALL_ROW_GROUPS),
        ("csv", "mosaic", SMALL_ROW_GROUPS),
        ("mosaic", "arrow", ()),
    ],
)
def test_a_long_table_takes_little_more_memory_than_a_short_one(tmp_path, source, target, options):
    peaks = []
    # The short one is as long as the readers' own buffers: text is read in parts of 8 MiB.
    for name, count in {"short": 8, "long": BATCHES}.items():
        path = tmp_path / f"{name}.{source}"
        write(path, count)
        peaks.append(peak("convert", path, tmp_path / f"{name}-out.{target}", *options))
        path.unlink()
    short, long = peaks
    assert long - short < TABLE_BYTES / 2
