"""Browsing: the server's answers and bounds, who may ask, and the page in a browser."""

from __future__ import annotations

import http.client
import json
import re
import socket
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pytest
from playwright.sync_api import expect

import pymosaic
from pymosaic.report.browse import BrowseServer
from pymosaic.report.browse.describe import describe
from pymosaic.report.browse.table import BrowsedTable, Cancelled
from tests.report.conftest import TIMEOUT_MILLISECONDS

ROWS = 1000
HOSTILE = "<img src=x onerror=alert(1)>\u202e"


def never() -> bool:
    return False


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("browse") / "rows.mosaic"
    columns: dict[str, Any] = {
        "id": pa.array(range(ROWS)),
        "city": [["Rome", "Oslo", None, "Kyiv"][row % 4] for row in range(ROWS)],
        HOSTILE: [HOSTILE] * ROWS,
        "tags": [["a", "b"][: row % 3] for row in range(ROWS)],
    }
    for number in range(3000):
        columns[f"plant_amsterdam_sensor_{number:04}_value"] = pa.array([number] * ROWS, pa.int16())
    table = pa.table(columns)
    with pymosaic.MosaicWriter(path, table.schema, row_group_bytes=1, num_buckets=20) as writer:
        for start in range(0, ROWS, 250):
            writer.write(table.slice(start, 250))
    return path


@pytest.fixture(scope="module")
def other(path, tmp_path_factory):
    table = pymosaic.read_table(path, columns=["id", "city"])
    changed = table.set_column(0, "id", pa.array([*range(ROWS - 1), -5]))
    target = tmp_path_factory.mktemp("other") / "other.mosaic"
    pymosaic.write_table(changed, target)
    return target


@pytest.fixture(scope="module")
def server(path):
    with BrowseServer([str(path)]) as running:
        yield running


def get(server, what, host=None, token=None, **asked) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        target = f"/{server.token if token is None else token}/{what}?{urlencode(asked)}"
        headers = {} if host is None else {"Host": host}
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        is_json = answer.headers["Content-Type"] == "application/json"
        return answer.status, json.loads(body) if is_json else body
    finally:
        connection.close()


class TestWhoMayAsk:
    def test_only_this_machine_is_listened_to(self, server):
        assert server._server.server_address[0] == "127.0.0.1"

    @pytest.mark.parametrize("token", ["", "x", "../etc"])
    def test_without_the_token_there_is_nothing(self, server, token):
        assert get(server, "columns", token=token)[0] == 404

    @pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1"])
    def test_pages_of_other_sites_get_nothing(self, server, host):
        assert get(server, "columns", host=host)[0] == 404

    def test_the_page_loads_nothing_from_elsewhere(self, server):
        status, page = get(server, "")
        assert status == 200
        assert b"http://" not in page.replace(b"http://www.w3.org", b"")
        assert b"https://" not in page


class TestAnswers:
    def test_cells_across_row_groups(self, server):
        status, found = get(server, "cells", first=248, count=4, columns="0,1")
        assert status == 200
        assert found == {"cells": [["248", "249", "250", "251"], ["Rome", "Oslo", None, "Kyiv"]]}

    def test_cells_of_filtered_rows(self, server):
        where = "city = 'Oslo' and id > 400"
        assert get(server, "count", where=where)[1] == {"rows": 150}
        found = get(server, "cells", first=148, count=9, columns="0", where=where)[1]
        assert found == {"cells": [["993", "997"]]}

    def test_a_column_is_counted(self, server):
        city = get(server, "describe", column=1)[1]
        assert (city["rows"], city["nulls"], city["distinct"]) == (ROWS, 250, 3)
        assert sorted(city["top"]) == [["Kyiv", 250], ["Oslo", 250], ["Rome", 250]]
        number = get(server, "describe", column=0, where="id < 100")[1]
        assert number["numbers"] == [["mean", "49.5"], ["25%", "24"], ["50%", "49"], ["75%", "74"]]
        assert sum(number["histogram"]["counts"]) == 100
        assert number["histogram"]["high"] == "99"
        assert get(server, "describe", column=3)[1]["distinct"] is None

    @pytest.mark.parametrize(
        ("what", "asked", "reason"),
        [
            ("cells", {"first": 0, "count": 501, "columns": "0"}, "1 to 500 rows"),
            ("cells", {"first": 0, "count": 5, "columns": ",".join("0" * 101)}, "100 columns"),
            ("cells", {"first": -1, "count": 5, "columns": "0"}, "must be a number"),
            ("cells", {"first": 0, "count": 5, "columns": "99999"}, "no column number 99999"),
            ("count", {"where": "cty = 1"}, "city"),
            ("count", {"where": "id >"}, "expected a value"),
            ("nothing", {}, "nothing"),
        ],
    )
    def test_wrong_questions_are_explained(self, server, what, asked, reason):
        status, found = get(server, what, **asked)
        assert status == 400
        assert reason in found["error"]

    def test_two_tables_are_compared(self, path, other):
        with BrowseServer([str(path), str(other)]) as server:
            columns = get(server, "columns")[1]["other"]
            assert columns == {"rows": ROWS, "missing": 3002, "added": 0, "changed": 0}
            found = get(server, "cells", first=998, count=2, columns="0,3")[1]
            assert found["other"] == [["998", "-5"], None]

    def test_work_that_nobody_waits_for_stops(self, path):
        table = BrowsedTable(str(path))
        asked = []

        def gone() -> bool:
            asked.append(1)
            return len(asked) > 1

        with pytest.raises(Cancelled):
            table.count("id > 3", gone)
        assert len(asked) == 2
        assert table.count("id > 3", never) == ROWS - 4

    def test_a_browser_that_hangs_up_is_noticed(self, server):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\n")
        assert get(server, "count")[0] == 200


@pytest.mark.parametrize("numbers", [range(7), range(21, 40), range(100, 191), range(1000)])
def test_bars_of_whole_numbers_have_no_gaps(numbers):
    bars = describe(pa.chunked_array([list(numbers)]))["histogram"]["counts"]
    assert sum(bars) == len(numbers)
    assert len(set(bars[:-1])) == 1 or len(numbers) > 900
    assert 0 not in bars


class TestPage:
    def test_scroll_search_filter_count(self, browser_thread, open_page, server):
        page = browser_thread.page
        problems: list[str] = []
        page.on("pageerror", lambda error: problems.append(str(error)))

        def note(message):
            if message.type == "error":
                problems.append(message.text)

        page.on("console", note)
        page.goto(server.url)
        page.wait_for_selector("body[data-ready]")
        page.wait_for_selector("#grid[data-waiting='0']")
        assert page.inner_text("#facts").startswith("1,000 rows, 3,004 columns")
        assert page.locator(".cell:visible").first.inner_text() == "0"
        assert page.locator(".cell").count() < 2000
        # Headings show the ends of long names, where those that are alike differ.
        page.evaluate("document.getElementById('grid').scrollTo(160 * 100, 0)")
        page.wait_for_selector(".head[data-column='101']")
        shown = page.locator(".head .name:visible").all_inner_texts()
        assert len(set(shown)) == len(shown)
        box = page.locator(".head[data-column='101'] .name")
        assert box.evaluate("node => node.scrollHeight <= node.clientHeight + 1")
        assert box.evaluate("node => node.scrollWidth <= node.clientWidth + 1")
        page.evaluate("document.getElementById('grid').scrollTo(1e9, 1e9)")
        # The page's policy forbids scripts made of text, which `wait_for_function` runs.
        expect(page.locator("#grid")).to_have_attribute(
            "data-row", re.compile(r"^9\d\d"), timeout=TIMEOUT_MILLISECONDS
        )
        page.wait_for_selector("#grid[data-waiting='0']")
        assert "2999" in page.locator("#cells").inner_text()
        page.fill("#search", "sensor_0042")
        assert page.get_attribute("#found", "data-count") == "1"
        page.locator(".entry:visible").first.click()
        page.wait_for_selector("#column[data-ready='yes']")
        assert "1,000 rows, 0 nulls, 1 distinct value" in page.inner_text("#column")
        page.fill("#where", "ci")
        assert page.locator("#suggestions li").first.inner_text() == "city"
        page.fill("#where", "city = 'Oslo'")
        page.press("#where", "Enter")
        page.wait_for_selector("#facts[data-rows='250']")
        page.fill("#where", "cty = 'Oslo'")
        page.press("#where", "Enter")
        page.wait_for_selector("#error:not([hidden])")
        assert "city" in page.inner_text("#error")
        # The browser tells of the refused question; nothing else may be wrong.
        assert [text for text in problems if "400" not in text] == []
