"""What a file says is shown without its control characters, in every message and repr."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.arrow.statistics import decode_value
from pymosaic.errors import printable
from pymosaic.testing.pieces import (
    INTEGER,
    NOT_NULL_INTEGER,
    ONE_TWO,
    forge,
    monolithic,
    numbers,
    row_group,
    schema,
    text,
)
from tests.writing import write

# Clears the screen, sets the title, rings, goes back, breaks lines, turns the direction.
HOSTILE = "\x1b[2J\x1b]0;owned\x07\b\r\n\u2028\u202e\x9b\x7f"
ZONED = b"\x11\x01\x03" + text(HOSTILE)
NANOS = b"\x11\x01\x09" + text(HOSTILE)


def column(descriptor: bytes, raw: bytes, statistics: bytes = b"\x00") -> bytes:
    return monolithic(raw, schema((HOSTILE, descriptor)), statistics=statistics)


def read(data: bytes, **options: Any) -> Callable[[], object]:
    return lambda: pymosaic.read_table(data, **options)


WHOLE = column(INTEGER, ONE_TWO)
IN_ZONE = column(ZONED, bytes([1, 0]) + numbers(1, width=8))
TABLE = pa.table({HOSTILE: [1, 2]})
OTHER = pa.table({HOSTILE: pa.array([1], pa.timestamp("ms", HOSTILE))})

RAISING: dict[str, Callable[[], object]] = {
    "a name that appears twice": read(
        forge(b"", schema((HOSTILE, INTEGER), (HOSTILE, INTEGER)), b"", num_row_groups=0)
    ),
    "a null where none may be": read(column(NOT_NULL_INTEGER, bytes([3, 0]))),
    "a missing bucket": read(forge(b"", schema((HOSTILE, NOT_NULL_INTEGER)), row_group(2))),
    "a column that is not there, with suggestions": read(WHOLE, columns=[HOSTILE + "x"]),
    "a pattern that matches nothing": read(WHOLE, columns=[HOSTILE + "*?"]),
    "a filter on a column that is not there": read(WHOLE, filters=[(HOSTILE + "x", "=", 1)]),
    "a filter that does not fit its column": read(WHOLE, filters=[(HOSTILE, "=", "text")]),
    "a filter that does not fit a zone": read(IN_ZONE, filters=[(HOSTILE, "=", HOSTILE)]),
    "a type of a column that is not there": lambda: pymosaic.read_metadata(WHOLE).column_type(
        HOSTILE + "x"
    ),
    "statistics that are no value of a zone": lambda: decode_value(
        b"", pa.timestamp("ms", HOSTILE)
    ),
    "a path with control characters": lambda: pymosaic.errors._LocatedError("bad", HOSTILE),
    "data of another type": lambda: write(OTHER.to_batches(), TABLE.schema),
    "data of an unknown type": lambda: write(
        [], pa.schema([(HOSTILE, pa.month_day_nano_interval())])
    ),
    "data with a column too many": lambda: write(OTHER.to_batches(), pa.schema([("a", "int32")])),
    "an option that names no column": lambda: write([], TABLE.schema, statistics=[HOSTILE + "x"]),
}


@pytest.mark.parametrize("name", RAISING)
def test_errors_hold_no_control_characters(name: str) -> None:
    try:
        error = RAISING[name]()
    except pymosaic.MosaicError as raised:
        error = raised
    assert isinstance(error, pymosaic.MosaicError)
    shown = str(error)
    assert shown.isprintable()
    assert "\\x1b[2J" in shown
    assert str(pickle.loads(pickle.dumps(error))) == shown


@pytest.mark.parametrize("data", [WHOLE, IN_ZONE], ids=["name", "zone"])
def test_what_describes_a_file_holds_no_control_characters(data: bytes) -> None:
    file = pymosaic.MosaicFile(data)
    metadata = file.metadata
    bucket = metadata.row_group(0).bucket(0)
    for shown in (file, metadata, metadata.row_group(0), bucket, bucket.columns()):
        assert repr(shown).isprintable()
    assert metadata.column_type(HOSTILE).isprintable()


def test_statistics_of_any_zone_can_be_shown() -> None:
    value = numbers(1, width=8) + numbers(0)
    data = column(NANOS, bytes([1, 0]) + value, b"\x01\x00\x00" + value * 2)
    assert repr(pymosaic.MosaicFile(data).statistics(0)).isprintable()


def test_what_can_be_shown_stays() -> None:
    assert printable("naïve, 中文, 'quoted' \\ and more") == "naïve, 中文, 'quoted' \\ and more"


def test_names_are_data_all_the_same() -> None:
    assert pymosaic.read_table(WHOLE).column_names == [HOSTILE]
    assert pymosaic.read_table(WHOLE, columns=[HOSTILE]).to_pydict() == {HOSTILE: [1, 2]}
