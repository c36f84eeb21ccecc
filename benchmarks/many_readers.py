"""Cases of pymosaic alone: batch by batch, many threads at once, many small files."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pymosaic
from benchmarks.selections import one
from benchmarks.workspace import Workspace

__all__ = [
    "ALL_AT_ONCE",
    "BY_BATCHES",
    "BY_ONE_THREAD",
    "BY_THREADS",
    "SMALL_FILES",
    "batches",
    "small_files",
    "threads",
]

ALL_AT_ONCE = "read all of several row groups"
BY_BATCHES = "iter_batches of several row groups"
BY_ONE_THREAD = "1 column of 8 files, 4 times, 1 thread"
BY_THREADS = "1 column of 8 files, 4 times, 8 threads"
SMALL_FILES = "open a dataset + read 1 column"

_ROW_GROUPS = 8
_THREADS = 8
_READS = 4


def _time_alone(
    space: Workspace,
    table: str,
    actions: dict[str, Callable[[], object]],
    check: Callable[[str, object], None] | None = None,
) -> None:
    """Time actions of pymosaic in turns, each as a case of its own."""
    taken = space.turns(actions, check)
    for case, samples in taken.items():
        space.measurements.add(table, case, "pymosaic", "seconds", *samples)
        space.note_others(table, case, "seconds")
        space.log_case(table, case)


def batches(space: Workspace) -> None:
    """Read all columns of several row groups, at once and batch by batch."""
    table = space.main_table
    if "pymosaic" not in space.peers:
        return
    data = space.table(table)
    path = space.directory / f"{table}-row-groups.mosaic"
    with pymosaic.MosaicWriter(path, data.schema, compression_level=1) as writer:
        step = max(1, data.num_rows // _ROW_GROUPS)
        for start in range(0, data.num_rows, step):
            writer.write(data.slice(start, step))
            writer.end_row_group()

    def at_once() -> int:
        with pymosaic.MosaicFile(path) as file:
            return int(file.read().num_rows)

    def by_batches() -> int:
        with pymosaic.MosaicFile(path) as file:
            return sum(batch.num_rows for batch in file.iter_batches())

    def check(case: str, result: object) -> None:
        if result != data.num_rows:
            raise ValueError(f"{case}: {result} rows, not {data.num_rows}")

    _time_alone(space, table, {ALL_AT_ONCE: at_once, BY_BATCHES: by_batches}, check)


def threads(space: Workspace) -> None:
    """Read one column of different files, one after another and on eight threads."""
    table = space.main_table
    written = space.file(table, "pymosaic") if "pymosaic" in space.peers else None
    if written is None:
        return
    column = one(space.table(table).column_names)
    copies = [space.directory / f"{table}-copy-{number}.mosaic" for number in range(_THREADS)]
    for copy in copies:
        shutil.copyfile(written, copy)

    def read(path: Path) -> None:
        for _ in range(_READS):
            with pymosaic.MosaicFile(path) as file:
                file.read(column)

    def one_by_one() -> None:
        for path in copies:
            read(path)

    with ThreadPoolExecutor(_THREADS) as executor:

        def together() -> None:
            list(executor.map(read, copies))

        _time_alone(space, table, {BY_ONE_THREAD: one_by_one, BY_THREADS: together})


def small_files(space: Workspace) -> None:
    """Open a dataset of many small files and read one column of it."""
    table = "files"
    written = space.file(table, "pymosaic") if "pymosaic" in space.peers else None
    if written is None:
        return
    directory = space.directory / "small-files"
    directory.mkdir()
    count = space.profile.small_files[0]
    for number in range(count):
        shutil.copyfile(written, directory / f"part-{number:05d}.mosaic")
    column = one(space.table(table).column_names)
    expected = count * space.table(table).num_rows

    def read() -> int:
        return int(pymosaic.dataset(directory).scan(columns=column).to_table().num_rows)

    def check(case: str, result: object) -> None:
        if result != expected:
            raise ValueError(f"{case}: {result} rows, not {expected}")

    _time_alone(space, table, {SMALL_FILES: read}, check)
