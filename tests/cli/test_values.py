"""Plain values: what JSON, CSV and tables show of Arrow values."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.cli.formats.jsonl import json_lines
from pymosaic.cli.text import cut, cut_middle, width_of
from pymosaic.cli.values import cell, plain_values, to_json
from pymosaic.errors import printable
from tests.cli.running import ROOT


def _halves(values: list[float | None]) -> pa.Array:
    """Half-precision numbers, which Parquet and Arrow files may hold."""
    return pa.array(
        [None if value is None else np.float16(value) for value in values], pa.float16()
    )


FIXTURES = sorted((ROOT / "tests/data/fixtures").glob("*.mosaic"))
VALUES = [
    (pa.array([True, None]), [True, None]),
    (pa.array([2**63 - 1, -(2**63)]), [2**63 - 1, -(2**63)]),
    (pa.array([0.1, None, math.inf], pa.float32()), [0.1, None, "Infinity"]),
    (pa.array([0.1, math.nan, -math.inf, None]), [0.1, "NaN", "-Infinity", None]),
    (_halves([0.1, None, math.inf, math.nan]), [0.1, None, "Infinity", "NaN"]),
    (_halves([1.5, -2.0]), [1.5, -2.0]),
    (pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)), ["1.50", None]),
    (pa.array([Decimal("1200")], pa.decimal128(5, -2)), ["1200"]),
    (pa.array([0, -1, None, 10**6], pa.date32()), ["1970-01-01", "1969-12-31", None, "4707-11-29"]),
    (pa.array([-(2**31), 2**31 - 1], pa.date32()), ["-5877641-06-23", "5881580-07-11"]),
    (pa.array([1500, None], pa.time32("ms")), ["00:00:01.500", None]),
    (pa.array([-1], pa.timestamp("ns")), ["1969-12-31T23:59:59.999999999"]),
    (pa.array([0], pa.timestamp("ms", "Asia/Tokyo")), ["1970-01-01T00:00:00.000Z"]),
    (pa.array([-(2**63), None], pa.timestamp("us")), [str(-(2**63)), None]),
    (pa.array([b"\x00\xff", None]), ["00ff", None]),
    (pa.array([["a", None], None, []]), [["a", None], None, []]),
    (
        pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int8())),
        [[{"key": "k", "value": 1}], None],
    ),
    (pa.array([{"x": 1}, None]), [{"x": 1}, None]),
    (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
]


@pytest.mark.parametrize(
    ("array", "expected"), VALUES, ids=[str(array.type) for array, _ in VALUES]
)
def test_values_are_plain(array, expected):
    assert plain_values(array) == expected
    # A slice has the values of its rows, not of the array below it.
    assert plain_values(array.slice(1)) == expected[1:]
    assert plain_values(array.slice(0, 0)) == []


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_every_fixture_can_be_shown(path):
    for column in pymosaic.read_table(path).columns:
        values = [value for chunk in column.chunks for value in plain_values(chunk)]
        assert [value is None for value in values] == column.is_null().to_pylist()
        assert json.loads(to_json(values)) == values
        assert all(text.isprintable() for text in map(cell, values))


def test_json_holds_nothing_that_steers_a_terminal():
    text = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2028, 0xFEFF]))
    encoded = to_json({text: text})
    assert encoded.isprintable()
    assert json.loads(encoded) == {text: text}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain ä", "plain ä"),
        ("a\n\t\x1b", "a\\n\\t\\x1b"),
        ("\u202e\U000e0001", "\\u202e\\U000e0001"),
    ],
)
def test_escapes(text, expected):
    assert printable(text) == expected


@pytest.mark.parametrize(
    "text", ["plain text that is long", "日本語のとても長い文字列です", "e\u0301" * 20]
)
@pytest.mark.parametrize("width", [1, 2, 7, 10])
def test_cut_text_is_never_wider(text, width):
    for shorten in (cut, cut_middle):
        assert width_of(shorten(text, width)) <= width
        assert shorten(text, 100) == text


def test_lines_of_many_columns_equal_those_of_few():
    kinds = {
        "float": pa.array([1.5, math.nan, -math.inf, None, 1e300]),
        "single": pa.array([0.1, None, math.inf, 3.0, -0.0], pa.float32()),
        "text": pa.array(["é\x7f\u202e", 'a"b\\\n', None, "", "plain"]),
        "ascii": pa.array(["a", "b", "c", 'd"', "\x1f"]),
        "whole": pa.array([1, None, -(2**63), 2**63 - 1, 0]),
        "flag": pa.array([True, False, None, True, False]),
        "list": pa.array([[1], None, [], [2, None], [3]]),
        "time": pa.array([0, None, 1, 2, -(2**62)], pa.timestamp("us", "UTC")),
        "day": pa.array([0, 1, None, -5, 9], pa.date32()),
        "nothing": pa.nulls(5),
    }
    columns = {f'{name} "{number}" \x85': kinds[name] for number in range(8) for name in kinds}
    batch = pa.record_batch(columns).slice(1)
    together = "".join(json_lines([batch])).splitlines()
    for row, line in enumerate(together):
        values = {
            name: plain_values(column.slice(row, 1))[0]
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        }
        assert line == to_json(values)
