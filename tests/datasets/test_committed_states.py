"""Readers and writers of one dataset, also through links, patterns and directories further up."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import pymosaic
from pymosaic.datasets.commit import WriteJob
from pymosaic.datasets.compact import compact_group, plan_compaction
from pymosaic.io import open_directory
from tests.datasets import stress


def numbers(source: Any) -> list[int]:
    found: list[int] = pymosaic.dataset(source).scan().to_table()["n"].to_pylist()
    return found


def append(base: Path, *values: int, mode: Any = "append", **options: Any) -> None:
    pymosaic.write_dataset(pa.table({"n": list(values)}), base, mode=mode, **options)


@pytest.mark.parametrize("store", ["local", "s3"])
def test_a_stress_of_a_few_seconds(store: str) -> None:
    with stress.place_of(store) as place:
        report = stress.run(place, seconds=4.0, seed=3)
    assert not report.errors, report.errors[0]
    assert report.counts["reads"] > 0
    assert report.counts["appends"] > 0


@pytest.mark.parametrize(
    "replace",
    [
        lambda base: pymosaic.compact(base),
        lambda base: append(base, 9, mode="overwrite"),
        lambda base: append(base, 9, mode="overwrite_partitions"),
    ],
)
def test_a_dataset_that_was_opened_before_gives_the_rows_of_then(
    replace: Callable[[Path], object], tmp_path: Path
) -> None:
    for value in range(4):
        append(tmp_path, value)
    opened = pymosaic.dataset(tmp_path)
    planned = opened.scan().plan()
    replace(tmp_path)
    append(tmp_path, 10)
    assert opened.scan().to_table()["n"].to_pylist() == [0, 1, 2, 3]
    assert sum(piece.num_rows for piece in planned.pieces) == 4


class TestOrder:
    def test_appends_come_in_the_order_committed(self, tmp_path: Path) -> None:
        for value in range(80):
            append(tmp_path, value)
        assert list((tmp_path / "_mosaic").glob("checkpoint-*"))
        assert numbers(tmp_path) == list(range(80))

    def test_files_of_one_job_come_by_number(self, tmp_path: Path) -> None:
        batches = (pa.table({"n": [value]}) for value in range(12))
        written = pymosaic.write_dataset(batches, tmp_path, target_file_bytes=1, row_group_bytes=1)
        assert len(written.files) == 12
        assert numbers(tmp_path) == list(range(12))

    def test_a_compaction_keeps_the_order_of_what_it_joins(self, tmp_path: Path) -> None:
        for value in range(12):
            append(tmp_path, value)
        pymosaic.compact(tmp_path)
        append(tmp_path, 12)
        pymosaic.compact(tmp_path, min_row_group_bytes=0)
        append(tmp_path, 13)
        assert numbers(tmp_path) == list(range(14))

    def test_columns_keep_their_order_when_files_are_added_and_replaced(
        self, tmp_path: Path
    ) -> None:
        pymosaic.write_dataset(pa.table({"a": [1], "z": [1]}), tmp_path)
        for name in ("m", "c", "k"):
            table = pa.table({"a": [1], "z": [1], name: [1]})
            pymosaic.write_dataset(table, tmp_path, mode="append")
        before = pymosaic.dataset(tmp_path).schema.names
        pymosaic.write_dataset(pa.table({"a": [1]}), tmp_path, mode="append")
        assert pymosaic.dataset(tmp_path).schema.names == before


class TestCost:
    def test_an_append_reads_no_records_and_lists_few(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However many appends there were: at most what two checkpoints leave."""
        for _ in range(200):
            WriteJob.start(tmp_path).commit([])
        records = len(list((tmp_path / "_mosaic").iterdir()))
        assert records <= 2 * 65 + 3
        storage = open_directory(tmp_path)
        read: list[str] = []
        original = type(storage).read

        def reading(self: Any, path: str) -> bytes:
            read.append(path)
            return original(self, path)

        monkeypatch.setattr(type(storage), "read", reading)
        WriteJob.start(tmp_path).commit([])
        assert read == []

    def test_a_reader_reads_a_checkpoint_and_what_it_does_not_cover(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for _ in range(70):
            WriteJob.start(tmp_path).commit([])
        storage = open_directory(tmp_path)
        read: list[str] = []
        original = type(storage).read

        def reading(self: Any, path: str) -> bytes:
            read.append(path)
            return original(self, path)

        monkeypatch.setattr(type(storage), "read", reading)
        append(tmp_path, 1)
        assert numbers(tmp_path) == [1]
        assert len([path for path in read if "checkpoint" in path]) <= 2
        assert len(read) < 20


class TestFurtherUp:
    @pytest.fixture
    def year(self, tmp_path: Path) -> Path:
        """Two datasets, with replaced files and those of a job at work, and a plain file."""
        year = tmp_path / "year"
        for name, value in (("ds1", 10), ("ds2", 20)):
            append(year / name, value)
            append(year / name, value + 1, mode="overwrite")
            job = WriteJob.start(year / name)
            open_directory(year / name).write(job.file("", 0, 0).final_path, b"not yet complete")
        pymosaic.write_table(pa.table({"n": [1]}), year / "plain.mosaic")
        return year

    def test_records_of_all_datasets_below_are_honoured(self, year: Path) -> None:
        assert numbers(year) == [1, 11, 21]
        assert numbers(year.parent) == [1, 11, 21]
        assert numbers(f"{year}/ds*") == [11, 21]
        assert numbers(f"{year.parent}/*/ds1/*.mosaic") == [11]
        assert numbers(f"{year.parent}/**/part-*.mosaic") == [11, 21]

    def test_a_directory_inside_a_dataset_is_part_of_it(self, tmp_path: Path) -> None:
        inner = tmp_path / "set" / "notes"
        inner.mkdir(parents=True)
        pymosaic.write_table(pa.table({"n": [1]}), inner / "a.mosaic")
        append(tmp_path / "set", 2, mode="overwrite")
        assert numbers(tmp_path / "set") == [2]
        assert pymosaic.dataset(inner, schema=pa.schema({"n": pa.int64()})).count_rows() == 0

    def test_a_dataset_in_a_dataset_is_read_and_left_alone(self, tmp_path: Path) -> None:
        append(tmp_path, 1)
        append(tmp_path, 2)
        append(tmp_path / "inner", 3)
        append(tmp_path / "inner", 4)
        assert numbers(tmp_path) == [1, 2, 3, 4]
        with pytest.raises(pymosaic.InvalidOptionError, match="inner"):
            append(tmp_path, 5, mode="overwrite")
        pymosaic.compact(tmp_path)
        pymosaic.vacuum(tmp_path, older_than=0)
        assert numbers(tmp_path) == [1, 2, 3, 4]
        assert numbers(tmp_path / "inner") == [3, 4]


class TestLinks:
    @pytest.fixture
    def outside(self, tmp_path: Path) -> Path:
        directory = tmp_path / "outside"
        directory.mkdir()
        pymosaic.write_table(pa.table({"n": [7]}), directory / "theirs.mosaic")
        return directory

    @pytest.fixture
    def base(self, tmp_path: Path, outside: Path) -> Path:
        base = tmp_path / "set"
        append(base, 1)
        (base / "linked").symlink_to(outside)
        (base / "one.mosaic").symlink_to(outside / "theirs.mosaic")
        assert numbers(base) == [7, 7, 1]
        return base

    def test_an_overwrite_deletes_nothing_behind_them(self, base: Path, outside: Path) -> None:
        append(base, 2, mode="overwrite", keep_replaced=0)
        pymosaic.vacuum(base, older_than=0)
        append(base, 3)
        assert numbers(base) == [2, 3]
        assert numbers(outside) == [7]
        assert not (base / "one.mosaic").is_symlink(), "a link to a file is deleted itself"

    def test_a_compaction_leaves_them_alone(self, base: Path, outside: Path) -> None:
        append(base, 2)
        pymosaic.compact(base, keep_replaced=0)
        assert sorted(numbers(base)) == [1, 2, 7, 7]
        assert [path.name for path in outside.iterdir()] == ["theirs.mosaic"]
        assert numbers(outside) == [7]

    def test_nothing_is_written_behind_them(self, base: Path, outside: Path) -> None:
        shutil.rmtree(base)
        table = pa.table({"n": [1, 2], "k": [1, 2]})
        pymosaic.write_dataset(table.slice(0, 1), base, partition_by="k")
        (base / "k=2").symlink_to(outside)
        before = os.listdir(outside)
        for mode in ("append", "overwrite", "overwrite_partitions"):
            with pytest.raises(pymosaic.DatasetError, match="leads elsewhere by a link"):
                pymosaic.write_dataset(table, base, partition_by="k", mode=mode)
        assert os.listdir(outside) == before

    def test_those_in_circles_end(self, tmp_path: Path) -> None:
        base = tmp_path / "set"
        append(base, 1)
        for name, target in (("a", "b"), ("b", "a")):
            (base / name).mkdir()
            (base / name / "other").symlink_to(base / target)
            pymosaic.write_table(pa.table({"n": [2]}), base / name / "x.mosaic")
        assert len(numbers(base)) == 5  # each once by itself, and once through the other's link


class TestVanishedFiles:
    def test_a_compaction_whose_files_are_gone_has_a_conflict(self, tmp_path: Path) -> None:
        for value in range(3):
            append(tmp_path, value)
        storage = open_directory(tmp_path)
        _, [group] = plan_compaction(storage)
        append(tmp_path, 9, mode="overwrite", keep_replaced=0)
        job = WriteJob.start(tmp_path)
        with pytest.raises(pymosaic.CommitConflictError, match="another job has replaced"):
            compact_group(job, group, 0)
        job.abort()
        assert numbers(tmp_path) == [9]

    @pytest.mark.parametrize(
        "error", [FileNotFoundError("gone"), OSError("AWS Error NO_SUCH_KEY"), OSError(22, "404")]
    )
    def test_whatever_the_store_calls_it(
        self, error: OSError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for value in range(3):
            append(tmp_path, value)

        def vanish(*arguments: Any, **options: Any) -> None:
            append(tmp_path, 9, mode="overwrite")
            raise error

        monkeypatch.setattr("pymosaic.datasets.compact._reencode", vanish)
        assert pymosaic.compact(tmp_path).conflicts == 3
        assert numbers(tmp_path) == [9]

    def test_a_deleted_file_is_an_error_until_it_is_forgotten(self, tmp_path: Path) -> None:
        for value in range(3):
            append(tmp_path, value)
        victim = Path(pymosaic.dataset(tmp_path).files[1])
        victim.unlink()
        [finding] = pymosaic.verify(tmp_path)
        assert (finding.severity, finding.structure) == ("error", str(victim))
        for use in (numbers, pymosaic.compact):
            with pytest.raises(pymosaic.DatasetError, match=victim.name):
                use(tmp_path)
        assert pymosaic.vacuum(tmp_path, forget_missing=True).forgotten == (str(victim),)
        assert numbers(tmp_path) == [0, 2]

    def test_a_reader_whose_files_were_deleted_is_told_so(self, tmp_path: Path) -> None:
        append(tmp_path, 1)
        opened = pymosaic.dataset(tmp_path)
        append(tmp_path, 2, mode="overwrite")
        pymosaic.vacuum(tmp_path, older_than=0)
        with pytest.raises(FileNotFoundError, match="open the dataset again"):
            opened.scan().to_table()
        assert numbers(tmp_path) == [2]

    def test_an_overwrite_needs_no_file_that_is_gone(self, tmp_path: Path) -> None:
        append(tmp_path, 1)
        Path(pymosaic.dataset(tmp_path).files[0]).unlink()
        append(tmp_path, 2, mode="overwrite")
        assert numbers(tmp_path) == [2]
