"""Filters written as text."""

from __future__ import annotations

import datetime
import math
import operator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pymosaic
from pymosaic.filters.tuples import parse_filters

READ = [
    ("a = 1", [[("a", "==", 1)]]),
    ("a == -1", [[("a", "==", -1)]]),
    ("a <> 'x'", [[("a", "!=", "x")]]),
    ("5 < a", [[("a", ">", 5)]]),
    ("5 = a", [[("a", "==", 5)]]),
    ("A_b.c$d@e >= 0", [[("A_b.c$d@e", ">=", 0)]]),
    ('"and" = 1 AND `x y` = 2', [[("and", "==", 1), ("x y", "==", 2)]]),
    ('"a""b" = \'it\'\'s\'', [[('a"b', "==", "it's")]]),
    ("größe = 'ä'", [[("größe", "==", "ä")]]),
    ("a in (1, 2)", [[("a", "in", [1, 2])]]),
    ("a not in (1, null)", [[("a", "not in", [1, None])]]),
    ("a is null or a is not null", [[("a", "is null")], [("a", "is not null")]]),
    ("a between 1 and 2 and b = 3", [[("a", ">=", 1), ("a", "<=", 2), ("b", "==", 3)]]),
    ("a like 'ab%'", [[("a", ">=", "ab"), ("a", "<", "ac")]]),
    ("a not like 'ab%'", [[("a", "not >=", "ab")], [("a", "not <", "ac")]]),
    ("a like 'ab'", [[("a", "==", "ab")]]),
    ("a like '%'", [[("a", ">=", "")]]),
    (r"a like '50\%%'", [[("a", ">=", "50%"), ("a", "<", "50&")]]),
    ("a like '\ud7ff%'", [[("a", ">=", "\ud7ff"), ("a", "<", "\ue000")]]),
    ("a like 'b\U0010ffff%'", [[("a", ">=", "b\U0010ffff"), ("a", "<", "c")]]),
    ("a like '\U0010ffff%'", [[("a", ">=", "\U0010ffff")]]),
    ("a and not b", [[("a", "==", True), ("b", "!=", True)]]),
    ("a = true or b = FALSE", [[("a", "==", True)], [("b", "==", False)]]),
    ("not not a = 1", [[("a", "==", 1)]]),
    ("not (a < 1 and b is null)", [[("a", "not <", 1)], [("b", "is not null")]]),
    ("not (a < 1 or b != 2)", [[("a", "not <", 1), ("b", "==", 2)]]),
    (
        "(a = 1 or a = 2) and (b = 3 or b = 4)",
        [
            [("a", "==", first), ("b", "==", second)]
            for first in (1, 2)
            for second in (3, 4)
        ],
    ),
    ("date > date '2024-05-31'", [[("date", ">", datetime.date(2024, 5, 31))]]),
    ("a = decimal '1.50'", [[("a", "==", Decimal("1.50"))]]),
    ("a < double 'inf'", [[("a", "<", math.inf)]]),
    ("a = x'00fF'", [[("a", "==", b"\x00\xff")]]),
    (
        "a = timestamp '2024-05-31 23:59:00.25'",
        [[("a", "==", datetime.datetime(2024, 5, 31, 23, 59, 0, 250_000))]],
    ),
    (
        "a = timestamp '2024-05-31T23:59:00Z'",
        [[("a", "==", datetime.datetime(2024, 5, 31, 23, 59, tzinfo=datetime.UTC))]],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), READ, ids=[text for text, _ in READ])
def test_text_becomes_filters(text, expected):
    assert pymosaic.parse_filter(text) == expected


WRONG = [
    ("", 0, "expected a column, got the end"),
    ("a >", 3, "expected a value"),
    ("a > and b = 1", 4, "expected a value, got 'and'"),
    ("a = 1 b = 2", 6, "expected 'and', 'or' or the end"),
    ("a = 1)", 5, "expected 'and', 'or' or the end"),
    ("(a = 1", 6, "for the '(' at character 1"),
    ("a in ()", 6, "expected a value"),
    ("a in (1 2)", 8, "expected ',' or ')'"),
    ("a in 1", 5, "expected '('"),
    ("a = null", 4, "write 'is null'"),
    ("a = Rome", 4, "text must be quoted"),
    ("a like 'x%y'", 9, "is only allowed at the end"),
    ("a like 'it''s_'", 13, "is only allowed at the end"),
    (r"a like 'x\y'", 9, "a backslash must be followed by"),
    ("a like 5", 7, "expected a pattern"),
    ("a = 'x", 4, "is never closed"),
    ('"a = 1', 0, "is never closed"),
    ('"" = 1', 0, "must not be empty"),
    ("a ~ 1", 2, "unexpected '~'"),
    ("a = 12x", 6, "runs into a word"),
    ("a = 1e99999", 4, "too many digits"),
    ("a is 5", 5, "expected 'null'"),
    ("a not b", 6, "after 'not'"),
    ("a between 1 or 2", 12, "expected 'and'"),
    ("1 = 1", 4, "expected a column"),
    ("1 in (a)", 2, "expected a comparison"),
    ("a = date '2024-13-01'", 9, "is not a valid date"),
    ("a = timestamp 'noon'", 14, "is not a valid timestamp"),
    ("a = timestamp '2024-01-01 00:00:00.1234567891'", 14, "is not a valid timestamp"),
    ("a = time '25:00:00'", 9, "is not a valid time"),
    ("a = decimal 'one'", 12, "is not a valid decimal"),
    ("a = double 'x'", 11, "is not a valid double"),
    ("a = x'0g'", 4, "hexadecimal"),
    ("not " * 200 + "a", 400, "levels"),
    (" and ".join(["(a = 1 or b = 2)"] * 30), 0, "alternatives"),
]


@pytest.mark.parametrize(("text", "position", "reason"), WRONG, ids=[text for text, _, _ in WRONG])
def test_mistakes_are_pointed_at(text, position, reason):
    with pytest.raises(pymosaic.FilterSyntaxError) as caught:
        pymosaic.parse_filter(text)
    assert caught.value.position == position
    assert reason in caught.value.reason
    message, shown, mark = str(caught.value).split("\n")
    assert message.startswith(f"character {position + 1}: ")
    place = mark.index("^")
    assert shown[place : place + 1] == text[position : position + 1]


def mask_of(text: str, columns: dict[str, pa.Array]) -> pa.BooleanArray:
    row_filter = parse_filters(pymosaic.parse_filter(text))
    assert row_filter is not None
    return row_filter.mask(columns)


def kept(text: str, array: pa.Array) -> list[object]:
    return array.filter(mask_of(text, {"x": array})).to_pylist()


@pytest.mark.parametrize("arrow_type", [pa.float32(), pa.float64(), pa.decimal128(9, 3)])
def test_a_written_number_means_that_value_of_the_column(arrow_type):
    numbers = [Decimal(text) for text in ("0.1", "0.3", "16.125")]
    array = pa.array([str(number) for number in numbers]).cast(arrow_type)
    for index, number in enumerate(numbers):
        assert kept(f"x = {number}", array) == [array[index].as_py()]
        assert kept(f"x >= {number}", array) == array[index:].to_pylist()


def test_a_written_number_beyond_all_floats_is_not_rounded_to_one():
    array = pa.array([3.4e38, -1.0], pa.float32())
    assert kept("x < 1e39", array) == array.to_pylist()
    assert kept("x >= 1e39", array) == []


def test_nanoseconds_are_compared_exactly():
    array = pa.array([1, 2, 3], pa.timestamp("ns"))
    assert len(kept("x > timestamp '1970-01-01 00:00:00.000000001'", array)) == 2
    times = pa.array([500, 501], pa.time32("ms"))
    assert len(kept("x > time '00:00:00.500000001'", times)) == 1


def test_statistics_prune_negations(tmp_path):
    path = tmp_path / "n.mosaic"
    pymosaic.write_table(
        pa.table({"n": [1, 2, 3], "x": [1.0, 2.0, math.nan]}), path, statistics=True
    )
    data = bytearray(path.read_bytes())
    # Broken data is not noticed where it is not read.
    data[10] ^= 255
    for text in ("not (n < 4)", "not (n >= 1)", "n not between 0 and 9"):
        assert pymosaic.read_table(bytes(data), filters=pymosaic.parse_filter(text)).num_rows == 0
    nan = pymosaic.read_table(path, filters=pymosaic.parse_filter("not (x < 4)"))
    assert nan["n"].to_pylist() == [3]


VALUES: dict[str, list[Any]] = {
    "n": [None, -2, 0, 1, 5],
    "x": [None, -1.5, 0.0, math.nan, 2.0],
    "t": [None, "", "a", "ab", "b"],
}
TYPES = {"n": pa.int8(), "x": pa.float64(), "t": pa.string()}
ORDER = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
LITERALS = {"n": ["-2", "0.5", "1", "300"], "x": ["-1.5", "0", "1.75"], "t": ["''", "'a'", "'ab'"]}


def literal_value(text: str) -> Any:
    return text[1:-1] if text.startswith("'") else float(text)


@st.composite
def conditions(draw):
    """A condition as text, and what it is of a value: True, False or None."""
    name = draw(st.sampled_from(sorted(VALUES)))
    literals = st.sampled_from(LITERALS[name])
    kind = draw(st.sampled_from(["compare", "mirror", "in", "between", "null", "like"]))
    negated = "not " if draw(st.booleans()) else ""
    if kind in ("compare", "mirror"):
        sign, text = draw(st.sampled_from(sorted(ORDER))), draw(literals)
        value = literal_value(text)
        if kind == "compare":
            return f"{name} {sign} {text}", (name, lambda cell: ORDER[sign](cell, value))
        return f"{text} {sign} {name}", (name, lambda cell: ORDER[sign](value, cell))
    if kind == "null":
        return f"{name} is {negated}null", (name, None if negated else math.nan)
    if kind == "in":
        texts = draw(st.lists(literals, min_size=1, max_size=3))
        values = [literal_value(text) for text in texts]
        found = (name, lambda cell: (cell in values) != bool(negated))
        return f"{name} {negated}in ({', '.join(texts)})", found
    if kind == "like" and name == "t":
        prefix = draw(st.sampled_from(["", "a", "ab"]))
        found = (name, lambda cell: cell.startswith(prefix) != bool(negated))
        return f"{name} {negated}like '{prefix}%'", found
    low, high = draw(literals), draw(literals)
    bounds = literal_value(low), literal_value(high)
    found = (name, lambda cell: (bounds[0] <= cell <= bounds[1]) != bool(negated))
    return f"{name} {negated}between {low} and {high}", found


def trees():
    joined = st.sampled_from(["and", "or"])
    return st.recursive(
        conditions().map(lambda leaf: ("leaf", *leaf)),
        lambda inner: st.one_of(st.tuples(st.just("not"), inner), st.tuples(joined, inner, inner)),
        max_leaves=6,
    )


def text_of(tree) -> str:
    if tree[0] == "leaf":
        return tree[1]
    if tree[0] == "not":
        return f"not ({text_of(tree[1])})"
    return f"({text_of(tree[1])}) {tree[0]} ({text_of(tree[2])})"


def verdict(tree, row) -> bool | None:
    """SQL's three-valued logic, straight from the tree."""
    if tree[0] == "leaf":
        name, test = tree[2]
        cell = row[name]
        if not callable(test):
            return (cell is None) == (test is not None)
        return None if cell is None else test(cell)
    found = [verdict(part, row) for part in tree[1:]]
    if tree[0] == "not":
        return None if found[0] is None else not found[0]
    decisive = tree[0] == "or"
    if decisive in found:
        return decisive
    return None if None in found else not decisive


@settings(max_examples=150, deadline=None)
@given(trees())
def test_filters_keep_the_rows_of_which_the_text_is_true(tree):
    rows = [{"n": n, "x": x, "t": t} for n in VALUES["n"] for x in VALUES["x"] for t in VALUES["t"]]
    columns = {name: pa.array([row[name] for row in rows], TYPES[name]) for name in VALUES}
    mask = mask_of(text_of(tree), columns)
    assert mask.to_pylist() == [verdict(tree, row) is True for row in rows]
