"""Draw docs/images/picture.png: the page of a made-up file, as a browser shows it.

Run as ``python scripts/draw_picture.py [target]``; ``scripts/ensure-system chromium`` gets the
browser.
"""

from __future__ import annotations

import datetime
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from playwright.sync_api import sync_playwright

import pymosaic

TARGET = Path(__file__).resolve().parent.parent / "docs" / "images" / "picture.png"
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
NUM_ROWS = 300
SEED = 20_260_101
_CITIES = np.array(["Aarhus", "Bologna", "Cadiz", "Dresden", "Espoo", "Fukuoka", "Ghent", "Hilo"])


def fleet_batch(random: np.random.Generator) -> pa.RecordBatch:
    """Return what a fleet of vehicles may report: 4,350 columns of all kinds."""
    columns: dict[str, pa.Array] = {}

    def add(count: int, name: str, values: Callable[[int], pa.Array]) -> None:
        for index in range(count):
            columns[name.format(index)] = values(index)

    def sparse(values: np.ndarray, share: float) -> pa.Array:
        return pa.array(values, mask=random.random(NUM_ROWS) < share)

    start = np.datetime64(datetime.datetime(2026, 1, 1), "us")
    add(240, "battery_cell_{:03d}_voltage", lambda _: pa.array(random.normal(3.7, 0.1, NUM_ROWS)))
    add(
        360,
        "battery_cell_{:03d}_temperature",
        lambda _: pa.array(random.normal(31, 4, NUM_ROWS).astype(np.float32)),
    )
    add(600, "brake_{:03d}_wear", lambda i: pa.array(random.integers(0, 40 + i, NUM_ROWS)))
    add(410, "cabin_seat_{:03d}_used", lambda _: sparse(random.random(NUM_ROWS) < 0.5, 0.1))
    add(500, "city_last_{:03d}", lambda _: sparse(random.choice(_CITIES, NUM_ROWS), 0.2))
    add(
        250,
        "cost_{:03d}",
        lambda _: pa.array(random.integers(1, 10**7, NUM_ROWS)).cast(pa.decimal128(21, 2)),
    )
    add(250, "event_{:03d}_at", lambda _: pa.array(start + random.integers(0, 10**12, NUM_ROWS)))
    add(300, "fault_{:03d}", lambda _: sparse(random.integers(0, 9000, NUM_ROWS), 0.93))
    add(200, "firmware_{:03d}", lambda i: pa.array([f"release-{i % 7}.{i % 5}"] * NUM_ROWS))
    add(500, "motor_{:03d}_speed", lambda _: pa.array(random.integers(0, 9000, NUM_ROWS, np.int32)))
    add(220, "note_{:03d}", lambda _: pa.array([random.bytes(9).hex() for _ in range(NUM_ROWS)]))
    add(
        80, "route_{:03d}_stops", lambda _: pa.array(random.integers(0, 99, (NUM_ROWS, 3)).tolist())
    )
    add(80, "seal_{:03d}", lambda _: pa.array([random.bytes(12) for _ in range(NUM_ROWS)]))
    add(180, "spare_{:03d}", lambda _: pa.nulls(NUM_ROWS, pa.string()))
    add(180, "tyre_{:03d}_pressure", lambda _: sparse(random.normal(2.4, 0.2, NUM_ROWS), 0.3))
    return pa.record_batch(columns)


def write_fleet(path: Path) -> None:
    """Write the file, two row groups of it."""
    random = np.random.default_rng(SEED)
    batches = [fleet_batch(random) for _ in range(2)]
    with pymosaic.MosaicWriter(
        path, batches[0].schema, row_group_bytes=1, num_buckets=80, statistics=["brake_000_wear"]
    ) as writer:
        for batch in batches:
            writer.write(batch)


def main(target: Path) -> None:
    """Make the file, its page and the picture of that."""
    with tempfile.TemporaryDirectory(prefix="pymosaic-picture-") as directory:
        source, page_path = Path(directory) / "fleet.mosaic", Path(directory) / "fleet.html"
        write_fleet(source)
        pymosaic.write_report(source, page_path)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-background-networking"]
            )
            page = browser.new_page(viewport={"width": 1360, "height": 900}, color_scheme="dark")
            page.goto(page_path.as_uri())
            page.wait_for_selector("body[data-ready]")
            page.click("input[value=type] + span")
            page.fill("#columns", "cost_00*, route_*")
            page.fill("#search", "cost_000")
            page.click("#table-space .row .name")
            page.fill("#search", "")
            page.evaluate("window.scrollTo(0, 0)")
            target.parent.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=target)
            browser.close()
    print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
