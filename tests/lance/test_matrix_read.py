"""What pylance writes, we read: whole, single rows and batches; every layout and encoding."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from pymosaic.lance import LanceFile
from pymosaic.pages.summary import summarize
from tests.lance.columns import some_rows
from tests.lance.matrix import PeerCase, peer_cases
from tests.lance.peer import CHOICES_ARE_KNOWN, peer_read, peer_write

CASES = peer_cases()
# What pylance 14 chose for each case: layout and encodings of the first page of each leaf.
CHOICES = json.loads((Path(__file__).parent / "peer_choices.json").read_text())


def used(file: LanceFile) -> list[str]:
    leaves = [file.pages("c", leaf) for leaf in range(file.num_columns)]
    return [summarize(pages[0].layout) if pages else "no pages" for pages in leaves]


def test_the_matrix_has_at_least_200_cases_and_all_have_different_names() -> None:
    assert len(CASES) >= 200
    assert len({case.name for case in CASES}) == len(CASES)


def test_the_matrix_meets_every_layout_and_every_encoding_that_pylance_writes() -> None:
    chosen = " ".join(summary for choice in CHOICES.values() for summary in choice)
    for name in (
        "mini-block", "full-zip", "all-null", "constant", "blob", "flat", "variable", "bit-packed",
        "bit-packed-groups", "fsst", "dictionary", "run-length", "byte-stream-split", "zstd", "lz4",
        "fixed-size-list", "packed-struct", "variable-packed-struct",
    ):  # fmt: skip
        assert name in chosen


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_pylance_wrote_is_read_equal(case: PeerCase, tmp_path: Path) -> None:
    path = tmp_path / "peer.lance"
    peer_write(case.table, path, case.version, case.page_bytes)
    expected = peer_read(path)
    with LanceFile(path) as file:
        table = file.read()
        table.validate(full=True)
        assert table.equals(expected)
        assert table.schema.equals(expected.schema, check_metadata=True)
        assert file.version == case.version
        if CHOICES_ARE_KNOWN:
            assert used(file) == CHOICES[case.name]
        rows = some_rows(len(case.column))
        indices = pa.array(rows, pa.int64())
        taken = file.take(rows)
        taken.validate(full=True)
        assert taken.equals(expected.take(indices))
        assert file.take(rows[::-1]).equals(expected.take(indices[::-1]))
        batches = list(file.iter_batches(batch_size=400))
        assert pa.Table.from_batches(batches, expected.schema).equals(expected)
        assert all(batch.num_rows <= 400 for batch in batches)
        if case.page_bytes is not None:
            assert len(file.pages("c")) > 1
