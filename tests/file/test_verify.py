"""verify: every fault of a file, with its place; nothing where there is none."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.testing import IllegalFile, LegalFile, illegal_files, legal_files
from pymosaic.testing.pieces import (
    INTEGER,
    ONE_TWO,
    STRING,
    entry,
    forge,
    monolithic,
    numbers,
    row_group,
    schema,
    text,
)
from tests.conformance.fixtures import FIXTURES, Fixture
from tests.io_pattern.recording import (
    RecordingSource,
    bucket_ranges,
    end_structures,
    file_of,
    slot_ranges,
)
from tests.writing import write

TABLE = pa.table(
    {
        "a": pa.array([1, 2, None, 4], pa.int32()),
        "b": ["x", "yy", "zzz", None],
        "c": [[1], [], None, [2, 3]],
        "d": [0.5, 1.5, 2.5, 3.5],
    }
)


def errors(found: list[pymosaic.Finding]) -> list[pymosaic.Finding]:
    return [finding for finding in found if finding.severity == "error"]


def damaged(data: bytes, *offsets: int) -> bytes:
    copy = bytearray(data)
    for offset in offsets:
        copy[offset] ^= 1
    return bytes(copy)


class TestWholeFiles:
    @pytest.mark.parametrize("page_size_threshold", [0, 1 << 20], ids=["paged", "monolithic"])
    def test_have_no_findings(self, page_size_threshold: int) -> None:
        data = file_of(
            TABLE,
            num_buckets=2,
            page_size_threshold=page_size_threshold,
            statistics=["a", "b", "d"],
        )
        assert pymosaic.verify(data) == []

    def test_may_be_given_in_any_way(self, tmp_path: Path) -> None:
        path = tmp_path / "t.mosaic"
        pymosaic.write_table(TABLE, path)
        with open(path, "rb") as file:
            for source in (path, str(path), path.as_uri(), path.read_bytes(), file):
                assert pymosaic.verify(source) == []
            assert not file.closed

    @pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
    def test_of_the_reference_have_no_errors_but_no_checksums(self, fixture: Fixture) -> None:
        found = pymosaic.verify(fixture.data)
        assert errors(found) == []
        assert "no checksum" in found[-1].message
        assert found[-1].severity == "info"

    @pytest.mark.parametrize("file", legal_files(), ids=lambda file: file.name)
    def test_of_any_legal_layout_have_no_errors(self, file: LegalFile) -> None:
        assert errors(pymosaic.verify(file.data)) == []

    def test_of_ten_thousand_columns_are_no_matter(self) -> None:
        table = pa.table({f"c{i}": [i, i + 1] for i in range(10_000)})
        data = file_of(table)
        assert pymosaic.verify(data) == []
        damaged_buckets = [damaged(data, bucket_ranges(data)[7][0] + 9)]
        (finding,) = pymosaic.verify(damaged_buckets[0])
        assert (finding.row_group, finding.bucket) == (0, 7)


@pytest.mark.parametrize("file", illegal_files(), ids=lambda file: file.name)
def test_every_illegal_file_has_an_error(file: IllegalFile) -> None:
    found = errors(pymosaic.verify(file.data))
    assert found
    for finding in found:
        assert finding.structure
        assert finding.message
        assert finding.offset is None or 0 <= finding.offset <= len(file.data)


class TestGoesOnAfterAFault:
    def test_in_another_bucket(self) -> None:
        data = file_of(TABLE, num_buckets=4)
        ranges = bucket_ranges(data)
        ends = [offset + size - 1 for offset, size in ranges]
        found = pymosaic.verify(damaged(data, ends[0], ends[2]))
        assert [(f.severity, f.row_group, f.bucket, f.offset) for f in found] == [
            ("error", 0, 0, ranges[0][0]),
            ("error", 0, 2, ranges[2][0]),
        ]

    def test_in_another_row_group(self) -> None:
        batch = TABLE.to_batches()[0]
        data = write([batch] * 3, TABLE.schema, row_group_bytes=1, num_buckets=1)
        offsets = [pymosaic.read_metadata(data).row_group(i).bucket(0).offset for i in range(3)]
        found = pymosaic.verify(damaged(data, offsets[0], offsets[2]))
        assert [f.row_group for f in found] == [0, 2]

    def test_in_another_slot_and_names_the_columns(self) -> None:
        data = file_of(TABLE.select(["a", "b", "d"]), num_buckets=1, page_size_threshold=0)
        slots = slot_ranges(data, bucket_ranges(data)[0], 3)
        ends = [offset + size - 1 for offset, size in slots]
        found = pymosaic.verify(damaged(data, ends[1], ends[3]))
        assert [(f.column, f.structure) for f in found] == [
            ("a", "row group 0, bucket 0, slot 0"),
            ("d", "row group 0, bucket 0, slot 2"),
        ]

    def test_in_another_column_of_a_bucket(self) -> None:
        raw = bytes([0, 0]) + text(b"\xff") * 2 + numbers(1, 2) + text(b"\xfe") * 2
        content = schema(("a", STRING), ("b", INTEGER), ("c", STRING))
        found = errors(pymosaic.verify(monolithic(raw, content)))
        assert [f.column for f in found] == ["a", "c"]
        assert all("UTF-8" in f.message for f in found)

    def test_but_tells_once_where_a_bucket_breaks_off(self) -> None:
        raw = bytes([0, 0]) + numbers(1, 2) + numbers(3)
        content = schema(("a", INTEGER), ("b", INTEGER), ("c", INTEGER))
        (finding,) = errors(pymosaic.verify(monolithic(raw, content)))
        assert finding.column == "b"
        assert "ends" in finding.message

    def test_in_the_magic_bytes(self) -> None:
        data = file_of(TABLE, num_buckets=1)
        found = pymosaic.verify(damaged(data, 9, len(data) - 1))
        assert [f.structure for f in found] == ["footer", "row group 0, bucket 0"]
        assert found[0].offset == len(data) - 4

    def test_in_the_index(self) -> None:
        two = schema(("a", INTEGER), ("b", INTEGER), num_buckets=2)
        index = row_group(2, entry(0, 0, 10, 10), entry(7, 10, 10, 10)) + row_group(
            2, entry(0, 10**6, 10, 10), entry(1, 5, 10, 10)
        )
        data = forge(ONE_TWO * 2, two, index, num_buckets=2, num_row_groups=2)
        messages = [f.message for f in errors(pymosaic.verify(data))]
        assert [m for m in messages if "bucket 7 of 2" in m]
        assert [m for m in messages if "does not lie before" in m]
        assert [m for m in messages if "shares 5 bytes" in m]

    def test_but_not_without_a_footer(self) -> None:
        assert [f.structure for f in pymosaic.verify(b"")] == ["footer"]
        assert [f.structure for f in pymosaic.verify(bytes(31))] == ["footer"]
        assert [f.structure for f in pymosaic.verify(bytes(32))] == ["footer", "footer"]

    def test_but_not_without_a_schema(self) -> None:
        data = file_of(TABLE)
        schema_offset = int.from_bytes(data[-24:-16], "big")
        found = pymosaic.verify(damaged(data, schema_offset + 20))
        assert [(f.severity, f.structure) for f in found] == [
            ("error", "schema block"),
            ("warning", "row group index"),
        ]

    def test_up_to_a_number_of_findings(self) -> None:
        index = row_group(0) * 2000
        data = forge(b"", schema(("a", INTEGER)), index, num_row_groups=2000)
        found = pymosaic.verify(data)
        assert len(found) == 1001
        assert "there are more" in found[-1].message


class TestStatistics:
    CONTENT = schema(("a", INTEGER))

    def verify(self, statistics: bytes, **options: Any) -> list[pymosaic.Finding]:
        found = pymosaic.verify(monolithic(ONE_TWO, self.CONTENT, statistics=statistics), **options)
        return [finding for finding in found if finding.severity != "info"]

    def test_that_are_right(self) -> None:
        assert self.verify(b"\x01\x00\x00" + numbers(1, 2)) == []

    @pytest.mark.parametrize(
        ("low", "high", "severity"),
        [(2, 2, "error"), (1, 1, "error"), (0, 2, "warning"), (1, 9, "warning")],
    )
    def test_bounds_that_do_not_fit_the_values(self, low: int, high: int, severity: str) -> None:
        (finding,) = self.verify(b"\x01\x00\x00" + numbers(low, high))
        assert (finding.severity, finding.column, finding.bucket) == (severity, "a", 0)
        assert "bounds" in finding.message

    def test_a_wrong_null_count(self) -> None:
        (finding,) = self.verify(b"\x01\x00\x01" + numbers(1, 2))
        assert (finding.severity, finding.column) == ("error", "a")
        assert "nulls" in finding.message

    def test_are_not_compared_without_deep(self) -> None:
        assert self.verify(b"\x01\x00\x00" + numbers(2, 2), deep=False) == []

    def test_of_every_type_are_those_of_the_values(self) -> None:
        fixture = next(f for f in FIXTURES if f.name == "f21_stats_every_type")
        assert all(f.severity == "info" for f in pymosaic.verify(fixture.data))

    def test_bounds_that_are_no_values(self) -> None:
        raw = bytes([1, 0]) + text("x")
        data = monolithic(
            raw, schema(("a", STRING)), statistics=b"\x01\x00\x00" + text(b"\xff") * 2
        )
        (finding,) = errors(pymosaic.verify(data))
        assert "UTF-8" in finding.message
        assert finding.column == "a"


class TestReading:
    def test_without_deep_no_bucket_is_read(self) -> None:
        data = file_of(TABLE)
        source = RecordingSource(damaged(data, 3))
        assert pymosaic.verify(source, deep=False) == []
        start, _ = end_structures(data)
        assert min(offset for offset, _ in source.reads) == start

    def test_buckets_are_read_one_by_one(self) -> None:
        data = file_of(TABLE, num_buckets=4)
        source = RecordingSource(data)
        assert pymosaic.verify(source, use_threads=False) == []
        assert source.reads[-4:] == bucket_ranges(data)

    def test_nothing_is_written(self, tmp_path: Path) -> None:
        path = tmp_path / "t.mosaic"
        path.write_bytes(damaged(file_of(TABLE), 3))
        before = path.read_bytes(), path.stat().st_mtime_ns
        path.chmod(stat.S_IRUSR)
        assert pymosaic.verify(path)
        assert (path.read_bytes(), path.stat().st_mtime_ns) == before
        assert os.listdir(tmp_path) == ["t.mosaic"]

    def test_threads_change_nothing(self) -> None:
        data = file_of(TABLE, num_buckets=4)
        broken = damaged(data, *(offset for offset, _ in bucket_ranges(data)))
        alone = pymosaic.verify(broken, use_threads=False)
        assert len(alone) == 4
        assert pymosaic.verify(broken, use_threads=True) == alone

    def test_limits_hold(self) -> None:
        limits = pymosaic.Limits(max_row_group_bytes=64)
        found = errors(pymosaic.verify(file_of(TABLE), limits=limits))
        assert found
        assert all("max_row_group_bytes" in finding.message for finding in found)

    def test_errors_of_the_source_come_through(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            pymosaic.verify(tmp_path / "none.mosaic")
        with pytest.raises(pymosaic.InvalidOptionError, match="limits"):
            pymosaic.verify(io.BytesIO(), limits=3)  # type: ignore[arg-type]


class TestProgress:
    def test_counts_bytes_from_none_to_all(self) -> None:
        data = file_of(TABLE, num_buckets=4)
        calls: list[tuple[int, int | None, str]] = []
        pymosaic.verify(data, progress=lambda *call: calls.append(call))
        assert calls[0] == (0, len(data), "bytes")
        assert calls[-1] == (len(data), len(data), "bytes")
        assert [done for done, _, _ in calls] == sorted(done for done, _, _ in calls)
        assert len(calls) == 6

    def test_never_goes_beyond_the_end(self) -> None:
        two = schema(("a", INTEGER), ("b", INTEGER), num_buckets=2)
        index = row_group(2, entry(0, 0, 500, 500), entry(1, 0, 500, 500))
        data = forge(bytes(500), two, index, num_buckets=2)
        calls: list[int] = []
        pymosaic.verify(data, progress=lambda done, total, unit: calls.append(done))
        assert calls == sorted(calls)
        assert calls[-1] == len(data)

    def test_may_end_the_work(self) -> None:
        def cancel(done: int, total: int | None, unit: str) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            pymosaic.verify(file_of(TABLE), progress=cancel)


def test_findings_show_their_place_and_no_control_characters() -> None:
    content = schema(("\x1b[2J", INTEGER))
    data = monolithic(ONE_TWO, content, statistics=b"\x01\x00\x01" + numbers(1, 2))
    (finding,) = errors(pymosaic.verify(data))
    assert finding.column == "\x1b[2J"
    assert str(finding).isprintable()
    assert repr(finding).isprintable()
    assert str(finding).startswith("error: row group 0, bucket 0 (byte 0), column '\\x1b[2J': ")
