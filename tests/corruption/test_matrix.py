"""A fixed sample of the corruption matrix, and what the matrix itself stands on."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.testing import used_memory
from tests.corruption.corpus import specimens
from tests.corruption.fields import GAP, fields_of
from tests.corruption.judging import Case, Violation, judge
from tests.corruption.mutations import Mutation
from tests.writing import write

ROOT = Path(__file__).parents[2]
SAMPLE = 3


def test_a_sample_of_every_kind_of_damage_to_every_file() -> None:
    command = [sys.executable, "-m", "tests.corruption.matrix", "--sample", str(SAMPLE)]
    run = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=800, check=False
    )
    assert run.stdout, run.stderr
    summary = json.loads(run.stdout)
    assert summary["violations"] == []
    assert run.returncode == 0, run.stderr
    assert summary["files"] == len(specimens())
    # Of the empty file nothing can be damaged, and small ones have fewer lengths.
    assert summary["inputs"] > 5 * SAMPLE * (len(specimens()) - 2)


TABLE = pa.table({"a": [1, 2, None], "b": ["x", "yy", "zzz"], "c": [[1], [], [2, 3]]})


@pytest.mark.parametrize("page_size_threshold", [0, 1 << 20], ids=["paged", "monolithic"])
def test_every_byte_belongs_to_a_field(page_size_threshold: int) -> None:
    data = write(
        TABLE.to_batches(), TABLE.schema, page_size_threshold=page_size_threshold, statistics=["a"]
    )
    fields = fields_of(data)
    assert fields[0].start == 0
    assert fields[-1].stop == len(data)
    assert all(left.stop == right.start for left, right in pairwise(fields))
    names = {field.name for field in fields}
    assert GAP not in names
    assert "index: minimum" in names
    assert ("paged bucket: directory" in names) == (page_size_threshold == 0)


class TestTheJudgeCondemns:
    DATA = write(TABLE.to_batches(), TABLE.schema)
    OTHER = write(TABLE.slice(1).to_batches(), TABLE.schema)

    def case(self, kind: str, data: bytes, under_checksum: bool) -> Case:
        expected = next(s for s in specimens() if s.data).contents()
        return Case(Mutation(kind, "", data), expected, under_checksum, by_column=False)

    def test_other_data_under_a_checksum(self) -> None:
        with pytest.raises(Violation, match="under a checksum"):
            judge(self.case("bit flipped", self.OTHER, under_checksum=True))

    def test_a_file_that_was_cut_off_and_is_read(self) -> None:
        with pytest.raises(Violation, match="truncated"):
            judge(self.case("truncated", self.OTHER, under_checksum=False))

    def test_but_not_other_data_elsewhere(self) -> None:
        assert judge(self.case("bit flipped", self.OTHER, under_checksum=False)) == "different"


@pytest.mark.parametrize("rows", [3, 1_000_000], ids=["small", "large"])
def test_memory_that_was_used_before_never_shows(rows: int) -> None:
    table = pa.table(
        {
            "sparse": pa.array([None, 1, None] * (rows // 3)),
            "strings": pa.array(["a", None, ""] * (rows // 3)),
            "flags": pa.array([True, None, False] * (rows // 3)),
        }
    )
    data = write(table.to_batches(), table.schema)
    expected = pymosaic.read_table(data)
    for byte in (0x00, 0xFF):
        with used_memory(byte):
            found = pymosaic.read_table(data)
        for name in table.column_names:
            buffers = found[name].chunk(0).buffers()
            assert buffers == expected[name].chunk(0).buffers()
