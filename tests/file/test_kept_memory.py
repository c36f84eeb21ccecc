"""Memory for decoded columns stays with the process for the next read."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pyarrow as pa

import pymosaic

NUM_ROWS = 500_000


def _page_faults() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def test_columns_of_some_megabytes_cause_no_page_faults_when_read_again(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    # 2 MB each, 500 pages of 4 KiB. The C library keeps a few such blocks, but not so many.
    table = pa.table({f"n_{n}": random.integers(0, 99, NUM_ROWS, np.int32) for n in range(12)})
    path = tmp_path / "narrow.mosaic"
    pymosaic.write_table(table, path, compression_level=1)

    def read() -> int:
        before = _page_faults()
        with pymosaic.MosaicFile(path) as file:
            found = file.read(use_threads=False)
        faults = _page_faults() - before
        assert found.equals(table)
        return faults

    assert min(read() for _ in range(4)) < 200


def test_a_large_buffer_leaves_the_rest_of_its_memory_to_the_next(tmp_path: Path) -> None:
    table = pa.table(
        {
            "a": pa.array(np.arange(180_000)),  # 1.4 MB
            "b": pa.array(np.arange(180_000)),
            "c": pa.array(np.arange(400_000)[:180_000].astype(str)),
            "d": pa.array(np.arange(180_000) % 7 == 0),
        }
    )
    path = tmp_path / "mixed.mosaic"
    pymosaic.write_table(table, path)
    for _ in range(3):
        assert pymosaic.read_table(path).equals(table)
