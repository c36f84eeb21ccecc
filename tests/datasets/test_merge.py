"""merge: files glued by copying, equal to reading them all, also for the reference."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.format.compression.zstd import Zstd
from pymosaic.testing.annex import without_annex
from tests.conformance.fixtures import FIXTURES, Fixture
from tests.equality import assert_identical
from tests.property.reference import open_reference, reference_table
from tests.writing import write


def make(numbers: range, **options: Any) -> bytes:
    values = np.array(numbers, dtype=np.int64)
    table = pa.table({f"c{i:02}": values * 100 + i for i in range(20)})
    options = {"num_buckets": 5, "row_group_bytes": 2000, **options}
    return write(table.to_batches(max_chunksize=10), table.schema, **options)


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
def test_every_fixture_glued_to_itself(fixture: Fixture) -> None:
    out = io.BytesIO()
    report = pymosaic.merge([fixture.data, fixture.data], out, verify=True)
    data = out.getvalue()
    metadata = pymosaic.read_metadata(data)
    once = pymosaic.read_metadata(fixture.data)
    assert report.num_rows == metadata.num_rows == 2 * once.num_rows
    assert report.num_row_groups == metadata.num_row_groups == 2 * once.num_row_groups
    assert report.num_bytes == len(data)
    table = pymosaic.read_table(fixture.data)
    if table.num_columns:  # without, Arrow does not add the rows up
        assert_identical(pymosaic.read_table(data), pa.concat_tables([table, table]))
    statistics, index = once._file.index.statistics, metadata._file.index
    for row_group in range(metadata.num_row_groups):
        assert index.statistics(row_group) == statistics(row_group % once.num_row_groups)


@pytest.mark.parametrize("options", [{}, {"compression": "none"}, {"page_size_threshold": 0}])
def test_the_reference_reads_it(options: dict[str, Any]) -> None:
    files = [make(range(95), **options), make(range(95, 95)), make(range(95, 200), **options)]
    if options.get("compression"):
        files[1] = make(range(95, 95), **options)
    out = io.BytesIO()
    report = pymosaic.merge(files, out)
    assert report.num_files == 3
    assert report.num_row_groups > 4
    expected = pa.concat_tables([pymosaic.read_table(file) for file in files])
    assert_identical(reference_table(out.getvalue()), expected)
    assert_identical(pymosaic.read_table(out.getvalue()), expected)


def test_statistics_may_differ_from_file_to_file() -> None:
    files = [make(range(10), statistics=["c03"]), make(range(10, 20), statistics=["c01", "c05"])]
    out = io.BytesIO()
    pymosaic.merge(files, out)
    with pymosaic.MosaicFile(out.getvalue()) as file:
        assert [sorted(file.statistics(i)) for i in range(2)] == [["c03"], ["c01", "c05"]]
        assert file.statistics(1)["c05"].max == 1905
        found = file.read(["c00"], filters=[("c05", ">", 1500)])
    assert found["c00"].to_pylist() == [1500, 1600, 1700, 1800, 1900]
    with open_reference(out.getvalue()) as reader:
        assert reader.num_row_groups == 2


def test_levels_checksums_and_page_layouts_may_differ() -> None:
    files = [
        make(range(10), compression_level=9),
        make(range(10, 20), checksum=False),
        make(range(20, 30), page_size_threshold=0),
    ]
    out = io.BytesIO()
    pymosaic.merge(files, out, verify=True)
    assert pymosaic.read_table(out.getvalue())["c00"].to_pylist() == [100 * i for i in range(30)]


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_one_file_without_guard_makes_a_file_without(compression: str) -> None:
    """Nothing says that its statistics and row counts are as they were written."""
    guarded = make(range(10), compression=compression)
    unguarded = make(range(10, 20), compression=compression, checksum=False)
    for files, expected in (([guarded] * 2, True), ([guarded, unguarded], False)):
        out = io.BytesIO()
        pymosaic.merge(files, out)
        assert pymosaic.read_metadata(out.getvalue()).guarded is expected


def test_no_block_is_compressed_or_decompressed_but_the_schema(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files = [make(range(50)), make(range(50, 100))]
    structures: list[str] = []
    decompress = Zstd.decompress

    def watch(self: Zstd, data: Any, size: int, structure: str, *rest: Any) -> Any:
        structures.append(structure)
        return decompress(self, data, size, structure, *rest)

    monkeypatch.setattr(Zstd, "decompress", watch)
    monkeypatch.setattr(Zstd, "compressor", lambda *_: pytest.fail("compressed"))
    pymosaic.merge(files, io.BytesIO())
    assert set(structures) == {"schema block"}
    pymosaic.merge(files, io.BytesIO(), verify=True)
    assert len(structures) > 10


def test_buckets_are_copied_byte_for_byte() -> None:
    first, second = make(range(50)), make(range(50, 70))
    out = io.BytesIO()
    pymosaic.merge([first, second], out)
    merged = out.getvalue()
    ends = []
    for data in (first, second):
        with pymosaic.MosaicFile(data) as file:
            ends.append(file.metadata.annex_offset)
    assert merged.startswith(first[: ends[0]] + second[: ends[1]])


class TestRefusals:
    @pytest.mark.parametrize(
        ("other", "message"),
        [
            (pa.table({"a": [1], "c": ["x"]}), r"only .*file 0 has a column 'b'"),
            (pa.table({"a": [1], "b": [2]}), "column 'b' has different types"),
            (pa.table({"b": ["x"], "a": [1]}), "the column order or nested types differ"),
            (pa.table({"a": [1]}), "2 and 1 buckets"),
        ],
    )
    def test_schemas_that_differ(self, other: pa.Table, message: str) -> None:
        table = pa.table({"a": [1], "b": ["x"]})
        files = [write(t.to_batches(), t.schema) for t in (table, other)]
        out = io.BytesIO()
        with pytest.raises(pymosaic.InvalidDataError, match=message):
            pymosaic.merge(files, out)
        assert out.getvalue() == b""

    def test_compressed_and_not(self) -> None:
        with pytest.raises(pymosaic.InvalidDataError, match="file 1 is compressed"):
            pymosaic.merge([make(range(3), compression="none"), make(range(3))], io.BytesIO())

    def test_a_broken_file_is_named_and_nothing_is_written(self, tmp_path: Path) -> None:
        good, bad = tmp_path / "good.mosaic", tmp_path / "bad.mosaic"
        good.write_bytes(make(range(3)))
        bad.write_bytes(b"no mosaic")
        with pytest.raises(pymosaic.CorruptFileError, match=r"bad\.mosaic"):
            pymosaic.merge([good, bad], tmp_path / "out.mosaic")
        assert not (tmp_path / "out.mosaic").exists()

    def test_damage_is_found_by_the_annex(self) -> None:
        data = bytearray(make(range(50)))
        data[100] ^= 0xFF
        with pytest.raises(pymosaic.CorruptFileError, match="file 0: the buckets do not match"):
            pymosaic.merge([bytes(data)], io.BytesIO())

    def test_damage_is_found_on_request(self) -> None:
        data = bytearray(without_annex(make(range(50))))
        data[100] ^= 0xFF
        pymosaic.merge([bytes(data)], io.BytesIO())
        with pytest.raises(pymosaic.CorruptFileError, match="file 0, row group 0, bucket 0"):
            pymosaic.merge([bytes(data)], io.BytesIO(), verify=True)

    def test_no_files_and_a_lone_string(self) -> None:
        wrong: list[Any] = [[], "one.mosaic"]
        for files in wrong:
            with pytest.raises(pymosaic.InvalidOptionError, match="files must"):
                pymosaic.merge(files, io.BytesIO())

    def test_an_index_beyond_the_limits(self) -> None:
        data = make(range(50))
        limits = pymosaic.Limits(max_index_bytes=700)
        with pytest.raises(pymosaic.LimitExceededError, match="merge fewer files"):
            pymosaic.merge([data] * 20, io.BytesIO(), limits=limits)


def test_the_target_may_be_one_of_the_files(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.mosaic" for i in range(2)]
    for number, path in enumerate(paths):
        path.write_bytes(make(range(number, number + 1)))
    pymosaic.merge(paths, paths[0])
    assert pymosaic.read_table(paths[0])["c00"].to_pylist() == [0, 100]


def test_files_are_written_from_where_a_stream_stands() -> None:
    out = io.BytesIO(b"head")
    out.seek(4)
    report = pymosaic.merge([make(range(3))], out)
    # As with the writer, places count from the start of the stream.
    assert len(out.getvalue()) == 4 + report.num_bytes
    assert pymosaic.read_table(out.getvalue())["c00"].to_pylist() == [0, 100, 200]
    again = io.BytesIO()
    pymosaic.merge([out.getvalue()] * 2, again)
    assert pymosaic.read_table(again.getvalue())["c00"].to_pylist() == [0, 100, 200] * 2
    # Bytes that belong to no bucket are left out.
    assert b"head" not in again.getvalue()


def test_progress_counts_bytes() -> None:
    files = [make(range(30)), make(range(30))]
    calls: list[tuple[int, int | None, str]] = []
    pymosaic.merge(files, io.BytesIO(), progress=lambda *call: calls.append(call))
    total = calls[0][1]
    assert calls[0] == (0, total, "bytes")
    assert calls[-1] == (total, total, "bytes")
    assert [done for done, _, _ in calls] == sorted(done for done, _, _ in calls)
