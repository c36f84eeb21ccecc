"""A committed dataset of very many small files: hard links to a few, published by one job.

``python -m tests.datasets.many_files DIRECTORY --files 100000`` makes one and measures opening and
planning it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import pyarrow as pa

import pymosaic
from pymosaic.datasets.commit import StagedFile, WriteJob
from tests.figures import peak_memory

# File systems limit how many names a file has; ext4 allows 65,000.
_LINKS = 30_000


def make_dataset(base: Path, num_files: int, partitions: int = 100) -> int:
    """Write the dataset; returns the number of its rows."""
    job = WriteJob.start(base)
    staged: list[StagedFile] = []
    rows = 0
    original = Path()
    for number in range(num_files):
        file = job.file(f"k={number % partitions}", 0, number)
        path = Path(file.write_path)
        if number % _LINKS == 0:
            table = pa.table({"n": [number, number + 1], "text": ["a", "b"], "x": [0.5, 1.5]})
            pymosaic.write_table(table, path, statistics=True)
            original = path
        else:
            os.link(original, path)
        staged.append(file)
        rows += 2
    job.commit(staged)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--files", type=int, default=100_000)
    options = parser.parse_args()
    start = time.perf_counter()
    rows = make_dataset(options.directory, options.files)
    made = time.perf_counter()
    dataset = pymosaic.dataset(options.directory)
    opened = time.perf_counter()
    plan = dataset.scan(["n"], [("n", ">", 0)]).plan()
    planned = time.perf_counter()
    assert dataset.count_rows() == rows
    memory = peak_memory() >> 20
    sys.stdout.write(
        f"{options.files:,} files: made in {made - start:.1f} s, opened in {opened - made:.2f} s, "
        f"planned in {planned - opened:.2f} s ({len(plan.pieces):,} pieces), {memory} MiB\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
