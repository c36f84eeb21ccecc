"""Text on the pages can be read: its contrast is at least 4.5, in light and dark."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from pymosaic import report
from tests.report.conftest import OpenPage

ASSETS = Path(report.__file__).parent / "assets"
ENOUGH = 4.5
TEXT = ("ink", "caption", "quiet", "accent", "bad")
BEHIND = ("ground", "card")


def luminance(colour: str) -> float:
    digits = colour.removeprefix("#")
    if len(digits) == 3:
        digits = "".join(digit * 2 for digit in digits)
    shares = [int(digits[start : start + 2], 16) / 255 for start in (0, 2, 4)]
    red, green, blue = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def as_text(colour: list[int]) -> str:
    return "#" + "".join(f"{part:02x}" for part in colour)


@pytest.mark.parametrize("style", ["page.css", "dataset.css", "browse.css"])
@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_colours_of_text(style: str, scheme: int) -> None:
    rules = (ASSETS / style).read_text()
    found = re.findall(r"--([a-z-]+): light-dark\((#[0-9a-f]+), (#[0-9a-f]+)\)", rules)
    colours = {name: pair[scheme] for name, *pair in found}
    assert {"ink", "ground", "card"} <= set(colours)
    for text, behind in product(TEXT, BEHIND):
        if text in colours:
            assert contrast(colours[text], colours[behind]) >= ENOUGH, (text, behind)


def test_names_on_tiles(open_page: OpenPage, tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2], "city": ["Oslo", "Rome"], "same": [7, 7]})
    pymosaic.write_table(table, tmp_path / "t.mosaic")
    pymosaic.write_report(tmp_path / "t.mosaic", tmp_path / "t.html")
    page = open_page(tmp_path / "t.html")
    colours = [[level, 255 - level, level // 2] for level in range(0, 256, 15)]
    script = "const TYPE_FAMILIES = [];" + (ASSETS / "canvas.js").read_text()
    found = page.page.evaluate(f"(() => {{ {script} return {colours}.map(readableOn); }})()")
    for behind, text in zip(map(as_text, colours), map(as_text, found), strict=True):
        assert contrast(text, behind) >= ENOUGH, behind
