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
            if not open_tests:
                return True, None
            left.append(tuple(open_tests))
    return bool(left), Filter(tuple(left)) if left else None


def _passes(predicate: Predicate, constant: pa.Scalar) -> bool:
    verdict = predicate.mask(pa.repeat(constant, 1))[0]
    return verdict.as_py() is True
