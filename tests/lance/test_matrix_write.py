"""What we write, pylance reads: whole and single rows; every layout and encoding it decodes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from pymosaic.lance import LanceFile, write_table
from pymosaic.pages.summary import summarize
from tests.lance.columns import some_rows
from tests.lance.matrix import OwnCase, own_cases
from tests.lance.peer import peer_read, peer_take

CASES = own_cases()


def test_the_matrix_has_at_least_200_cases_and_all_have_different_names() -> None:
    assert len(CASES) >= 200
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_we_wrote_is_read_equal_by_pylance(case: OwnCase, tmp_path: Path) -> None:
    path = tmp_path / "own.lance"
    table = pa.table({"c": case.column})
    encodings = None if case.encoding is None else {"c": case.encoding}
    write_table(table, path, encodings=encodings, page_bytes=case.page_bytes)
    with LanceFile(path) as file:
        if case.expected is not None:
            found = [summarize(page.layout) for page in file.pages("c")]
            assert all(summary.startswith(case.expected) for summary in found), found
        own = file.read()
        own.validate(full=True)
        assert own.equals(table)
    assert peer_read(path).equals(table)
    rows = some_rows(len(case.column))
    indices = pa.array(rows, pa.int64())
    assert peer_take(path, rows).equals(table.take(indices))
    with LanceFile(path) as file:
        assert file.take(rows).equals(table.take(indices))
