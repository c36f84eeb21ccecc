"""Random tables in random layouts: any legal file is read, whoever could have made it."""

from __future__ import annotations

import pytest
from hypothesis import given

import pymosaic
from pymosaic.testing import Layout, LegalFile, forge_table, stored_order
from pymosaic.testing.strategies import Case, cases, forged_files
from tests.equality import assert_identical
from tests.oracle import decode
from tests.property.reference import reference_table


@given(forged_files())
def test_any_layout_reads_as_its_table(file: LegalFile) -> None:
    assert_identical(pymosaic.read_table(file.data), file.table)


@given(cases())
def test_the_oracle_decodes_what_the_forge_makes(case: Case) -> None:
    assert_identical(decode(forge_table(case.table)).table, case.table)


@pytest.mark.parametrize("paged", [False, True])
@given(case=cases())
def test_the_reference_reads_what_the_forge_makes(case: Case, paged: bool) -> None:
    # It has no idea of what is behind a checksum; old files without an order list it knows.
    layout = Layout(paged=(paged,), original_order=False)
    expected = case.table.select(stored_order(case.table, layout))
    assert_identical(reference_table(forge_table(case.table, layout)), expected)
