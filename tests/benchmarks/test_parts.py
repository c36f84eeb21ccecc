"""The parts of the suite that could mislead if they were wrong."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard

import pymosaic
from benchmarks import measure
from benchmarks.data import reference_strings, sparse_numbers, table_specs
from benchmarks.floor import frames_of
from benchmarks.measure import Measurements, interleave
from benchmarks.peers import PEERS, OpenFile, Peer, load_peer
from benchmarks.peers.base import Source
from benchmarks.profiles import FULL, PROFILES, SMOKE, Profile
from benchmarks.recording import RecordedFile
from benchmarks.report import format_value, replace_block
from benchmarks.workspace import Workspace, same_values


class TestInterleave:
    def test_actions_take_turns_after_a_first_round(self) -> None:
        calls: list[str] = []
        actions = {name: (lambda name=name: calls.append(name)) for name in "abc"}
        samples = interleave(actions, max_rounds=2, seconds=1.0)
        assert "".join(calls) == "abc" * 3
        assert {name: len(taken) for name, taken in samples.items()} == dict.fromkeys("abc", 2)

    def test_a_slow_action_is_run_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(measure, "REPEATED_BELOW_SECONDS", -1.0)
        calls: list[str] = []
        samples = interleave({"slow": lambda: calls.append("slow")}, max_rounds=5, seconds=1.0)
        assert calls == ["slow"]
        assert len(samples["slow"]) == 1

    def test_results_are_checked_once(self) -> None:
        checked: list[tuple[str, object]] = []
        interleave(
            {"one": lambda: 1, "two": lambda: 2},
            max_rounds=3,
            seconds=0.0,
            check=lambda name, result: checked.append((name, result)),
        )
        assert checked == [("one", 1), ("two", 2)]


class TestMeasurements:
    def test_the_value_is_the_median_and_the_ratio_theirs_to_ours(self) -> None:
        found = Measurements()
        found.add("t", "c", "pymosaic", "seconds", 1.0, 9.0, 2.0)
        found.add("t", "c", "parquet", "seconds", 8.0)
        found.add("t", "c", "orc", "seconds", note="too slow")
        assert found.value("t", "c", "pymosaic") == 2.0
        assert found.ratio("t", "c", "parquet") == 4.0
        assert found.ratio("t", "c", "orc") is None

    def test_they_survive_json(self) -> None:
        found, restored = Measurements(), Measurements()
        found.add("t", "c", "pymosaic", "bytes", 3.0, 5.0)
        restored.restore(found.as_json())
        assert list(restored) == list(found)


class TestData:
    @pytest.mark.parametrize("make", [reference_strings, sparse_numbers])
    def test_the_same_table_in_every_run(self, make) -> None:
        assert make(40, 20).equals(make(40, 20))

    def test_the_reference_table_has_the_published_shape(self) -> None:
        table = reference_strings(1_000, 2)
        assert sum(pa.types.is_string(field.type) for field in table.schema) == 900
        assert sum(pa.types.is_int32(field.type) for field in table.schema) == 100
        names = table.column_names
        assert len(set(names)) == 1_000
        assert 75 <= sum(map(len, names)) / 1_000 <= 90

    def test_the_sparse_table_has_the_published_mix(self) -> None:
        table = sparse_numbers(1_000, 40)
        types = [str(field.type) for field in table.schema]
        assert types.count("int8") / 1_000 == pytest.approx(0.794, abs=0.005)
        assert types.count("double") / 1_000 == pytest.approx(0.113, abs=0.005)
        nulls = sum(column.null_count for column in table.columns)
        assert nulls / (1_000 * 40) == pytest.approx(0.67, abs=0.02)

    @pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: profile.name)
    def test_smaller_tables_come_before_larger_ones(self, profile: Profile) -> None:
        seen: set[str | None] = {None}
        for spec in table_specs(profile).values():
            assert spec.larger_than in seen
            seen.add(spec.name)

    def test_the_full_profile_has_the_shapes_of_the_published_benchmark(self) -> None:
        assert FULL.num_columns == 10_000
        assert FULL.reference_rows == (10, 500, 4_500)
        assert FULL.column_counts == (100, 1_000, 10_000, 100_000)


class TestFloor:
    @pytest.mark.parametrize("page_size_threshold", [0, 32 << 10])
    def test_the_frames_of_all_columns_are_all_frames(
        self, tmp_path: Path, page_size_threshold: int
    ) -> None:
        path = tmp_path / "table.mosaic"
        pymosaic.write_table(
            reference_strings(30, 50),
            path,
            num_buckets=3,
            page_size_threshold=page_size_threshold,
        )
        frames = frames_of(path, None)
        assert len(frames) == 1 + (30 if page_size_threshold == 0 else 3)
        decompress = zstandard.ZstdDecompressor().decompress
        assert all(decompress(frame) for frame in frames)

    def test_one_column_needs_the_schema_block_and_one_bucket(self, tmp_path: Path) -> None:
        path = tmp_path / "table.mosaic"
        table = reference_strings(30, 50)
        pymosaic.write_table(table, path, num_buckets=3)
        assert len(frames_of(path, table.column_names[:1])) == 2


class TestRecordedFile:
    def test_reads_are_recorded_where_they_happen(self, tmp_path: Path) -> None:
        path = tmp_path / "digits"
        path.write_bytes(b"0123456789")
        with RecordedFile(path) as file:
            assert file.size() == 10
            assert file.seek(-4, io.SEEK_END) == 6
            assert file.read(2) == b"67"
            assert file.read_at(1, 3) == b"123"
            assert file.ranges == [(6, 2), (1, 3)]
            assert file.num_bytes == 5


class _Stub(Peer):
    title = distribution = suffix = "stub"

    def write(self, table: pa.Table, path: Path, level: int) -> None:
        path.write_bytes(b"stub")

    def open(self, source: Source) -> OpenFile:
        raise NotImplementedError


class TestWorkspace:
    @pytest.fixture
    def space(self, tmp_path: Path) -> Workspace:
        space = Workspace(SMOKE, [], tmp_path, lambda line: None)
        space.peers["stub"] = _Stub()
        return space

    def test_a_file_is_written_once(self, space: Workspace) -> None:
        path = space.file("doubles-30", "stub")
        assert path is not None
        path.write_bytes(b"kept")
        assert space.file("doubles-30", "stub") == path
        assert path.read_bytes() == b"kept"

    def test_a_peer_is_not_given_more_columns_than_it_can_take(self, space: Workspace) -> None:
        space.peers["stub"].max_columns = 50
        assert space.file("doubles-60", "stub") is None
        assert "more than 50 columns" in space.skipped("doubles-60", "stub")

    def test_a_peer_that_was_slow_on_a_smaller_table_is_spared_the_larger(
        self, space: Workspace
    ) -> None:
        assert space.file("strings-3", "stub") is not None
        space._seconds["strings-3", "stub"] = SMOKE.write_limit
        assert space.file("strings-20", "stub") is None
        assert "would take over" in space.skipped("strings-20", "stub")


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_reads_what_it_wrote(name: str, tmp_path: Path) -> None:
    table = sparse_numbers(30, 20)
    peer = load_peer(name)
    path = tmp_path / f"table.{peer.suffix}"
    peer.write(table, path, 1)
    assert peer.size(path) > 0
    assert peer.open_schema(path).names == table.column_names
    assert same_values(peer.read(path, None), table)
    assert same_values(peer.take(path, [3, 17]), table.take(pa.array([3, 17])))
    names = table.column_names[4:7]
    assert same_values(peer.read(path, names), table.select(names))
    if peer.reads_file_objects:
        with RecordedFile(path) as file:
            assert same_values(peer.read(file, names), table.select(names))
            assert file.num_bytes > 0


def test_other_values_are_noticed() -> None:
    table = pa.table({"a": [1, 2], "b": ["x", None]})
    assert same_values(table.select(["b", "a"]), table)
    assert not same_values(table.select(["a"]), table)
    assert not same_values(pa.table({"a": [1, 3], "b": ["x", None]}), table)
    assert not same_values(pa.table({"a": [1, 2], "b": ["x", ""]}), table)


@pytest.mark.parametrize(
    ("value", "metric", "text"),
    [
        (0.00281, "seconds", "2.81 ms"),
        (0.0000281, "seconds", "28.1 µs"),
        (12.0, "seconds", "12.0 s"),
        (14_056_850, "bytes", "14.1 MB"),
        (940, "bytes", "940 B"),
        (12, "ranges", "12"),
    ],
)
def test_numbers_have_three_digits_and_a_unit(value: float, metric: str, text: str) -> None:
    assert format_value(value, metric) == text


def test_results_replace_a_marked_block(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- results -->\nold\n<!-- /results -->\nafter\n")
    replace_block(page, "results", "new\n")
    assert page.read_text() == ("before\n<!-- results -->\n\nnew\n\n<!-- /results -->\nafter\n")
    with pytest.raises(ValueError, match="no block"):
        replace_block(page, "other", "new")
