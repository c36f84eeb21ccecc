"""Pictures and rows on wide and narrow screens, light and dark: nothing is cut or lies outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from playwright.sync_api import Page

import pymosaic
from pymosaic.report.browse import BrowseServer
from tests.report.conftest import BrowserThread, OpenPage
from tests.report.data import mixed_file, wide_table

SCREENS = [
    (width, height, scheme)
    for width, height in ((1440, 900), (1024, 768), (390, 844))
    for scheme in ("light", "dark")
]
LONG_NAMES = 60

# What reaches out of the screen without a box that scrolls around it, and words that are cut off.
FAULTS = """() => {
  const faults = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) faults.push('the page scrolls sideways');
  const scrolls = (element) => {
    for (let e = element.parentElement; e; e = e.parentElement) {
      if (/auto|scroll|hidden/.test(getComputedStyle(e).overflowX)) return true;
    }
    return false;
  };
  const told = (element) => `${element.tagName}#${element.id} ${element.textContent.slice(0, 40)}`;
  for (const element of document.body.querySelectorAll('*')) {
    const box = element.getBoundingClientRect();
    const outside = box.width && box.right > width + 1 && !scrolls(element);
    if (outside) faults.push(`outside: ${told(element)}`);
  }
  for (const element of document.querySelectorAll('h1, h2, h3, p, label, button, summary')) {
    const style = getComputedStyle(element);
    const cut = style.overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1;
    if (cut && element.clientWidth > 1) faults.push(`cut: ${told(element)}`);
  }
  for (const field of document.querySelectorAll('input[placeholder], textarea[placeholder]')) {
    const style = getComputedStyle(field);
    const context = document.createElement('canvas').getContext('2d');
    context.font = style.font;
    const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    const needed = context.measureText(field.placeholder).width;
    if (needed > room + 1) faults.push(`cut: ${field.placeholder}`);
  }
  return faults;
}"""


def _fleet(base: Path) -> Path:
    (base / "fleet.mosaic").write_bytes(mixed_file())
    return base / "fleet.mosaic"


def _wide(base: Path) -> Path:
    pymosaic.write_table(wide_table(100_000), base / "wide.mosaic")
    return base / "wide.mosaic"


def _long_names(base: Path) -> Path:
    names = [f"plant_amsterdam_line_{n:03}_last_reported_value" for n in range(LONG_NAMES)]
    table = pa.table({name: [n, n * 1000, None] for n, name in enumerate(names)})
    pymosaic.write_table(table, base / "long.mosaic")
    return base / "long.mosaic"


def _paged(base: Path) -> Path:
    table = pa.table({"id": range(500), "text": [f"{n}" * 9 for n in range(500)]})
    pymosaic.write_table(table, base / "paged.mosaic", page_size_threshold=0)
    return base / "paged.mosaic"


def _hostile(base: Path) -> Path:
    names = ["<script>alert(1)</script>", "a" * 300, "\u202eevil", "new\nline", "温度" * 40]
    table = pa.table({name: ["</td><b>" + "x" * 200] for name in names})
    path = base / f"{'long-name-of-a-file-' * 8}.mosaic"
    pymosaic.write_table(table, path)
    return path


def _empty(base: Path) -> Path:
    pymosaic.write_table(pa.table({"a": pa.array([], pa.int64())}), base / "empty.mosaic")
    return base / "empty.mosaic"


def _dataset(base: Path) -> Path:
    (base / "parts").mkdir()
    for part in range(50):
        names = ["id", *(f"only_in_{part % 7}_{n}" for n in range(20))]
        table = pa.table({name: [part] for name in names})
        pymosaic.write_table(table, base / "parts" / f"part-{part:02}.mosaic")
    return base / "parts"


KINDS = [_fleet, _wide, _long_names, _paged, _hostile, _empty, _dataset]
by_kind = pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__.strip("_"))


def check_screens(page: Page) -> None:
    for width, height, scheme in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.evaluate("new Promise(done => setTimeout(() => requestAnimationFrame(done), 50))")
        assert page.evaluate(FAULTS) == [], (width, scheme)


@pytest.fixture(autouse=True)
def usual_screen(browser_thread: BrowserThread):
    """Other tests find the screen as it was."""
    usual = browser_thread.page.viewport_size
    yield
    browser_thread.run(browser_thread.page.set_viewport_size, usual)


@by_kind
def test_pictures(open_page: OpenPage, make: Callable[[Path], Path], tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    pymosaic.write_report(make(tmp_path), target)
    check_screens(open_page(target).page)


@by_kind
def test_rows(
    browser_thread: BrowserThread,
    open_page: OpenPage,
    make: Callable[[Path], Path],
    tmp_path: Path,
) -> None:
    with BrowseServer([str(make(tmp_path))]) as server:
        page = browser_thread.page
        page.goto(server.url)
        page.wait_for_selector("body[data-ready]")
        page.wait_for_selector("#grid[data-waiting='0']")
        check_screens(page)
        page.goto("about:blank")


def test_what_differs_is_on_each_tile_of_a_phone(open_page: OpenPage, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    pymosaic.write_report(_long_names(tmp_path), target)
    page = open_page(target).page
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_selector(f"#map-canvas[data-labels='{LONG_NAMES}']")


def test_an_empty_file_has_no_empty_map(open_page: OpenPage, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    pymosaic.write_report(_empty(tmp_path), target)
    page = open_page(target).page
    assert page.locator("#map").is_hidden()
    assert page.inner_text("#nothing") == "Nothing to draw."


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_groups_with_more_bytes_have_a_stronger_colour(
    open_page: OpenPage, tmp_path: Path, scheme: str
) -> None:
    target = tmp_path / "page.html"
    pymosaic.write_report(_dataset(tmp_path), target)
    page = open_page(target, scheme).page
    opacity = "cell => +getComputedStyle(cell).backgroundColor.match(/([0-9.e-]+)\\)$/)[1]"
    first, second = (page.locator("#rows tr").first.locator(".heat").nth(n) for n in range(2))
    assert first.evaluate(opacity) > second.evaluate(opacity) > 0
