"""The benchmark suite in small: every case with every peer, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.__main__ import main
from benchmarks.cases import CASES, FLOORS
from benchmarks.many_readers import (
    ALL_AT_ONCE,
    BY_BATCHES,
    BY_ONE_THREAD,
    BY_THREADS,
    SMALL_FILES,
)
from benchmarks.object_store import store_case
from benchmarks.peers import PEERS
from benchmarks.report import Report
from benchmarks.training import WAYS

# One run of the suite serves all tests.
pytestmark = pytest.mark.xdist_group("benchmarks")

# These start processes, which takes long with all peers.
IN_CHILDREN = ("cold", "memory")
# With the reason that the report gives.
WITHOUT_NUMBER = {
    ("strings-20-level-1", "orc"): "has no levels",
    ("strings-20-level-1", "vortex"): "has no levels",
}
# Cases, up to a comma, that are measured for some peers only.
FEW_PEERS = {
    ALL_AT_ONCE: ("pymosaic",),
    BY_BATCHES: ("pymosaic",),
    "1 column of 8 files": ("pymosaic",),
    SMALL_FILES: ("pymosaic",),
    "object store": ("pymosaic", "parquet"),
}


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the suite, which checks the values that each peer reads."""
    path = tmp_path_factory.mktemp("suite")
    cases = [case for case in CASES if case not in IN_CHILDREN]
    main(["--profile", "smoke", "--output", str(path), "--cases", *cases])
    return path


@pytest.fixture(scope="module")
def report(output: Path) -> Report:
    return Report.load(output / "results.json")


class TestSuite:
    def test_every_peer_has_a_number_or_a_reason_in_every_case(self, report: Report) -> None:
        found = report.measurements
        assert set(found.peers()) == {*PEERS, *FLOORS}
        for table in found.tables():
            for case in found.cases(table):
                for peer in PEERS:
                    item = found.get(table, case, peer)
                    assert item is not None, (table, case, peer)
                    if case == "look up all names" and peer not in ("pymosaic", "paimon"):
                        assert item.note == "not apart from reading"
                    elif (table, peer) in WITHOUT_NUMBER:
                        assert item.note == WITHOUT_NUMBER[table, peer]
                    elif peer not in FEW_PEERS.get(case.partition(",")[0], PEERS):
                        assert item.note == "some cases are not measured for them"
                    else:
                        assert item.value is not None, item
                        assert item.value > 0, item

    def test_all_tables_are_measured(self, report: Report) -> None:
        assert report.measurements.tables() == [
            "strings-3",
            "strings-20",
            "strings-20-level-1",
            "sparse",
            "doubles-30",
            "doubles-60",
            "narrow",
            "dense",
            "files",
        ]

    def test_reads_and_writes_have_a_floor(self, report: Report) -> None:
        for floor in FLOORS:
            for case in ("open + read 1 column", "open + read 10 random", "write"):
                assert report.measurements.value("strings-20", case, floor)

    def test_a_column_takes_one_read_of_this_small_file(self, report: Report) -> None:
        found = report.measurements
        assert found.value("strings-20", "reads, 1 column", "pymosaic") == 1
        assert found.value("strings-20", "bytes read, 1 column", "pymosaic") == found.value(
            "strings-20", "file size", "pymosaic"
        )

    def test_goals_are_held_against_the_numbers(self, report: Report) -> None:
        goal = next(goal for goal in report.goals if goal.work == "open + read 10 random")
        assert (goal.table, goal.against, goal.goal) == ("strings-20", "paimon", "5x")
        ratio = report.measurements.ratio(goal.table, goal.work, goal.against)
        assert ratio is not None
        assert goal.met == (ratio >= 5)

    @pytest.mark.parametrize("case", [BY_BATCHES, BY_THREADS, SMALL_FILES])
    def test_work_of_pymosaic_alone_has_goals(self, report: Report, case: str) -> None:
        assert [goal.work for goal in report.goals].count(case) == 1

    def test_eight_threads_are_compared_with_two_cores(self, report: Report) -> None:
        goal = next(goal for goal in report.goals if goal.work == BY_THREADS)
        found = report.measurements
        one = found.value("strings-20", BY_ONE_THREAD, "pymosaic")
        eight = found.value("strings-20", BY_THREADS, "pymosaic")
        assert one
        assert eight
        assert goal.met == (eight <= 1.7 * one / 2)

    def test_a_small_object_takes_a_request_for_its_size_and_one_for_its_bytes(
        self, report: Report
    ) -> None:
        found = report.measurements
        for what in ("requests", "round trips"):
            assert found.value("strings-20", store_case(what, "1 column"), "pymosaic") == 2
        assert found.value(
            "strings-20", store_case("bytes", "1 column"), "pymosaic"
        ) == found.value("strings-20", "file size", "pymosaic")

    def test_machine_and_versions_are_recorded(self, report: Report) -> None:
        assert report.run["machine"]["cores"]
        assert report.run["versions"]["paimon-mosaic"] == "0.2.0"

    def test_pictures_are_svg(self, output: Path) -> None:
        for name in ("projection.svg", "scaling.svg", "sizes.svg"):
            assert ElementTree.parse(output / name).getroot().tag.endswith("svg")

    def test_the_markdown_has_a_table_for_each_table(self, output: Path, report: Report) -> None:
        text = (output / "results.md").read_text()
        for table in report.measurements.tables():
            assert f"### {table}: " in text
        assert text.index("### Missed goals") < text.index("### strings-3: ")
        assert "### All goals" in text


def test_cases_in_processes_of_their_own(tmp_path: Path) -> None:
    cases, peers = [*IN_CHILDREN, "ranges"], ["pymosaic", "orc", "lance"]
    main(["--profile", "smoke", "--output", str(tmp_path), "--cases", *cases, "--peers", *peers])
    found = Report.load(tmp_path / "results.json").measurements
    assert found.tables() == ["strings-20"]
    for case in ("cold process to first value", "memory of a full read", "memory of a write"):
        for peer in peers:
            value = found.value("strings-20", case, peer)
            assert value is not None
            assert value >= 0


def test_the_bucket_study(tmp_path: Path) -> None:
    main(["--profile", "smoke", "--output", str(tmp_path), "--cases", "buckets"])
    samples = json.loads((tmp_path / "buckets.json").read_text())["samples"]
    assert [(item["kind"], item["num_buckets"]) for item in samples] == [
        ("strings", 1),
        ("strings", 10),
        ("doubles", 1),
        ("doubles", 10),
    ]
    assert all(item["file_bytes"] > 0 and item["scan_seconds"] > 0 for item in samples)
    assert ElementTree.parse(tmp_path / "buckets.svg").getroot().tag.endswith("svg")
    assert not (tmp_path / "results.json").exists()


def test_the_row_group_study(tmp_path: Path) -> None:
    main(["--profile", "smoke", "--output", str(tmp_path), "--cases", "row-groups"])
    samples = json.loads((tmp_path / "row-groups.json").read_text())["samples"]
    small, large = samples
    assert (small["row_group_bytes"], large["row_group_bytes"]) == (4 << 10, 1 << 20)
    # 100 rows in steps of 8.
    assert (small["num_row_groups"], large["num_row_groups"]) == (13, 1)
    assert small["file_bytes"] > large["file_bytes"]
    assert all(item["scan_seconds"] > 0 for item in samples)
    assert ElementTree.parse(tmp_path / "row-groups.svg").getroot().tag.endswith("svg")
    assert not (tmp_path / "results.json").exists()


def test_the_training_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--profile", "smoke", "--output", str(tmp_path), "--cases", "training"])
    samples = json.loads((tmp_path / "training.json").read_text())["samples"]
    assert [item["way"] for item in samples] == list(WAYS)
    assert all(item["seconds"] > 0 for item in samples)
    assert "rows per second" in capsys.readouterr().out


def test_the_compaction_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--profile", "smoke", "--output", str(tmp_path), "--cases", "compaction"])
    samples = json.loads((tmp_path / "compaction.json").read_text())["samples"]
    ways = ["merge", "merge, verified", "re-encode", "parquet rewrite"]
    assert [item["way"] for item in samples] == ways
    assert all(item["num_files"] == 3 and item["seconds"] > 0 for item in samples)
    assert samples[0]["bytes_after"] <= samples[0]["bytes_before"]
    printed = capsys.readouterr().out
    assert all(way in printed for way in ways)
    assert not (tmp_path / "results.json").exists()
