"""Simplifying a filter for a file in which some columns are constant.

Those are the partition columns of the file, and the columns that it does not have.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from pymosaic.filters.predicates import Predicate
from pymosaic.filters.row_filter import Filter

__all__ = ["residual_filter"]


def residual_filter(
    row_filter: Filter, constants: Mapping[str, pa.Scalar]
) -> tuple[bool, Filter | None]:
    """Simplify a filter for constant columns.

    Returns
    -------
    (bool, Filter or None)
        Whether any row can match, and the remaining filter (None: all rows match).
    """
    groups = _residual_groups(row_filter, constants)
    rest = None if row_filter.rest is None else row_filter.rest.with_constants(constants)
    if rest is not None and not rest.columns:
        if not rest.mask({}, 1)[0].as_py():
            return False, None
        rest = None
    if not groups:
        return False, None
    if () in groups:
        groups = ((),)
        if rest is None:
            return True, None
    return True, Filter(groups, rest)


def _residual_groups(
    row_filter: Filter, constants: Mapping[str, pa.Scalar]
) -> tuple[tuple[Predicate, ...], ...]:
    """Groups without tests that pass; an empty one always matches, and without any none does."""
    left = []
    for group in row_filter.conjunctions:
        open_tests = []
        for predicate in group:
            constant = constants.get(predicate.column)
            if constant is None:
                open_tests.append(predicate)
            elif not _passes(predicate, constant):
                break
        else:
            left.append(tuple(open_tests))
    return tuple(left)


def _passes(predicate: Predicate, constant: pa.Scalar) -> bool:
    verdict = predicate.mask(pa.repeat(constant, 1))[0]
    return verdict.as_py() is True
