"""The picture in a notebook: a frame inside of another page."""

from __future__ import annotations

import pyarrow as pa
import pytest
from playwright.sync_api import expect

import pymosaic
from tests.report.conftest import TIMEOUT_MILLISECONDS


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_picture_draws_itself_inside_of_another_page(
    browser_thread, tmp_path, color_scheme
) -> None:
    pymosaic.write_table(pa.table({"n": range(9)}), tmp_path / "nine.mosaic")
    shown = pymosaic.view(tmp_path / "nine.mosaic")._repr_html_()

    def draw() -> tuple[str, str, list[str]]:
        problems: list[str] = []
        context = browser_thread.page.context.browser.new_context(color_scheme=color_scheme)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text))
        page.on("request", lambda request: problems.append(request.url))
        page.set_content(f"<p>a cell</p>{shown}")
        frame = page.frames[1]
        expect(frame.locator("#title")).not_to_have_text("…", timeout=TIMEOUT_MILLISECONDS)
        title = frame.inner_text("#title")
        origin = frame.evaluate("self.origin")
        context.close()
        return title, origin, [problem for problem in problems if problem != "about:srcdoc"]

    title, origin, problems = browser_thread.run(draw)
    assert title == "nine.mosaic"
    assert origin == "null", "it cannot reach the page around it"
    assert problems == []
