"""Filter operators, with their negations and mirrored forms."""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "NULL_TESTS",
    "OPERATORS",
    "ORDER_TESTS",
    "SET_TESTS",
    "complement",
    "mirrored",
    "negation",
]


class _Operator(NamedTuple):
    """The forms of an operator; see the functions below."""

    negation: str
    complement: str | None = None
    mirrored: str | None = None


OPERATORS = {
    "==": _Operator("!=", "!=", "=="),
    "!=": _Operator("==", "==", "!="),
    "<": _Operator("not <", ">=", ">"),
    "<=": _Operator("not <=", ">", ">="),
    ">": _Operator("not >", "<=", "<"),
    ">=": _Operator("not >=", "<", "<="),
    "not <": _Operator("<"),
    "not <=": _Operator("<="),
    "not >": _Operator(">"),
    "not >=": _Operator(">="),
    "in": _Operator("not in", "not in"),
    "not in": _Operator("in", "in"),
    "is null": _Operator("is not null"),
    "is not null": _Operator("is null"),
}
ORDER_TESTS = ("<", "<=", ">", ">=")
SET_TESTS = ("in", "not in")
NULL_TESTS = ("is null", "is not null")


def negation(operator: str) -> str:
    """Return the operator that is true wherever this one is false.

    Except for null tests, both are false for a null. For a NaN exactly one is true: it is not below
    5, so ``not <`` is true.

    Examples
    --------
    >>> from pymosaic.filters.operators import negation
    >>> negation("<"), negation("is null")
    ('not <', 'is not null')
    """
    return OPERATORS[operator].negation


def complement(operator: str) -> str:
    """Return the negation of a comparison for values that are not NaN.

    Examples
    --------
    >>> from pymosaic.filters.operators import complement
    >>> complement("<"), complement("in")
    ('>=', 'not in')
    """
    found = OPERATORS[operator].complement
    assert found is not None, operator
    return found


def mirrored(operator: str) -> str:
    """Return the comparison with column and literal swapped.

    Examples
    --------
    >>> from pymosaic.filters.operators import mirrored
    >>> mirrored("<"), mirrored("==")
    ('>', '==')
    """
    found = OPERATORS[operator].mirrored
    assert found is not None, operator
    return found
