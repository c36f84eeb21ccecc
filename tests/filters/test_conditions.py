"""The one normal form: products, caps, negation, and what is left out."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest

from pymosaic.filters.conditions import (
    EVERYTHING,
    NOTHING,
    UNKNOWN,
    AllOf,
    AnyOf,
    Condition,
    compare,
    negated,
    normal_form,
    starts_with,
    to_filter,
)
from pymosaic.filters.operators import OPERATORS, complement, mirrored, negation
from pymosaic.filters.predicates import Predicate

A, B, C, D = (Predicate(name, "is null") for name in "abcd")


def groups(condition: Condition, max_groups: int = 100) -> list[str]:
    form = normal_form(condition, max_groups)
    return ["".join(predicate.column for predicate in group) for group in form.groups]


@pytest.mark.parametrize(
    ("condition", "expected", "exact"),
    [
        (A, ["a"], True),
        (AllOf((A, B)), ["ab"], True),
        (AnyOf((A, B)), ["a", "b"], True),
        (AllOf((AnyOf((A, B)), C, D)), ["acd", "bcd"], True),
        (AllOf((AnyOf((A, B)), AnyOf((C, D)))), ["ac", "ad", "bc", "bd"], True),
        (EVERYTHING, [""], True),
        (NOTHING, [], True),
        (AllOf((A, NOTHING)), [], True),
        (AnyOf((A, NOTHING)), ["a"], True),
        (AnyOf((A, EVERYTHING)), [""], True),
        (UNKNOWN, [""], False),
        (AllOf((A, UNKNOWN)), ["a"], False),
        (AnyOf((A, UNKNOWN)), [""], False),
        (AllOf((UNKNOWN, NOTHING)), [], False),
    ],
)
def test_normal_form(condition: Condition, expected: list[str], exact: bool) -> None:
    assert groups(condition) == expected
    assert normal_form(condition, 100).exact == exact


def test_what_exceeds_the_cap_is_left_out_the_smallest_parts_are_kept() -> None:
    many = AnyOf(tuple(Predicate(f"{number}", "is null") for number in range(5)))
    wanted = AllOf((many, AnyOf((A, B)), C))
    assert groups(wanted, 9) == ["ac", "bc"]
    assert not normal_form(wanted, 9).exact
    assert len(groups(wanted, 10)) == 10
    assert normal_form(wanted, 10).exact
    assert groups(many, 4) == [""]
    assert not normal_form(many, 4).exact


def test_a_hostile_product_is_not_multiplied_out() -> None:
    pairs = AllOf(tuple(AnyOf((A, B)) for _ in range(10_000)))
    assert len(groups(pairs, 64)) == 64


def test_without_groups_there_is_no_filter_and_no_promise() -> None:
    assert to_filter(NOTHING, 10) == (None, False)
    assert to_filter(EVERYTHING, 10) == (None, True)
    assert to_filter(compare("a", ">", ["text"], pa.int64()), 10) == (None, False)


def test_negation_is_true_where_the_condition_is_false() -> None:
    values = {"x": pa.array([1.0, 5.0, float("nan"), None]), "y": pa.array([5, 1, 1, None])}
    batch = pa.record_batch(values)
    tests: list[Condition] = [
        Predicate("x", operator, (5,)) for operator in OPERATORS if is_comparison(operator)
    ]
    tests += [Predicate("y", "in", (1, 2)), Predicate("y", "not in", (5,))]
    for one, other in itertools.product(tests, tests):
        wanted = AllOf((one, AnyOf((other, Predicate("y", ">", (1,))))))
        kept = rows(wanted, batch)
        dropped = rows(negated(wanted), batch)
        assert sorted([*kept, *dropped]) == [0, 1, 2]


def is_comparison(operator: str) -> bool:
    return operator.removeprefix("not ") in ("==", "!=", "<", "<=", ">", ">=")


def rows(condition: Condition, batch: pa.RecordBatch) -> list[int]:
    row_filter, exact = to_filter(condition, 1000)
    assert exact
    assert row_filter is not None
    return [row for row, passes in enumerate(row_filter.mask(batch).to_pylist()) if passes]


def test_operators_are_negated_and_mirrored_in_pairs() -> None:
    for name, operator in OPERATORS.items():
        assert negation(negation(name)) == name
        if operator.complement is not None:
            assert complement(complement(name)) == name
        if operator.mirrored is not None:
            assert mirrored(mirrored(name)) == name


@pytest.mark.parametrize("prefix", ["Ro", "a\ud7ff", "a\U0010ffff", "\U0010ffff"])
def test_a_prefix_is_a_range(prefix: str) -> None:
    texts = ["", "Rn", "Ro", "Rome", "Rp", "a", "a\ud7ff", "a\ud7ffz", "a\ue000", "b"]
    texts += ["a\U0010ffff", "a\U0010ffffz", "\U0010ffff", "\U0010ffffz"]
    batch = pa.record_batch({"city": texts})
    expected = [row for row, text in enumerate(texts) if text.startswith(prefix)]
    assert rows(starts_with("city", prefix), batch) == expected
