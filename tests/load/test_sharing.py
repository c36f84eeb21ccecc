"""One open file, many threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from tests.writing import write

THREADS = 16
ROWS, COLUMNS, GROUPS = 400, 60, 5
VALUES = np.random.default_rng(7).integers(0, 1 << 50, size=(COLUMNS, ROWS))
TABLE = pa.table(
    {f"c{i:02}": VALUES[i] if i % 2 else VALUES[i].astype(str) for i in range(COLUMNS)}
)


def open_file(tmp_path: Path, kind: str) -> pymosaic.MosaicFile:
    step = ROWS // GROUPS
    batches = [
        TABLE.slice(start, step).combine_chunks().to_batches()[0] for start in range(0, ROWS, step)
    ]
    data = write(batches, TABLE.schema, row_group_bytes=1, num_buckets=12, statistics=["c01"])
    path = tmp_path / "shared.mosaic"
    path.write_bytes(data)
    if kind == "path":
        return pymosaic.MosaicFile(path)
    if kind == "bytes":
        return pymosaic.MosaicFile(data)
    return pymosaic.MosaicFile(path.open("rb"))


@pytest.mark.parametrize("kind", ["path", "bytes", "file object"])
@pytest.mark.parametrize("use_threads", [True, False])
def test_sixteen_threads_read_what_each_asks_for(
    tmp_path: Path, kind: str, use_threads: bool
) -> None:
    together = threading.Barrier(THREADS, timeout=60)

    with open_file(tmp_path, kind) as file:

        def read(thread: int) -> None:
            random = np.random.default_rng(thread)
            together.wait()
            for _ in range(4):
                names = [f"c{i:02}" for i in random.choice(COLUMNS, size=7, replace=False)]
                table = file.read(names, use_threads=use_threads)
                assert table.equals(TABLE.select(names))
                group = int(random.integers(GROUPS))
                step = ROWS // GROUPS
                part = file.read_row_group(group, names, use_threads=use_threads)
                assert part.equals(TABLE.slice(group * step, step).select(names))
                bound = int(random.integers(0, 1 << 50))
                found = file.read(names, filters=[("c01", "<", bound)], use_threads=use_threads)
                assert found.equals(TABLE.filter(VALUES[1] < bound).select(names))
                assert file.schema.equals(TABLE.schema)
                assert file.statistics(group)["c01"].null_count == 0

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(read, range(THREADS)))
        if kind == "file object":
            file._source._file.close()  # type: ignore[attr-defined]


def test_threads_write_files_of_their_own_at_once(tmp_path: Path) -> None:
    together = threading.Barrier(THREADS, timeout=60)

    def copy(thread: int) -> None:
        path = tmp_path / f"{thread}.mosaic"
        mine = TABLE.slice(thread, 100)
        together.wait()
        for _ in range(3):
            pymosaic.write_table(mine, path)
            assert pymosaic.read_table(path).equals(mine)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(copy, range(THREADS)))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"{thread}.mosaic" for thread in range(THREADS)
    )


def test_threads_that_write_the_same_file_each_leave_a_whole_one(tmp_path: Path) -> None:
    path = tmp_path / "same.mosaic"
    parts = [TABLE.slice(thread * 20, 20) for thread in range(THREADS)]

    def replace(thread: int) -> None:
        for _ in range(4):
            pymosaic.write_table(parts[thread], path)
            table = pymosaic.read_table(path)
            assert any(table.equals(part) for part in parts)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(replace, range(THREADS)))
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
