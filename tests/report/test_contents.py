"""What a page says about a file, without a browser."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import pymosaic
from pymosaic.file.reader import opened
from pymosaic.report import contents
from pymosaic.report.parquet_footer import measure_footer
from pymosaic.report.values import shown_text
from tests.conformance.fixtures import DATA, FIXTURES, Fixture
from tests.report.data import mixed_file, wide_table
from tests.report.picture import unpack
from tests.writing import write


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
def test_every_fixture_is_told_as_the_metadata_tells_it(fixture: Fixture, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    assert pymosaic.write_report(fixture.path, out) == str(out)
    document, arrays = unpack(out)
    with pymosaic.MosaicFile(fixture.path) as file:
        metadata = file.metadata
        names = opened(file).catalog.names()
        assert document["names"] == names
        assert [names[position] for position in arrays["order"]] == file.column_names
        for name, kind in zip(names, arrays["types"], strict=True):
            declared, told = metadata.column_type(name), document["typeNames"][kind]
            # The Arrow type follows where the declared one says little.
            nested = declared.startswith(("ARRAY", "MAP"))
            assert told.startswith(f"{declared} ") if nested else told == declared
        assert document["shown"] == list(range(metadata.num_row_groups))
        described = [
            (group, bucket, bucket.columns())
            for group in metadata.row_groups()
            for bucket in group.buckets()
        ]
        primaries = [
            column for _, bucket, columns in described for column in columns[: bucket.num_columns]
        ]
        assert arrays["bucketOffset"].tolist() == [bucket.offset for _, bucket, _ in described]
        assert arrays["bucketSize"].tolist() == [
            bucket.compressed_size for _, bucket, _ in described
        ]
        assert arrays["nulls"].tolist() == [column.null_count for column in primaries]
        assert arrays["entries"].tolist() == [column.dictionary_size for column in primaries]
        assert [document["encodings"][code & 3] for code in arrays["encoding"]] == [
            column.encoding for column in primaries
        ]
        assert arrays["slots"].tolist() == [
            column.compressed_size or 0 for _, _, columns in described for column in columns
        ]
        assert arrays["raw"].sum() == sum(
            column.raw_size for _, _, columns in described for column in columns
        )


def test_statistics_are_those_of_all_row_groups(tmp_path: Path) -> None:
    (tmp_path / "mixed.mosaic").write_bytes(mixed_file())
    pymosaic.write_report(tmp_path / "mixed.mosaic", tmp_path / "page.html")
    document, _ = unpack(tmp_path / "page.html")
    table = pymosaic.read_table(tmp_path / "mixed.mosaic")
    ends = {
        name: (document["minimum"][position], document["maximum"][position])
        for position, name in enumerate(document["names"])
    }
    days = sorted(table["day"].to_pylist())
    values = table["value_03"].to_pylist()
    assert ends["id"] == ("0", "20999")
    assert ends["site"] == ("Bonn", "Rome")
    assert ends["day"] == (days[0].isoformat(), days[-1].isoformat())
    assert ends["value_03"] == (repr(min(values)), repr(max(values)))
    assert ends["empty"] == ends["value_04"] == (None, None)
    assert document["withStatistics"] == 5


def test_a_row_group_without_statistics_leaves_the_column_without(tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.float64()), ("b", pa.float64()), ("c", pa.float64())])
    nan = float("nan")
    batches = [
        pa.record_batch([[1.0], [1.0], [None]], schema=schema),
        pa.record_batch([[nan], [None], [2.0]], schema=schema),
    ]
    data = write(batches, schema, statistics=True, row_group_bytes=1)
    pymosaic.write_report(data, tmp_path / "page.html")
    document, _ = unpack(tmp_path / "page.html")
    # All NaN has no minimum, all null needs none.
    assert document["minimum"] == [None, "1.0", "2.0"]
    assert document["maximum"] == [None, "1.0", "2.0"]


def test_samples_are_different_values_and_no_more_than_asked(tmp_path: Path) -> None:
    table = pa.table({"a": [None, "x", "x", "y", "z"], "b": [1, 1, 1, 1, 1]})
    pymosaic.write_table(table, tmp_path / "a.mosaic")
    pymosaic.write_report(tmp_path / "a.mosaic", tmp_path / "page.html", samples=2)
    assert unpack(tmp_path / "page.html")[0]["samples"] == [["x", "y"], ["1"]]


def test_no_value_is_in_a_page_without_samples(tmp_path: Path) -> None:
    pymosaic.write_table(pa.table({"a": ["secret"]}), tmp_path / "a.mosaic")
    pymosaic.write_report(tmp_path / "a.mosaic", tmp_path / "page.html", samples=0)
    document, _ = unpack(tmp_path / "page.html")
    assert "secret" not in str(document)


def test_the_same_file_gives_the_same_page(tmp_path: Path) -> None:
    pymosaic.write_table(wide_table(50), tmp_path / "a.mosaic")
    pages = [tmp_path / "1.html", tmp_path / "2.html"]
    for page in pages:
        pymosaic.write_report(tmp_path / "a.mosaic", page)
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_directories_of_the_file_are_not_told(tmp_path: Path) -> None:
    pymosaic.write_table(wide_table(5), tmp_path / "a.mosaic")
    pymosaic.write_report(tmp_path / "a.mosaic", tmp_path / "page.html")
    document, _ = unpack(tmp_path / "page.html")
    assert document["title"] == "a.mosaic"
    assert str(tmp_path) not in str(document)
    assert str(tmp_path) not in (tmp_path / "page.html").read_text()


def test_the_file_may_be_in_a_file_system_and_the_page_go_to_a_uri(tmp_path: Path) -> None:
    pymosaic.write_table(wide_table(5), tmp_path / "a.mosaic")
    filesystem = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    out = (tmp_path / "page.html").as_uri()
    assert pymosaic.write_report("a.mosaic", out, filesystem=filesystem, title="Five") == out
    assert unpack(tmp_path / "page.html")[0]["title"] == "Five"


def test_many_row_groups_are_shown_by_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = wide_table(10).to_batches() * 9
    data = write(batches, batches[0].schema, row_group_bytes=1)
    monkeypatch.setattr(contents, "_MAX_CELLS", 45)
    pymosaic.write_report(data, tmp_path / "page.html")
    document, arrays = unpack(tmp_path / "page.html")
    assert document["shown"] == [0, 3, 5, 8]
    assert len(arrays["nulls"]) == 40


def test_the_page_loads_nothing_and_holds_no_file_text_as_markup(tmp_path: Path) -> None:
    name = "</script><script>alert(1)</script>"
    pymosaic.write_table(pa.table({name: [name]}), tmp_path / "a.mosaic")
    pymosaic.write_report(tmp_path / "a.mosaic", tmp_path / "page.html", title=name)
    page = (tmp_path / "page.html").read_text()
    assert "alert(1)</script>" not in page
    assert "{{" not in page
    assert page.count("<script") == page.count("</script>") == 2
    # No address but the name of SVG, inside the icon.
    assert set(re.findall(r"https?://[^'\" ]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page


class TestParquetFooter:
    @pytest.mark.parametrize("num_columns", [3, 1200])
    def test_the_model_is_near_a_real_footer(self, num_columns: int) -> None:
        table = wide_table(num_columns).combine_chunks()
        footer = measure_footer([column.chunk(0) for column in table.columns], table.column_names)
        stream = io.BytesIO()
        with pq.ParquetWriter(
            stream, table.schema, compression="zstd", store_schema=False
        ) as writer:
            for _ in range(4):
                writer.write_table(table)
        real = int.from_bytes(stream.getvalue()[-8:-4], "little")
        assert footer.measured_columns == min(num_columns, 1000)
        estimate = footer.schema_bytes + 4 * footer.row_group_bytes
        assert abs(estimate - real) < 0.03 * real

    def test_types_that_parquet_lacks_do_not_stop_it(self) -> None:
        odd = pa.nulls(2, pa.decimal128(5, -2))
        assert measure_footer([odd, pa.array([1, 2])], ["odd", "n"]).row_group_bytes > 0

    def test_no_columns_have_no_footer(self) -> None:
        assert measure_footer([], []).schema_bytes == 0


class TestTexts:
    @pytest.mark.parametrize(
        ("scalar", "expected"),
        [
            (pa.scalar(True), "true"),
            (pa.scalar(1.0), "1.0"),
            (pa.scalar("x" * 100), "x" * 60 + "…"),
            (pa.scalar(b"\x00" * 100), "0x" + "00" * 29 + "…"),
            (pa.scalar([[1], None, []]), "[[1], null, []]"),
            (pa.scalar([("k", 1)], pa.map_(pa.string(), pa.int64())), "{k: 1}"),
            (pa.scalar(0, pa.timestamp("ms", "UTC")), "1970-01-01T00:00:00+00:00"),
            (pa.scalar(1, pa.timestamp("ns")), "1970-01-01T00:00:00.000000001"),
            (pa.scalar(2**62, pa.timestamp("us")), str(np.datetime64(2**62, "us"))),
        ],
    )
    def test_of_a_value(self, scalar: pa.Scalar, expected: str) -> None:
        assert shown_text(scalar) == expected

    def test_of_a_huge_list_is_short(self) -> None:
        assert len(shown_text(pa.scalar(list(range(100_000))))) <= 61


class TestRefusals:
    @pytest.mark.parametrize("samples", [-1, 101, 1.5, True, "5"])
    def test_of_a_wrong_number_of_samples(self, samples: object, tmp_path: Path) -> None:
        with pytest.raises(pymosaic.InvalidOptionError, match="samples"):
            pymosaic.write_report(b"", tmp_path / "page.html", samples=samples)  # type: ignore[arg-type]

    def test_of_a_wrong_title(self, tmp_path: Path) -> None:
        with pytest.raises(pymosaic.InvalidOptionError, match="title"):
            pymosaic.write_report(b"", tmp_path / "page.html", title=7)  # type: ignore[arg-type]

    def test_of_too_many_columns(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(contents, "_MAX_COLUMNS", 4)
        data = write(wide_table(5).to_batches(), wide_table(5).schema)
        with pytest.raises(pymosaic.UnsupportedFeatureError, match="5 columns"):
            pymosaic.write_report(data, tmp_path / "page.html")

    @pytest.mark.parametrize(
        "name", ["m057_mono_truncated", "m001_empty_file", "m061_dict_idx_oob"]
    )
    def test_of_a_damaged_file_leave_the_old_page(self, name: str, tmp_path: Path) -> None:
        out = tmp_path / "page.html"
        out.write_text("before")
        with pytest.raises(pymosaic.CorruptFileError):
            pymosaic.write_report(DATA / "malformed" / f"{name}.mosaic", out)
        assert out.read_text() == "before"
        assert [path.name for path in tmp_path.iterdir()] == ["page.html"]

    def test_of_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            pymosaic.write_report(tmp_path / "no.mosaic", tmp_path / "page.html")
