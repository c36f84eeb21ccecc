"""A committed dataset of very many small files: hard links to a few, published by one job.

``python -m tests.datasets.many_files DIRECTORY --files 100000`` makes one and measures opening and
planning it, then does the same over the S3 protocol and counts requests. A directory that is there
is measured as it is.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

import pymosaic
from pymosaic.datasets.commit import WriteJob
from tests.figures import peak_memory

# File systems limit how many names a file has; ext4 allows 65,000.
_LINKS = 30_000
PARTITIONS = 100


def link_files(paths: Sequence[Path], write: Callable[[Path, pa.Table], None]) -> None:
    """Make files of two rows each: some are written, the others are links to these."""
    for number, path in enumerate(paths):
        if number % _LINKS == 0:
            table = pa.table({"n": [number, number + 1], "text": ["a", "b"], "x": [0.5, 1.5]})
            write(path, table)
            original = path
        else:
            os.link(original, path)


def make_dataset(base: Path, num_files: int, partitions: int = PARTITIONS) -> int:
    """Write the dataset; returns the number of its rows."""
    job = WriteJob.start(base)
    staged = [job.file(f"k={number % partitions}", 0, number) for number in range(num_files)]

    def write(path: Path, table: pa.Table) -> None:
        pymosaic.write_table(table, path, statistics=True)

    link_files([Path(file.write_path) for file in staged], write)
    job.commit(staged)
    return 2 * num_files


def put_all(base: Path, bucket: str) -> None:
    """Put a dataset into the store of this process, with the times that its files have."""
    from moto.s3.models import s3_backends

    store = s3_backends["123456789012"]["aws"]
    store.create_bucket(bucket, "us-east-1")
    for path in base.rglob("*"):
        if path.is_file():
            name = f"set/{path.relative_to(base)}"
            stored = store.put_object(bucket, name, path.read_bytes())
            stored.last_modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)


def count_requests(base: Path, rows: int) -> str:
    """Open and plan the dataset over the S3 protocol."""
    from tests.object_store.conftest import arrow_filesystem
    from tests.object_store.server import ObjectStore

    server = ObjectStore()
    put_all(base, "bucket")
    begin = time.process_time()
    dataset = pymosaic.dataset("bucket/set", filesystem=arrow_filesystem(server))
    plan = dataset.scan(["n"], [("n", ">", 0)]).plan()
    assert dataset.count_rows() == rows
    kinds = Counter("LIST" if x.is_listing else x.method for x in server.requests)
    seconds = time.process_time() - begin
    server.close()
    assert len(server.requests) <= len(dataset.files) / 1000 + 50, kinds
    return (
        f"over the S3 protocol: {len(server.requests)} requests ({dict(kinds)}), "
        f"{len(plan.pieces):,} pieces, {seconds:.1f} s of processor time with the server's"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--files", type=int, default=100_000)
    options = parser.parse_args()
    start = time.perf_counter()
    if options.directory.exists():
        rows = 2 * options.files
    else:
        rows = make_dataset(options.directory, options.files)
    made, processor = time.perf_counter(), time.process_time()
    dataset = pymosaic.dataset(options.directory)
    opened = time.perf_counter()
    plan = dataset.scan(["n"], [("n", ">", 0)]).plan()
    planned = time.perf_counter()
    assert dataset.count_rows() == rows
    memory = peak_memory() >> 20
    sys.stdout.write(
        f"{options.files:,} files: made in {made - start:.1f} s, opened in {opened - made:.2f} s, "
        f"planned in {planned - opened:.2f} s ({len(plan.pieces):,} pieces), "
        f"{time.process_time() - processor:.1f} s of processor time, {memory} MiB\n"
    )
    sys.stdout.flush()
    sys.stdout.write(f"{count_requests(options.directory, rows)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
