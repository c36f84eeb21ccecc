"""Arrow expressions as filters: never fewer rows than Arrow keeps, and just those where exact."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from pymosaic.filters.arrow_expressions import push_down

NAN = float("nan")
TABLE = pa.table(
    {
        "i": pa.array([-1, 0, 1, 2, 2**53, 2**53 + 1, None]),
        "f": pa.array([-1.0, -0.0, 0.0, 1.5, NAN, None, 1e300]),
        "s": pa.array(["", "a", "b", "ä", None, "a", "zz"]),
        "b": pa.array([True, False, None, True, False, None, True]),
        "d": pa.array([datetime.date(2024, 1, day) for day in range(1, 8)]),
        "t": pa.array([0, 1, -1, 999, None, 1000, 1], pa.timestamp("us")),
        "m": pa.array([Decimal(n) / 4 for n in range(7)], pa.decimal128(10, 2)),
    }
)
FIELD = {name: pc.field(name) for name in TABLE.column_names}
integer, floating, text, flag, day, moment, amount = FIELD.values()


def kept(expression: pc.Expression) -> tuple[list[Any], list[Any], bool]:
    """Rows that Arrow keeps, rows that the filter keeps, and whether it says these are the same."""
    numbered = TABLE.append_column("row", pa.array(range(len(TABLE))))
    by_arrow = numbered.filter(expression)["row"].to_pylist()
    pushdown = push_down(expression, TABLE.schema)
    if pushdown.row_filter is None:
        return by_arrow, list(range(len(TABLE))), pushdown.exact
    mask = pushdown.row_filter.mask(numbered.combine_chunks().to_batches()[0])
    return by_arrow, numbered.filter(mask)["row"].to_pylist(), pushdown.exact


EXACT = [
    integer > 1,
    pc.scalar(1) < integer,
    (integer >= 0) & (integer < 2),
    (integer == 2**53) | (text == "a"),
    ~(integer > 1),
    ~((integer > 1) | text.is_null()),
    ~((integer > 1) & (text == "a")),
    ~~(integer != 2),
    integer.isin([0, 2, 77]),
    text.is_null(),
    text.is_valid(),
    ~text.is_null(),
    flag,
    ~flag,
    flag == False,  # noqa: E712
    day >= datetime.date(2024, 1, 4),
    moment < pa.scalar(1, pa.timestamp("us")),
    moment >= pa.scalar(1, pa.timestamp("ms")),
    amount == pa.scalar(Decimal("0.50"), pa.decimal128(10, 2)),
    floating < 1.5,
    floating >= 0.0,
    ~(floating > 0.0),
    floating != 0.0,
    floating == NAN,
    pc.if_else(text.is_valid(), text.isin(["a", "zz"]), pa.scalar(None, pa.bool_())),
    pc.scalar(True),
    (integer > 0) & pc.scalar(True),
]
INEXACT = [
    ~integer.isin([0, 2]),
    integer.isin([0, None]),
    floating.isin([0.0]),
    floating.is_null(nan_is_null=True),
    integer + 1 > 2,
    (integer > 1) & (integer + 1 > 2),
    (integer > 1) | (integer + 1 > 2),
    pc.starts_with(text, "a") & (integer > 0),
    integer == pa.scalar(None, pa.int64()),
    integer > FIELD["i"],
    pc.scalar(False),
    pc.if_else(flag, integer > 0, integer < 0),
]


@pytest.mark.parametrize("expression", EXACT, ids=str)
def test_exact(expression: pc.Expression) -> None:
    by_arrow, by_filter, exact = kept(expression)
    assert exact
    assert by_filter == by_arrow


@pytest.mark.parametrize("expression", INEXACT, ids=str)
def test_what_filters_cannot_say_keeps_more_rows_never_fewer(expression: pc.Expression) -> None:
    by_arrow, by_filter, exact = kept(expression)
    assert not exact
    assert set(by_filter) >= set(by_arrow)


def test_part_of_a_conjunction_still_helps() -> None:
    pushdown = push_down(pc.starts_with(text, "a") & (integer > 0), TABLE.schema)
    assert str(pushdown.row_filter) == "i > 0"
    assert pushdown.columns == ("s", "i")


def test_random_combinations() -> None:
    choose = random.Random(3)

    def combined(depth: int) -> pc.Expression:
        if depth == 0:
            return choose.choice(EXACT + INEXACT)
        kind = choose.randrange(3)
        if kind == 0:
            return ~combined(depth - 1)
        left, right = combined(depth - 1), combined(depth - 1)
        return left & right if kind == 1 else left | right

    for _ in range(300):
        expression = combined(choose.randint(1, 3))
        by_arrow, by_filter, exact = kept(expression)
        assert set(by_filter) >= set(by_arrow), expression
        assert not exact or by_filter == by_arrow, expression


def test_too_many_alternatives_are_not_spelled_out() -> None:
    expression = pc.scalar(True)
    for number in range(20):
        expression = expression & ((integer == number) | (text == str(number)))
    pushdown = push_down(expression, TABLE.schema)
    assert not pushdown.exact
    assert pushdown.row_filter is None or len(pushdown.row_filter.conjunctions) <= 128


def test_deep_expressions_are_left_to_arrow() -> None:
    expression = integer > 0
    for _ in range(3000):
        expression = ~expression
    assert push_down(expression, TABLE.schema).row_filter is None
