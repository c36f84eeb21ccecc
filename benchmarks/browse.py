"""How fast ``pymosaic browse`` shows a table, in Chromium.

``python -m benchmarks.browse`` writes a table of 100,000 columns and one of a million rows, opens
each several times in a new tab, and prints the shortest times on the clock: until the browser first
paints, until the first rows are there, and until rows are there after a jump to the middle. The
last number is the processor time of the server for one opening.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from playwright.sync_api import Browser, sync_playwright

import pymosaic
from pymosaic.report.browse import BrowseServer

__all__ = ["main"]

_FIRST_PAINT = """() => Math.max(
    ...performance.getEntriesByType("paint").map((entry) => entry.startTime), 0)"""
_TO_THE_MIDDLE = """() => {
    const grid = document.getElementById("grid");
    grid.scrollTo(grid.scrollWidth / 2, grid.scrollHeight / 2);
}"""
# The page's policy forbids scripts made of text, which `wait_for_function` runs.
_ELSEWHERE = "#grid[data-waiting='0']:not([data-row='0'])"


@dataclass(frozen=True, slots=True)
class _Times:
    """Seconds until something is shown."""

    paint: float
    rows: float
    jump: float
    server: float


def _write(directory: Path, columns: int, rows: int) -> Path:
    path = directory / f"{columns}x{rows}.mosaic"
    numbers = np.random.default_rng(1)
    table = pa.table(
        {
            f"plant_{number % 7}_sensor_{number:06}_value": numbers.integers(0, 1000, rows)
            for number in range(columns)
        }
    )
    pymosaic.write_table(table, path, row_group_rows=100_000)
    return path


def _measure(browser: Browser, path: Path) -> _Times:
    with BrowseServer([str(path)]) as server:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        worked = time.process_time()
        started = time.perf_counter()
        page.goto(server.url, wait_until="commit")
        page.wait_for_selector("body[data-ready]")
        page.wait_for_selector("#grid[data-waiting='0']")
        page.wait_for_selector(".cell:visible")
        shown = time.perf_counter() - started
        worked = time.process_time() - worked
        paint = page.evaluate(_FIRST_PAINT) / 1000
        started = time.perf_counter()
        page.evaluate(_TO_THE_MIDDLE)
        page.wait_for_selector(_ELSEWHERE)
        jumped = time.perf_counter() - started
        page.close()
    return _Times(paint, shown, jumped, worked)


def main() -> None:
    """Measure, and print a line for each table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.browse", description=__doc__)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    print("| table | first paint | first rows | rows after a jump | server's processor time |")
    print("|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        for columns, rows in ((100_000, 100), (20, 1_000_000)):
            path = _write(Path(directory), columns, rows)
            found = [_measure(browser, path) for _ in range(options.repeat)]
            cells = [
                min(getattr(times, name) for times in found)
                for name in ("paint", "rows", "jump", "server")
            ]
            texts = " | ".join(f"{seconds:.2f} s" for seconds in cells)
            print(f"| {columns:,} columns x {rows:,} rows | {texts} |", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
