"""The operators of filters, and what each becomes when it is negated or turned around."""

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
    """What an operator becomes; the functions below say when."""

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
    """Return the operator that is true where one is false.

    Neither is true of a null, but for the null tests. Of a NaN one of the two is: it is not below
    5, so ``not <`` is true of it.

    Examples
    --------
    >>> from pymosaic.filters.operators import negation
    >>> negation("<"), negation("is null")
    ('not <', 'is not null')
    """
    return OPERATORS[operator].negation


def complement(operator: str) -> str:
    """Return the negation of a comparison among values that are not NaN.

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
    """Return what a comparison becomes if column and literal change places.

    Examples
    --------
    >>> from pymosaic.filters.operators import mirrored
    >>> mirrored("<"), mirrored("==")
    ('>', '==')
    """
    found = OPERATORS[operator].mirrored
    assert found is not None, operator
    return found
