"""The page in a real browser: what it shows, and what it does when it is used."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.file.projection import resolve_columns
from pymosaic.file.reader import opened
from pymosaic.io.source import (
    LOCAL_MERGE_GAP,
    LOCAL_TAIL_BYTES,
    REMOTE_MERGE_GAP,
    REMOTE_TAIL_BYTES,
)
from tests.conformance.fixtures import DATA
from tests.io_pattern.recording import Range, RecordingSource
from tests.report.conftest import OpenPage
from tests.report.data import mixed_file, wide_table
from tests.report.picture import Picture, visible


@pytest.fixture(scope="session")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page, beside the file that it shows."""
    return page_of(mixed_file(), tmp_path_factory.mktemp("mixed"))


def page_of(data: bytes, directory: Path, **options: object) -> Path:
    source, page = directory / "data.mosaic", directory / "data.html"
    source.write_bytes(data)
    pymosaic.write_report(source, page, **options)  # type: ignore[arg-type]
    return page


def bytes_of(table: pa.Table, **options: object) -> bytes:
    stream = io.BytesIO()
    pymosaic.write_table(table, stream, **options)  # type: ignore[arg-type]
    return stream.getvalue()


class TestNumbers:
    def test_figures_and_parts_are_the_metadata(self, open_page: OpenPage, mixed: Path) -> None:
        page = open_page(mixed)
        metadata = pymosaic.read_metadata(mixed.with_suffix(".mosaic"))
        buckets = sum(group.compressed_size for group in metadata.row_groups())
        end = metadata.file_size - buckets
        assert page.figures() == {
            "column": 61,
            "row": 4500,
            "bucket": 13,
            "row group": 3,
            "file": metadata.file_size,
            "metadata": end,
        }
        assert page.text("h1") == "data.mosaic"
        assert page.page.title() == "data.mosaic · Mosaic"
        parts = {
            item.get_attribute("data-part"): int(item.get_attribute("data-bytes") or -1)
            for item in page.page.locator("[data-part]").all()
        }
        assert parts == {
            "buckets": buckets,
            "annex": metadata.annex_size,
            "schema block": metadata.schema_block_size,
            "row group index": end - metadata.annex_size - metadata.schema_block_size - 32,
            "footer": 32,
        }

    def test_the_table_tells_what_the_columns_are(self, open_page: OpenPage, mixed: Path) -> None:
        page = open_page(mixed)
        source = mixed.with_suffix(".mosaic")
        table = pymosaic.read_table(source)
        metadata = pymosaic.read_metadata(source)
        for name in ["site", "empty", "kind", "flag", "id", "tags", "text_03"]:
            page.search(name)
            (row,) = [row for row in page.rows() if row["name"] == name]
            described = [
                (bucket, column)
                for group in metadata.row_groups()
                for bucket in group.buckets()
                for column in bucket.columns()
                if column.name == name and not column.is_child
            ]
            assert row["nulls"] == f"{table[name].null_count:,}"
            assert row["type"].startswith(metadata.column_type(name))
            assert row["bucket"] == str(described[0][0].bucket)
            assert row["encoding"] == described[0][1].encoding
        rows = {}
        for name in ["site", "kind", "empty", "id", "tags", "value_00"]:
            page.search(name)
            rows[name] = page.rows()[0]
        assert rows["site"]["distinct"] == "3 to 9"
        assert rows["kind"]["distinct"] == "1 to 3"
        assert rows["empty"]["distinct"] == "0"
        # Every value differs; only the lengths of the lists have a dictionary.
        assert rows["id"]["distinct"] == rows["tags"]["distinct"] == ""
        assert (rows["id"]["minimum"], rows["id"]["maximum"]) == ("0", "20999")
        assert rows["id"]["samples"] == "0  ·  1  ·  2  ·  3  ·  4"
        assert rows["value_00"]["minimum"] == ""

    def test_the_legend_counts_columns_by_encoding(self, open_page: OpenPage, mixed: Path) -> None:
        page = open_page(mixed)
        metadata = pymosaic.read_metadata(mixed.with_suffix(".mosaic"))
        counts: dict[str, int] = {}
        for group in metadata.row_groups():
            for bucket in group.buckets():
                for column in bucket.columns()[: bucket.num_columns]:
                    counts[column.encoding] = counts.get(column.encoding, 0) + 1
        assert {
            item.get_attribute("data-category"): int(item.get_attribute("data-cells") or -1)
            for item in page.page.locator("[data-category]").all()
        } == counts

    def test_sizes_of_paged_columns_are_exact_and_others_shares(
        self, open_page: OpenPage, tmp_path: Path
    ) -> None:
        texts = [f"{n:090d}" for n in range(800)]
        table = pa.table({"a": range(800), "b": range(800), "x": texts, "y": texts[::-1]})
        data = bytes_of(table, num_buckets=2, compression_level=1)
        metadata = pymosaic.read_metadata(data)
        monolithic, paged = metadata.row_group(0).buckets()
        assert (monolithic.layout, paged.layout) == ("monolithic", "paged")
        page = open_page(page_of(data, tmp_path))
        rows = {row["name"]: row["size"] for row in page.rows()}
        assert rows["a"] == rows["b"] == f"≈ {round(monolithic.compressed_size / 2)} B"
        for column in paged.columns():
            assert rows[column.name] == f"{column.compressed_size} B"

    def test_areas_of_the_map_are_bytes(self, open_page: OpenPage, tmp_path: Path) -> None:
        # Uncompressed and alone in its bucket, a column is as large as its values.
        table = pa.table({"few": pa.array([1, 2] * 2000), "many": pa.array(range(4000))})
        data = bytes_of(table, num_buckets=2, compression="none", max_dict_entries=9)
        few, many = pymosaic.read_metadata(data).row_group(0).buckets()
        page = open_page(page_of(data, tmp_path))
        assert [row["encoding"] for row in page.rows()] == ["DICT", "PLAIN"]
        gold, blue = page.page.evaluate(
            """() => {
                const canvas = document.getElementById("map-canvas");
                const { width, height } = canvas;
                const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
                let gold = 0, blue = 0;
                for (let i = 0; i < data.length; i += 4) {
                    if (data[i] > data[i + 2] + 60) gold += 1;
                    else if (data[i + 2] > data[i] + 60) blue += 1;
                }
                return [gold, blue];
            }"""
        )
        assert abs(gold / blue - few.compressed_size / many.compressed_size) < 0.01


SELECTIONS = [
    "id",
    "site, kind",
    "value_1*",
    "text_00, text_01, text_02, text_03, text_04",
    "text_03, text_04, text_05, text_06",
    "text_03, text_04, text_05, text_06, text_07, text_map",
    "text_00, text_12, value_39",
    "tags, text_map",
    "text_*",
    "empty",
    "*",
]


class TestSimulator:
    @pytest.mark.parametrize(
        ("access", "tail_bytes", "merge_gap"),
        [
            ("bare", None, 0),
            ("local", LOCAL_TAIL_BYTES, LOCAL_MERGE_GAP),
            ("remote", REMOTE_TAIL_BYTES, REMOTE_MERGE_GAP),
        ],
    )
    def test_reads_are_those_of_the_library(
        self,
        open_page: OpenPage,
        mixed: Path,
        access: str,
        tail_bytes: int | None,
        merge_gap: int,
    ) -> None:
        data = mixed.with_suffix(".mosaic").read_bytes()
        layouts = {
            bucket.layout
            for group in pymosaic.read_metadata(data).row_groups()
            for bucket in group.buckets()
        }
        assert layouts == {"paged", "monolithic"}
        page = open_page(mixed)
        for selection in SELECTIONS:
            source = RecordingSource(data, tail_bytes)
            source.merge_gap = merge_gap
            with pymosaic.MosaicFile(source) as file:
                columns = [entry.strip() for entry in selection.split(",")]
                count = file.read(columns=columns).num_columns
            page.simulate(selection, access)
            assert page.reads() == source.reads, selection
            assert int(page.data("#mosaic-bytes", "bytes")) == sum(
                length for _, length in source.reads
            )
            assert int(page.data("#mosaic-facts", "reads")) == len(source.reads)
            assert int(page.data("#selected", "count")) == count

    def test_a_file_in_one_read_needs_no_other(self, open_page: OpenPage, tmp_path: Path) -> None:
        data = bytes_of(wide_table(30))
        page = open_page(page_of(data, tmp_path))
        page.simulate("*", "local")
        assert page.reads() == [(0, len(data))]

    def test_columns_are_chosen_as_the_library_chooses(
        self, open_page: OpenPage, tmp_path: Path
    ) -> None:
        names = [
            "a", "b", "ab", "abc", "a-b", "a*b", "[a]", "a]", "é", "e\u0301", "😀", "A", "a b",
            "a\nb", "!", "^", "a\\b", "1", "9", "-", "a.b", "a, b", 'say "x"', " space ", "*",
        ]  # fmt: skip
        data = bytes_of(pa.table({name: [1] for name in names}), num_buckets=3)
        page = open_page(page_of(data, tmp_path))
        with pymosaic.MosaicFile(data) as file:
            catalog = opened(file).catalog
            patterns = [
                "a", "?", "a*", "*b", "*", "a?b", "[ab]", "[!ab]", "[a-c]*", "[]]", "[a]", "a[]]",
                "[[]a]", "a[*]b", "[--9]", "[z-a]", "[!z-a]", "[^]", "[!^]", "a[!-]b", "[a-]", "é",
                "??", "**b**", "a\\b", "[0-9]", "a[.\\]b", "😀", "[😀-😎]", "x*", "a[", "[", "[!]",
                "[a-c-e]", "*[b-a]*",
            ]  # fmt: skip
            quoted = ['"' + pattern.replace('"', '""') + '"' for pattern in patterns]
            for pattern, chosen in zip(patterns, page.simulate_many(quoted), strict=True):
                try:
                    expected = [catalog.name(int(p)) for p in resolve_columns([pattern], catalog)]
                except pymosaic.ColumnNotFoundError:
                    expected = []
                assert sorted(chosen) == sorted(map(visible, expected)), pattern
        typed = ['"a, b", "say ""x""", " space ", b', "a, b", "a ,b"]
        assert page.simulate_many(typed) == [
            [" space ", "a, b", "b", 'say "x"'],
            ["a, b"],  # the whole text names a column
            ["a", "b"],
        ]

    def test_what_matches_nothing_is_said(self, open_page: OpenPage, mixed: Path) -> None:
        page = open_page(mixed)
        page.simulate("id, nothing, zzz*")
        assert page.text("#missing") == "No column matches “nothing”, “zzz*”"
        assert int(page.data("#selected", "count")) == 1
        page.simulate("")
        assert not page.page.is_visible("#missing")
        assert not page.page.is_visible("#results")

    def test_parquet_is_footer_and_chunks(self, open_page: OpenPage, mixed: Path) -> None:
        page = open_page(mixed)
        page.simulate("text_05")
        chosen = int(page.data("#parquet-bytes", "bytes"))
        page.simulate("nothing*")
        footer = int(page.data("#parquet-bytes", "bytes"))
        assert int(page.data("#parquet-facts", "reads")) == 1
        metadata = pymosaic.read_metadata(mixed.with_suffix(".mosaic"))
        stored = sum(
            column.compressed_size or 0
            for group in metadata.row_groups()
            for bucket in group.buckets()
            for column in bucket.columns()
            if column.name == "text_05"
        )
        # 61 columns, three row groups: an entry for each, of some hundred bytes.
        assert 61 * 3 * 60 < footer < 61 * 3 * 300
        assert chosen - footer == stored
        assert "estimate" in page.page.locator("#parquet-note").text_content()  # type: ignore[operator]

    def test_buckets_light_up_in_the_map(self, open_page: OpenPage, mixed: Path) -> None:
        page = open_page(mixed)
        before = map_image(page)
        page.simulate("id")
        lit = map_image(page)
        assert lit != before
        assert int(page.data("#selected", "buckets")) == 3
        page.simulate("")
        assert map_image(page) == before


def map_image(page: Picture) -> str:
    image = page.page.evaluate("document.getElementById('map-canvas').toDataURL()")
    assert isinstance(image, str)
    return image


class TestTable:
    def test_search_finds_parts_and_patterns(self, open_page: OpenPage, mixed: Path) -> None:
        page = open_page(mixed)
        page.search("VALUE_0")
        assert [row["name"] for row in page.rows()] == [f"value_{i:02d}" for i in range(10)]
        assert page.text("#table-count") == "10 of 61 columns"
        page.search("t*_*2")
        assert [row["name"] for row in page.rows()] == ["text_02", "text_12"]
        page.search("nowhere")
        assert page.rows() == []
        page.search("")
        assert page.text("#table-count") == "61 columns"

    def test_sorting_goes_by_value_both_ways(self, open_page: OpenPage, tmp_path: Path) -> None:
        table = pa.table({f"c{i}": [None] * i + [i] * (30 - i) for i in range(30)})
        page = open_page(page_of(bytes_of(table), tmp_path))
        page.sort("nulls")
        assert [row["nulls"] for row in page.rows()][:3] == ["29", "28", "27"]
        assert page.page.get_attribute("[role=columnheader].nulls", "aria-sort") == "descending"
        page.sort("nulls")
        assert [row["name"] for row in page.rows()][:3] == ["c0", "c1", "c2"]
        page.sort("name")
        assert [row["name"] for row in page.rows()][:3] == ["c0", "c1", "c10"]
        page.sort("name")
        assert [row["name"] for row in page.rows()][:3] == ["c9", "c8", "c7"]

    def test_a_row_tells_more_when_it_is_chosen(self, open_page: OpenPage, mixed: Path) -> None:
        page = open_page(mixed)
        page.search("flag")
        page.page.click("#table-space .row .name")
        assert page.text("#details h3") == "flag"
        assert page.page.locator("#details tbody tr").count() == 3
        page.page.click("#details button")
        assert page.page.input_value("#columns") == "flag"


class TestKeyboard:
    def test_alone_is_enough(self, open_page: OpenPage, mixed: Path) -> None:
        page = open_page(mixed)
        keys = page.page.keyboard
        keys.press("c")
        keys.type("id")
        page.settle()
        assert page.data("#selected", "count") == "1"
        keys.press("Escape")
        assert page.page.input_value("#columns") == ""
        page.page.focus("#theme")
        keys.press("/")
        keys.type("value_")
        keys.press("ArrowDown")
        keys.press("ArrowDown")
        keys.press("ArrowDown")
        page.settle()
        assert page.text("#details h3") == "value_02"
        keys.press("End")
        keys.press("Enter")
        page.settle()
        assert page.text("#details h3") == "value_39"
        keys.press("Home")
        keys.press(" ")
        page.settle()
        assert page.page.input_value("#columns") == "value_39, value_00"
        keys.press("Enter")
        page.settle()
        assert page.page.input_value("#columns") == "value_39"

    def test_walks_the_map(self, open_page: OpenPage, mixed: Path) -> None:
        page = open_page(mixed)
        names = sorted(pymosaic.read_schema(mixed.with_suffix(".mosaic")).names)
        keys = page.page.keyboard
        keys.press("m")
        keys.press("ArrowRight")
        assert page.text("#details h3") == names[0]
        keys.press("ArrowRight")
        assert page.text("#details h3") == names[1]
        keys.press("ArrowDown")
        assert page.text("#details h3") == names[5]  # the second of 13 buckets begins there
        keys.press("End")
        assert page.text("#details h3") == names[-1]
        assert names[-1] in page.page.locator("#map-status").text_content()  # type: ignore[operator]
        keys.press(" ")
        page.settle()
        assert page.page.input_value("#columns") == names[-1]
        keys.press("Enter")
        assert page.text("#map-path") == "whole file\nrow group 0"
        keys.press("Enter")
        assert page.text("#map-path") == "whole file\nrow group 0\nbucket 12"
        keys.press("Home")  # as far as the bucket goes
        assert page.text("#details h3") == names[57]
        keys.press("Escape")
        keys.press("Escape")
        assert page.text("#map-path") == "whole file"

    def test_zooms_the_bytes(self, open_page: OpenPage, mixed: Path) -> None:
        page = open_page(mixed)
        size = mixed.with_suffix(".mosaic").stat().st_size
        keys = page.page.keyboard
        keys.press("b")
        keys.press("+")
        keys.press("End")
        status = page.page.locator("#strip-status")
        assert status.text_content() == f"bytes {round(size / 2):,} to {size:,} of {size:,}"
        keys.press("0")
        assert status.text_content() == f"bytes 0 to {size:,} of {size:,}"


def test_the_pointer_finds_columns(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(page_of(bytes_of(pa.table({"only": range(500)})), tmp_path))
    page.page.hover("#map")
    lines = page.text("#tooltip").splitlines()
    assert lines[:2] == ["only", "BIGINT · PLAIN"]
    page.page.click("#map")
    assert page.text("#details h3") == "only"
    page.page.dblclick("#map")
    assert page.text("#map-path") == "whole file\nbucket 0"
    page.page.hover("#strip")
    assert page.text("#tooltip").splitlines()[0] == "row group 0, bucket 0"


HOSTILE = [
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 1'>",
    "\"quoted\" 'and' `${window.hacked = 1}` &amp; \\",
    "{{payload}}{{script}}{{title}}",
    "\u202egnp.exe\u2066",
    "bell\x07esc\x1b[31m",
    "line\nbreak\ttab\u200b",
    "عربي",
    "__proto__",
    "constructor",
]


def test_hostile_names_and_values_stay_text(open_page: OpenPage, tmp_path: Path) -> None:
    table = pa.table({name: [name, name[::-1]] for name in HOSTILE})
    data = bytes_of(table, statistics=True, num_buckets=2)
    page = open_page(page_of(data, tmp_path, title=HOSTILE[0]))
    shown = {row["name"]: row for row in page.rows()}
    assert set(shown) == set(map(visible, HOSTILE))
    for name in HOSTILE:
        ends = sorted([name, name[::-1]], key=lambda text: text.encode())
        row = shown[visible(name)]
        assert (row["minimum"], row["maximum"]) == tuple(
            visible(end[:60] + "…" if len(end) > 60 else end) for end in ends
        )
    assert page.text("h1") == HOSTILE[0]
    assert page.page.title() == f"{HOSTILE[0]} · Mosaic"
    quoted = ['"' + name.replace('"', '""') + '"' for name in HOSTILE]
    assert page.simulate_many([*quoted, ""]) == [*([visible(name)] for name in HOSTILE), []]
    page.page.focus("#table-body")
    for name in sorted(HOSTILE, key=lambda text: text.encode()):
        assert page.page.locator("#details h3").text_content() == visible(name)
        page.page.keyboard.press("Enter")
        page.page.keyboard.press("ArrowDown")
    page.settle()
    assert page.data("#selected", "count") == str(len(HOSTILE))
    page.page.hover("#map")
    assert page.page.evaluate("window.hacked") is None
    assert page.page.locator("img, main script, iframe").count() == 0


@pytest.mark.parametrize(
    "name",
    [
        "f34_zero_columns",
        "f33_zero_rows_every_type",
        "f35_single_row",
        "f38_nested_paged",
        "f12_all_null_every_type",
        "f25_mixed_layouts",
    ],
)
def test_odd_files_have_a_picture(open_page: OpenPage, tmp_path: Path, name: str) -> None:
    data = (DATA / "fixtures" / f"{name}.mosaic").read_bytes()
    page = open_page(page_of(data, tmp_path))
    assert page.figures()["column"] == pymosaic.read_metadata(data).num_columns
    expected = recorded(data)
    page.simulate("*")
    assert page.reads() == expected
    if page.page.locator("#nothing").is_hidden():
        page.page.click("input[value=type] + span")
    page.page.keyboard.press("Tab")
    page.settle()


def recorded(data: bytes) -> list[Range]:
    source = RecordingSource(data)
    with pymosaic.MosaicFile(source) as file:
        file.read()
    return source.reads


def test_only_some_row_groups_are_said_to_be_shown(
    open_page: OpenPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pymosaic.report import contents

    monkeypatch.setattr(contents, "_MAX_CELLS", 130)
    page = open_page(page_of(mixed_file(), tmp_path))
    assert page.text("#notice").startswith("This page shows 2 of 3 row groups")
    assert page.data("[data-part='not described here']", "bytes") != "0"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_follow_the_system_until_told(
    open_page: OpenPage, mixed: Path, scheme: str
) -> None:
    page = open_page(mixed, color_scheme=scheme)

    def brightness() -> int:
        colour = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.removeprefix("rgb(").rstrip(")").split(","))

    other = {"light": "dark", "dark": "light"}[scheme]
    assert (brightness() > 380) == (scheme == "light")
    before = map_image(page)
    page.page.click("#theme")
    assert (brightness() > 380) == (other == "light")
    assert map_image(page) != before
    page.page.click("#theme")
    assert map_image(page) == before


class TestWide:
    def test_ten_thousand_columns(self, open_page: OpenPage, tmp_path: Path) -> None:
        data = bytes_of(wide_table(10_000))
        page = open_page(page_of(data, tmp_path))
        self.use(page, data, 10_000)

    def test_a_hundred_thousand_columns(self, open_page: OpenPage, tmp_path: Path) -> None:
        data = bytes_of(wide_table(100_000, 2), num_buckets=400)
        out = page_of(data, tmp_path, samples=1)
        assert out.stat().st_size < 60 * 100_000
        self.use(open_page(out), data, 100_000)

    def use(self, page: Picture, data: bytes, num_columns: int) -> None:
        def elements() -> int:
            return int(page.page.evaluate("document.getElementsByTagName('*').length"))

        few = elements()
        assert few < 1000
        assert page.figures()["column"] == num_columns
        page.search("sensor_00123")
        assert page.text("#table-count") == f"10 of {num_columns:,} columns"
        page.search("")
        page.sort("nulls")
        assert page.rows()[0]["nulls"] != "0"
        page.sort("name")
        page.page.focus("#table-body")
        page.page.keyboard.press("End")
        page.settle()
        names = sorted(pymosaic.read_schema(data).names)
        assert page.text("#details h3") == names[-1]
        page.simulate("plant_3_sensor_0012*")
        source = RecordingSource(data)
        with pymosaic.MosaicFile(source) as file:
            file.read(columns=["plant_3_sensor_0012*"])
        assert page.reads() == source.reads
        # Nothing is made per column, whatever is done.
        assert elements() < few + 200


class TestLongNames:
    def test_what_all_names_share_is_told_once(self, open_page: OpenPage, tmp_path: Path) -> None:
        names = [f"plant_amsterdam_line_{n:02}_last_reported_value" for n in range(12)]
        table = pa.table(
            {name: [n * row + 0.5 for row in range(500)] for n, name in enumerate(names, 1)}
        )
        page = open_page(page_of(bytes_of(table), tmp_path))
        assert page.text("#affixes") == (
            "All names start with plant_amsterdam_line_ and end with _last_reported_value."
        )
        assert [row["name"] for row in page.rows()] == [f"…{n:02}…" for n in range(12)]
        # Twelve large tiles: twelve names.
        assert page.page.get_attribute("#map-canvas", "data-labels") == "12"

    def test_a_file_without_rows_says_so(self, open_page: OpenPage, tmp_path: Path) -> None:
        page = open_page(page_of(bytes_of(pa.table({"a": pa.array([], pa.int64())})), tmp_path))
        assert page.text("#notice").startswith("This file has no rows")

    def test_nothing_is_compared_if_nothing_matches(self, open_page: OpenPage, mixed: Path) -> None:
        page = open_page(mixed)
        page.page.fill("#columns", "nosuch")
        page.settle()
        assert page.text("#missing") == "No column matches “nosuch”"
        assert page.page.locator("#comparison").is_hidden()
        assert page.text("#verdict") == ""

    def test_the_legend_follows_the_zoom(self, open_page: OpenPage, mixed: Path) -> None:
        page = open_page(mixed)

        def cells() -> int:
            found = page.page.locator("[data-category]").all()
            return sum(int(item.get_attribute("data-cells") or 0) for item in found)

        assert cells() == 3 * 61
        page.page.focus("#map")
        page.page.press("#map", "ArrowRight")
        page.page.press("#map", "Enter")
        assert cells() == 61
