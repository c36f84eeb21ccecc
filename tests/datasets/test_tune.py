"""tune: the recommendation follows from the numbers that it shows."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pymosaic


@pytest.fixture(scope="module")
def table() -> pa.Table:
    random = np.random.default_rng(5)
    return pa.table({f"c{i:03}": random.integers(0, 50, 300) for i in range(120)})


@pytest.fixture(scope="module")
def found(table: pa.Table) -> pymosaic.Recommendation:
    return pymosaic.tune(table, [["c001"], ["c0*"]], max_growth=100.0)


def test_the_numbers_are_those_of_files_with_the_options(
    table: pa.Table, found: pymosaic.Recommendation
) -> None:
    for trial in (found.best, found.default):
        stream = io.BytesIO()
        pymosaic.write_table(table, stream, **trial.options)
        assert trial.file_bytes == len(stream.getvalue())
        assert trial.read_bytes <= 2 * trial.file_bytes
        assert trial.read_requests >= 1
        priced = trial.read_requests * 0.0005 + trial.read_bytes / 500e6
        assert trial.cost == pytest.approx(trial.read_seconds + priced, rel=1e-3)


def test_the_best_is_about_the_cheapest(found: pymosaic.Recommendation) -> None:
    # Each option is chosen with those before it fixed, levels for their size.
    first = [trial for trial in found.trials if trial.options["compression_level"] == 1]
    buckets = {trial.num_buckets: trial for trial in reversed(first)}
    assert found.best.num_buckets in buckets
    assert len(buckets) > 3
    assert found.best.cost <= min(trial.cost for trial in buckets.values()) * 1.05**4
    assert found.options == found.best.options


def test_it_shows_every_trial(found: pymosaic.Recommendation) -> None:
    lines = str(found).splitlines()
    assert len(lines) == 1 + len(found.trials)
    assert sum("best" in line for line in lines) == 1
    assert sum("(default)" in line for line in lines) == 1


def test_files_do_not_grow_beyond_what_is_allowed(table: pa.Table) -> None:
    found = pymosaic.tune(table, [["c001"]], max_growth=1.0)
    first = [trial for trial in found.trials if trial.compression_level == 1]
    assert found.best.file_bytes <= min(trial.file_bytes for trial in first)


def test_samples_may_be_files_and_are_cut(table: pa.Table, tmp_path: Path) -> None:
    pymosaic.write_dataset(table.select(["c000", "c001", "c002"]), tmp_path / "set")
    calls: list[tuple[int, int | None, str]] = []
    found = pymosaic.tune(
        tmp_path / "set", max_sample_bytes=2000, progress=lambda *call: calls.append(call)
    )
    assert found.default.file_bytes < 1500
    assert {trial.num_buckets for trial in found.trials} == {1, 3}
    assert calls[0][0] == 0
    assert calls[-1] == (len(found.trials), len(found.trials), "trials")


@pytest.mark.parametrize(
    ("sample", "options", "error"),
    [
        (pa.table({"a": [1]}), {"projections": []}, pymosaic.InvalidOptionError),
        (pa.table({"a": [1]}), {"projections": [[]]}, pymosaic.InvalidOptionError),
        (pa.table({"a": [1]}), {"projections": [["b"]]}, pymosaic.ColumnNotFoundError),
        (pa.table({"a": [1]}), {"num_buckets": 3}, pymosaic.InvalidOptionError),
        (pa.table({"a": [1]}), {"bandwidth": 0}, pymosaic.InvalidOptionError),
        (pa.table({"a": pa.array([], pa.int64())}), {}, pymosaic.InvalidDataError),
        (7, {}, pymosaic.InvalidDataError),
    ],
)
def test_mistakes_are_named(sample: Any, options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        pymosaic.tune(sample, **options)
