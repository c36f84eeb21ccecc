"""compact: what is copied, what is written anew, what is left alone; rows stay the same."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import pymosaic
from pymosaic.datasets.commit import WriteJob
from pymosaic.datasets.compaction_plan import CompactionGroup, FileSummary, group_files


def table(start: int, rows: int = 200, **columns: Any) -> pa.Table:
    random_values = np.random.default_rng(start).random(rows)
    return pa.table({"id": np.arange(start, start + rows), "x": random_values, **columns})


def fill(base: Path, tables: list[pa.Table], **options: Any) -> None:
    for item in tables:
        pymosaic.write_dataset(item, base, mode="append", **options)


def rows(base: Path) -> list[dict[str, Any]]:
    found = pymosaic.dataset(str(base)).scan().to_table()
    return sorted(found.select(sorted(found.column_names)).to_pylist(), key=lambda row: row["id"])


def files(base: Path) -> list[str]:
    return list(pymosaic.dataset(str(base)).files)


def test_files_of_one_schema_are_glued(tmp_path: Path) -> None:
    fill(tmp_path, [table(i * 1000) for i in range(6)])
    before = rows(tmp_path)
    size = sum(Path(file).stat().st_size for file in files(tmp_path))
    report = pymosaic.compact(tmp_path, min_row_group_bytes=1)
    assert (report.files_before, report.files_after) == (6, 1)
    assert (report.files_copied, report.files_reencoded) == (6, 0)
    assert report.bytes_copied == size
    [file] = files(tmp_path)
    assert report.bytes_written == Path(file).stat().st_size
    assert pymosaic.read_metadata(file).num_row_groups == 6
    assert rows(tmp_path) == before
    again = pymosaic.compact(tmp_path, min_row_group_bytes=1)
    assert (again.files_before, again.files_after, again.files_written) == (1, 1, 0)


def test_files_with_and_without_guard_are_not_glued(tmp_path: Path) -> None:
    for number in range(2):
        fill(tmp_path, [table(2000 * number)], statistics=["id"])
        fill(tmp_path, [table(2000 * number + 1000)], statistics=["id"], checksum=False)
    before = rows(tmp_path)
    report = pymosaic.compact(tmp_path, min_row_group_bytes=1)
    assert (report.files_copied, report.files_reencoded, report.files_after) == (0, 4, 1)
    [file] = files(tmp_path)
    assert pymosaic.read_metadata(file).guarded
    assert rows(tmp_path) == before


def test_small_row_groups_are_written_anew_as_large_ones(tmp_path: Path) -> None:
    fill(tmp_path, [table(i * 1000) for i in range(6)], statistics=["id"], num_buckets=1)
    before = rows(tmp_path)
    report = pymosaic.compact(tmp_path)
    assert (report.files_copied, report.files_reencoded, report.files_after) == (0, 6, 1)
    [file] = files(tmp_path)
    assert rows(tmp_path) == before
    with pymosaic.MosaicFile(file) as opened:
        # As the files were: statistics, buckets.
        assert opened.num_row_groups == 1
        assert sorted(opened.statistics(0)) == ["id"]
        assert opened.num_buckets == 1
    assert pymosaic.compact(tmp_path).files_written == 0


def test_options_for_what_is_written_anew(tmp_path: Path) -> None:
    fill(tmp_path, [table(i * 1000) for i in range(3)], compression="none")
    pymosaic.compact(tmp_path)
    [file] = files(tmp_path)
    assert pymosaic.read_metadata(file).compression == "none"
    fill(tmp_path, [table(9000)])
    pymosaic.compact(tmp_path, compression="zstd", statistics=["x"])
    [file] = files(tmp_path)
    assert pymosaic.read_metadata(file).compression == "zstd"
    assert list(pymosaic.MosaicFile(file).statistics(0)) == ["x"]


def test_files_with_many_small_row_groups_are_written_anew(tmp_path: Path) -> None:
    pymosaic.write_table(table(0), tmp_path / "a.mosaic", row_group_bytes=10, split_batches=True)
    assert pymosaic.read_metadata(tmp_path / "a.mosaic").num_row_groups > 10
    before = rows(tmp_path)
    report = pymosaic.compact(tmp_path)
    assert report.files_reencoded == 1
    [file] = files(tmp_path)
    assert pymosaic.read_metadata(file).num_row_groups == 1
    assert rows(tmp_path) == before
    assert (tmp_path / "a.mosaic").exists(), "for those who have found it"


def test_row_groups_that_are_small_because_they_compress_stay(tmp_path: Path) -> None:
    constant = pa.table({"id": np.zeros(20_000, np.int64)})
    pymosaic.write_table(
        constant, tmp_path / "a.mosaic", row_group_bytes=40_000, split_batches=True
    )
    report = pymosaic.compact(tmp_path, row_group_bytes=40_000)
    assert report.files_written == 0


def test_schemas_that_differ_are_united(tmp_path: Path) -> None:
    narrow = [
        table(i * 1000).cast(pa.schema({"id": pa.int32(), "x": pa.float32()})) for i in (0, 1)
    ]
    wide = [table(5000, y=pa.array(["new"] * 200)), table(6000, z=np.arange(200))]
    fill(tmp_path, [*narrow, *wide], statistics=["id"])
    before, schema = rows(tmp_path), pymosaic.dataset(str(tmp_path)).schema
    report = pymosaic.compact(tmp_path, min_row_group_bytes=1)
    # The two of one schema are glued, those that have no other are written anew.
    assert (report.files_copied, report.files_reencoded, report.files_after) == (2, 2, 2)
    assert rows(tmp_path) == before
    report = pymosaic.compact(tmp_path, min_row_group_bytes=1)
    assert (report.files_reencoded, report.files_after) == (2, 1)
    assert rows(tmp_path) == before
    after = pymosaic.dataset(str(tmp_path)).schema
    assert {x.name: x.type for x in after} == {x.name: x.type for x in schema}


def test_a_widened_type_may_lose_its_statistics(tmp_path: Path) -> None:
    for number, precision in enumerate((10, 30)):
        column = pa.array([number], pa.decimal128(precision, 0))
        options = {"statistics": ["d"]} if precision == 10 else {}
        fill(tmp_path, [pa.table({"id": [number], "d": column})], **options)
    assert pymosaic.compact(tmp_path).files_after == 1
    assert [int(row["d"]) for row in rows(tmp_path)] == [0, 1]


def test_rows_stay_in_their_partitions(tmp_path: Path) -> None:
    for start in range(0, 3000, 1000):
        fill(tmp_path, [table(start, k=np.arange(200) % 3)], partition_by="k")
    before = rows(tmp_path)
    report = pymosaic.compact(tmp_path, min_row_group_bytes=1)
    assert (report.files_before, report.files_after) == (9, 3)
    assert [Path(file).parent.name for file in files(tmp_path)] == ["k=0", "k=1", "k=2"]
    assert rows(tmp_path) == before


def test_large_files_are_left_alone_and_none_grows_beyond_the_target(tmp_path: Path) -> None:
    fill(tmp_path, [table(i * 10_000, rows=3000) for i in range(2)])
    fill(tmp_path, [table(50_000 + i * 1000, rows=400) for i in range(9)])
    large = {file for file in files(tmp_path) if Path(file).stat().st_size > 20_000}
    target = max(Path(file).stat().st_size for file in large) + 1
    before = rows(tmp_path)
    report = pymosaic.compact(tmp_path, target_file_bytes=target, min_row_group_bytes=1)
    assert report.files_copied == 9
    assert large < set(files(tmp_path))
    assert all(Path(file).stat().st_size <= target for file in files(tmp_path))
    assert rows(tmp_path) == before


def test_work_is_published_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pymosaic.datasets.compact._TARGETS_PER_JOB", 1)
    for start in range(0, 3000, 1000):
        fill(tmp_path, [table(start, k=np.arange(200) % 4)], partition_by="k")
    commits: list[int] = []
    original = WriteJob.commit

    def commit(self: WriteJob, staged: Any, removes: Any, **options: Any) -> tuple[str, ...]:
        staged = list(staged)
        commits.append(len(staged))
        return original(self, staged, removes, **options)

    monkeypatch.setattr(WriteJob, "commit", commit)
    size = max(Path(file).stat().st_size for file in files(tmp_path))
    pymosaic.compact(tmp_path, target_file_bytes=4 * size, min_row_group_bytes=1)
    assert len(commits) > 1
    assert sum(commits) == 4


def test_files_that_another_job_replaces_meanwhile_are_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, [table(i * 1000) for i in range(3)])
    original = WriteJob.commit

    def commit(self: WriteJob, staged: Any, removes: Any, **options: Any) -> tuple[str, ...]:
        monkeypatch.setattr(WriteJob, "commit", original)
        pymosaic.write_dataset(table(77), tmp_path, mode="overwrite")
        return original(self, staged, removes, **options)

    monkeypatch.setattr(WriteJob, "commit", commit)
    report = pymosaic.compact(tmp_path)
    assert (report.conflicts, report.files_written) == (3, 0)
    assert rows(tmp_path) == sorted(table(77).to_pylist(), key=lambda row: row["id"])


def test_appends_meanwhile_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, [table(i * 1000) for i in range(3)])
    original = WriteJob.commit

    def commit(self: WriteJob, staged: Any, removes: Any, **options: Any) -> tuple[str, ...]:
        monkeypatch.setattr(WriteJob, "commit", original)
        pymosaic.write_dataset(table(9000), tmp_path, mode="append")
        return original(self, staged, removes, **options)

    monkeypatch.setattr(WriteJob, "commit", commit)
    assert pymosaic.compact(tmp_path).conflicts == 0
    assert len(rows(tmp_path)) == 800
    assert len(files(tmp_path)) == 2


def test_a_broken_file_stops_it_by_name_and_changes_nothing(tmp_path: Path) -> None:
    fill(tmp_path, [table(0), table(1000)])
    (tmp_path / "zz.mosaic").write_bytes(b"rubbish")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(pymosaic.CorruptFileError, match=r"zz\.mosaic"):
        pymosaic.compact(tmp_path)
    assert sorted(tmp_path.rglob("*")) == before


def test_damage_is_found_before_it_is_copied(tmp_path: Path) -> None:
    fill(tmp_path, [table(0), table(1000)])
    path = Path(files(tmp_path)[0])
    data = bytearray(path.read_bytes())
    data[200] ^= 0xFF
    path.write_bytes(data)
    before = files(tmp_path)
    with pytest.raises(pymosaic.CorruptFileError, match=path.name):
        pymosaic.compact(tmp_path, min_row_group_bytes=1, verify=True)
    assert files(tmp_path) == before


def test_an_empty_directory_is_nothing_to_do_and_a_missing_one_an_error(tmp_path: Path) -> None:
    assert pymosaic.compact(tmp_path).files_before == 0
    with pytest.raises(FileNotFoundError, match="typo"):
        pymosaic.compact(tmp_path / "typo")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "options", [{"target_file_bytes": 0}, {"min_row_group_bytes": -1}, {"colour": 1}]
)
def test_bad_options_are_refused(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(pymosaic.InvalidOptionError, match=next(iter(options))):
        pymosaic.compact(tmp_path, **options)


def test_progress_counts_bytes_up_to_the_total(tmp_path: Path) -> None:
    fill(tmp_path, [table(i * 1000) for i in range(3)])
    fill(tmp_path, [table(5000, y=np.arange(200)), table(6000, z=np.arange(200))])
    calls: list[tuple[int, int | None, str]] = []
    pymosaic.compact(tmp_path, min_row_group_bytes=1, progress=lambda *call: calls.append(call))
    total = sum(size for size in [calls[0][1]] if size)
    assert calls[0] == (0, total, "bytes")
    assert calls[-1] == (total, total, "bytes")
    done = [call[0] for call in calls]
    assert done == sorted(done)


def test_rows_stay_in_order(tmp_path: Path) -> None:
    """Small files on both sides of one that is left alone; and again, until nothing changes."""
    choose = np.random.default_rng(3)
    expected = []
    for number in range(12):
        count = 5 if number % 3 else 4000
        values = choose.integers(0, 1 << 60, count)
        expected += values.tolist()
        pymosaic.write_dataset(pa.table({"x": values}), tmp_path, mode="append")
    while pymosaic.compact(tmp_path, target_file_bytes=40_000).files_written:
        assert pymosaic.dataset(tmp_path).to_table()["x"].to_pylist() == expected
    assert 1 < len(files(tmp_path)) < 12


def summary(name: str, size: int, schema: bytes = b"s", **options: Any) -> FileSummary:
    return FileSummary(name, size, size, 1, schema, **{"divisible": False, **options})


class TestGroups:
    """What is decided, without any file."""

    def groups(self, *items: FileSummary) -> list[tuple[str, bool]]:
        found = group_files(items, target_file_bytes=100, min_row_group_bytes=10)
        return [("".join(group.files), group.copies) for group in found]

    def test_files_are_packed_in_order_up_to_the_target(self) -> None:
        sizes = {"a": 40, "b": 50, "c": 30, "d": 70, "e": 74, "f": 20, "g": 75, "h": 20}
        items = [summary(name, size) for name, size in sizes.items()]
        # g is large enough as it is, and the rows of h come after its own.
        assert self.groups(*items) == [("ab", True), ("cd", True), ("ef", True)]

    def test_a_file_alone_is_left(self) -> None:
        assert self.groups(summary("a", 60), summary("b", 60)) == []

    def test_small_row_groups_go_together_whatever_the_schema(self) -> None:
        items = [summary("a", 5), summary("b", 6, b"t"), summary("c", 9), summary("d", 50)]
        assert self.groups(*items) == [("abc", False)]

    def test_only_neighbours_go_together(self) -> None:
        items = [summary("a", 5), summary("b", 80), summary("c", 5), summary("d", 50)]
        assert self.groups(*items) == [("cd", False)]

    def test_those_without_another_of_their_schema_are_united(self) -> None:
        items = [summary("a", 40), summary("b", 30), summary("c", 30, b"t"), summary("d", 30, b"u")]
        assert self.groups(*items) == [("ab", True), ("cd", False)]

    def test_one_file_with_many_small_row_groups_is_worth_it(self) -> None:
        assert self.groups(summary("a", 500, divisible=True)) == [("a", False)]

    def test_directories_are_apart(self) -> None:
        items = [summary("k=1/a", 20), summary("k=1/b", 20), summary("k=2/a", 20)]
        [group] = group_files(items, 100, 10)
        assert group == CompactionGroup("k=1", ("k=1/a", "k=1/b"), 40, True)

    def test_it_settles(self) -> None:
        """What compaction makes, it leaves alone, or makes fewer files of: it comes to an end."""
        choose = random.Random(4)
        for _ in range(200):
            items = [
                summary(
                    f"{i:03}", choose.choice([1, 5, 12, 30, 60, 90]), choose.choice([b"s", b"t"])
                )
                for i in range(choose.randrange(12))
            ]
            count = len(items)
            while groups := group_files(items, 100, 10):
                gone = {path for group in groups for path in group.files}
                schemas = {item.path: item.schema for item in items}
                items = [item for item in items if item.path not in gone] + [
                    summary(f"n{i:03}", g.num_bytes, schemas[g.files[0]] if g.copies else b"united")
                    for i, g in enumerate(groups)
                ]
                items.sort(key=lambda item: item.path)
                assert len(items) < count
                count = len(items)


def test_what_it_replaced_stays_until_vacuum_or_as_long_as_it_says(tmp_path: Path) -> None:
    fill(tmp_path, [table(i * 1000) for i in range(3)])
    old = {Path(file).name for file in files(tmp_path)}
    pymosaic.compact(tmp_path)
    [kept] = [Path(file).name for file in files(tmp_path)]
    assert {path.name for path in tmp_path.glob("*.mosaic")} == {kept, *old}
    assert pymosaic.vacuum(tmp_path).files == ()
    report = pymosaic.vacuum(tmp_path, older_than=0)
    assert report.jobs == ()
    assert {Path(file).name for file in report.files} == old
    assert {path.name for path in tmp_path.glob("*.mosaic")} == {kept}
    pymosaic.write_dataset(table(9000), tmp_path, mode="append")
    pymosaic.compact(tmp_path, keep_replaced=0)
    assert [path.name for path in tmp_path.glob("*.mosaic")] == [
        Path(file).name for file in files(tmp_path)
    ]
