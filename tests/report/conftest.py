"""One Chromium for all tests of the page, on a thread of its own.

Playwright keeps an event loop running on the thread that uses it, which would be in the way of
every other test on that thread: tests that take ``open_page`` run on the browser's thread instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.report.picture import Picture

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
TIMEOUT_MILLISECONDS = 120_000


class BrowserThread:
    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="browser")
        self.page: Page = self.run(self._start)

    def run(self, action: Callable[..., Any], *arguments: Any) -> Any:
        return self._executor.submit(action, *arguments).result()

    def _start(self) -> Page:
        self._playwright = sync_playwright().start()
        self._browser = self._playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-background-networking", "--disable-dev-shm-usage"],
            # The runtime of the sanitizers is for Python alone.
            env={name: value for name, value in os.environ.items() if name != "LD_PRELOAD"},
            timeout=TIMEOUT_MILLISECONDS,
        )
        page = self._browser.new_page(viewport={"width": 1200, "height": 900})
        page.set_default_timeout(TIMEOUT_MILLISECONDS)
        return page

    def _stop(self) -> None:
        self._browser.close()
        self._playwright.stop()

    def close(self) -> None:
        self.run(self._stop)
        self._executor.shutdown()


@pytest.fixture(scope="session")
def browser_thread() -> Iterator[BrowserThread]:
    thread = BrowserThread()
    yield thread
    thread.close()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    thread = pyfuncitem.funcargs.get("browser_thread")
    if "open_page" not in pyfuncitem.fixturenames or not isinstance(thread, BrowserThread):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    thread.run(lambda: pyfuncitem.obj(**arguments))
    return True


OpenPage = Callable[..., Picture]


@pytest.fixture
def open_page(browser_thread: BrowserThread) -> Iterator[OpenPage]:
    """Open a report; afterwards, nothing may have gone wrong in it."""
    opened: list[Picture] = []

    def open_one(path: Path, color_scheme: Literal["light", "dark"] = "light") -> Picture:
        browser_thread.page.emulate_media(color_scheme=color_scheme)
        picture = Picture(browser_thread.page, path)
        opened.append(picture)
        picture.load()
        return picture

    yield open_one
    for picture in opened:
        browser_thread.run(picture.leave)
        assert picture.problems == []
        assert picture.requests == [picture.url]
