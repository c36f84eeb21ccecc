"""Check that the site's search finds the right page first, in a browser.

Run as ``python scripts/check_search.py build/site`` after ``make docs``.
"""

from __future__ import annotations

import os
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

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


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Requests are of no interest."""


def first_result(page: Page, address: str, word: str) -> str:
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
    link = page.locator(".md-search-result__link").first.get_attribute("href") or ""
    return link.removeprefix(address)


def main(site: str) -> None:
    """Try all words; exit with those that lead elsewhere."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}/"
    wrong = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(60_000)
        for word, expected in WORDS.items():
            found = first_result(page, address, word)
            if not found.startswith(expected):
                wrong.append(f"{word}: {found} instead of {expected}")
        browser.close()
    server.shutdown()
    if wrong:
        sys.exit("the search leads elsewhere:\n" + "\n".join(wrong))
    print(f"{len(WORDS)} words are found")


if __name__ == "__main__":
    main(sys.argv[1])
