"""The reference names what there is, and nothing else."""

import re
from pathlib import Path

import pymosaic

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "api.md"


def test_every_public_name_is_in_the_api_page() -> None:
    listed = set(
        re.findall(r"^::: pymosaic(?:\.dataset\.dataset)?\.(\w+)$", PAGE.read_text(), re.M)
    )
    assert listed == set(pymosaic.__all__) - {"__version__"}
