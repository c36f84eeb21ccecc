"""The cases: each compares all peers on a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import pymosaic
from benchmarks import child, floor
from benchmarks.data import SEED
from benchmarks.many_readers import batches, small_files, threads
from benchmarks.measure import REPEATED_BELOW_SECONDS
from benchmarks.object_store import object_store
from benchmarks.recording import RecordedFile
from benchmarks.selections import one, prefix, ten_neighbours, ten_random
from benchmarks.workspace import Workspace, same_values

__all__ = ["CASES", "FLOORS"]

FLOORS = {"zstd-1": "zstd alone, 1 thread", "zstd-2": "zstd alone, 2 threads"}
_COLD_ROUNDS = 5

Check = Callable[[str, object], None]


def _reference_tables(space: Workspace) -> list[str]:
    return [name for name in space.specs if name.startswith("strings")]


def _equal_to(expected: pa.Table, case: str) -> Check:
    def check(peer: str, result: object) -> None:
        if isinstance(result, pa.Table) and not same_values(result, expected):
            raise ValueError(f"{case}: {peer} gives other values than were written")

    return check


def _read(space: Workspace, table: str, case: str, columns: Sequence[str] | None) -> None:
    expected = space.table(table)
    if columns is not None:
        expected = expected.select(columns)
    files = space.files(table, case, "seconds")
    with ThreadPoolExecutor(1) as executor:
        actions: dict[str, Callable[[], object]] = {
            name: partial(space.peers[name].read, path, columns) for name, path in files.items()
        }
        if "pymosaic" in files:
            frames = floor.frames_of(files["pymosaic"], columns)
            actions["zstd-1"] = partial(floor.decompress_all, frames)
            actions["zstd-2"] = floor.in_halves(executor, floor.decompress_all, frames)
        space.time(table, case, actions, _equal_to(expected, case))


def _read_again(space: Workspace, table: str, columns: Sequence[str]) -> None:
    """Open and read with a known schema, as when many files share one."""
    case = "open + read 1 column, schema seen before"
    files = space.files(table, case, "seconds")
    actions: dict[str, Callable[[], object]] = {
        name: partial(space.peers[name].read, path, columns) for name, path in files.items()
    }
    if "pymosaic" in files:
        actions["pymosaic"] = partial(pymosaic.read_table, files["pymosaic"], columns=columns)
    space.time(table, case, actions, _equal_to(space.table(table).select(columns), case))


def _read_prefix(space: Workspace, table: str, prefix: str) -> None:
    case = "open + read a prefix"
    data = space.table(table)
    wanted = [name for name in data.column_names if name.startswith(prefix)]
    files = space.files(table, case, "seconds")
    actions = {
        name: partial(space.peers[name].read_prefix, path, prefix) for name, path in files.items()
    }
    space.time(table, case, actions, _equal_to(data.select(wanted), case))


def open_schema(space: Workspace) -> None:
    """Open a file and build its Arrow schema."""
    case = "open + schema"
    for table in [*_reference_tables(space), "sparse"]:
        names = space.table(table).column_names

        def check(peer: str, result: Any, names: Sequence[str] = names) -> None:
            if not isinstance(result, pa.Schema) or sorted(result.names) != sorted(names):
                raise ValueError(f"{case}: {peer} gives another schema than was written")

        files = space.files(table, case, "seconds")
        actions = {
            name: partial(space.peers[name].open_schema, path) for name, path in files.items()
        }
        space.time(table, case, actions, check)


def read(space: Workspace) -> None:
    """Open a file and read one, ten or all columns."""
    for table in _reference_tables(space):
        names = space.table(table).column_names
        _read(space, table, "open + read 1 column", one(names))
        _read_again(space, table, one(names))
        _read(space, table, "open + read 10 neighbours", ten_neighbours(names))
        _read(space, table, "open + read 10 random", ten_random(names))
        _read_prefix(space, table, prefix(names))
        if space.table(table).num_rows <= space.profile.main_rows:
            _read(space, table, "open + read all", None)


def look_up(space: Workspace) -> None:
    """Find all columns by name in an open file."""
    table, case = space.main_table, "look up all names"
    names = space.table(table).column_names
    files = space.files(table, case, "seconds")
    opened = {}
    for name, path in files.items():
        if space.peers[name].looks_up_names:
            opened[name] = space.peers[name].open(path)
        else:
            note = "not apart from reading"
            space.measurements.add(table, case, name, "seconds", note=note)
    space.time(table, case, {name: partial(file.look_up, names) for name, file in opened.items()})
    for file in opened.values():
        file.close()


def _write(space: Workspace, table: str) -> None:
    case = "write"
    data, level = space.table(table), space.specs[table].level
    files = space.files(table, case, "seconds")
    actions: dict[str, Callable[[], object]] = {}
    for name in files:
        peer, seconds = space.peers[name], space.write_seconds(table, name)
        if space.writes_apart(table, name) or seconds > REPEATED_BELOW_SECONDS:
            space.measurements.add(table, case, name, "seconds", seconds)
        else:
            target = space.directory / f"again.{peer.suffix}"
            actions[name] = partial(peer.write, data, target, level)
    with ThreadPoolExecutor(1) as executor:
        if "pymosaic" in actions:
            contents = floor.decompress_all(floor.frames_of(files["pymosaic"], None))
            compress = partial(floor.compress_all, level)
            actions["zstd-1"] = partial(compress, contents)
            actions["zstd-2"] = floor.in_halves(executor, compress, contents)
        # What others left to be written back would otherwise slow down whoever syncs next.
        space.time(table, case, actions, before=os.sync)


def write(space: Workspace) -> None:
    """Write a file; pymosaic also waits until it is on disk."""
    for table in _reference_tables(space):
        _write(space, table)


def size(space: Workspace) -> None:
    """File size."""
    for table in [*_reference_tables(space), "sparse", *_column_tables(space), "narrow", "dense"]:
        _size(space, table)


def _size(space: Workspace, table: str) -> None:
    files = space.files(table, "file size", "bytes")
    for name, path in files.items():
        num_bytes = space.peers[name].size(path)
        space.measurements.add(table, "file size", name, "bytes", num_bytes)
    space.log_case(table, "file size")


def _column_tables(space: Workspace) -> list[str]:
    return [name for name in space.specs if name.startswith("doubles")]


def columns(space: Workspace) -> None:
    """Growth of cost with the number of columns: 8 rows of constant doubles."""
    for table in _column_tables(space):
        names = space.table(table).column_names
        _read(space, table, "open + read 1 column", one(names))
        _read(space, table, "open + read 10 random", ten_random(names))


def sparse(space: Workspace) -> None:
    """Read and write the sparse table."""
    names = space.table("sparse").column_names
    _read(space, "sparse", "open + read 1 column", one(names))
    _read(space, "sparse", "open + read 10 random", ten_random(names))
    _read(space, "sparse", "open + read all", None)
    _write(space, "sparse")


def cold(space: Workspace) -> None:
    """From the start of Python to the first value."""
    table, case = space.main_table, "cold process to first value"
    column = one(space.table(table).column_names)[0]
    expected = str(space.table(table)[column][0])
    rounds = min(_COLD_ROUNDS, space.profile.max_rounds)
    files = space.files(table, case, "seconds")
    samples: dict[str, list[float]] = {name: [] for name in files}
    for number in range(rounds + 1):
        for name, path in files.items():
            seconds, value = child.cold_start(name, path, column)
            if value != expected:
                raise ValueError(f"{case}: {name} gives {value}, not {expected}")
            # The first round compiles Python modules and loads libraries from disk.
            if number > 0:
                samples[name].append(seconds)
    for name, taken in samples.items():
        space.measurements.add(table, case, name, "seconds", *taken)
    space.log_case(table, case)


def ranges(space: Workspace) -> None:
    """Bytes and number of reads of a projection."""
    table = space.main_table
    names = space.table(table).column_names
    selections = {
        "1 column": one(names),
        "10 neighbours": ten_neighbours(names),
        "10 random": ten_random(names),
    }
    for label, wanted in selections.items():
        bytes_case, ranges_case = f"bytes read, {label}", f"reads, {label}"
        files = space.files(table, bytes_case, "bytes")
        for name, path in files.items():
            num_bytes, num_ranges = _count_reads(space, name, path, wanted)
            space.measurements.add(table, bytes_case, name, "bytes", num_bytes)
            space.measurements.add(table, ranges_case, name, "ranges", num_ranges)
        space.log_case(table, bytes_case)
        space.log_case(table, ranges_case)


def _count_reads(space: Workspace, name: str, path: Path, wanted: Sequence[str]) -> tuple[int, int]:
    peer = space.peers[name]
    if not peer.reads_file_objects:
        return child.system_reads(name, path, wanted)
    with RecordedFile(path) as recorded:
        peer.read(recorded, wanted)
        return recorded.num_bytes, len(recorded.ranges)


def memory(space: Workspace) -> None:
    """Growth of resident memory at its peak."""
    table = space.main_table
    level = space.specs[table].level
    files = space.files(table, "memory of a full read", "bytes")
    for name, path in files.items():
        grown = child.read_memory(name, path)
        space.measurements.add(table, "memory of a full read", name, "bytes", grown)
    space.log_case(table, "memory of a full read")
    case = "memory of a write"
    files = space.files(table, case, "bytes")
    for name in files:
        seconds = space.write_seconds(table, name)
        if seconds > space.profile.memory_limit:
            note = f"not measured: writing takes {seconds:.0f} s"
            space.measurements.add(table, case, name, "bytes", note=note)
            continue
        target = space.directory / f"again.{space.peers[name].suffix}"
        grown = child.write_memory(name, space.arrow_file(table), target, level)
        space.measurements.add(table, case, name, "bytes", grown)
    space.log_case(table, case)


def losses(space: Workspace) -> None:
    """Cases where Mosaic is not the best choice: narrow tables, dense scans, single rows."""
    names = space.table("narrow").column_names
    _read(space, "narrow", "open + read 1 column", one(names))
    _read(space, "narrow", "open + read all", None)
    _write(space, "narrow")
    case = "open + take 10 rows"
    data = space.table("narrow")
    random = np.random.default_rng(SEED)
    rows = sorted(random.choice(data.num_rows, 10, replace=False).tolist())
    files = space.files("narrow", case, "seconds")
    actions = {name: partial(space.peers[name].take, path, rows) for name, path in files.items()}
    space.time("narrow", case, actions, _equal_to(data.take(pa.array(rows)), case))
    _read(space, "dense", "open + read all", None)
    _write(space, "dense")


CASES: dict[str, Callable[[Workspace], None]] = {
    "open": open_schema,
    "read": read,
    "names": look_up,
    "write": write,
    "sparse": sparse,
    "columns": columns,
    "losses": losses,
    "ranges": ranges,
    "batches": batches,
    "threads": threads,
    "files": small_files,
    "store": object_store,
    "cold": cold,
    "memory": memory,
    "size": size,
}
