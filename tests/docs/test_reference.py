"""The reference names what there is, and nothing else."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import pymosaic
import pymosaic.paimon
import pymosaic.spark
from pymosaic.spark import jobs

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
TEXT = "".join(page.read_text(encoding="utf-8") for page in sorted(REFERENCE.glob("*.md")))
NAMES = re.findall(r"^::: (\S+)$", TEXT, re.MULTILINE)


def test_every_public_name_is_in_the_api_page() -> None:
    listed = set(re.findall(r"^::: pymosaic(?:\.datasets\.dataset)?\.(\w+)$", TEXT, re.M))
    assert listed == set(pymosaic.__all__) - {"__build__", "__version__"}


def test_the_overview_names_what_the_pages_describe() -> None:
    overview = (REFERENCE / "api.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", overview)) - {"pymosaic"}
    assert named == {name.rpartition(".")[2] for name in NAMES}


@pytest.mark.parametrize(
    "module", [pymosaic.paimon, pymosaic.spark, jobs], ids=lambda module: module.__name__
)
def test_every_public_name_of_a_package_is_in_the_api_page(module) -> None:
    listed = {name.rpartition(".")[2] for name in NAMES if name.startswith(module.__name__)}
    assert set(module.__all__) <= listed


def _functions() -> dict[str, object]:
    found = {}
    for name in NAMES:
        module, _, attribute = name.rpartition(".")
        found[name] = getattr(import_module(module), attribute)
    return {name: value for name, value in found.items() if inspect.isfunction(value)}


@pytest.mark.parametrize("name", _functions())
def test_every_public_function_has_an_example(name: str) -> None:
    assert ">>>" in (inspect.getdoc(_functions()[name]) or "")
