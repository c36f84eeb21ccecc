"""The guard against slowdowns notices those, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import guard
from benchmarks.measure import Measurements

READ = "wide, read, paimon"
WRITE = "wide, write, paimon"


def test_ratios_are_those_of_times_beside_peers() -> None:
    found = Measurements()
    for case, ours, theirs in (("read", 2.0, 8.0), ("write", 1.0, 3.0)):
        found.add("wide", case, "pymosaic", "seconds", ours)
        found.add("wide", case, "paimon", "seconds", theirs)
        found.add("wide", case, "zstd-1", "seconds", 1.0)
    found.add("wide", "file size", "pymosaic", "bytes", 10)
    found.add("wide", "file size", "paimon", "bytes", 20)
    assert guard.ratios(found) == {READ: 4.0, WRITE: 3.0}


def test_what_fell_by_more_than_the_tolerance_is_named() -> None:
    before = {READ: 10.0, WRITE: 3.0}
    assert guard.fallen(before, {READ: 8.6, WRITE: 30.0}) == []
    assert guard.fallen(before, {READ: 8.4, WRITE: 3.0}) == [READ]
    assert guard.fallen(before, {READ: 10.0}) == [WRITE]


@pytest.mark.parametrize(
    ("runs", "failed"),
    [([10.0], 0), ([5.0, 9.0], 0), ([5.0, 6.0], 1)],
    ids=["same", "noise", "slow"],
)
def test_a_low_ratio_is_measured_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    runs: list[float],
    failed: int,
) -> None:
    record = tmp_path / "recorded.json"
    taken = iter([10.0, *runs])
    monkeypatch.setattr(guard, "_measure", lambda profile: {READ: next(taken)})
    assert guard.main(["--record", "--file", str(record)]) == 0
    assert json.loads(record.read_text()) == {READ: 10.0}
    assert guard.main(["--file", str(record)]) == failed
    assert next(taken, None) is None
    assert ("slower" in capsys.readouterr().out) == bool(failed)
