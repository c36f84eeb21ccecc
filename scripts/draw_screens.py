"""Draw the pictures of pages in docs/images: a file, a dataset, and rows in the browser.

Run as ``python -m scripts.draw_screens``; ``scripts/ensure-system chromium`` gets the browser.
``scripts.draw_picture`` draws the picture of the README, ``scripts.draw_terminal`` the terminal.
"""

from __future__ import annotations

import re
import tempfile
from contextlib import chdir
from pathlib import Path

import numpy as np
import pyarrow as pa
from playwright.sync_api import Page, expect, sync_playwright
from scripts.draw_picture import CHROMIUM, TARGET, write_fleet

import pymosaic
from pymosaic.report.browse import BrowseServer

IMAGES = TARGET.parent


def write_days(base: Path) -> None:
    """Write a dataset whose files have grown new columns over the days."""
    base.mkdir()
    random = np.random.default_rng(7)
    for day in range(14):
        columns: dict[str, pa.Array] = {"vehicle": pa.array([f"v{n:04}" for n in range(200)])}
        for number in range(120 + 5 * day):
            columns[f"battery_cell_{number:03}_voltage"] = pa.array(random.normal(3.7, 0.1, 200))
        for number in range(40):
            columns[f"brake_{number:03}_wear"] = pa.array(random.integers(0, 40, 200))
        if day > 8:
            columns["route_note"] = pa.array(["detour", None] * 100)
        pymosaic.write_table(pa.table(columns), base / f"2026-05-{day + 1:02}.mosaic")


def draw_file(page: Page, directory: Path) -> None:
    """The picture of a file on a phone, in the light theme."""
    target = directory / "fleet.html"
    pymosaic.write_report(directory / "fleet.mosaic", target)
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(target.as_uri())
    page.wait_for_selector("body[data-ready]")
    page.screenshot(path=IMAGES / "picture-phone.png")


def draw_dataset(page: Page, directory: Path) -> None:
    """The picture of a dataset, with a query."""
    write_days(directory / "days")
    target = directory / "days.html"
    pymosaic.write_report(directory / "days", target)
    page.set_viewport_size({"width": 1100, "height": 720})
    page.goto(target.as_uri())
    page.wait_for_selector("body[data-ready]")
    page.fill("#columns", "vehicle, brake_00*")
    page.screenshot(path=IMAGES / "dataset.png")


def draw_rows(page: Page, directory: Path) -> None:
    """Rows in the browser, with a filter and a column counted."""
    # The page shows the path as it was given.
    with chdir(directory), BrowseServer(["fleet.mosaic"]) as server:
        page.set_viewport_size({"width": 1200, "height": 720})
        page.goto(server.url)
        page.wait_for_selector("body[data-ready]")
        page.fill("#where", "brake_000_wear > 20")
        page.press("#where", "Enter")
        fewer = re.compile(r"^[1-5]?\d?\d$")
        expect(page.locator("#facts")).to_have_attribute("data-rows", fewer)
        page.fill("#search", "wear")
        page.locator(".entry").first.click()
        page.wait_for_selector("#column[data-ready='yes']")
        page.wait_for_selector("#grid[data-waiting='0']")
        page.screenshot(path=IMAGES / "browse.png")


def main() -> None:
    """Draw all of them."""
    with tempfile.TemporaryDirectory(prefix="pymosaic-screens-") as name, sync_playwright() as play:
        directory = Path(name)
        write_fleet(directory / "fleet.mosaic")
        browser = play.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-background-networking"],
            timeout=300_000,
        )
        page = browser.new_page(color_scheme="light")
        page.set_default_timeout(300_000)
        for draw in (draw_file, draw_dataset, draw_rows):
            draw(page, directory)
            print(draw.__name__)
        browser.close()


if __name__ == "__main__":
    main()
