"""One damaged file: is what the reader makes of it allowed?

Allowed are a MosaicError, and data: valid Arrow, the same bytes whatever the memory held before.
A flipped bit under a checksum must not change what is read, and a truncated file must be
refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

import pymosaic
from pymosaic.testing import used_memory
from tests.corruption.corpus import LIMITS, Contents, contents_of
from tests.corruption.mutations import Mutation

Outcome = Literal["refused", "same", "different statistics", "different columns", "different"]


# How many columns of a file are read one by one, spread over it.
MOST_COLUMNS = 30


class Violation(Exception):
    """What must never happen."""


@dataclass(frozen=True)
class Case:
    """A damaged file with what is known of it."""

    mutation: Mutation
    expected: Contents | None
    under_checksum: bool
    by_column: bool
    verified: bool = True
    guarded: bool = False


def judge(case: Case) -> Outcome:
    """What became of the file; raises Violation, or whatever else the reader raised."""
    outcome = _outcome(case)
    if case.verified:
        _check_verification(case, outcome)
    if case.mutation.kind == "truncated" and outcome != "refused":
        raise Violation("a truncated file was read")
    if case.under_checksum and outcome not in ("refused", "same"):
        raise Violation(f"damage under a checksum gave {outcome} data")
    # A splice may have put the whole end of another file here, which is then read.
    if case.guarded and case.mutation.kind != "spliced" and outcome not in ("refused", "same"):
        raise Violation(f"damage to a file with an annex gave {outcome} data")
    return outcome


def _check_verification(case: Case, outcome: Outcome) -> None:
    """What is refused has an error; what is read has none, but for lies about its values.

    In a file with an annex every changed byte is an error.
    """
    findings = pymosaic.verify(case.mutation.data, limits=LIMITS, use_threads=False)
    errors = [str(finding) for finding in findings if finding.severity == "error"]
    if outcome in ("refused", "different columns"):
        if not errors:
            raise Violation("verify finds no error in a file that is refused")
    elif not all(
        "statistics" in error or "checksum" in error or "annex" in error for error in errors
    ):
        raise Violation(f"verify finds errors in a file that is read: {errors}")


def _outcome(case: Case) -> Outcome:
    data = case.mutation.data
    try:
        with used_memory(0xAA), pymosaic.MosaicFile(data, limits=LIMITS) as file:
            found = contents_of(file)
    except pymosaic.MosaicError:
        return _by_column(case) if case.by_column else "refused"
    with used_memory(0x55), pymosaic.MosaicFile(data, limits=LIMITS) as file:
        again = file.read(use_threads=False)
    found.table.validate(full=True)
    if not _same_memory(found.table, again):
        raise Violation("what is read depends on what the memory held before")
    expected = case.expected
    if expected is None or not _identical(found.table, expected.table):
        return "different"
    if found.user != expected.user:
        return "different"
    same = repr(found.statistics) == repr(expected.statistics)
    return "same" if same else "different statistics"


def _by_column(case: Case) -> Outcome:
    """The file as a whole is refused; a column of it may still be read, and be wrong."""
    try:
        file = pymosaic.MosaicFile(case.mutation.data, limits=LIMITS)
        names = file.column_names
        names = names[:: len(names) // MOST_COLUMNS + 1]
    except pymosaic.MosaicError:
        return "refused"
    outcome: Outcome = "refused"
    for name in names:
        try:
            column = file.read(columns=[name], use_threads=False)
        except pymosaic.MosaicError:
            continue
        column.validate(full=True)
        if (
            case.expected is None
            or name not in case.expected.table.column_names
            or not _identical(column, case.expected.table.select([name]))
        ):
            outcome = "different columns"
    return outcome


def _identical(actual: pa.Table, expected: pa.Table) -> bool:
    # To equals() a NaN differs from itself, to memory it does not.
    return (
        actual.schema.equals(expected.schema, check_metadata=True)
        and actual.num_rows == expected.num_rows
        and (_same_memory(actual, expected) or actual.equals(expected))
    )


def _same_memory(left: pa.Table, right: pa.Table) -> bool:
    return all(
        a.type == b.type and len(a) == len(b) and _buffers(a) == _buffers(b)
        for one, other in zip(left.columns, right.columns, strict=True)
        for a, b in zip(one.chunks, other.chunks, strict=False)
    )


def _buffers(array: pa.Array) -> list[bytes | None]:
    """All bytes of an array, those under nulls too."""
    entries = _buffers(array.dictionary) if pa.types.is_dictionary(array.type) else []
    return entries + [None if buffer is None else buffer.to_pybytes() for buffer in array.buffers()]
