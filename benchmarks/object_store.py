"""The case of an object store: requests, bytes and round trips, of pymosaic and of Parquet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import S3FileSystem

import pymosaic
from benchmarks.object_server import BUCKET, ObjectServer
from benchmarks.selections import one, ten_neighbours, ten_random
from benchmarks.workspace import Workspace, same_values

__all__ = ["LATENCY", "object_store", "store_case"]

LATENCY = 0.05


def store_case(what: str, selection: str) -> str:
    """The name of a case: what is counted, of which columns."""
    return f"object store, {selection}: {what}"


def _read_mosaic(path: str, columns: Sequence[str] | None, filesystem: S3FileSystem) -> pa.Table:
    return pymosaic.read_table(path, columns=columns, filesystem=filesystem)


def _read_parquet(path: str, columns: Sequence[str] | None, filesystem: S3FileSystem) -> pa.Table:
    # What a user calls gives ranges to the store together; for one file this does the same.
    with pq.ParquetFile(path, filesystem=filesystem, pre_buffer=True) as file:
        return file.read(columns)


_READERS = {"pymosaic": _read_mosaic, "parquet": _read_parquet}


def object_store(space: Workspace) -> None:
    """Read columns from an object store that takes 50 ms to answer."""
    table = space.main_table
    names = space.table(table).column_names
    selections: dict[str, list[str] | None] = {
        "1 column": one(names),
        "10 neighbours": ten_neighbours(names),
        "10 random": ten_random(names),
        "all columns": None,
    }
    paths = {}
    for peer in _READERS:
        path = space.file(table, peer) if peer in space.peers else None
        if path is not None:
            paths[peer] = f"{BUCKET}/{path.name}"
    with ObjectServer(space.directory, LATENCY) as server:
        filesystem = server.filesystem()
        for selection, columns in selections.items():
            actions: dict[str, Callable[[], pa.Table]] = {
                peer: partial(_READERS[peer], path, columns, filesystem)
                for peer, path in paths.items()
            }
            _count(space, server, table, selection, columns, actions)
            case = store_case("time", selection)
            space.note_others(table, case, "seconds", tuple(actions))
            space.time(table, case, actions)


def _count(
    space: Workspace,
    server: ObjectServer,
    table: str,
    selection: str,
    columns: list[str] | None,
    actions: dict[str, Callable[[], pa.Table]],
) -> None:
    expected = space.table(table) if columns is None else space.table(table).select(columns)
    cases = {what: store_case(what, selection) for what in ("requests", "bytes", "round trips")}
    for peer, action in actions.items():
        server.traffic()
        result = action()
        found = server.traffic()
        if not same_values(result, expected):
            raise ValueError(f"{selection}: {peer} reads other values from an object store")
        add = space.measurements.add
        add(table, cases["requests"], peer, "ranges", found.requests)
        add(table, cases["bytes"], peer, "bytes", found.num_bytes)
        add(table, cases["round trips"], peer, "ranges", found.round_trips)
    for what, case in cases.items():
        space.note_others(table, case, "bytes" if what == "bytes" else "ranges", tuple(actions))
        space.log_case(table, case)
