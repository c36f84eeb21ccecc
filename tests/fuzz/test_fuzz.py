"""The short form of ``make fuzz``: seeds, what was once found, and a fixed run of changed seeds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import pymosaic
from pymosaic.lance import LanceFile
from tests.conformance.fixtures import FIXTURES, Fixture
from tests.equality import assert_identical
from tests.fuzz import plain
from tests.fuzz.arrow_data import make_job
from tests.fuzz.lance_recipe import assemble_lance, take_lance_apart
from tests.fuzz.mutation import cross, mutate, mutate_bytes
from tests.fuzz.recipe import assemble, emit, parse, take_apart, whole
from tests.fuzz.seeds import regressions, seeds
from tests.fuzz.targets import ACCEPTED, REFUSED, TARGETS
from tests.lance.golden_files import NAMES as GOLDEN_NAMES
from tests.lance.golden_files import golden_bytes

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
def test_a_recipe_makes_the_file_that_was_taken_apart(fixture: Fixture) -> None:
    made = assemble(take_apart(fixture.data))
    if fixture.options.get("compression_level", 1) == 1:
        assert made == fixture.data
    assert_identical(pymosaic.read_table(made), pymosaic.read_table(fixture.data))


@pytest.mark.parametrize("name", GOLDEN_NAMES)
def test_a_recipe_makes_the_lance_file_that_was_taken_apart(name: str) -> None:
    data = golden_bytes(name)
    made = LanceFile(assemble_lance(take_lance_apart(data))).read()
    assert made.equals(LanceFile(data).read())


def test_any_bytes_are_a_recipe() -> None:
    random = Random(3)
    for length in range(200):
        data = random.randbytes(length)
        assert isinstance(assemble(data), bytes)
        assert isinstance(assemble_lance(data), bytes)
        assert parse(emit(parse(data))) == parse(data)
    assert assemble(whole(b"as it is")) == b"as it is"


def test_changed_recipes_still_reach_the_kernels() -> None:
    """Most changes to compressed bytes would end at zstd."""
    random = Random(5)
    recipe = take_apart(FIXTURES[1].data)
    reasons = set()
    for _ in range(400):
        changed = mutate(recipe, random, lambda part: mutate_bytes(part, random))
        try:
            pymosaic.read_table(assemble(changed))
        except pymosaic.CorruptFileError as error:
            reasons.add(error.reason)
        except pymosaic.MosaicError:
            pass
    assert len([reason for reason in reasons if "zstd" not in reason]) > 15
    assert cross(recipe, recipe, random)


def test_arrow_data_of_any_bytes_covers_the_types() -> None:
    random = Random(7)
    jobs = [make_job(random.randbytes(300)) for _ in range(300)]
    ids = {field.type.id for job in jobs for field in job.schema}
    assert len(ids) >= 13
    assert any(job.batches and job.batches[0].num_rows for job in jobs)
    assert make_job(b"").batches == []


@pytest.mark.parametrize("target", list(TARGETS))
def test_every_seed_and_everything_once_found_passes(target: str) -> None:
    outcomes = {TARGETS[target](data) for data in seeds(target)}
    assert outcomes == {ACCEPTED, REFUSED}
    for path in regressions(target):
        assert TARGETS[target](path.read_bytes()) in (ACCEPTED, REFUSED)


@pytest.mark.parametrize(
    ("target", "runs"),
    [("open", 3_000), ("read", 1_500), ("write", 400), ("annex", 1_500), ("lance", 600)],
)
def test_a_fixed_run_finds_nothing(target: str, runs: int, tmp_path: Path) -> None:
    def keep(data: bytes) -> Path:
        path = tmp_path / f"{target}-finding"
        path.write_bytes(data)
        return path

    counts = plain.run(target, 1, runs, keep)
    assert counts.total() == runs
    assert counts[ACCEPTED] > runs // 20
    assert counts[REFUSED] > runs // 20


def test_the_guided_form_runs(tmp_path: Path) -> None:
    options = ["--target", "open", "--runs", "300", "--work", str(tmp_path)]
    run = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", *options],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
    figures = json.loads(run.stdout)["targets"]["open"]
    assert figures["executions"] == 300
    assert figures["findings"] == 0
