"""A report in a browser, as tests use it; and its numbers without a browser."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Dialog, Page, Request

from tests.io_pattern.recording import Range

# What was asked of the page before is drawn in the same frame, or was in an earlier one.
_ONE_FRAME = "new Promise(done => requestAnimationFrame(done))"


class Picture:
    """Drives a page by what a user sees and does."""

    def __init__(self, page: Page, path: Path) -> None:
        self.page = page
        self.url = path.absolute().as_uri()
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._listeners: dict[Any, Callable[[Any], None]] = {
            "console": lambda message: self.problems.append(message.text),
            "pageerror": lambda error: self.problems.append(str(error)),
            "dialog": self._note_dialog,
            "request": self._note_request,
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)

    def leave(self) -> None:
        """Close the page, and with it what it still had to say."""
        self.page.goto("about:blank")
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)

    def _note_dialog(self, dialog: Dialog) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _note_request(self, request: Request) -> None:
        # The icon stands in the page itself.
        if not request.url.startswith(("data:", "about:")):
            self.requests.append(request.url)

    def load(self) -> None:
        self.page.goto(self.url)
        self.page.wait_for_selector("body[data-ready]")

    def settle(self) -> None:
        self.page.evaluate(_ONE_FRAME)

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def data(self, selector: str, name: str) -> str:
        value = self.page.locator(selector).get_attribute(f"data-{name}")
        assert value is not None
        return value

    def figures(self) -> dict[str, int]:
        return {
            item.get_attribute("data-figure") or "": int(item.get_attribute("data-value") or -1)
            for item in self.page.locator("[data-figure]").all()
        }

    def simulate(self, columns: str, access: str = "bare") -> None:
        self.page.select_option("#access", access)
        self.page.fill("#columns", columns)
        self.settle()

    def simulate_many(self, texts: list[str]) -> list[list[str]]:
        """Type one text after the other; the names that each lights up among the rows in view."""
        chosen = self.page.evaluate(
            """async texts => {
                const input = document.getElementById("columns");
                const chosen = [];
                for (const text of texts) {
                    input.value = text;
                    input.dispatchEvent(new Event("input"));
                    await new Promise(done => requestAnimationFrame(done));
                    const names = document.querySelectorAll(".row.wanted .name");
                    chosen.push([...names].map(name => name.textContent));
                }
                return chosen;
            }""",
            texts,
        )
        assert isinstance(chosen, list)
        return chosen

    def reads(self) -> list[Range]:
        return [
            (int(offset), int(length))
            for offset, length in self.page.eval_on_selector_all(
                "#ranges tr", "rows => rows.map(row => [row.dataset.offset, row.dataset.length])"
            )
        ]

    def search(self, text: str) -> None:
        self.page.fill("#search", text)
        self.settle()

    def sort(self, field: str) -> None:
        self.page.click(f"[data-sort={field}]")
        self.settle()

    def rows(self) -> list[dict[str, str]]:
        """The rows of the table that exist, by place, with the text of each cell."""
        rows = self.page.eval_on_selector_all(
            "#table-space .row",
            """rows => rows
                .sort((a, b) => a.dataset.place - b.dataset.place)
                .map(row => Object.fromEntries([...row.children].map(
                    cell => [cell.classList[1], cell.textContent])))""",
        )
        assert isinstance(rows, list)
        return rows

    def selected_names(self) -> list[str]:
        """The columns of the projection, by the table."""
        self.page.check("#only-wanted")
        self.settle()
        names = [row["name"] for row in self.rows()]
        self.page.uncheck("#only-wanted")
        return names


def visible(text: str) -> str:
    """How the page shows a text with the characters that the tests use."""
    return re.sub("[\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", _escape, text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{{{ord(match[0]):x}}}"


def unpack(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The document and the arrays inside a page."""
    found = re.search(rb'id="payload">([A-Za-z0-9+/=]*)</script>', path.read_bytes())
    assert found is not None
    data = gzip.decompress(base64.b64decode(found[1]))
    length = int.from_bytes(data[:4], "little")
    document = json.loads(data[4 : 4 + length])
    start = -(-(4 + length) // 8) * 8
    arrays = {
        name: np.frombuffer(data, np.dtype(kind).newbyteorder("<"), count, start + offset)
        for name, (kind, offset, count) in document.pop("arrays").items()
    }
    return document, arrays
