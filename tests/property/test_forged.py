"""Random tables in random layouts: any legal file is read, whoever could have made it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given

import pymosaic
from pymosaic.testing import Layout, LegalFile, forge_table, stored_order
from pymosaic.testing.strategies import Case, cases, forged_files, tables
from tests.equality import assert_identical
from tests.oracle import decode
from tests.property.reference import reference_table
from tests.writing import write


@given(forged_files())
def test_any_layout_reads_as_its_table(file: LegalFile) -> None:
    assert_identical(pymosaic.read_table(file.data), file.table)


@given(forged_files())
def test_any_layout_verifies_without_an_error(file: LegalFile) -> None:
    found = pymosaic.verify(file.data, use_threads=False)
    assert [finding for finding in found if finding.severity == "error"] == []


@given(cases())
def test_what_pymosaic_writes_verifies_but_for_bounds_that_are_nan(case: Case) -> None:
    found = pymosaic.verify(write(case.batches, case.schema, **case.options), use_threads=False)
    doubtful = [finding for finding in found if finding.severity != "info"]
    assert [finding for finding in doubtful if "is NaN" not in finding.message] == []


@given(tables())
def test_the_oracle_decodes_what_the_forge_makes(table: pa.Table) -> None:
    assert_identical(decode(forge_table(table)).table, table)


@pytest.mark.parametrize("paged", [False, True])
@given(table=tables())
def test_the_reference_reads_what_the_forge_makes(table: pa.Table, paged: bool) -> None:
    layout = Layout(paged=(paged,), original_order=False)
    expected = table.select(stored_order(table, layout))
    assert_identical(reference_table(forge_table(table, layout)), expected)
