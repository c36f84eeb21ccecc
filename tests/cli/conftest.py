from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from tests.cli.running import Server, server

ROWS = 40
HOSTILE_NAME = "evil\x1b[31m\u202e"
HOSTILE_VALUE = "x\x1b]0;title\x07\n\x9b2J"


@pytest.fixture(scope="session")
def running(tmp_path_factory):
    with server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture
def run(running: Server):
    return running.run


def small_table() -> pa.Table:
    start = datetime.datetime(2024, 5, 1, 12)
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "city": [["Rome", "Oslo", None, "Kyiv"][row % 4] for row in range(ROWS)],
            "price": pa.array([Decimal(row) / 10 for row in range(ROWS)], pa.decimal128(8, 2)),
            "score": pa.array([row / 10 for row in range(ROWS)], pa.float32()),
            "day": [datetime.date(2024, 5, 1) + datetime.timedelta(row) for row in range(ROWS)],
            "seen": pa.array(
                [start + datetime.timedelta(seconds=row) for row in range(ROWS)],
                pa.timestamp("ms", "UTC"),
            ),
            "tags": pa.array([["a", "b"][: row % 3] for row in range(ROWS)]),
            "attributes": pa.array(
                [[("k", row)] for row in range(ROWS)], pa.map_(pa.string(), pa.int32())
            ),
            "raw": pa.array([bytes([row, 255]) for row in range(ROWS)]),
            "active": [row % 2 == 0 for row in range(ROWS)],
            "empty": pa.array([None] * ROWS, pa.string()),
        }
    )


@pytest.fixture(scope="session")
def files(tmp_path_factory) -> Path:
    """Files that tests read and never change."""
    directory = tmp_path_factory.mktemp("files")
    table = small_table()
    with pymosaic.MosaicWriter(
        directory / "small.mosaic",
        table.schema,
        num_buckets=3,
        row_group_bytes=1,
        statistics=["id", "city", "day"],
    ) as writer:
        writer.write(table.slice(0, 30))
        writer.write(table.slice(30))
    wide = pa.table({f"sensor_{number:05}": [number, number + 1] for number in range(10_000)})
    pymosaic.write_table(wide, directory / "wide.mosaic")
    hostile = pa.table({HOSTILE_NAME: [HOSTILE_VALUE], "plain": ["text"]})
    pymosaic.write_table(hostile, directory / "hostile.mosaic")
    for day in (1, 2):
        target = directory / "table" / f"day={day}"
        target.mkdir(parents=True)
        pymosaic.write_table(pa.table({"n": [day, day * 10]}), target / "part.mosaic")
    return directory


@pytest.fixture(scope="session")
def small(files) -> Path:
    return files / "small.mosaic"
