"""Random tables: the same bytes as the reference, and everyone reads everyone's files."""

from __future__ import annotations

import pytest
from hypothesis import given, note

import pymosaic
from pymosaic.testing.strategies import Case, cases
from tests.equality import assert_identical
from tests.oracle import decode
from tests.property.reference import reference_table, reference_write
from tests.writing import write


@given(cases())
def test_without_checksums_the_bytes_are_those_of_the_reference(case: Case) -> None:
    expected = reference_write(case.batches, case.schema, case.options)
    actual = write(case.batches, case.schema, checksum=False, **case.options)
    if actual != expected:
        note(f"pymosaic wrote {describe(actual)}")
        note(f"the reference wrote {describe(expected)}")
    assert actual == expected


@pytest.mark.parametrize("checksum", [True, False])
@given(case=cases())
def test_the_reference_reads_what_pymosaic_writes(case: Case, checksum: bool) -> None:
    data = write(case.batches, case.schema, checksum=checksum, **case.options)
    assert_identical(reference_table(data), case.table)


@given(cases())
def test_pymosaic_reads_what_the_reference_writes(case: Case) -> None:
    data = reference_write(case.batches, case.schema, case.options)
    assert_identical(pymosaic.read_table(data), case.table)


@given(cases())
def test_pymosaic_reads_what_it_writes(case: Case) -> None:
    data = write(case.batches, case.schema, **case.options)
    assert_identical(pymosaic.read_table(data), case.table)


@given(cases())
def test_the_oracle_decodes_what_pymosaic_writes(case: Case) -> None:
    data = write(case.batches, case.schema, **case.options)
    assert_identical(decode(data).table, case.table)


@given(cases())
def test_threads_change_neither_bytes_nor_values(case: Case) -> None:
    data = write(case.batches, case.schema, use_threads=True, **case.options)
    assert write(case.batches, case.schema, use_threads=False, **case.options) == data
    alone = pymosaic.read_table(data, use_threads=False)
    assert_identical(pymosaic.read_table(data, use_threads=True), alone)


def describe(data: bytes) -> str:
    """The structure of a file, for a reader of a failed test."""
    content = decode(data)
    groups = [
        (group.num_rows, content.layouts(i), content.encodings(i), group.statistics)
        for i, group in enumerate(content.row_groups)
    ]
    return f"{len(data)} bytes, {len(content.bpe_rules)} BPE rules, row groups {groups}"
