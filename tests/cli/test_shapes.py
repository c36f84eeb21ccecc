"""The shapes of --json are those that docs/command-line.md shows."""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.cli.application import COMMANDS
from tests.cli.running import ROOT

PAGE = (ROOT / "docs/command-line.md").read_text(encoding="utf-8")
EXAMPLES = {
    name: json.loads(example)
    for name, example in re.findall(
        r"^### `([a-z-]+)`\n\n```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
}
# Commands that give rows, not facts.
ROWS = {"head", "tail", "cat", "sample"}
# Commands that have commands below them.
GROUPS = {"paimon", "spark"}
# Commands that run until they are stopped.
SERVERS = {"browse"}


def shape(value: Any) -> Any:
    """Keys in their order, and the shape of the first element of lists."""
    if isinstance(value, dict):
        return {key: shape(element) for key, element in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return ...


def test_every_command_is_on_the_page():
    assert set(EXAMPLES) == set(COMMANDS) - ROWS - GROUPS - SERVERS
    for name in COMMANDS:
        assert f"`{name}`" in PAGE


@pytest.fixture
def arguments(files, small, tmp_path):
    damaged = bytearray(small.read_bytes())
    damaged[10] ^= 1
    (tmp_path / "damaged.mosaic").write_bytes(damaged)
    pymosaic.write_table(pa.table({"id": [1]}), tmp_path / "other.mosaic")
    for _ in range(2):
        pymosaic.write_dataset(pa.table({"n": [1]}), tmp_path / "table", mode="append")
    special = {
        "dictionary": [small, "-c", "city"],
        "verify": [tmp_path / "damaged.mosaic"],
        "diff": [small, tmp_path / "other.mosaic"],
        "convert": [small, tmp_path / "out.mosaic"],
        "merge": [tmp_path / "other.mosaic", tmp_path / "out.mosaic"],
        "compact": [tmp_path / "table"],
        "vacuum": [tmp_path / "table"],
        "view": [small, "-o", tmp_path / "page.html"],
        "tune": [tmp_path / "other.mosaic"],
    }
    return lambda name: special.get(name, [small])


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_shape_is_that_of_the_page(run, arguments, name):
    result = run(name, *arguments(name), "--json")
    assert result.code in (0, 1), result.stderr
    assert result.stderr == ""
    found, expected = shape(result.json()), shape(EXAMPLES[name])
    assert found == expected
    assert json.dumps(list(found)) == json.dumps(list(expected))


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help_of_every_command_has_an_example(run, name):
    result = run(name, "--help")
    assert result.code == 0
    assert f"pymosaic {name} " in result.stdout[result.stdout.index("Examples:") :]
    assert max(map(len, result.stdout.splitlines())) <= 80
