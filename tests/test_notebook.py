"""What notebooks show: small, escaped, in the colours of the page."""

from __future__ import annotations

import io
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

import pymosaic

HOSTILE = "<script>alert(1)</script>\x1b\u202e\"'&"


class Parser(HTMLParser):
    """Collects the tags and texts of a fragment."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def shown(value: object) -> str:
    """The texts of what a notebook shows, which must be harmless and small."""
    text = value._repr_html_()  # type: ignore[attr-defined]
    assert len(text) < 12_000
    assert "\x1b" not in text
    assert "\u202e" not in text
    # No colours of our own, which might not fit the theme.
    assert "#" not in text.replace("&#x27;", "")
    parser = Parser()
    parser.feed(text)
    assert parser.tags <= {"div", "b", "table", "tr", "td", "th"}
    return " | ".join(parser.texts)


@pytest.fixture
def path(tmp_path):
    table = pa.table({HOSTILE: [1, 2], "x" * 5000: ["a", HOSTILE], "n": [0.5, None]})
    pymosaic.write_table(table, tmp_path / "x.mosaic", metadata={HOSTILE: HOSTILE * 99})
    return tmp_path / "x.mosaic"


def test_everything_is_escaped(path):
    with pymosaic.MosaicFile(path) as file:
        assert "<script>alert(1)</script>" in shown(file)
        assert "1 double" in shown(file)
        assert "user metadata, <script>" in shown(file.metadata)
        assert "<script>" in shown(file.describe())
    dataset = pymosaic.dataset(path)
    assert "files | 1" in shown(dataset)
    scan = shown(dataset.scan(["n"], filters="n > 0.25", limit=7))
    assert "filter | n > 0.25" in scan
    assert "limit | 7 rows" in scan


def test_ten_thousand_columns_stay_small(tmp_path):
    names = [f"{'long_name_' * 20}{number}" for number in range(10_000)]
    table = pa.table([np.arange(3.0)] * len(names), names)
    pymosaic.write_table(table, tmp_path / "x.mosaic")
    dataset = pymosaic.dataset(tmp_path / "x.mosaic")
    with pymosaic.MosaicFile(tmp_path / "x.mosaic") as file:
        values = (file, file.metadata, dataset, dataset.scan(), file.describe())
        for value in values:
            assert "10,000" in shown(value)


def test_many_types_stay_small():
    fields = [(f"c{number}", pa.decimal128(38, number)) for number in range(38)]
    sink = pa.BufferOutputStream()
    pymosaic.write_table(pa.schema(fields).empty_table(), sink)
    assert "… 30 more" in shown(pymosaic.MosaicFile(sink.getvalue()))


class Frames(HTMLParser):
    """Collects the attributes of frames."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag == "iframe"
        self.frames.append(dict(attrs))


def test_the_picture_is_in_a_frame_that_cannot_reach_the_notebook(tmp_path) -> None:
    path = tmp_path / "small.mosaic"
    pymosaic.write_table(pa.table({HOSTILE: pa.array([1, 2], pa.uint8())}), path)
    with pymosaic.MosaicFile(path) as file:
        picture = pymosaic.view(file, title=HOSTILE)
        assert file.schema.field(0).type == pa.uint8(), "the file reads as before"
    parser = Frames()
    parser.feed(picture._repr_html_())
    [frame] = parser.frames
    assert frame["sandbox"] == "allow-scripts"
    assert frame["title"] == HOSTILE
    # The frame has the page that write_report writes.
    saved = tmp_path / "saved.html"
    assert picture.save(saved) == str(saved)
    assert frame["srcdoc"] == saved.read_text("utf-8")
    pymosaic.write_report(path, tmp_path / "report.html", title=HOSTILE)
    assert (tmp_path / "report.html").read_bytes() == saved.read_bytes()
    assert "default-src 'none'" in str(frame["srcdoc"]), "it loads nothing"
    assert "save(path)" in repr(picture)


@pytest.mark.parametrize(("samples", "title"), [(-1, None), (1.5, None), (1, 7)])
def test_a_picture_of_wrong_arguments_is_refused(samples: object, title: object) -> None:
    target = io.BytesIO()
    pymosaic.write_table(pa.table({"n": [1]}), target)
    with pytest.raises(pymosaic.InvalidOptionError, match="must be"):
        pymosaic.view(target, samples=samples, title=title)  # type: ignore[arg-type]


def test_files_and_datasets_have_their_picture(tmp_path) -> None:
    table = pa.table({"n": [1, 2, 3], "day": [1, 1, 2]})
    pymosaic.write_dataset(table, tmp_path / "days", partition_by=["day"])
    dataset = pymosaic.dataset(tmp_path / "days")
    whole = dataset.view()
    assert isinstance(whole, pymosaic.Picture)
    assert whole.title == "days"
    assert whole._repr_html_() == pymosaic.view(tmp_path / "days")._repr_html_()
    assert whole._repr_html_() == pymosaic.view(dataset)._repr_html_()
    # Only the files that the dataset has.
    part = next(dataset.get_fragments("day = 2")).view(title="second")
    assert part.title == "second"
    assert len(part._repr_html_()) < len(whole._repr_html_())
    with pymosaic.MosaicFile(dataset.files[0]) as file:
        assert file.view(title="x")._repr_html_() == pymosaic.view(file, title="x")._repr_html_()
        with pytest.raises(pymosaic.InvalidOptionError, match="samples must be"):
            file.view(samples=-1)


def test_a_summary_of_a_schema_is_short_for_any_width() -> None:
    wide = pa.schema([(f"c{place}", pa.float32()) for place in range(10_000)])
    assert pymosaic.summarize(wide).splitlines() == [
        "columns: 10,000: c0, c1, c2, c3, c4, c5, c6, c7, … 9,992 more",
        "types: 10,000 float",
    ]
    assert "\x1b" not in pymosaic.summarize(pa.schema([(HOSTILE, pa.int8())]))
    assert pymosaic.summarize(pa.schema([])) == "columns: 0: \ntypes: "


def test_reports_are_small_tables(tmp_path) -> None:
    table = pa.table({"n": range(40), "key": [f"<b>{number % 20}" for number in range(40)]})
    written = pymosaic.write_dataset(table, tmp_path / "set", partition_by=["key"])
    assert "num rows | 40" in shown(written)
    assert "… 12 more" in shown(written)
    plan = pymosaic.dataset(tmp_path / "set").scan(filters="key = '<b>3'").plan()
    assert "files | 1 of 20" in shown(plan)
    assert "files before | 20" in shown(pymosaic.compact(tmp_path / "set"))
    assert "files unread | 0" in shown(pymosaic.vacuum(tmp_path / "set"))
    merged = pymosaic.merge(written.files[:2], tmp_path / "merged.mosaic")
    assert "num rows | 4" in shown(merged)
    assert "Recommended: num_buckets=" in shown(pymosaic.tune(table, projections=[["n"]]))
