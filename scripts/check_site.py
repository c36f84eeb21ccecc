"""Check the site in a browser: its search, and every page on wide and narrow screens.

Run as ``python scripts/check_site.py build/site`` after ``make docs``.
"""

from __future__ import annotations

import os
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Page, TimeoutError, sync_playwright

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
# What people type, and where the first result must lead.
WORDS = {
    "read_table": "reference/files/",
    "MosaicFile": "reference/files/",
    "write_dataset": "reference/datasets/",
    "scan_polars": "reference/engines/",
    "spark": "guides/spark/",
    "install": "installation/",
    "compaction": "guides/compaction/",
    "duckdb": "guides/engines/",
    "parquet": "guides/from-parquet/",
    "streams": "guides/streams/",
    "column-size": "command-line/",
}

SCREENS = [(1440, 900), (1024, 768), (390, 844)]
# What is wrong with a page at this width: parts that nobody can scroll to, pictures that are
# missing, and pictures with a transparent ground, whose dark text is lost on a dark page.
FAULTS = """() => {
  const faults = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) faults.push('the page scrolls sideways');
  const scrolls = (element) => {
    for (let e = element.parentElement; e; e = e.parentElement) {
      if (/auto|scroll/.test(getComputedStyle(e).overflowX)) return true;
    }
    return false;
  };
  for (const element of document.querySelectorAll('.md-content__inner *')) {
    const box = element.getBoundingClientRect();
    if (box.width && box.right > width + 1 && !scrolls(element)) {
      faults.push(`outside: ${element.tagName} ${element.textContent.trim().slice(0, 40)}`);
    }
  }
  const dark = document.body.dataset.mdColorScheme === 'slate';
  for (const image of document.querySelectorAll('.md-content__inner img')) {
    const source = image.getAttribute('src');
    if (!image.naturalWidth) faults.push(`missing: ${source}`);
    const ground = getComputedStyle(image).backgroundColor;
    if (dark && source.endsWith('.svg') && ground !== 'rgb(255, 255, 255)') {
      faults.push(`dark on dark: ${source}`);
    }
  }
  return faults;
}"""


# The navigation slides in and out when the width changes: it is measured at rest, once it is drawn.
STILL = "*, *::before, *::after { transition: none !important; animation: none !important }"
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Requests are of no interest."""


def first_result(page: Page, address: str, word: str, expected: str) -> str:
    """Type a word into the search, and return where its first result leads."""
    page.goto(address)
    # The page takes what is typed only after it has loaded its index.
    page.wait_for_load_state("networkidle")
    page.click("input.md-search__input")
    page.keyboard.type(word)
    try:
        page.wait_for_selector(".md-search-result__link")
    except TimeoutError:
        return f"nothing ({page.inner_text('.md-search-result__meta')})"
    link = ""
    for _ in range(40):  # results for the first letters may still be shown
        link = page.locator(".md-search-result__link").first.get_attribute("href") or ""
        if link.removeprefix(address).startswith(expected):
            break
        page.wait_for_timeout(250)
    return link.removeprefix(address)


def wrong_results(page: Page, address: str) -> list[str]:
    """Words whose first result leads elsewhere."""
    wrong = []
    for word, expected in WORDS.items():
        found = first_result(page, address, word, expected)
        if not found.startswith(expected):
            wrong.append(f"searching {word}: {found} instead of {expected}")
    return wrong


def layout_faults(page: Page, address: str, site: Path) -> list[str]:
    """What does not fit a screen or cannot be read on it, on any page, light or dark."""
    wrong = []
    for path in sorted(site.rglob("index.html")):
        name = path.parent.relative_to(site).as_posix()
        page.goto(f"{address}{name}/" if name != "." else address)
        page.add_style_tag(content=STILL)
        for scheme in ("default", "slate"):
            page.evaluate("scheme => { document.body.dataset.mdColorScheme = scheme }", scheme)
            for width, height in SCREENS:
                page.set_viewport_size({"width": width, "height": height})
                page.evaluate(DRAWN)
                faults = page.evaluate(FAULTS)
                wrong += [f"{name}, {width} pixels, {scheme}: {fault}" for fault in faults]
    return wrong


def main(site: str) -> None:
    """Try all words and pages; exit with what is wrong."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}/"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(60_000)
        wrong = wrong_results(page, address) + layout_faults(page, address, Path(site))
        browser.close()
    server.shutdown()
    if wrong:
        sys.exit("the site has faults:\n" + "\n".join(wrong))
    print(f"{len(WORDS)} words are found, and all pages fit {len(SCREENS)} screens, light and dark")


if __name__ == "__main__":
    main(sys.argv[1])
